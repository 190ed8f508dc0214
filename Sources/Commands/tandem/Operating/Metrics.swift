// Counters and gauges of `status` in Prometheus' text format. The daemon opens no port for them: a collector's text
// file or a script runs the command.

import TandemOperations
import TandemPropertyList

/// Status as metrics. A host may have a daemon of each role, so each line has the role.
struct Metrics {
    private let facts: Fact
    /// The first labels of each line.
    private let own: [(String, String)]
    private(set) var lines: [String] = []

    init(_ facts: Fact) {
        self.facts = facts
        own = [("role", facts.text("role"))]
        // A user who is told nothing of the device (CTL-2) has no value of any metric, and not that it is degraded.
        guard facts.body["role"] != nil else { return }
        let labels = [("name", facts.text("name")), ("version", facts.text("software"))]
        gauge("tandem_info", "The daemon and the version of its program.", [(labels, 1)])
        counters()
        gauge("tandem_uptime_seconds", "Time since the daemon started.", [([], seconds(facts.body["uptime"]))])
        gauge("tandem_healthy", "1 if nothing keeps the daemon from being healthy.", [([], isHealthy ? 1 : 0)])
        problems()
        pairings()
        queues()
        configurations()
    }

    private var isHealthy: Bool { facts.body["health"]?.dictionaryValue?["state"] == .string("healthy") }

    private mutating func counters() {
        let counters = facts.body["counters"]?.dictionaryValue ?? [:]
        for (name, value) in counters.sorted(by: { $0.key < $1.key }) {
            let metric = "tandem_\(Self.name(name))_total"
            lines += ["# HELP \(metric) Since the daemon's start.", "# TYPE \(metric) counter"]
            lines.append("\(metric)\(Self.text(own)) \(value.unsignedValue ?? 0)")
        }
    }

    private mutating func problems() {
        let problems = Fact(facts.body["health"]?.dictionaryValue ?? [:]).list("problems")
        gauge(
            "tandem_problem_seconds", "Age of a problem that counts.",
            problems.map { problem in
                (["name", "pairing"].map { ($0, problem.text($0)) }, seconds(problem.body["since"]))
            })
    }

    private mutating func pairings() {
        let pairings = facts.list("pairings")
        let labelled = pairings.map { pairing in
            (labels: [("pairing", pairing.text("pairing")), ("name", pairing.text("name"))], pairing.body)
        }
        gauge(
            "tandem_linked", "1 while the paired device has a link.",
            labelled.map { ($0.labels, $0.1["level"] == .string("linked") ? 1 : 0) })
        gauge(
            "tandem_clock_skew_seconds", "How far the other device's clock is ahead.",
            labelled.compactMap { entry in entry.1["skew"].map { (entry.labels, seconds($0)) } })
    }

    private mutating func queues() {
        let labelled = facts.list("queues").map { queue in
            (labels: ["pairing", "app", "channel"].map { ($0, queue.text($0)) }, queue.body)
        }
        gauge("tandem_queue_items", "Items that wait.", labelled.map { ($0.labels, number($0.1["waiting"])) })
        gauge("tandem_queue_bytes", "Bytes that wait.", labelled.map { ($0.labels, number($0.1["bytes"])) })
        gauge(
            "tandem_queue_oldest_seconds", "Age of the oldest.", labelled.map { ($0.labels, seconds($0.1["oldest"])) })
    }

    private mutating func configurations() {
        let labelled = facts.list("desired").map { row in
            (labels: ["app", "target", "pairing", "name"].map { ($0, row.text($0)) }, row.body)
        }
        gauge(
            "tandem_configuration_current", "1 if the secondary reports the desired version as active.",
            labelled.filter { $0.1["noApp"] != true }.map { ($0.labels, $0.1["stale"] == nil ? 1 : 0) })
        gauge(
            "tandem_configuration_drifted", "1 if it had applied that and reports something else since.",
            labelled.map { ($0.labels, $0.1["drift"] == .boolean(true) ? 1 : 0) })
    }

    private mutating func gauge(_ name: String, _ help: String, _ values: [(labels: [(String, String)], Double)]) {
        guard !values.isEmpty else { return }
        lines += ["# HELP \(name) \(help)", "# TYPE \(name) gauge"]
        for (labels, value) in values { lines.append("\(name)\(Self.text(own + labels)) \(value)") }
    }

    private func number(_ value: PropertyListValue?) -> Double { Double(value?.integerValue ?? 0) }

    private func seconds(_ value: PropertyListValue?) -> Double { number(value) / 1000 }

    private static func text(_ labels: [(String, String)]) -> String {
        "{" + labels.map { "\($0)=\"\(escaped($1))\"" }.joined(separator: ",") + "}"
    }

    private static func name(_ text: String) -> String {
        String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { $0 += $1 == "\\" || $1 == "\"" ? "\\\($1)" : "\($1)" }
    }
}
