// Work of users on the loop (SES-93, LIM-158): a burst of control requests, or of configurations that apps hand over,
// keeps neither the loop's events nor another user waiting.

import TandemBase
import TandemDaemonTestSupport
import TandemOperations
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

/// The turns of a scheduler; one that is idle makes no more.
private final class TurnCount {
    private(set) var count = 0
    private let scheduler: ManualScheduler

    init(of scheduler: ManualScheduler, turns: Int) {
        self.scheduler = scheduler
        next(turns)
    }

    private func next(_ left: Int) {
        guard left > 0 else { return }
        scheduler.atEndOfTurn { [self] in
            scheduler.schedule(after: .zero) { [self] in
                count += 1
                next(left - 1)
            }
        }
    }
}

/// Answers at once, and knows who has asked in which turn.
private final class Answerer: ControlResponder {
    private(set) var asked: [(user: UInt32, turn: Int)] = []
    private let turns: TurnCount
    /// The command that it does not know.
    var unknown: String?

    init(_ turns: TurnCount) { self.turns = turns }

    func refusal(of request: ControlRequest) -> ControlFailure? {
        request.command == unknown ? ControlFailure(.unknownCommand, "") : nil
    }

    func respond(to request: ControlRequest, completion: @escaping (ControlAnswer) -> Void) {
        asked.append((request.caller.user, turns.count))
        completion(.done())
    }
}

@Suite struct LoopWorkTests {
    private let device = TestDevice(.primary)

    private var scheduler: ManualScheduler { device.scheduler }

    /// Sends so many requests in one burst.
    private func burst(_ count: Int, from client: Client) throws {
        for _ in 0..<count { try client.send(Envelope(.control, id: .random(), command: "status")) }
    }

    @Test("SES-93, LIM-158: of a burst of control requests each begins in a turn of its own, and users go round")
    func burst() throws {
        let hostile = try (0..<10).map { _ in try device.greet(user: 2000) }
        let other = try device.greet(user: 2001)
        let own = try device.greet(user: 0)
        let answerer = Answerer(TurnCount(of: scheduler, turns: 1000))
        device.endpoint.controlResponder = answerer
        for client in hostile { try burst(20, from: client) }
        try burst(1, from: other)
        try burst(1, from: own)
        scheduler.run()
        #expect(answerer.asked.count == 202)
        #expect(Set(answerer.asked.map(\.turn)).count == 202, "one in a turn")
        let places = [2001, 0].compactMap { user in answerer.asked.firstIndex { $0.user == user } }
        #expect(places.count == 2 && places.allSatisfy { $0 <= 4 }, "\(places)")
        #expect(hostile.allSatisfy { $0.received(.result).count == 20 && $0.refusal == nil })
    }

    @Test("SES-93: other frames of the loop are served between two pieces of work")
    func others() throws {
        let answerer = Answerer(TurnCount(of: scheduler, turns: 0))
        device.endpoint.controlResponder = answerer
        let hostile = try (0..<4).map { _ in try device.greet(user: 2000) }
        let app = try device.app()
        var askedBefore: Int?
        app.onFrame = { _, _, envelope in if envelope.kind == .pong { askedBefore = answerer.asked.count } }
        for client in hostile { try burst(20, from: client) }
        try app.send(Envelope(.ping, id: .random()))
        scheduler.run()
        #expect(try #require(askedBefore) <= 3 && answerer.asked.count == 80)
    }

    @Test("SES-93, LIM-18: a connection is not read while a request of it waits, so that a burst is not too many")
    func notRead() throws {
        let answerer = Answerer(TurnCount(of: scheduler, turns: 0))
        device.endpoint.controlResponder = answerer
        let client = try device.greet()
        try burst(200, from: client)
        try client.send(Envelope(.ping, id: .random()))
        scheduler.run()
        #expect(client.received(.result).map(\.code) == [Int](repeating: 0, count: 200) && answerer.asked.count == 200)
        #expect(client.envelopes.last?.kind == .pong, "its further frames follow in their order")
    }

    @Test("SES-93: for a connection that ends while its request waits nothing is done")
    func ended() throws {
        let answerer = Answerer(TurnCount(of: scheduler, turns: 0))
        device.endpoint.controlResponder = answerer
        let client = try device.greet(user: 2000)
        let work = device.endpoint.accounts.work
        for piece in 1...20 {
            work.wait(of: 2000, isControl: true) { [device] in if piece == 20 { [device.endpoint].close {} } }
        }
        try burst(3, from: client)
        scheduler.run()
        #expect(answerer.asked.isEmpty && client.isClosed && device.endpoint.connectionCount == 0)
    }

