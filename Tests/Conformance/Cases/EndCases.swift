// Items that end without a handler: taken back, expired, superseded, in each phase of their way.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire

enum EndCases {
    static let all = [
        cancelWaiting, cancelStored, cancelInHand, cancelFailing, cancelEnded, expiresHere, expiresThere, expiresOff,
        superseded, barrier, queueFull,
    ]

    private static func cancel(_ item: Item, by app: App, _ stage: Stage) throws -> String? {
        let answer = app.ask(.cancel(item.id))
        try stage.wait("an answer") { answer.value != nil }
        return try answer.value?.get().name
    }

    private static let cancelWaiting = Case(
        "DEL-6", "an item that was never sent is taken back at once", needs: [.durable, .cut]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle()
        try stage.unlink(primary)
        let items = try stage.submit(0..<5, from: primary)
        try demand(try cancel(items[2], by: primary, stage) == "cancelled", "taken back")
        try stage.wait("it ends") { items[2].outcome == .cancelled }
        stage.relink()
        try stage.wait("the others are handled") { [0, 1, 3, 4].allSatisfy { items[$0].outcome == .handled } }
        try stage.checkFlow([0, 1, 3, 4], at: .secondary(0))
    }

    private static let cancelStored = Case(
        "DEL-6", "an item that waits for its handler on the other device is taken back", needs: [.durable]
    ) { stage in
        let primary = try stage.alone()
        let items = try stage.submit(0..<5, from: primary)
        try stage.wait("stored") { items.allSatisfy { primary.storedItems.contains($0.id) } }
        _ = try cancel(items[2], by: primary, stage)
        try stage.wait("it ends") { items[2].outcome == .cancelled }
        try stage.app(at: .secondary(0)).handle()
        try stage.wait("the others are handled") { [0, 1, 3, 4].allSatisfy { items[$0].outcome == .handled } }
        try stage.checkFlow([0, 1, 3, 4], at: .secondary(0))
    }

    private static let cancelInHand = Case(
        "DEL-6", "an item that its handler has is not taken back", needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        let held = secondary.hold()
        let item = try stage.submit([1], from: primary)[0]
        try stage.wait("given") { held.isGiven }
        _ = try cancel(item, by: primary, stage)
        stage.linger(.seconds(1))
        held.returned()
        try stage.wait("it ends") { item.outcome != nil }
        try demand(item.outcome == .handled, "handled: \(item.outcome as Any)")
    }

    private static let cancelFailing = Case(
        "DEL-6", "an item that is taken back while its handler has it does not come again if that fails",
        needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        let held = secondary.hold()
        let item = try stage.submit([1], from: primary)[0]
        try stage.wait("given") { held.isGiven }
        _ = try cancel(item, by: primary, stage)
        // The other device knows of it by then.
        stage.linger(.seconds(1))
        held.failed()
        try stage.wait("it ends") { item.outcome != nil }
        try demand(item.outcome == .cancelled, "taken back: \(item.outcome as Any)")
        stage.linger(.seconds(3))
        try demand(secondary.items.count == 1, "given once")
    }

    private static let cancelEnded = Case(
        "SES-54", "an item that has ended is too late to take back", needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle()
        let item = try stage.submit([1], from: primary)[0]
        try stage.wait("handled") { item.outcome == .handled }
        let name = try cancel(item, by: primary, stage)
        try demand(name == "too-late" || name == "unknown", "too late: \(name as Any)")
        try demand(primary.endings[item.id] == [.handled], "once: \(primary.endings)")
    }

    private static let expiresHere = Case(
        "DEL-8", "an item expires that is not sent in its time to live", needs: [.durable, .cut]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle()
        try stage.unlink(primary)
        let life = stage.time(.seconds(60), inRealTime: .seconds(2))
        let short = try stage.submit(0..<3, from: primary, options: TransferOptions(timeToLive: life))
        let long = try stage.submit(3..<6, from: primary)
        try stage.wait("the short ones end", within: .seconds(70), pauses: life) {
            short.allSatisfy { $0.outcome == .expired }
        }
        stage.relink()
        try stage.wait("the others are handled") { long.allSatisfy { $0.outcome == .handled } }
        try stage.checkFlow(3..<6, at: .secondary(0))
    }

