// The command line's grammar: what is accepted, and the words for what is not.

import TandemControl
import Testing

@testable import tandem

@Suite struct OptionParserTests {
    private let subcommand = Subcommand(
        path: ["try"], summary: "", operands: [.required("FILE"), .optional("OTHER")],
        options: [
            .valued("out", "FILE", "").required, .valued("set", "K=V", "").repeated, .flag("json", ""),
            .valued("wait", "TIME", ""), .valued("count", "N", ""),
        ], examples: []
    ) { _, _ in }

    private func parse(_ arguments: String...) throws(CommandFailure) -> Arguments {
        try OptionParser(subcommand: subcommand).parse(arguments)
    }

    @Test func bothFormsOfAValueAreTheSame() throws {
        #expect(try parse("--out", "a", "f") == parse("--out=a", "f"))
        #expect(try parse("--out=a=b", "f").value("out") == "a=b")
        #expect(try parse("--out=", "f").value("out") == "")
    }

    @Test func optionsAndOperandsMix() throws {
        let parsed = try parse("f", "--json", "--set", "a=1", "--out", "o", "--set=b=-2", "g")
        #expect(parsed.operands == ["f", "g"])
        #expect(parsed.all("set") == ["a=1", "b=-2"])
        #expect(parsed.has("json"))
        #expect(!parsed.has("wait"))
    }

    @Test func afterTwoDashesEverythingIsAnOperand() throws {
        #expect(try parse("--out", "o", "--", "--json", "-x").operands == ["--json", "-x"])
    }

    @Test func anOperandOfSeveralTakesTheRest() throws {
        let open = Subcommand(
            path: ["try"], summary: "", operands: [.required("FILE"), .several("FILE")], examples: []
        ) { _, _ in }
        #expect(try OptionParser(subcommand: open).parse(["a", "b", "c", "d"]).operands == ["a", "b", "c", "d"])
        #expect(try OptionParser(subcommand: open).parse(["a"]).operands == ["a"])
        #expect(throws: CommandFailure.usage("FILE is missing")) { try OptionParser(subcommand: open).parse([]) }
    }

    @Test func aSingleDashIsAnOperand() throws {
        #expect(try parse("--out", "o", "-").operands == ["-"])
    }

    @Test(arguments: [
        (["--out", "o", "f", "--nope"], "unknown option '--nope'"),
        (["--out", "o", "f", "-j"], "unknown option '-j'; an operand with a leading dash goes after --"),
        (["--out", "o", "f", "--jso"], "unknown option '--jso'; did you mean '--json'?"),
        (["--out", "o", "f", "--suot=1"], "unknown option '--suot'; did you mean '--out'?"),
        (["--out", "o", "f", "--hepl"], "unknown option '--hepl'; did you mean '--help'?"),
        (["f", "--out"], "--out FILE: the value is missing"),
        (["f", "--out", "--json"], "--out FILE: the value is missing"),
        (["f", "--out", "--", "x"], "--out FILE: the value is missing"),
        (["f"], "--out FILE is missing"),
        (["--out", "o"], "FILE is missing"),
        (["--out", "o", "--out", "p", "f"], "--out is given twice"),
        (["--out", "o", "--json=1", "f"], "--json takes no value"),
        (["--out", "o", "f", "g", "h"], "'h' is one argument too many"),
    ])
    func wrongCallsAreNamed(arguments: [String], text: String) {
        #expect(throws: CommandFailure.usage(text)) { try OptionParser(subcommand: subcommand).parse(arguments) }
    }

    @Test(arguments: [
        ("500ms", Duration.milliseconds(500)), ("30s", .seconds(30)), ("15m", .seconds(900)), ("24h", .seconds(86_400)),
        ("7d", .seconds(604_800)), ("12", .seconds(12)), ("0", .zero),
    ])
    func timesAreRead(text: String, duration: Duration) throws {
        #expect(try parse("--out", "o", "f", "--wait", text).duration("wait") == duration)
    }

    @Test(arguments: ["", "s", "-1s", "1.5s", "1 s", "99999999999999999999s", "9223372036854775807d", "1week"])
    func otherTimesAreRefused(text: String) throws {
        let parsed = try parse("--out", "o", "f", "--wait=\(text)")
        #expect(throws: CommandFailure.self) { try parsed.duration("wait") }
    }

    @Test(arguments: ["0", "11", "x", "", "1.0", "99999999999999999999"])
    func integersOutsideTheirRangeAreRefused(text: String) throws {
        let parsed = try parse("--out", "o", "f", "--count=\(text)")
        #expect(throws: CommandFailure.usage("--count '\(text)' is not a whole number from 1 to 10")) {
            try parsed.integer("count", in: 1...10)
        }
    }

    @Test("an app is named by --app wherever it is an operand, too") func appsAsOperands() throws {
        let subcommand = Subcommand(
            path: ["try"], summary: "", operands: [.application, .required("USER")], options: [.json], examples: []
        ) { _, _ in }
        let parser = OptionParser(subcommand: subcommand)
        for arguments in [["a", "u"], ["--app", "a", "u"], ["u", "--app=a"]] {
            #expect(try parser.parse(arguments).operands == ["a", "u"])
        }
        #expect(throws: CommandFailure.usage("APP and --app are the same; give one of them")) {
            try parser.parse(["--app", "a", "b", "u"])
        }
        #expect(throws: CommandFailure.usage("APP is missing")) { try parser.parse([]) }
        let all = Subcommand.all.filter { $0.operands.contains { $0.name == "APP" } }
        #expect(all.count == 4 && all.allSatisfy { $0.namedOptions.contains { $0.name == "app" } })
    }

    @Test func everySubcommandHasAPageWithItsOptionsAndAnExample() {
        for subcommand in Subcommand.all {
            let page = Help.page(of: subcommand)
            #expect(subcommand.namedOptions.allSatisfy { page.contains($0.usage) })
            #expect(!subcommand.examples.isEmpty)
            #expect(subcommand.examples.allSatisfy { $0.contains(subcommand.name) }, "\(subcommand.name)")
            #expect(Help.overview.contains(subcommand.name))
        }
    }
}
