// User infos: durable, in order, each handled, whoever is away meanwhile.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire

enum UserInfoCases {
    static let all = [
        levels, inOrder, bothWays, counterpartAway, unregistered, aged, outstanding, failsOnce, rejected,
        deadLetter, topics, sameIdentifier,
    ]

    private static let levels = Case(
        "SES-50", "an item is accepted, then stored, then handled, each once", needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        let held = secondary.hold()
        let item = try stage.submit([1], from: primary)[0]
        try stage.wait("stored") { primary.storedItems.contains(item.id) }
        try stage.wait("given") { held.isGiven }
        try demand(item.outcome == nil, "not handled before the handler returned")
        held.returned()
        try stage.wait("handled") { item.outcome != nil }
        try demand(primary.endings[item.id] == [.handled], "once: \(primary.endings)")
        stage.linger(.seconds(2))
        try stage.checkFlow([1], at: .secondary(0))
        try demand(primary.endings[item.id]?.count == 1, "once: \(primary.endings)")
    }

    private static let inOrder = Case("DEL-2", "200 items arrive in the order of their submission", needs: [.durable]) {
        stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle()
        let items = try stage.submit(0..<200, from: primary)
        try stage.wait("all are handled") { items.allSatisfy { $0.outcome == .handled } }
        try stage.checkFlow(0..<200, at: .secondary(0))
    }

    private static let bothWays = Case("DEL-2", "both directions flow at once", needs: [.durable]) { stage in
        let (primary, secondary) = try stage.pair()
        primary.handle()
        secondary.handle()
        let there = (0..<50).map { primary.submit($0) }
        let back = (100..<150).map { secondary.submit($0) }
        try stage.wait("all are handled") { (there + back).allSatisfy { $0.outcome == .handled } }
        try stage.checkFlow(0..<50, at: .secondary(0))
        try stage.checkFlow(100..<150, at: .primary)
    }

    private static let counterpartAway = Case(
        "SES-51", "items wait on the other device for an app that is away", needs: [.durable]
    ) { stage in
        let primary = try stage.alone()
        let items = try stage.submit(0..<20, from: primary)
        try stage.wait("stored") { items.allSatisfy { primary.storedItems.contains($0.id) } }
        try demand(items.allSatisfy { $0.outcome == nil }, "nothing is handled")
        let secondary = try stage.app(at: .secondary(0))
        try stage.wait("an item waits for its first handler") { secondary.session.hasContentPending }
        secondary.handle()
        try stage.wait("handled") { items.allSatisfy { $0.outcome == .handled } }
        try stage.checkFlow(0..<20, at: .secondary(0))
    }

    private static let unregistered = Case(
        "DEL-17", "an item for an app that is not registered at its device is stored there, and waits for it",
        needs: [.durable, .cut, .control]
    ) { stage in
        let primary = try stage.alone()
        try stage.unlink(primary)
        _ = try stage.answer(to: .appRemove, ["app": .string(Stage.appName), "yes": true], at: .secondary(0))
        let item = try stage.submit([1], from: primary)[0]
        stage.relink()
        try stage.wait("stored") { primary.storedItems.contains(item.id) }
        try stage.app(at: .secondary(0)).handle()
        try stage.wait("handled") { item.outcome == .handled }
        try stage.checkFlow([1], at: .secondary(0))
    }

    private static let aged = Case(
        "DEL-15", "a handler is told the age of its item and how long it still lives, counted on while it waits",
        needs: [.durable]
    ) { stage in
        let primary = try stage.alone()
        let (life, pause, slack) = (Duration.seconds(600), Duration.seconds(2), Duration.milliseconds(20))
        let start = stage.world.now
        let item = try stage.submit([1], from: primary, options: TransferOptions(timeToLive: life))[0]
        try stage.wait("stored") { primary.storedItems.contains(item.id) }
        stage.pass(pause)
        let secondary = try stage.registered(at: .secondary(0))
        let delivery = try stage.delivery(0, at: secondary)
        let longest = stage.world.now.since(start) + slack
        guard let age = delivery.age, let left = delivery.remaining else { throw Violation("'age' and 'remaining'") }
        try demand(age >= pause - slack && age <= longest, "\(pause) to \(longest) old: \(age)")
        try demand(left >= life - longest && left <= life - pause + slack, "\(life) less that time: \(left)")
        try secondary.judge(delivery, "handled")
        try stage.wait("handled") { item.outcome == .handled }
    }