    @Test("SES-93: nothing waits any longer once the last connection has ended")
    func emptied() throws {
        let client = try device.greet(user: 2000)
        var begun = 0
        for _ in 0..<1000 { device.endpoint.accounts.work.wait(of: 2000) { begun += 1 } }
        [device.endpoint].close {}
        scheduler.run()
        #expect(client.isClosed && begun < 1000)
    }

    @Test("LIM-159: requests wait up to their user's share; the first one of a user waits whatever its size")
    func share() {
        let work = LoopWork(on: scheduler)
        var begun = 0
        func wait(_ user: UInt32, _ bytes: Int) -> Bool { work.wait(of: user, holding: bytes) { begun += 1 } }
        #expect((0..<6).map { _ in wait(2000, 512 << 10) } == [true, true, true, true, false, false])
        #expect(wait(2001, 3 << 20) && !wait(2001, 1) && wait(2001, 0))
        scheduler.run()
        #expect(begun == 6 && wait(2000, 512 << 10), "what has had its turn leaves its room")
    }

    @Test("LIM-47, LIM-159: an operator's requests wait up to all that the others' leave")
    func shareOfOperators() {
        let work = LoopWork(on: scheduler, operators: [0])
        func wait(_ user: UInt32, _ bytes: Int) -> Bool { work.wait(of: user, holding: bytes) {} }
        #expect(wait(2000, 2 << 20) && wait(0, 512 << 10))
        #expect(!wait(2000, 1) && wait(0, 1 << 20) && wait(0, 512 << 10) && !wait(0, 1))
    }

    @Test("LIM-47, LIM-159: root and the daemon's user are the operators of a device")
    func operators() throws {
        let work = device.endpoint.accounts.work
        for user in [0, Simulation.user, 2000] as [UInt32] {
            #expect(work.wait(of: user, holding: 1) {})
            #expect(work.wait(of: user, holding: 1200 << 10) {} == (user != 2000))
        }
    }

    @Test("SES-93, LIM-159: a request that has to wait beyond the share is answered full, and another user's is not")
    func full() throws {
        let answerer = Answerer(TurnCount(of: scheduler, turns: 0))
        device.endpoint.controlResponder = answerer
        let (client, other) = (try device.greet(user: 2000), try device.greet(user: 2001))
        let work = device.endpoint.accounts.work
        #expect(work.beginsNow(), "so that what comes next has to wait")
        for _ in 0..<20 { work.wait(of: 2000) {} }
        #expect(work.wait(of: 2000, holding: 4 << 20) {})
        try burst(1, from: client)
        try burst(1, from: other)
        scheduler.run()
        #expect(client.received(.result).map(\.name) == ["full"] && other.received(.result).map(\.code) == [0])
        try burst(1, from: client)
        scheduler.run()
        #expect(client.received(.result).last?.code == 0 && answerer.asked.map(\.user) == [2001, 2000])
    }

    @Test("SES-93, LIM-158: of a burst of registrations with anchors each has a turn of its own, and others need none")
    func registrations() throws {
        var turns: TurnCount?
        var registered: [(app: String, turn: Int)] = []
        var read: [Int] = []
        var outlets = LocalEndpoint.Outlets(
            store: { _, _ in true }, directory: { _ in nil },
            connected: { registered.append(($0.app.description, turns?.count ?? 0)) }, disconnected: { _, _ in })
        outlets.readAnchor = { _, _ in
            read.append(turns?.count ?? 0)
            return nil
        }
        device.endpoint.connect(outlets)
        let names = (0..<10).map { "org.example.a\($0)" } + ["org.example.plain"]
        // Owned from now on: a claim takes its own time.
        for name in names { try device.app(name).disconnect() }
        scheduler.run()
        registered = []
        let clients = try names.map { ($0, try device.greet()) }
        turns = TurnCount(of: scheduler, turns: 100)
        for (name, client) in clients {
            let anchor = name.hasSuffix("plain") ? nil : "PEM"
            let body = TandemSession.Registration(anchor: anchor).body
            try client.send(Envelope(.register, app: ApplicationIdentifier(name)).with(body: body))
        }
        scheduler.run()
        let anchored = registered.filter { !$0.app.hasSuffix("plain") }.map(\.turn)
        #expect(anchored.count == 10 && Set(anchored).count == 10, "one in a turn")
        #expect(read == anchored, "and its anchor is read there")
        #expect(registered.count == 11 && registered.firstIndex { $0.app.hasSuffix("plain") } ?? 11 <= 1)
    }

