// Items that an app puts off. A daemon need not know the verdict (SES-3); of one that does not name it there is nothing
// to judge.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire

enum LaterCases {
    static let all = [active, notActive, chosen]

    private static let active = Case(
        "SES-88", "an item of the active pairing that its app puts off comes again after pauses, and is no attempt",
        needs: [.durable]
    ) { stage in
        let primary = try stage.app(at: .primary)
        let secondary = try stage.registered(at: .secondary(0))
        guard try secondary.hasDaemon(with: .later) else { return }
        try stage.wait("the apps reach each other") { try primary.isReachable && secondary.isReachable }
        try demand(secondary.activePairing == stage.world.pairings[0], "the only pairing is the active one (PAR-15)")
        let items = try stage.submit([0, 1], from: primary)
        // More often than LIM-15 has attempts, where time costs nothing.
        let times = stage.count(6, inRealTime: 3)
        for number in 0..<times {
            let delivery = try stage.delivery(number, at: secondary)
            try demand(delivery.id == items[0].id, "the first one, before the next")
            try demand(delivery.attempt == 1, "no attempt is counted: \(delivery.attempt ?? 0)")
            let (start, pause) = (stage.world.now, Duration.seconds(1 << number))
            try secondary.judge(delivery, "later")
            _ = try stage.delivery(number + 1, at: secondary, pauses: pause)
            let passed = stage.world.now.since(start)
            try demand(passed >= pause - .milliseconds(10), "not before \(pause): \(passed)")
        }
        let last = try stage.delivery(times, at: secondary)
        try demand(last.id == items[0].id && last.attempt == 1, "no attempt is counted: \(last.attempt ?? 0)")
        try secondary.judge(last, "handled")
        let next = try stage.delivery(times + 1, at: secondary)
        try demand(next.id == items[1].id, "then the next")
        try secondary.judge(next, "handled")
        try stage.wait("both are handled") { items.allSatisfy { $0.outcome == .handled } }
    }

    /// An item of a pairing that is not the active one, put off by the primary's app; with an item behind it.
    private struct PutOff {
        let app: RawApp
        let pairing: UniqueIdentifier
        let items: [Item]

        /// - Returns: nil if the primary's daemon does not know the verdict.
        init?(_ stage: Stage) throws {
            app = try stage.registered(at: .primary)
            guard try app.hasDaemon(with: .later) else { return nil }
            let senders = try (0..<2).map { try stage.app(at: .secondary($0)) }
            try stage.wait("they reach the primary's app") { senders.allSatisfy(\.isReachable) }
            let active = try app.activePairing
            guard let place = stage.world.pairings.firstIndex(where: { $0 != active }) else {
                throw Violation("one of two pairings is not the active one")
            }
            pairing = stage.world.pairings[place]
            items = try stage.submit([0, 1], from: senders[place])
            let delivery = try stage.delivery(0, at: app)
            try demand(delivery.pairing == pairing && delivery.attempt == 1, "the first one: \(delivery.attempt ?? 0)")
            try app.judge(delivery, "later")
            // Longer than the first pause of an item that comes again.
            stage.pass(stage.time(.seconds(600), inRealTime: .milliseconds(1500)))
            try demand(app.received(.delivery).count == 1, "it waits, and so does what follows")
        }

        /// Both are delivered, as first attempts, and handled.
        /// - Parameter first: the number of the delivery on this connection.
        func finish(at app: RawApp, from first: Int, _ stage: Stage) throws {
            for (number, item) in items.enumerated() {
                let delivery = try stage.delivery(first + number, at: app)
                try demand(delivery.id == item.id, "in order: item \(number)")
                try demand(delivery.attempt == 1, "no attempt is counted: \(delivery.attempt ?? 0)")
                try app.judge(delivery, "handled")
            }
            try stage.wait("both are handled") { items.allSatisfy { $0.outcome == .handled } }
        }
    }

    private static let notActive = Case(
        "SES-88", "an item of another pairing that its app puts off waits for the app's next connection, uncounted",
        needs: [.durable], secondaries: 2
    ) { stage in
        guard let putOff = try PutOff(stage) else { return }
        putOff.app.close()
        let senders = stage.apps
        try stage.wait("its end is seen") { senders.allSatisfy { !$0.isReachable } }
        try putOff.finish(at: stage.registered(at: .primary), from: 0, stage)
    }

    private static let chosen = Case(
        "SES-88",
        "an item that its app puts off comes when its pairing becomes the active one, and so does what follows",
        needs: [.durable], secondaries: 2
    ) { stage in
        guard let putOff = try PutOff(stage) else { return }
        let console = try stage.greeted(at: .primary)
        let choice = Envelope(.control, id: .random(), command: "switch")
        try console.send(choice.with(body: ["pairing": .data(putOff.pairing.bytes)]))
        try stage.wait("the choice is made") { try !console.received(.result).isEmpty }
        let result = try console.only(.result)
        try demand(result.code == 0, "CTL-7: \(result.fault)")
        try putOff.finish(at: putOff.app, from: 1, stage)
    }
}