    private static let outstanding = Case(
        "SES-54", "items that have not ended are listed in order, each with how far it has come", needs: [.durable]
    ) { stage in
        func listed(by app: App) throws -> [OutstandingPage.Item] {
            let answer = app.ask(.outstanding(after: 0))
            try stage.wait("an answer") { answer.value != nil }
            let page = OutstandingPage(try answer.value?.get().body ?? [:])
            try demand((page.more == nil) == page.items.isEmpty, "'more' with items only: \(page)")
            return page.items
        }
        let primary = try stage.alone()
        let items = try stage.submit(0..<5, from: primary)
        try stage.wait("stored") { items.allSatisfy { primary.storedItems.contains($0.id) } }
        let waiting = try listed(by: primary)
        try demand(waiting.map(\.id) == items.map(\.id), "each, in order: \(waiting)")
        try demand(waiting.allSatisfy(\.isStored), "stored there: \(waiting)")
        try stage.app(at: .secondary(0)).handle()
        try stage.wait("all are handled") { items.allSatisfy { $0.outcome == .handled } }
        let left = try listed(by: primary)
        try demand(left.isEmpty, "none is left: \(left)")
    }

    private static let failsOnce = Case(
        "DEL-11", "an item whose handler throws comes again, marked, before the next", needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle { item, _ in
            item.number == 3 && item.facts.attempt < 3 ? .failed("not now") : .handled
        }
        let items = try stage.submit(0..<6, from: primary)
        try stage.wait("all are handled", pauses: .seconds(1 + 2)) { items.allSatisfy { $0.outcome == .handled } }
        try stage.checkFlow(0..<6, at: .secondary(0))
        let expected: [Int64] = [0, 1, 2, 3, 3, 3, 4, 5]
        try demand(secondary.items.map(\.number) == expected, "\(secondary.items.map(\.number))")
        try demand(secondary.items.map(\.facts.attempt) == [1, 1, 1, 1, 2, 3, 1, 1], "attempts are counted")
    }

    private static let rejected = Case(
        "DEL-5", "an item that its handler rejects ends at once, and its sender hears why", needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle { item, _ in
            item.number == 1
                ? .rejected(SessionError(.payloadUnsupportedTypes, name: "rejected", reason: "no")) : .handled
        }
        let items = try stage.submit(0..<3, from: primary)
        try stage.wait("all end") { items.allSatisfy { $0.outcome != nil } }
        guard case .failed(let error)? = items[1].outcome else {
            throw Violation("rejected: \(items[1].outcome as Any)")
        }
        try demand(error.code == .payloadUnsupportedTypes, "its code: \(error)")
        try demand([items[0], items[2]].allSatisfy { $0.outcome == .handled }, "the others are handled")
        try demand(secondary.items.count == 3, "it does not come again")
    }

    private static let deadLetter = Case(
        "DEL-11", "an item that fails five times is a dead letter, and the next goes on",
        needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle { item, _ in item.number == 1 ? .failed("never") : .handled }
        let items = try stage.submit(0..<3, from: primary)
        try stage.wait("all end", pauses: .seconds(1 + 2 + 4 + 8)) { items.allSatisfy { $0.outcome != nil } }
        guard case .failed(let error)? = items[1].outcome else { throw Violation("dead: \(items[1].outcome as Any)") }
        try demand(error.code == .deliveryFailed, "7014: \(error)")
        let attempts = secondary.items.filter { $0.number == 1 }.map(\.facts.attempt)
        try demand(attempts == [1, 2, 3, 4, 5], "five attempts: \(attempts)")
        stage.linger(.seconds(3600))
        try demand(secondary.items.count == 7, "and no more")
    }

    private static let topics = Case(
        "SES-53", "a topic's handler gets its items, the others go to those without a topic", needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        var named: [Int64] = []
        var rest: [Int64] = []
        secondary.handle(topic: "a") { item, _ in
            named.append(item.number)
            return .handled
        }
        secondary.handle { item, _ in
            rest.append(item.number)
            return .handled
        }
        let topics: [String?] = ["a", nil, "b"]
        let items = (0..<9).map { primary.submit($0, options: TransferOptions(topic: topics[Int($0) % 3])) }
        try stage.wait("all are handled") { items.allSatisfy { $0.outcome == .handled } }
        try demand(named == [0, 3, 6], "those of the topic: \(named)")
        try demand(rest == [1, 2, 4, 5, 7, 8], "the others: \(rest)")
    }

    private static let sameIdentifier = Case(
        "DEL-1", "the same identifier submitted again by other processes is the same item",
        needs: [.durable, .killApps]
    ) { stage in
        let (first, secondary) = try stage.pair()
        secondary.handle()
        let id = UniqueIdentifier.random()
        var primary = first
        for round in 0..<3 {
            let item = primary.submit(7, id: id)
            if round == 0 { try stage.wait("accepted") { item.isAccepted } }
            if round > 0 { stage.linger(.seconds(1)) }
            stage.world.end(primary, .killed)
            primary = try stage.app(at: .primary)
        }
        try stage.submit([8], from: primary)
        try stage.wait("the next is there") { stage.hasAll([7, 8], at: .secondary(0)) }
        stage.linger(.seconds(3))
        try stage.checkFlow([7, 8], at: .secondary(0))
        try demand(secondary.items.count == 2, "each once: \(secondary.items.map(\.number))")
    }
}