    @Test(
        "SES-93, LIM-19: where the answer tells of many pairings each registration of a burst has a turn of its own",
        arguments: [8, 9])
    func longAnswers(pairings: Int) throws {
        for _ in 0..<pairings {
            device.relay.setPairing(
                RelayedPairing(pairing: .random(), role: .primary, peer: .random(), name: "a panel"))
        }
        var turns: TurnCount?
        var registered: [Int] = []
        device.endpoint.connect(
            LocalEndpoint.Outlets(
                store: { _, _ in true }, directory: { _ in nil },
                connected: { _ in registered.append(turns?.count ?? 0) }, disconnected: { _, _ in }))
        let names = (0..<10).map { "org.example.a\($0)" }
        // Owned from now on: a claim takes its own time.
        for name in names { try device.app(name).disconnect() }
        scheduler.run()
        registered = []
        let clients = try names.map { ($0, try device.greet()) }
        turns = TurnCount(of: scheduler, turns: 100)
        for (name, client) in clients {
            let body = TandemSession.Registration().body
            try client.send(Envelope(.register, app: ApplicationIdentifier(name)).with(body: body))
        }
        scheduler.run()
        #expect(registered.count == 10 && (Set(registered).count == 10) == (pairings > 8))
        #expect(clients.allSatisfy { $0.1.received(.registered).count == 1 })
    }

    @Test("SES-93: a control request waits for one piece of its user's other work, however many of those wait")
    func requestBehindRegistrations() {
        let work = LoopWork(on: scheduler)
        var done: [String] = []
        #expect(work.beginsNow())
        for _ in 0..<300 { #expect(work.wait(of: 2000, holding: 0) { done.append("register") }) }
        #expect(work.wait(of: 2000, holding: 0, isControl: true) { done.append("status") })
        scheduler.run()
        #expect(done.count == 301 && done.prefix(2).contains("status"))
    }

    @Test("SES-93: an unknown command is answered without a turn")
    func unknown() throws {
        let answerer = Answerer(TurnCount(of: scheduler, turns: 0))
        answerer.unknown = "x"
        device.endpoint.controlResponder = answerer
        let client = try device.greet(user: 2000)
        let work = device.endpoint.accounts.work
        var names: [String?]?
        for _ in 0..<20 { work.wait(of: 2000) {} }
        work.wait(of: 2000) { names = client.received(.result).map(\.name) }
        try client.send(Envelope(.control, id: .random(), command: "x"))
        scheduler.run()
        #expect(names == ["unknown-command"] && answerer.asked.isEmpty)
    }

    @Test("SES-93: answers that are worked out in parts take turns, one part in each")
    func parts() {
        let turns = TurnCount(of: scheduler, turns: 100)
        let work = LoopWork(on: scheduler)
        var done: [(answer: Int, turn: Int)] = []
        for answer in 0..<3 {
            scheduler.start {
                for _ in 0..<4 {
                    await work.nextPiece(of: nil)
                    done.append((answer, turns.count))
                }
            }
        }
        #expect(done.isEmpty)
        scheduler.run()
        #expect(done.map(\.answer) == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2])
        #expect(Set(done.map(\.turn)).count == 12)
    }

    @Test("SES-93: parts of answers go round by user, however many answers of one are worked out")
    func partsOfUsers() {
        let parts = LoopWork(on: scheduler)
        var done: [UInt32] = []
        for user in [UInt32](repeating: 2000, count: 50) + [0] {
            scheduler.start {
                var pace = AnswerPace(parts, of: user)
                for _ in 0..<3 * AnswerPace.stepsAtOnce { await pace.step() }
                done.append(user)
            }
        }
        #expect(done.isEmpty)
        scheduler.run()
        #expect(done.count == 51 && done.first == 0, "three parts, each behind one of the other user")
    }

    @Test("SES-93: judgements that wait for the end of a commit run one in a turn, and users go round")
    func judgements() {
        let judgements = JudgementTurns(LoopWork(on: scheduler))
        let committed = CommittedState(0, in: LoopStore(UnwillingStore(), on: scheduler))
        var turns: TurnCount?
        var judged: [(user: UInt32, turn: Int)] = []
        scheduler.start { await committed.hold() }
        for user in [UInt32](repeating: 2000, count: 10) + [2001] {
            scheduler.start {
                await judgements.begin(of: user)
                _ = try? await committed.commit { _ in Commit([]) { judged.append((user, turns?.count ?? 0)) } }
                judgements.end()
            }
        }
        scheduler.run()
        #expect(judged.isEmpty, "the commit is under way")
        turns = TurnCount(of: scheduler, turns: 100)
        committed.release()
        scheduler.run()
        #expect(judged.count == 11 && Set(judged.map(\.turn)).count == 11, "one in a turn")
        #expect(judged.firstIndex { $0.user == 2001 } == 2)
    }
}

@Suite struct BroughtConfigurationTests {
    private let simulation = Simulation()

