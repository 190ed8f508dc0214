// `configuration`: the desired state of a primary. The primary keeps what was applied, delivers it to each secondary
// that lacks it, and stops doing so when it is withdrawn.

import TandemBase
import TandemPropertyList
import TandemWire

extension Subcommand {
    static let configurationList = Subcommand(
        path: ["configuration", "list"],
        summary: "list the configurations that a primary wants its secondaries to have",
        options: [.device, .application, .json],
        notes: "'applied' counts the secondaries that reported it, of those that it is for.",
        examples: ["configuration list", "configuration list --app org.example.lamp --json"]
    ) { arguments, console in
        let body: PropertyListDictionary =
            arguments.has("app") ? ["app": .string(try arguments.application().description)] : [:]
        let answer = try arguments.ask(.configurationList, body)
        if arguments.has("json") { return console.print(json: Fact.plain(.dictionary(answer))) }
        let facts = Fact(answer)
        var table = Table(
            "desired",
            ["app", "role", "version", "applied", "drift", "rollout", "accepted", "signed by", "digest", "target"])
        for row in facts.list("desired") {
            table.add(
                row.text("app"), row.text("role"), row.text("version"),
                "\(row.text("applied")) of \(row.text("secondaries"))", row.text("drift"), row.text("rollout"),
                row.date("accepted"),
                DesiredReport.signers(of: row), row.digest("digest"), row.text("target"))
        }
        for line in table.lines { console.print(line) }
        DesiredReport.printMore(facts, console)
    }

    static let configurationShow = Subcommand(
        path: ["configuration", "show"],
        summary: "show an app's desired configuration, its secondaries and its history",
        operands: [.required("APP")], options: [.device] + DesiredChoice.options + [.json],
        notes: """
            'stale since' is when the desired version was first delivered without being reported as applied since.
            'drift' marks a secondary that had applied it and reports another one as active.
            """,
        examples: ["configuration show org.example.lamp", "configuration show org.example.lamp --json"]
    ) { arguments, console in
        let answer = try arguments.ask(.configurationShow, try DesiredChoice.body(arguments))
        if arguments.has("json") { return console.print(json: Fact.plain(.dictionary(answer))) }
        for line in DesiredReport.lines(of: Fact(answer)) { console.print(line) }
        DesiredReport.printMore(Fact(answer), console)
    }

    static let configurationWithdraw = Subcommand(
        path: ["configuration", "withdraw"], summary: "stop delivering an app's desired configuration",
        operands: [.required("APP")],
        options: [.device] + DesiredChoice.options + [
            .valued("version", "N", "only this version (default: all that are desired)")
        ],
        notes: """
            Secondaries that have applied it keep it: to change their values, apply a configuration with a higher
            version. Deliveries that no secondary has answered are taken back, as far as they have not reached it.
            """,
        examples: ["configuration withdraw org.example.lamp"]
    ) { arguments, console in
        var body = try DesiredChoice.body(arguments)
        if let text = arguments.value("version") {
            guard let version = UInt64(text), version > 0 else {
                throw CommandFailure.usage("--version '\(text)' is not an integer from 1")
            }
            body["version"] = PropertyListValue(version)
        }
        let answer = Fact(try arguments.ask(.configurationWithdraw, body))
        let versions = (answer.body["versions"]?.arrayValue ?? []).compactMap(\.unsignedValue).map(String.init)
        console.print("version \(versions.joined(separator: ", ")) for \(answer.text("target")) is desired no longer")
        let holders = answer.texts("applied")
        if !holders.isEmpty { console.print("still applied at: \(holders.joined(separator: ", "))") }
    }
}

/// The slot that the arguments name.
private enum DesiredChoice {
    static let options = [
        Option.valued("role", "primary|secondary", "for which side's app it is (default: the only one)"),
        .valued("target", "TARGET", "its paired identifier (default: the only one that is desired)"),
    ]

    static func body(_ arguments: Arguments) throws -> PropertyListDictionary {
        var body: PropertyListDictionary = [
            "app": .string(try ApplicationIdentifier(arguments.operands[0]).description)
        ]
        if arguments.has("role") { body["role"] = .string(try arguments.role().rawValue) }
        body["target"] = arguments.value("target").map { .string($0) }
        return body
    }
}

/// The desired state as text for people.
enum DesiredReport {
    /// The secondaries with what is desired of them, for `status` too.
    static func secondaries(_ rows: [Fact], title: String) -> Table {
        var table = Table(
            title,
            ["name", "app", "desired", "reported", "verdict", "stale since", "drift", "rollout", "target", "reason"])
        for row in rows {
            table.add(
                row.deviceName, row.text("app"), row.text("version"), row.text("reported"), state(of: row),
                row.date("stale"), row.body["drift"]?.booleanValue == true ? "yes" : "", row.text("rollout"),
                row.text("target"), row.text("text"))
        }
        return table
    }

    /// The verdict, or how the delivery ended without one.
    static func state(of row: Fact) -> String {
        for key in ["verdict", "ending"] where !row.text(key).isEmpty { return row.text(key) }
        return "queued"
    }

    static func lines(of facts: Fact) -> [String] {
        var desired = Table("desired", ["version", "accepted", "signed by", "rollout", "first", "digest"])
        for row in facts.list("desired") {
            desired.add(
                row.text("version"), row.date("accepted"), signers(of: row), row.text("rollout"),
                row.texts("first").joined(separator: ", "), row.digest("digest"))
        }
        var history = Table("history", ["version", "accepted", "signed by", "withdrawn", "digest", "applied at"])
        for row in facts.list("history") {
            history.add(
                row.text("version"), row.date("accepted"), signers(of: row), row.date("withdrawn"),
                row.digest("digest"), applications(of: row.text("version"), facts))
        }
        let tables = [desired, secondaries(facts.list("secondaries"), title: "secondaries"), history]
        let head = ["app     \(facts.text("app"))", "target  \(facts.text("target"))"]
        return head + tables.map(\.lines).filter { !$0.isEmpty }.flatMap { [""] + $0 }
    }

    /// Where and when a version was applied, as far as the secondaries' histories go back.
    private static func applications(of version: String, _ facts: Fact) -> String {
        facts.list("secondaries").flatMap { secondary in
            secondary.list("history").filter { $0.text("version") == version }.map { line in
                "\(secondary.text("name")) \(line.date("reported"))"
            }
        }.joined(separator: ", ")
    }

    /// The beginnings of the key identifiers that the signatures name.
    static func signers(of row: Fact) -> String {
        (row.body["signers"]?.arrayValue ?? []).compactMap(\.dataValue).map { Hexadecimal.encode($0.prefix(4)) }
            .joined(separator: " ")
    }

    static func printMore(_ facts: Fact, _ console: Console) {
        let more = facts.body["more"]?.integerValue ?? 0
        if more > 0 { console.print("and \(more) more") }
    }
}
