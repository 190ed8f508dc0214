// Whatever breaks while items flow: links, daemons, apps, frames. Each item still arrives, in order, once.

import PairedSession
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire

enum LossCases {
    static let all: [Case] =
        [randomCuts, flap, appRestarts, appInHand, threeSecondaries, badStreams, hearsLater, chaos] + restarts + waiting
        + frames

    /// A case in which items flow from the primary while something is done to them from time to time.
    /// - Parameter disturb: does it; gets the number of the round, from 0. There are three of them, or more.
    private static func flow(
        _ clause: String, _ name: String, needs: Set<Ability>, count: Int = Repetition.times(30, long: 60),
        prepare: @escaping @Sendable (Stage) -> Void = { _ in },
        _ disturb: @escaping @Sendable (Stage, Int) throws -> Void
    ) -> Case {
        Case(clause, name, needs: needs.union([.durable])) { stage in
            let (primary, secondary) = try stage.pair()
            secondary.handle()
            prepare(stage)
            var items: [Item] = []
            var rounds = 0
            while items.count < count {
                // Without its daemon an app gets 7004; its library submits earlier items again.
                try stage.wait("the app has its daemon") { primary.session.activationState == .activated }
                let end = min(count, items.count + Int.random(in: 1...10, using: &stage.generator))
                items += (items.count..<end).map { primary.submit(Int64($0)) }
                try disturb(stage, rounds)
                rounds += 1
                stage.pass(.milliseconds(Int64.random(in: 0...30, using: &stage.generator)))
            }
            stage.endStreamFaults()
            if stage.world.frameFate != nil {
                stage.pass(.seconds(1))
                stage.world.frameFate = nil
                // Outcomes are repeated when the link is ready (DEL-9): on an open link TLS loses nothing.
                stage.cutLinks()
            }
            let accepted = try stage.accepted(items)
            try stage.wait("all are given", within: .seconds(900)) { stage.hasAll(accepted, at: .secondary(0)) }
            try stage.wait("all are told", within: .seconds(900)) { primary.endings.count == accepted.count }
            try stage.checkFlow(accepted, at: .secondary(0))
            try demand(
                primary.endings.values.allSatisfy { $0 == [.handled] }, "each ends once: \(primary.endings.values)")
        }
    }

    private static let randomCuts = flow("DEL-9", "links that are cut at random lose nothing", needs: [.cut]) {
        stage, round in
        if round == 1 || stage.draws(3) { stage.cutLinks() }
    }

    private static let flap = flow(
        "SES-19", "a link that comes and goes each second ends on the true state", needs: [.cut]
    ) { stage, _ in
        stage.world.isLinkAllowed = false
        stage.cutLinks()
        stage.pass(.seconds(1))
        stage.relink()
    }

    private static let badStreams = flow(
        "SES-4", "late, broken and stalled streams lose nothing", needs: [.cut, .streamFaults],
        prepare: { stage in
            stage.world.streamFaults = FaultPlan.storm(seed: stage.generator.next())
            stage.cutLinks()
        }
    ) { _, _ in }

    // MARK: frames below TLS

    private static let kinds: [FrameKind] = [.item, .stored, .outcome, .outcomeAck]

    private static let frames: [Case] =
        kinds.map { kind in
            fated("lost", kind) { isFirst, stage in isFirst || stage.draws(3) ? .lost : .passes }
        } + [
            fated("repeated", nil) { _, _ in .repeated(3) },
            fated("overtaken", nil) { _, stage in stage.draws(4) ? .overtaken : .passes },
        ]

    private static func fated(
        _ what: String, _ kind: FrameKind?, _ fate: @escaping @Sendable (Bool, Stage) -> FrameFate
    ) -> Case {
        flow(
            "DEL-3",
            "frames of \(kind.map { "kind '\($0.rawValue)'" } ?? "durable items") that are \(what) change nothing",
            needs: [.cut, .frameFaults], count: 30,
            prepare: { stage in
                var isFirst = true
                stage.world.frameFate = { [unowned stage] envelope in
                    guard kind.map({ $0 == envelope.kind }) ?? kinds.contains(envelope.kind) else { return .passes }
                    defer { isFirst = false }
                    return fate(isFirst, stage)
                }
            }
        ) { _, _ in }
    }

    // MARK: daemons

    private static let restarts: [Case] = [Ending.orderly, .killed].flatMap { ending in
        [Place.primary, .secondary(0)].map { place in
            flow("DEL-1", "the \(place)'s daemon may be \(ending.participle) at any time", needs: ending.needs) {
                stage, round in
                guard round == 1 || stage.draws(4) else { return }
                stage.pass(.milliseconds(Int64.random(in: 0...20, using: &stage.generator)))
                try stage.restart(place, ending)
            }
        }
    }

