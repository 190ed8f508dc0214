// `apply`: submits a signed configuration to a daemon and prints the verdict of each secondary. Exit code 0 means
// applied.

import TandemBase
import TandemPropertyList
import TandemSignedConfiguration
import TandemWire

extension Subcommand {
    static let apply = Subcommand(
        path: ["apply"], summary: "forward a signed configuration and wait for each secondary's verdict",
        operands: [.required("FILE")],
        options: [
            .device, .application.required, .valued("wait", "TIME", "how long to wait for reports (default 30s)"),
            .json,
        ],
        notes: """
            FILE holds the configuration or a text with its link, such as the output of 'tandem sign --link'; '-' is
            standard input. Exit code 0: every secondary reported 'applied'. What has not been reported in time stays queued and is
            delivered later; see 'tandem status'.
            """,
        examples: [
            "apply --app org.example.lamp night.config", "apply --app org.example.lamp --wait 2m night.config",
            "apply --app org.example.lamp - < link.txt",
        ]
    ) { arguments, console in
        let envelope = try EnvelopeInput.read(arguments.operands[0])
        let wait = try arguments.duration("wait") ?? .seconds(30)
        let body: PropertyListDictionary = [
            "envelope": .data(envelope), "app": .string(try arguments.application().description),
            "wait": .integer(wait.saturatingMilliseconds),
        ]
        let results = try arguments.ask(.apply, body, time: wait)["results"] ?? .array([])
        if arguments.has("json") {
            console.print(json: Fact.plain(results))
        } else {
            ApplyReport.lines(of: Fact.list(results)).forEach { console.print($0) }
        }
        try ApplyReport.check(Fact.list(results))
    }
}

/// A signed configuration from a file or, for `-`, from standard input: the envelope itself, or a text with one apply
/// link (CFG-60). Any other bytes are passed on, so that the verifier names what is wrong with them.
enum EnvelopeInput {
    static func read(_ path: String) throws -> [UInt8] {
        let bytes = path == "-" ? LocalFile.standardInput() : try LocalFile(path: path).read()
        if bytes.starts(with: "bplist".utf8) { return bytes }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        let links = words.filter { $0.hasPrefix("tandem:apply/") }
        guard let link = links.first else { return bytes }
        guard links.count == 1 else { throw CommandFailure.refused("\(path) holds \(links.count) apply links") }
        do { return try ApplyLink.envelope(in: String(link)) } catch {
            throw CommandFailure.refused("\(path): \(error)")
        }
    }
}

private enum ApplyReport {
    static func lines(of results: [Fact]) -> [String] {
        var table = Table("verdicts", ["name", "verdict", "version", "digest", "pairing", "reason"])
        for result in results {
            table.add(
                result.text("name"), verdict(of: result), result.text("version"), result.digest("digest"),
                result.text("pairing"), result.text("text"))
        }
        return Array(table.lines.dropFirst())
    }

    /// Fails unless every secondary applied it.
    static func check(_ results: [Fact]) throws(CommandFailure) {
        if results.isEmpty { throw .refused("no paired secondary; pair one first") }
        let others = results.filter { verdict(of: $0) != "applied" }
        if others.isEmpty { return }
        let list = others.map { "\($0.text("name")): \(verdict(of: $0))\(reason(of: $0))" }.joined(separator: ", ")
        throw .refused("not applied everywhere (\(list))")
    }

    private static func reason(of result: Fact) -> String {
        let text = result.text("text")
        return text.isEmpty ? "" : " (\(text))"
    }

    /// The verdict, or the state of what has none yet.
    private static func verdict(of result: Fact) -> String {
        let verdict = result.text("verdict")
        return verdict.isEmpty ? result.text("state") : verdict
    }
}
