// Contexts and urgent items: the newest state, and what goes first.

import PairedSession
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire

enum ContextCases {
    static let all = [
        latestWins, offline, unchanged, empty, afterRestart, contextsBothWays, failed, passes, demoted,
    ]

    private static func accept(_ update: Later<Result<Acceptance, SessionError>>, _ stage: Stage) throws -> Acceptance {
        try stage.wait("accepted") { update.value != nil }
        guard let acceptance = try update.value?.get() else { throw Violation("accepted") }
        return acceptance
    }

    /// Nothing older after anything newer.
    private static func checkRising(_ app: App) throws {
        let revisions = app.items.filter { $0.channel == .context }.compactMap(\.revision)
        try demand(zip(revisions, revisions.dropFirst()).allSatisfy { $0 < $1 }, "rising: \(revisions)")
    }

    private static let latestWins = Case(
        "SES-52", "the newest context arrives, and nothing older after it", needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle([.context])
        var revision: UInt64 = 0
        let count = stage.count(100, inRealTime: 20)
        for number in 1...count {
            let acceptance = try accept(primary.update(["n": .integer(Int64(number))]), stage)
            try demand((acceptance.revision ?? 0) > revision, "revisions rise: \(acceptance)")
            revision = acceptance.revision ?? 0
        }
        try stage.wait("the last one is there") { secondary.items.last?.number == Int64(count) }
        try demand(
            secondary.session.receivedApplicationContext == ["n": .integer(Int64(count))], "it is the received context")
        try demand(primary.session.applicationContext == ["n": .integer(Int64(count))], "it is the sent context")
        try checkRising(secondary)
    }

    private static let offline = Case(
        "SES-48", "of many contexts that were set without a link one is given", needs: [.durable, .cut]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle([.context])
        try stage.unlink(primary)
        let count = stage.count(1000, inRealTime: 200)
        for start in stride(from: 0, to: count, by: 100) {
            let updates = (start..<start + 100).map { primary.update(["n": .integer(Int64($0))]) }
            try stage.wait("accepted") { updates.allSatisfy { $0.value?.isSuccess == true } }
        }
        stage.relink()
        try stage.wait("it is there") { !secondary.items.isEmpty }
        stage.linger(.seconds(5))
        try demand(secondary.items.map(\.number) == [Int64(count - 1)], "one: \(secondary.items.map(\.number))")
    }

    private static let unchanged = Case(
        "SES-48", "a context with the bytes of the last one is not sent, unless its sender insists", needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle([.context])
        let first = try accept(primary.update(["n": 1]), stage)
        try stage.wait("it is there") { secondary.items.count == 1 }
        let same = try accept(primary.update(["n": 1]), stage)
        try demand(same.note == .unchanged && same.revision == first.revision, "unchanged: \(same)")
        stage.linger(.seconds(2))
        try demand(secondary.items.count == 1, "not given again")
        let again = try accept(primary.update(["n": 1], always: true), stage)
        try demand(again.note == nil && (again.revision ?? 0) > (first.revision ?? 0), "a new revision: \(again)")
        try stage.wait("it is there again") { secondary.items.count == 2 }
        try checkRising(secondary)
    }