    private func apply(_ app: String) throws -> Envelope {
        try Envelope(
            .query, app: ApplicationIdentifier(app), id: .random(), channel: .configuration, command: "apply"
        ).with(body: ["envelope": .data([1])])
    }

    @Test("SES-93, LIM-158: of the configurations that apps hand over one is judged in a turn, and users go round")
    func burst() throws {
        let endpoint = simulation.simulator.endpoint(.secondary)
        var judged: [(app: String, turn: Int)] = []
        var outlets = LocalEndpoint.Outlets(
            store: { _, _ in true }, directory: { _ in nil }, connected: { _ in }, disconnected: { _, _ in })
        var turns: TurnCount?
        outlets.apply = { app, _ in
            judged.append((app.description, turns?.count ?? 0))
            return ApplyAnswer(verdict: "bad-signature", text: "")
        }
        endpoint.connect(outlets)
        let first = try simulation.app(.secondary, "org.example.a", user: 2000)
        let second = try simulation.app(.secondary, "org.example.b", user: 2000)
        let other = try simulation.app(.secondary, "org.example.c", user: 2001)
        let peer = try simulation.app(.primary, "org.example.a", user: 2000)
        turns = TurnCount(of: simulation.scheduler, turns: 1000)
        for _ in 0..<30 {
            try first.send(apply("org.example.a"))
            try second.send(apply("org.example.b"))
        }
        try first.send(simulation.message(app: "org.example.a", wantsReply: false))
        try other.send(apply("org.example.c"))
        simulation.scheduler.run()
        #expect(judged.count == 61 && Set(judged.map(\.turn)).count == 61, "one in a turn")
        #expect(try #require(judged.firstIndex { $0.app == "org.example.c" }) <= 3)
        for app in [first, second] { #expect(app.received(.answer).map(\.code) == [Int](repeating: 0, count: 30)) }
        #expect(peer.received(.message).count == 1, "what follows in its connection comes after it")
    }

    @Test("SES-93: one configuration of an app is judged at a time, also after the connection that sent it has ended")
    func onePerApp() throws {
        let endpoint = simulation.simulator.endpoint(.secondary)
        var held: CheckedContinuation<ApplyAnswer, Never>?
        var outlets = LocalEndpoint.Outlets(
            store: { _, _ in true }, directory: { _ in nil }, connected: { _ in }, disconnected: { _, _ in })
        outlets.apply = { _, _ in await withCheckedContinuation { held = $0 } }
        endpoint.connect(outlets)
        for isFirst in [true, false] {
            let app = try simulation.app(.secondary, "org.example.a")
            try app.send(apply("org.example.a"))
            simulation.scheduler.run()
            #expect(app.received(.answer).map(\.name) == (isFirst ? [] : ["too-many-requests"]))
            app.disconnect()
            simulation.scheduler.run()
        }
        held?.resume(returning: ApplyAnswer(verdict: "bad-signature", text: ""))
        held = nil
        simulation.scheduler.run()
        try simulation.app(.secondary, "org.example.a").send(apply("org.example.a"))
        simulation.scheduler.run()
        #expect(held != nil, "the next one is judged")
        held?.resume(returning: ApplyAnswer(verdict: "bad-signature", text: ""))
        simulation.scheduler.run()
    }
}
