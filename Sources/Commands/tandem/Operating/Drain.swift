// `drain`: lets a daemon's queues run empty before it goes away, and prints what is left.

import TandemBase
import TandemPropertyList

extension Subcommand {
    /// The daemon's own bound of one wait.
    private static let longest = Duration.seconds(3600)

    static let drain = Subcommand(
        path: ["drain"], summary: "refuse new items and wait until those that were accepted have left",
        options: [
            .device, .valued("timeout", "TIME", "how long to wait, at most 1h (default 30s)"),
            .flag("end", "accept new items again"), .json,
        ],
        notes: """
            Exit code 0: nothing waits any more; 1: the time is over, and the queues that are left are printed. New items
            stay refused, as 'draining', until --end or the next start. Messages are not affected.
            """,
        examples: ["drain", "drain --timeout 5m", "drain --end"]
    ) { arguments, console in
        let time = min(try arguments.duration("timeout") ?? .seconds(30), longest)
        let body: PropertyListDictionary = [
            "wait": .integer(time.saturatingMilliseconds), "end": .boolean(arguments.has("end")),
        ]
        let report = Fact(try arguments.ask("drain", body, time: time))
        if arguments.has("json") { console.print(json: Fact.plain(.dictionary(report.body))) }
        if arguments.has("end") { return }
        guard report.body["drained"] != .boolean(true) else {
            if !arguments.has("json") { console.print("drained") }
            return
        }
        throw CommandFailure.no(
            report.list("queues").map { queue in
                "\(queue.text("waiting")) of \(queue.text("app")) \(queue.text("channel")) wait in \(queue.text("pairing"))"
            })
    }
}
