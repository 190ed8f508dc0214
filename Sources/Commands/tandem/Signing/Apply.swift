// `apply`: submits a signed configuration to a daemon and prints the verdict of each secondary. Exit code 0 means
// applied.

import TandemBase
import TandemPropertyList

extension Subcommand {
    static let apply = Subcommand(
        path: ["apply"], summary: "forward a signed configuration and wait for each secondary's verdict",
        operands: [.required("FILE")],
        options: [
            .device, .application.required, .valued("wait", "TIME", "how long to wait for reports (default 30s)"),
            .json,
        ],
        notes: """
            Exit code 0: every secondary reported 'applied'. What has not been reported in time stays queued and is
            delivered later; see 'tandem status'.
            """,
        examples: ["apply --app org.example.lamp night.config", "apply --app org.example.lamp --wait 2m night.config"]
    ) { arguments, console in
        let envelope = try LocalFile(path: arguments.operands[0]).read()
        let wait = try arguments.duration("wait") ?? .seconds(30)
        let body: PropertyListDictionary = [
            "envelope": .data(envelope), "app": .string(try arguments.application().description),
            "wait": .integer(wait.saturatingMilliseconds),
        ]
        let results = try arguments.ask("apply", body, time: wait)["results"] ?? .array([])
        if arguments.has("json") {
            console.print(json: Fact.plain(results))
        } else {
            ApplyReport.lines(of: Fact.list(results)).forEach { console.print($0) }
        }
        try ApplyReport.check(Fact.list(results))
    }
}

private enum ApplyReport {
    static func lines(of results: [Fact]) -> [String] {
        var table = Table("verdicts", ["name", "verdict", "version", "digest", "pairing"])
        for result in results {
            table.add(
                result.text("name"), verdict(of: result), result.text("version"), result.digest("digest"),
                result.text("pairing"))
        }
        return Array(table.lines.dropFirst())
    }

    /// Fails unless every secondary applied it.
    static func check(_ results: [Fact]) throws(CommandFailure) {
        if results.isEmpty { throw .refused("no paired secondary; pair one first") }
        let others = results.filter { verdict(of: $0) != "applied" }
        if others.isEmpty { return }
        let list = others.map { "\($0.text("name")): \(verdict(of: $0))" }.joined(separator: ", ")
        throw .refused("not applied everywhere (\(list))")
    }

    /// The verdict, or the state of what has none yet.
    private static func verdict(of result: Fact) -> String {
        let verdict = result.text("verdict")
        return verdict.isEmpty ? result.text("state") : verdict
    }
}
