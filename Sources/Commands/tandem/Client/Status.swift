// `status`: the device with all that a person may want to know of it, from one request.

import TandemControl
import TandemOperations
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
        guard !(arguments.has("json") && arguments.has("prometheus")) else {
            throw CommandFailure.usage("--json and --prometheus do not go together")
        }
        let facts = Fact(try arguments.ask(.status))
        if arguments.has("json") { return console.print(json: facts) }
        let lines = arguments.has("prometheus") ? Metrics(facts).lines : StatusReport(facts).lines
        for line in lines { console.print(line) }
    }
}
