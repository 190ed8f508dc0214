// The situation that an app is told of: for how long it has been so, how often it changed, at which identifier
// configuration is targeted, and an app that only sends.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire

enum StateCases {
    static let all = [times, target, senderOnly]

    private static let times = Case(
        "SES-35", "a state says for how long its level has lasted and how often it has changed, and revisions rise"
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        let pause = Duration.seconds(1.5)
        stage.pass(pause)
        let witness = try stage.registered(at: .primary, receives: false)
        let (before, reached) = (try witness.changes, try witness.since)
        try demand(reached >= pause - slack, "since it was reached: \(reached)")
        let start = stage.world.now
        secondary.close()
        try stage.wait("the loss is seen") { try !primary.isReachable }
        let elapsed = stage.world.now.since(start)
        let (lost, since) = (try primary.changes, try primary.since)
        try demand(since <= elapsed + slack, "since it was lost, \(elapsed) ago: \(since)")
        try demand(lost > before, "one change more than \(before): \(lost)")
        _ = try stage.registered(at: .secondary(0))
        try stage.wait("it is back") { try primary.isReachable }
        let back = try primary.changes
        try demand(back > lost, "one change more than \(lost): \(back)")
        let told = try primary.envelopes.filter { $0.kind == .registered || $0.kind == .state }
        let revisions = try told.map { try $0.dictionaryBody()["revision"]?.integerValue ?? 0 }
        try demand(zip(revisions, revisions.dropFirst()).allSatisfy { $0 < $1 }, "rising: \(revisions)")
    }

    /// The clocks of two processes, read one after the other.
    private static let slack = Duration.milliseconds(20)

    private static let target = Case(
        "SES-7", "the target of configuration is the primary's vendor identifier, or the one that its app declares"
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        let bytes = try primary.only(.registered).dictionaryBody()["device"]?.dataValue ?? []
        guard let device = UniqueIdentifier(bytes: bytes) else { throw Violation("the primary's device: \(bytes)") }
        for app in [primary, secondary] {
            let told = try app.entry["target"]
            try demand(told == .string(PairedIdentifier.vendor(device).text), "of \(device): \(told as Any)")
        }
        let peer = try secondary.entry["peer"]
        try demand(peer == .data(device.bytes), "the secondary's peer is \(device): \(peer as Any)")
        primary.close()
        try stage.wait("it has left") { try !secondary.isReachable }
        let next = try stage.greeted(at: .primary)
        try next.register(declaring: ["identifier": "lamp 7"])
        try stage.wait("both are told of the one that is declared") {
            try [next, secondary].allSatisfy { try $0.entry["target"] == .string("custom:lamp 7") }
        }
    }

    private static let senderOnly = Case(
        "SES-75", "an app that only sends is installed for nobody, and what it sends arrives"
    ) { stage in
        let primary = try stage.registered(at: .primary)
        let sender = try stage.registered(at: .secondary(0), receives: false)
        try stage.wait("it sees its counterpart") { try sender.isReachable }
        var message = try stage.request(.random())
        message.reply = false
        try sender.send(message)
        try stage.wait("its message") { try !primary.received(.message).isEmpty }
        try stage.expectAnswer(to: primary)
        let entry = try primary.entry
        try demand(entry["installed"] == .boolean(false), "not installed: \(entry)")
        try demand(entry["level"] != .string("immediate"), "not reachable: \(entry)")
        _ = try stage.registered(at: .secondary(0))
        try stage.wait("the app that receives is installed") {
            try primary.entry["installed"] == .boolean(true) && primary.isReachable
        }
    }
}

extension RawApp {
    /// For how long the level and the reason of the only pairing have lasted (SES-7).
    fileprivate var since: Duration {
        get throws {
            let told = try entry
            guard let since = told["since"]?.integerValue else { throw Violation("'since': \(told)") }
            return .milliseconds(since)
        }
    }
}