    private static let empty = Case("SES-52", "an empty context is one, and none is none", needs: [.durable]) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle([.context])
        stage.linger(.seconds(1))
        try demand(primary.session.applicationContext == nil, "never sent")
        try demand(secondary.session.receivedApplicationContext == nil, "never received")
        _ = try accept(primary.update([:]), stage)
        try stage.wait("it is there") { secondary.items.count == 1 }
        try demand(secondary.session.receivedApplicationContext == [:], "empty")
        try demand(primary.session.applicationContext == [:], "empty")
        try demand(secondary.session.applicationContext == nil, "never sent")
    }

    private static let afterRestart = Case(
        "SES-52", "contexts are told again after everything was restarted", needs: [.durable, .restart]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle([.context])
        _ = try accept(primary.update(["n": 1]), stage)
        _ = try accept(secondary.update(["n": 2]), stage)
        try stage.wait("they are there") {
            secondary.session.receivedApplicationContext != nil && primary.session.receivedApplicationContext != nil
        }
        for app in [primary, secondary] { stage.world.end(app, .orderly) }
        for place in [Place.primary, .secondary(0)] {
            try stage.restart(place, stage.world.abilities.contains(.kill) ? .killed : .orderly)
        }
        let (next, other) = try stage.pair()
        try stage.wait("the contexts are told") {
            next.session.applicationContext == ["n": 1] && next.session.receivedApplicationContext == ["n": 2]
                && other.session.applicationContext == ["n": 2] && other.session.receivedApplicationContext == ["n": 1]
        }
        other.handle([.context])
        stage.linger(.seconds(2))
        try demand(other.items.isEmpty, "what was handled is not given again")
        let same = try accept(next.update(["n": 1]), stage)
        try demand(same.note == .unchanged, "the last one is known: \(same)")
    }

    private static let contextsBothWays = Case("SES-52", "both sides set contexts at once", needs: [.durable]) {
        stage in
        let (primary, secondary) = try stage.pair()
        primary.handle([.context])
        secondary.handle([.context])
        for number in 0..<50 {
            let there = primary.update(["n": .integer(Int64(number))])
            let back = secondary.update(["n": .integer(Int64(-number))])
            if Bool.random(using: &stage.generator) {
                try stage.wait("accepted") { there.value != nil && back.value != nil }
            }
        }
        try stage.wait("the last ones are there") {
            secondary.session.receivedApplicationContext == ["n": 49]
                && primary.session.receivedApplicationContext == ["n": -49]
        }
        try stage.wait("and handled") { secondary.items.last?.number == 49 && primary.items.last?.number == -49 }
        for app in [primary, secondary] { try checkRising(app) }
    }

    private static let failed = Case(
        "DEL-20", "a context that its handler fails at does not come again while a newer one waits", needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        try primary.send(stage.submission(on: .context).with(body: ["n": 1]))
        let first = try stage.delivery(0, at: secondary)
        try primary.send(stage.submission(on: .context).with(body: ["n": 2]))
        try stage.wait("the newer one is there") {
            try secondary.received(.context).contains { $0.name == "received" && $0.revision == 2 }
        }
        try secondary.judge(first, "failed")
        let second = try stage.delivery(1, at: secondary, pauses: .seconds(1))
        try demand(second.revision == 2 && second.attempt == 1, "the newer one: \(second.revision ?? 0)")
        try secondary.judge(second, "handled")
        stage.linger(.seconds(5))
        try demand(secondary.received(.delivery).count == 2, "and no more")
    }

    // MARK: urgent

    private static let passes = Case("SES-48", "an urgent item passes user infos that wait", needs: [.durable, .cut]) {
        stage in
        let (primary, secondary) = try stage.pair()
        try stage.unlink(primary)
        try stage.submit(0..<300, from: primary)
        let urgent = primary.submit(1000, on: .urgent)
        try stage.wait("accepted") { urgent.isAccepted }
        secondary.handle()
        stage.relink()
        try stage.wait("all are given") { secondary.items.count == 301 }
        let place = secondary.items.firstIndex { $0.number == 1000 } ?? 300
        try demand(place < 250, "it passed most of what waited: \(place)")
        try stage.checkFlow(0..<300, at: .secondary(0))
    }

    private static let demoted = Case(
        "SES-48", "beyond its budget an urgent item goes to the end of the user infos", needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle()
        let asked = primary.ask(.budget, channel: .urgent)
        try stage.wait("an answer") { asked.value != nil }
        let budget = BudgetAnswer(try asked.value?.get().body ?? [:])
        let limit = budget.limit
        try demand(limit > 0 && budget.remaining == limit, "a whole budget: \(budget)")
        let items = (0..<limit + 5).map { primary.submit(Int64($0), on: .urgent) }
        try stage.wait("all are handled") { items.allSatisfy { $0.outcome == .handled } }
        let demoted = items.map { $0.transfer?.isDemoted == true }
        try demand(demoted == (0..<limit + 5).map { $0 >= limit }, "the last five are demoted: \(demoted)")
        try demand(secondary.items.filter { $0.channel == .userInfo }.count == 5, "they came as user infos")
        let again = primary.ask(.budget, channel: .urgent)
        try stage.wait("an answer") { again.value != nil }
        try demand(try again.value.map { BudgetAnswer(try $0.get().body).remaining } == 0, "nothing is left")
    }
}