    private static let expiresThere = Case(
        "DEL-8", "an item expires that waits for its handler too long", needs: [.durable]
    ) { stage in
        let primary = try stage.alone()
        // Time enough to be stored on a busy machine.
        let life = stage.time(.seconds(60), inRealTime: .seconds(15))
        let short = try stage.submit(0..<3, from: primary, options: TransferOptions(timeToLive: life))
        try stage.wait("stored", within: .seconds(30)) { short.allSatisfy { primary.storedItems.contains($0.id) } }
        try stage.wait("they end", within: .seconds(70), pauses: life) { short.allSatisfy { $0.outcome == .expired } }
        let secondary = try stage.app(at: .secondary(0))
        secondary.handle()
        let next = try stage.submit([3], from: primary)
        try stage.wait("the next is handled") { next[0].outcome == .handled }
        try demand(secondary.items.map(\.number) == [3], "nothing expired is given")
    }

    private static let expiresOff = Case(
        "DEL-8", "an item expires while its sender's daemon is away, and ends as soon as that is back",
        needs: [.durable, .cut, .restart]
    ) { stage in
        let (first, _) = try stage.rawPair()
        try stage.unlink(first)
        // Longer than a busy machine takes to start the daemon and to register. A clock that is not set adds no time.
        let life = stage.time(.seconds(60), inRealTime: .seconds(24))
        var item = try stage.submission(on: .userInfo).with(body: ["n": 1])
        item.remaining = life
        try first.send(item)
        try stage.wait("accepted") { try !first.received(.accepted).isEmpty }
        try stage.restart(.primary, .orderly) { _ in stage.pass(life) }
        let start = stage.world.now
        let primary = try stage.registered(at: .primary)
        try stage.wait("it ends", within: life) { try !primary.received(.finished).isEmpty }
        let (end, passed) = (try primary.only(.finished), stage.world.now.since(start))
        try demand(end.id == item.id && end.name == "expired", "expired: \(end.name ?? "-")")
        // A daemon that counts only its own time ends it after all of its life.
        try demand(passed < life / 2, "at once: \(passed)")
    }

    private static let superseded = Case(
        "SES-48", "of items with one key that wait only the newest arrives", needs: [.durable, .cut]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle()
        try stage.unlink(primary)
        let first = try stage.submit([0], from: primary)
        let keyed = try stage.submit(1...100, from: primary, options: TransferOptions(supersedeKey: "k"))
        let last = try stage.submit([101], from: primary)
        try stage.wait("the old ones end") { keyed.dropLast().allSatisfy { $0.outcome == .superseded } }
        stage.relink()
        try stage.wait("the rest is handled") { [first[0], keyed[99], last[0]].allSatisfy { $0.outcome == .handled } }
        try demand(Set(secondary.items.map(\.number)) == [0, 100, 101], "\(secondary.items.map(\.number))")
        try demand(secondary.items.count == 3, "each once")
    }

    private static let barrier = Case(
        "SES-48", "an item waits for the end of the one that it comes after", needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        let held = secondary.hold([.userInfo]) { $0.number == 1 }
        secondary.handle([.urgent])
        let first = try stage.submit([1], from: primary)[0]
        try stage.wait("given") { held.isGiven }
        let second = primary.submit(2, on: .urgent, options: TransferOptions(after: first.id))
        try stage.wait("accepted") { second.isAccepted }
        stage.linger(.seconds(5))
        try demand(second.outcome == nil && !primary.storedItems.contains(second.id), "it waits")
        held.returned()
        try stage.wait("both are handled") { first.outcome == .handled && second.outcome == .handled }
        try demand(secondary.items.map(\.number) == [1, 2], "in that order")
    }

    /// Takes minutes, so only the long form runs it; the relay's tests fill a queue in both forms.
    private static let queueFull = Case(
        "LIM-14", "a full queue refuses with 7001, and takes items again when it has room",
        needs: [.durable, .cut], isLong: true
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle()
        try stage.unlink(primary)
        for start in stride(from: 0, to: Limits.queuedItems, by: 200) {
            try stage.submit(start..<min(start + 200, Limits.queuedItems), from: primary)
        }
        let over = primary.submit(-5)
        try stage.wait("an answer") { over.acceptance != nil }
        try demand(over.error?.code == .genericError && over.error?.name == "queue-full", "\(over.error as Any)")
        try demand(over.error?.isRetryable == true, "it may be tried again (SES-90)")
        stage.relink()
        try stage.wait("all are given", within: .seconds(3600)) { secondary.items.count == Limits.queuedItems }
        try stage.checkFlow(0..<Limits.queuedItems, at: .secondary(0))
    }
}
