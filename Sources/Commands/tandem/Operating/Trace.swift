// `trace`: the steps of a message or an item in the daemons that carried it. Daemons of one machine are merged by its
// monotonic clock, which they share: wall clocks may jump.

import TandemBase
import TandemControl
import TandemOperations
import TandemPropertyList
import TandemWire

extension Subcommand {
    static let trace = Subcommand(
        path: ["trace"], summary: "trace one message or item, or follow all of them live",
        operands: [.optional("UUID")],
        options: [
            Option.valued("device", "primary|secondary|PATH", "which running daemons to ask").repeated,
            .flag("follow", "show everything from now on, messages too; ends with Ctrl-C"), .json,
        ],
        notes: """
            A daemon remembers the last 4096 steps of durable items, and of messages while somebody follows or within a
            minute of --follow. It never remembers what they carry. --follow ends with an error when one of the daemons
            stops. The time is in seconds of the machine's monotonic clock. --follow prints a step as its daemon reports
            it, so that the steps of several daemons may be out of order.
            """,
        examples: [
            "trace 0123ABCD-0000-4000-8000-0123456789AB --device ./hub.sock --device ./kiosk.sock", "trace --follow",
        ]
    ) { arguments, console in
        let devices: [String?] = arguments.has("device") ? arguments.all("device") : [nil]
        let paths = try devices.map { try DaemonChoice(device: $0).path() }
        let printer = TracePrinter(console: console, isJSON: arguments.has("json"))
        if arguments.has("follow") {
            guard arguments.operands.isEmpty else { throw CommandFailure.usage("--follow shows all; leave UUID out") }
            return try await follow(paths, printer)
        }
        guard let text = arguments.operands.first else { throw CommandFailure.usage("UUID or --follow is missing") }
        let id = try UniqueIdentifier(argument: text, "is no UUID")
        let events = try paths.flatMap { try TraceAnswer(path: $0, ["id": .data(id.bytes)]).events }
        if events.isEmpty {
            throw CommandFailure.no(["no record of \(id): it has not passed this device, or not lately"])
        }
        for event in events.sorted(by: TraceAnswer.isEarlier) { printer.print(event) }
    }

    /// Prints the events of all daemons until one of them fails. Each has a task, as asking blocks its thread. With
    /// several daemons a request waits briefly: there may be fewer threads, and after a failure the others end soon.
    private static func follow(_ paths: [String], _ printer: TracePrinter) async throws {
        let wait: Int64 = paths.count > 1 ? 1_000 : 10_000
        try await withThrowingTaskGroup(of: Void.self) { group in
            for path in paths {
                group.addTask {
                    var last: PropertyListValue?
                    while !Task.isCancelled {
                        var body: PropertyListDictionary = ["messages": .boolean(true), "wait": .integer(wait)]
                        body["after"] = last
                        let answer = try TraceAnswer(path: path, body, time: .milliseconds(wait))
                        for event in answer.events { printer.print(event) }
                        last = answer.last
                        await Task.yield()
                    }
                }
            }
            // The first to end throws: waiting for all would hide its error behind the others, which never end.
            _ = try await group.next()
        }
    }
}

/// One daemon's answer to `trace`.
struct TraceAnswer {
    /// The daemon's events, each with its name under `device`.
    let events: [Fact]
    let last: PropertyListValue?

    init(path: String, _ body: PropertyListDictionary, time: Duration = .zero) throws {
        let answer = try ControlClient.answer(at: path, .trace, body, time: time)
        last = answer["last"]
        events = Fact.list(answer["events"]).map { event in
            var body = event.body
            body["device"] = answer["name"]
            return Fact(body)
        }
    }

    /// By the machine's monotonic clock; what one daemon saw in one turn stays in its order, but for the word to the
    /// submitter, which leaves behind the first frame.
    static func isEarlier(_ left: Fact, _ right: Fact) -> Bool {
        let order = { (fact: Fact) in
            (
                fact.body["time"]?.unsignedValue ?? 0, fact.text("device"),
                fact.text("step") == TraceEvent.Step.accepted.rawValue ? 0 : 1,
                fact.body["ordinal"]?.unsignedValue ?? 0
            )
        }
        return order(left) < order(right)
    }
}

/// Prints events, one line each.
struct TracePrinter: Sendable {
    let console: Console
    let isJSON: Bool

    func print(_ event: Fact) {
        if isJSON { return console.print(json: event) }
        var words = [
            event.date("wall"), clock(event), event.text("device"), event.text("step"), event.text("direction"),
        ]
        for key in ["detail", "app", "channel", "sequence", "id", "pairing"] {
            let text = event.text(key)
            if !text.isEmpty { words.append("\(key)=\(text)") }
        }
        console.print(words.joined(separator: " "))
    }

    /// Seconds and milliseconds of the machine's monotonic clock.
    private func clock(_ event: Fact) -> String {
        let microseconds = event.body["time"]?.unsignedValue ?? 0
        return "\(microseconds / 1_000_000)." + Int64(microseconds / 1000 % 1000).padded(to: 3)
    }
}
