// `configuration`: the desired state of a primary. The primary keeps what was applied, delivers it to each secondary
// that lacks it, and stops doing so when it is withdrawn.

import TandemBase
import TandemControl
import TandemOperations
import TandemPropertyList
import TandemWire

extension Subcommand {
    static let configurationList = Subcommand(
        path: ["configuration", "list"],
        summary: "list the configurations that a primary wants its secondaries to have",
        options: [.device, .application, .json],
        notes: """
            'applied' counts the secondaries that reported it and whose lifetime of it is not over, of those that it is for.
            """,
        examples: ["configuration list", "configuration list --app org.example.lamp --json"]
    ) { arguments, console in
        let facts = Fact(try arguments.ask(.configurationList, try arguments.applicationIfNamed()))
        if arguments.has("json") { return console.print(json: facts) }
        let lines = DesiredReport.list(facts).lines
        for line in lines.isEmpty ? ["no configuration is desired"] : lines + DesiredReport.more(facts) {
            console.print(line)
        }
    }

    static let configurationShow = Subcommand(
        path: ["configuration", "show"],
        summary: "show an app's desired configuration, its secondaries and its history",
        operands: [.application], options: [.device] + DesiredChoice.options + [.json],
        notes: """
            'stale since' is when the desired version was first delivered without being reported as applied since.
            'drift' marks a secondary that had applied it and reports another one as active.
            """,
        examples: ["configuration show --app org.example.lamp", "configuration show --app org.example.lamp --json"]
    ) { arguments, console in
        let facts = Fact(try arguments.ask(.configurationShow, try DesiredChoice.body(arguments)))
        if arguments.has("json") { return console.print(json: facts) }
        for line in DesiredReport.lines(of: facts) + DesiredReport.more(facts) { console.print(line) }
    }

    static let configurationWithdraw = Subcommand(
        path: ["configuration", "withdraw"], summary: "stop delivering an app's desired configuration",
        operands: [.application],
        options: [.device] + DesiredChoice.options + [
            .valued("version", "N", "only this version (default: all that are desired)"), .json,
        ],
        notes: """
            Secondaries that have applied it keep it: to change their values, apply a configuration with a higher
            version. Deliveries that no secondary has answered are taken back, as far as they have not reached it.
            """,
        examples: ["configuration withdraw --app org.example.lamp"]
    ) { arguments, console in
        var body = try DesiredChoice.body(arguments)
        if let text = arguments.value("version") {
            guard let version = UInt64(text), version > 0 else {
                throw CommandFailure.usage("--version '\(text)' is not an integer from 1")
            }
            body["version"] = PropertyListValue(version)
        }
        let answer = Fact(try arguments.ask(.configurationWithdraw, body))
        if arguments.has("json") { return console.print(json: answer) }
        let versions = (answer.body["versions"]?.arrayValue ?? []).compactMap(\.unsignedValue).map(String.init)
        let (noun, verb) = versions.count == 1 ? ("version", "is") : ("versions", "are")
        let list = versions.joined(separator: ", ")
        console.print("\(noun) \(list) for \(answer.text("target")) \(verb) no longer desired")
        let holders = answer.texts("applied") + answer.list("appliedFar").map(\.deviceName)
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
