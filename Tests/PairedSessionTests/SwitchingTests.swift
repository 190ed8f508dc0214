// SES-31: a switch takes the default session of a primary through inactive and not activated to the new counterpart.
// Nothing that had arrived is lost, nothing is given to the wrong device, and sessions for a pairing notice nothing.

import PairedSession
import Synchronization
import TandemBase
import TandemDaemon
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct SwitchingTests {
    private let fixture: SessionFixture
    private let old: UniqueIdentifier
    private let new: UniqueIdentifier

    init() throws {
        fixture = try SessionFixture()
        (old, new) = (fixture.daemon.pair(), fixture.daemon.pair())
        fixture.activate()
    }

    /// The daemon tells of the switch; the library has not finished it.
    private func beginSwitch() {
        let gate = Gate()
        fixture.core.run { core in core.beforeSwitching { gate.done = $0 } }
        fixture.scheduler.run()
        fixture.daemon.situation.active = new
        fixture.tellSituation()
    }

    /// Keeps a switch open.
    ///
    /// `@unchecked`: only the manual scheduler's one thread uses it.
    private final class Gate: @unchecked Sendable {
        var done: (() -> Void)?
    }

    @Test("SES-31: while inactive new messages are 7016 for the default session and leave for one of a pairing")
    func inactive() throws {
        beginSwitch()
        #expect(fixture.session.activationState == .inactive)
        #expect(fixture.session.session(for: new).activationState == .activated)
        #expect(fixture.request().all.map(\.error?.code) == [.sessionInactive])
        for pairing in [old, new] { #expect(fixture.request(to: pairing).all.isEmpty) }
        #expect(fixture.daemon.received.suffix(2).map(\.pairing) == [old, new])
    }

    @Test("SES-31: what the default session asked ends with 7016, what a session for the pairing asked goes on")
    func inFlight() throws {
        let (asked, bound) = (fixture.request(), fixture.request(to: old))
        let question = try #require(fixture.daemon.received.last)
        fixture.daemon.situation.active = new
        fixture.tellSituation()
        let error = try #require(asked.all.first?.error)
        #expect(error.code == .sessionInactive && error.name == "switched" && error.isRetryable)
        #expect(error.messageID != nil && error.peer == fixture.daemon.situation.pairing(old)?.peer)
        #expect(bound.all.isEmpty && fixture.session.activationState == .activated)
        var reply = Envelope(.reply, app: question.app, pairing: old, id: question.id)
        reply = try reply.with(body: ["late": 1])
        fixture.daemon.send(reply)
        fixture.scheduler.run()
        #expect(bound.all.count == 1 && bound.all.first?.error == nil)
    }

    @Test("SES-31: a reply to a message of the former counterpart still goes there, after the switch, too")
    func replyTokens() throws {
        let messages = fixture.receive()
        let id = try fixture.daemon.message(["from": "old"], from: old, reply: true)
        fixture.scheduler.run()
        fixture.daemon.situation.active = new
        fixture.tellSituation()
        try #require(messages.all.first).reply(["to": "old"])
        fixture.scheduler.run()
        let reply = try #require(fixture.daemon.received.last)
        #expect(reply.kind == .reply && reply.pairing == old && reply.id == id)
    }

    @Test("SES-31: a secondary's session stays activated when its active primary changes")
    func secondary() throws {
        let fixture = try SessionFixture()
        fixture.daemon.role = .secondary
        let (_, other) = (fixture.daemon.pair(), fixture.daemon.pair())
        fixture.activate()
        let asked = fixture.request()
        fixture.daemon.situation.active = other
        fixture.tellSituation()
        #expect(fixture.session.activationState == .activated && asked.all.isEmpty)
    }

    @Test(
        "SES-31: three secondaries, random switching: nothing misdelivered, all labelled, every request ends once",
        arguments: Repetition.seeds(1, long: 3))
    func randomSwitching(seed: UInt64) throws {
        let apps = try SimulatedApps(secondaries: 3)
        apps.activateAll()
        var random = SeededGenerator(seed: seed)
        let (arrived, ended, pairings) = (Tally(), Tally(), apps.pairings)
        for (index, session) in apps.secondaries.enumerated() {
            session.core.run { core in
                core.receive { message in
                    let meant = message.dictionary?["for"]?.integerValue
                    arrived.add(meant == Int64(index) && message.pairing == pairings[index] ? "right" : "wrong")
                    try? message.reply(["from": .integer(Int64(index))])
                }
            }
        }
        apps.primary.core.run { core in
            core.receive { message in
                let sender = message.dictionary?["from"]?.integerValue.flatMap { Int(exactly: $0) } ?? -1
                arrived.add(pairings[sender] == message.pairing ? "labelled" : "mislabelled")
            }
        }
        apps.scheduler.run()
        for round in 0..<2000 {
            if random.next() % 5 == 0 { apps.simulator.activate(Int(random.next() % 3) + 1) }
            Self.send(round, to: nil, apps, ended)
            if random.next() % 4 == 0 { Self.send(round, to: apps.pairings[Int(random.next() % 3)], apps, ended) }
            let sender = Int(random.next() % 3)
            let content = OutgoingContent(["from": .integer(Int64(sender))])
            apps.secondaries[sender].core.run { $0.note(content, given: { _ in }) }
            if random.next() % 3 == 0 { apps.scheduler.run() }
        }
        apps.scheduler.advance(by: .seconds(31))
        #expect(arrived["wrong"] == 0 && arrived["mislabelled"] == 0)
        #expect(arrived["labelled"] == 2000 && arrived["right"] > 1000)
        #expect(ended["twice"] == 0 && ended["asked"] == ended["once"])
        #expect(ended["other"] == 0 && ended["misanswered"] == 0, "only replies and 7016 end requests")
        #expect(ended["switched"] > 0)
    }

    /// A request that names the device which is active when it is sent, as the loop sees it.
    private static func send(_ round: Int, to pairing: UniqueIdentifier?, _ apps: SimulatedApps, _ ended: Tally) {
        let pairings = apps.pairings
        apps.primary.core.run { core in
            ended.add("asked")
            let target = pairing ?? core.activePairing
            let number = target.flatMap { pairings.firstIndex(of: $0) } ?? -1
            let content = OutgoingContent(["for": .integer(Int64(number))])
            let once = Once()
            core.request(content, to: pairing) { result in
                ended.add(once.isFirst() ? "once" : "twice")
                switch result {
                case .success(let body):
                    let reply = try? PropertyListReader.readDictionary(body)
                    if reply?["from"]?.integerValue != Int64(number) { ended.add("misanswered") }
                case .failure(let error):
                    ended.add(error.code == .sessionInactive && pairing == nil ? "switched" : "other")
                }
            }
        }
    }

    @Test("SES-31, SES-48: a switch submits nothing again: the connection is the same")
    func submitsOnce() {
        let submission = Submission(.userInfo, to: new, OutgoingContent(["n": 1]))
        fixture.core.run { core in core.transfer(submission) { _ in } }
        fixture.scheduler.run()
        fixture.daemon.situation.active = new
        fixture.tellSituation()
        #expect(fixture.session.activationState == .activated)
        #expect(fixture.daemon.received.filter { $0.kind == .submit }.count == 1)
    }
}

/// Counts by name.
final class Tally: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    func add(_ name: String) { counts.withLock { $0[name, default: 0] += 1 } }

    subscript(name: String) -> Int { counts.withLock { $0[name] ?? 0 } }
}

/// Whether something happens for the first time.
final class Once: Sendable {
    private let happened = Mutex(false)

    func isFirst() -> Bool {
        happened.withLock { happened in
            defer { happened = true }
            return !happened
        }
    }
}
