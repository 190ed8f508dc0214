// `status`: the device, its pairings with their reachability and its reason, waiting items, and the applied
// configuration, from one request.

import TandemPropertyList
import TandemWire

extension Subcommand {
    static let status = Subcommand(
        path: ["status"], summary: "show a running daemon's device, pairings, queues and configurations",
        options: [
            .device, .json, .flag("prometheus", "print counters and gauges in Prometheus's text format"),
        ],
        notes: "Times under 'since' say how long the state has lasted. Only the daemon's user and root see everything.",
        examples: ["status", "status --device secondary --json", "status --prometheus"]
    ) { arguments, console in
        let answer = try arguments.ask(.status)
        if arguments.has("json") { return console.print(json: Fact.plain(.dictionary(answer))) }
        if arguments.has("prometheus") {
            for line in Metrics(Fact(answer)).lines { console.print(line) }
            return
        }
        for line in StatusReport(facts: Fact(answer)).lines { console.print(line) }
    }
}

/// Status as text for people.
private struct StatusReport {
    let facts: Fact

    var lines: [String] {
        let tables = [pairings, far, applications, counterparts, queues, contexts, configurations, desired].map(\.lines)
            .filter {
                !$0.isEmpty
            }
        return device + tables.flatMap { [""] + $0 }
    }

    private var device: [String] {
        let listening = (facts.body["listening"]?.arrayValue ?? []).compactMap(\.stringValue)
        return [
            "device       \(facts.text("name"))  \(facts.text("device"))",
            "role         \(facts.text("role"))",
            "fingerprint  \(facts.text("fingerprint"))",
            "software     \(facts.text("software")), up \(facts.span("uptime"))",
            "listening    \(listening.isEmpty ? "no" : Printable.text(listening.joined(separator: ", ")))",
            "local        \(facts.text("local"))",
            "state        \(facts.text("state"))",
        ]
    }

    private var pairings: Table {
        var table = Table(
            "pairings",
            ["name", "is our", "state", "reachable", "reason", "since", "waiting", "active", "address", "pairing"])
        for pairing in facts.list("pairings") {
            table.add(
                pairing.text("name"), Self.counterpart(pairing.text("role")), pairing.text("state"),
                pairing.text("level"), pairing.text("reason"), pairing.span("since"), pairing.text("waiting"),
                Self.mark(pairing.body["active"]),
                pairing.text("address"), pairing.text("pairing"))
        }
        return table
    }

    /// The devices below secondaries that carry.
    private var far: Table {
        let devices = facts.list("far")
        let areSomeGone = devices.contains { !$0.date("gone").isEmpty }
        var table = Table(
            "far secondaries", ["name", "via", "app", "target", "device"] + (areSomeGone ? ["gone since"] : []))
        for device in devices {
            let cells = ["name", "via", "app", "target", "device"].map { device.text($0) }
            table.add(cells + (areSomeGone ? [device.date("gone")] : []))
        }
        return table
    }

    private var applications: Table {
        var table = Table("applications", ["app", "uid", "connected", "identifier", "anchor", "name", "version"])
        for app in facts.list("applications") {
            table.add(
                app.text("app"), app.text("uid"), app.text("connected"), app.text("identifier"), app.digest("anchor"),
                app.text("name"), app.text("version"))
        }
        return table
    }

    /// The other devices' apps, as they name themselves.
    private var counterparts: Table {
        let keys = ["app", "name", "version", "icon", "pairing"]
        var table = Table("counterparts", keys)
        for app in facts.list("counterparts") { table.add(keys.map { app.text($0) }) }
        return table
    }

    private var queues: Table {
        var table = Table("queues", ["app", "channel", "waiting", "bytes", "oldest", "refused", "pairing"])
        for queue in facts.list("queues") {
            table.add(
                queue.text("app"), queue.text("channel"), queue.text("waiting"), queue.text("bytes"),
                queue.span("oldest"), queue.text("refusal"), queue.text("pairing"))
        }
        return table
    }

    /// By their revisions: the last one set here, and the last one applied that came.
    private var contexts: Table {
        var table = Table("contexts", ["app", "sent", "received", "pairing"])
        for context in facts.list("contexts") {
            table.add(context.text("app"), context.text("sent"), context.text("received"), context.text("pairing"))
        }
        return table
    }

    private var configurations: Table {
        var table = Table(
            "configurations", ["app", "role", "state", "version", "digest", "applied", "last verdict", "target"])
        for item in facts.list("configurations") {
            let state = item.text("state") + (item.body["trial"]?.booleanValue == true ? ", on trial" : "")
            let verdict = [item.text("lastVerdict"), item.text("text")].filter { !$0.isEmpty }
            table.add(
                item.text("app"), item.text("role"), state, item.text("version"), item.digest("digest"),
                item.date("applied"), verdict.joined(separator: ": "), item.text("target"))
        }
        return table
    }

    /// The configuration desired of each secondary, beside the one it has reported.
    private var desired: Table { DesiredReport.secondaries(facts.list("desired"), title: "desired") }

    /// The one that the apps' default sessions talk to.
    private static func mark(_ active: PropertyListValue?) -> String { active?.booleanValue == true ? "*" : "" }

    /// The peer's part, from this device's part in the pairing.
    private static func counterpart(_ role: String) -> String {
        role == "primary" ? "secondary" : role == "secondary" ? "primary" : role
    }
}
