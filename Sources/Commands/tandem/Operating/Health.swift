// `health`, `ready` and `drain`: the daemon's state for a supervisor or a script, as an exit code and a line for each
// reason.

import TandemBase
import TandemControl
import TandemOperations
import TandemPropertyList
import TandemWire

extension Subcommand {
    static let health = Subcommand(
        path: ["health"],
        summary: "say whether a running daemon is healthy: exit code 0, or 1 with one line for each reason",
        options: [
            .device, .valued("timeout", "TIME", "how long the daemon may take to answer, at most 1h (default 15s)"),
            .json,
        ],
        notes: """
            The reasons are on standard output, which is what a monitoring system shows. With --json the whole answer is
            there instead.
            Exit code 3 means that no daemon answers, that it cannot answer, that it refuses this user, or that its answer
            cannot be written. A link is reported as lost once it has been down for 5 s more than it has been up since
            the change began: short interruptions and short recoveries are not reported.
            """,
        examples: ["health", "health --timeout 5s", "health --device secondary --json"]
    ) { arguments, console in
        let time = try arguments.duration("timeout") ?? ControlExchange.patience
        guard time > .zero, time <= Limits.controlWait else {
            throw CommandFailure.usage("--timeout is over 0 and at most 1h")
        }
        let report = try arguments.healthReport(within: time)
        let isHealthy = report.body["state"] == .string("healthy")
        if arguments.has("json") {
            console.print(json: report)
        } else if isHealthy {
            console.print("healthy")
        } else {
            for problem in report.list("problems") {
                console.print("\(problem.text("name")) for \(problem.span("since")): \(problem.sentence("text"))")
            }
        }
        // The reasons are printed.
        guard isHealthy else { throw CommandFailure.no([]) }
        try Console.checkAnswer()
    }

    static let ready = Subcommand(
        path: ["ready"], summary: "say whether a running daemon is ready for work: exit code 0, or 1",
        options: [
            .device, .flag("no-link", "no link is expected: ready as soon as the daemon serves its host apps"),
            .valued("timeout", "TIME", "wait this long for it (default 0)"),
        ],
        notes: """
            A daemon that has pairings is ready once the first of them has had a link since it was started. Exit code 3
            means that no daemon answers, that it cannot answer, that it refuses this user, or that its answer cannot be
            written.
            """,
        examples: ["ready", "ready --no-link", "ready --timeout 30s"]
    ) { arguments, console in
        let end = ContinuousClock.now + (try arguments.duration("timeout") ?? .zero)
        while true {
            let outcome = Result { try notReadyReason(arguments) }
            if case .success(nil) = outcome {
                console.print("ready")
                return try Console.checkAnswer()
            }
            guard ContinuousClock.now < end else {
                throw CommandFailure.no(["not ready: \(try outcome.get() ?? "")"])
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

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
        let time = try arguments.duration("timeout") ?? .seconds(30)
        guard time <= Limits.controlWait else { throw CommandFailure.usage("--timeout is at most 1h") }
        let body: PropertyListDictionary = [
            "wait": .integer(time.saturatingMilliseconds), "end": .boolean(arguments.has("end")),
        ]
        let report = Fact(try arguments.ask(.drain, body, time: time))
        if arguments.has("json") { console.print(json: report) }
        if arguments.has("end") { return }
        guard report.body["drained"] != .boolean(true) else {
            if !arguments.has("json") { console.print("drained") }
            return
        }
        throw CommandFailure.no(
            report.list("queues").map { queue in
                "\(queue.text("waiting")) of \(queue.text("app")) \(queue.text("channel")) wait for \(queue.peer)"
            })
    }
}

/// The reason that a daemon is not ready; nil if it is.
private func notReadyReason(_ arguments: Arguments) throws -> String? {
    let report = try arguments.healthReport()
    let reason = report.text("reason")
    let isReady = report.body["ready"] == .boolean(true) || (arguments.has("no-link") && reason == "no-link")
    return isReady ? nil : reason
}

extension Console {
    /// Fails if the answer "yes" has not been written: exit code 1 stands for the answer "no" alone (CTL-13).
    fileprivate static func checkAnswer() throws(CommandFailure) {
        if let failure { throw .unknownState(failure.text) }
    }
}

extension Arguments {
    /// The daemon's answer to `health`; any failure of the request has an exit code that no answer has.
    fileprivate func healthReport(within patience: Duration = ControlExchange.patience) throws -> Fact {
        do {
            return Fact(try ask(.health, patience: patience))
        } catch {
            if let refusal = error as? ControlError { printForPrograms(refusal, on: Console()) }
            throw CommandFailure(ofState: error)
        }
    }
}