    private static let waiting: [Case] = [("SES-56", Place.primary), ("DEL-1", .secondary(0))].map { clause, place in
        Case(
            clause, "items that wait while the \(place)'s daemon is restarted arrive, and their ends are told",
            needs: [.durable, .restart]
        ) { stage in
            let primary = try stage.alone()
            let items = try stage.submit(0..<5, from: primary)
            try stage.wait("stored") { items.allSatisfy { primary.storedItems.contains($0.id) } }
            try stage.restart(place, stage.world.abilities.contains(.kill) ? .killed : .orderly)
            try stage.wait("the app has its daemon") { primary.session.activationState == .activated }
            // The daemon has answered which items it knows (SES-56) before one of them can end.
            stage.pass(.milliseconds(200))
            try stage.app(at: .secondary(0)).handle()
            try stage.wait("the ends are told") { items.allSatisfy { primary.endings[$0.id] == [.handled] } }
            // Nothing that was handled comes again with what follows.
            try stage.restart(place, .orderly)
            try stage.wait("the app has its daemon") { primary.session.activationState == .activated }
            let later = try stage.submit(5..<10, from: primary)
            try stage.wait("the later ends are told") { later.allSatisfy { primary.endings[$0.id] == [.handled] } }
            try stage.checkFlow(0..<10, at: .secondary(0))
        }
    }

    // MARK: apps

    private static let appRestarts = Case(
        "SES-51", "the receiving app may be killed at any time", needs: [.durable, .killApps]
    ) { stage in
        var (primary, secondary) = try stage.pair()
        secondary.handle()
        for number in 0..<60 {
            _ = primary.submit(Int64(number))
            stage.pass(.milliseconds(Int64.random(in: 0...10, using: &stage.generator)))
            guard stage.draws(6) else { continue }
            stage.world.end(secondary, .killed)
            secondary = try stage.app(at: .secondary(0))
            secondary.handle()
        }
        try stage.wait("all are told", within: .seconds(900), pauses: .seconds(1 + 2 + 4 + 8)) {
            primary.endings.count == 60
        }
        try stage.checkFlow(0..<60, at: .secondary(0))
        try demand(primary.endings.values.allSatisfy { $0 == [.handled] }, "each ends once")
    }

    private static let appInHand = Case(
        "SES-51", "an item whose handler was killed comes again, marked", needs: [.durable, .killApps]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        var tokens: [HandlingToken] = []
        secondary.handle { _, token in
            tokens.append(token)
            return nil
        }
        let items = try stage.submit(0..<3, from: primary)
        try stage.wait("the first is given") { !secondary.items.isEmpty }
        stage.world.end(secondary, .killed)
        let next = try stage.app(at: .secondary(0))
        next.handle()
        try stage.wait("all are handled", pauses: .seconds(1)) { items.allSatisfy { $0.outcome == .handled } }
        try demand(next.items.map(\.number) == [0, 1, 2], "in order: \(next.items.map(\.number))")
        try demand(next.items[0].facts.isRedelivery, "the first is marked")
    }

    private static let hearsLater = Case(
        "SES-50", "ends that no process of the app heard are told to the next one, once", needs: [.durable, .killApps]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        let items = try stage.submit(0..<10, from: primary)
        stage.world.end(primary, .killed)
        secondary.handle()
        try stage.wait("all are given") { secondary.items.count == 10 }
        stage.linger(.seconds(5))
        let next = try stage.app(at: .primary)
        try stage.wait("the ends are told") { next.endings.count == 10 }
        try demand(items.allSatisfy { next.endings[$0.id] == [.handled] }, "handled, once: \(next.endings)")
        stage.linger(.seconds(5))
        stage.world.end(next, .orderly)
        let last = try stage.app(at: .primary)
        stage.linger(.seconds(10))
        try demand(last.endings.isEmpty, "not told again: \(last.endings)")
    }

    private static let threeSecondaries = Case(
        "DEL-2", "each of three secondaries gets its own items only", needs: [.durable], secondaries: 3
    ) { stage in
        let primary = try stage.app(at: .primary)
        let others = try (0..<3).map { try stage.app(at: .secondary($0)) }
        for other in others { other.handle() }
        try stage.wait("all are reachable") { primary.reaches(3) }
        let items = (0..<90).map { primary.submit(Int64($0), to: stage.world.pairings[$0 % 3]) }
        try stage.wait("all are handled") { items.allSatisfy { $0.outcome == .handled } }
        for (place, other) in others.enumerated() {
            let expected = (0..<90).filter { $0 % 3 == place }.map { Int64($0) }
            try demand(other.items.map(\.number) == expected, "secondary \(place): \(other.items.map(\.number))")
        }
    }

    private static let chaos = flow(
        "DEL-5", "everything at once: cuts, kills, lost and repeated frames",
        needs: [.cut, .kill, .restart, .frameFaults, .manualTime],
        prepare: { stage in
            stage.world.frameFate = { [unowned stage] envelope in
                guard kinds.contains(envelope.kind) else { return .passes }
                return [.passes, .passes, .passes, .passes, .lost, .repeated(2), .overtaken][
                    Int.random(in: 0..<7, using: &stage.generator)]
            }
        }
    ) { stage, _ in
        switch Int.random(in: 0..<6, using: &stage.generator) {
        case 0: try stage.restart(.primary, .killed)
        case 1: try stage.restart(.secondary(0), .killed)
        case 2: stage.cutLinks()
        default: break
        }
    }
}

extension Stage {
    /// One chance in that many.
    func draws(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
}
