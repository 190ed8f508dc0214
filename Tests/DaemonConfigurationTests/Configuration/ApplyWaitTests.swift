// Configurations that wait, and those that end: for the clock, the app, its key or a newer one; lifetimes; several
// secondaries; and early failures, which are reported rarely.

import TandemBase
import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10)), .serialized) struct ApplyWaitTests {
    private let nodes: TwoNodes
    private let full = SessionError(.deliveryFailed, .inboxFull, reason: "the counterpart has too many unread messages")

    init() throws { nodes = try TwoNodes(paired: true) }

    private func state() throws -> String? { try nodes.held()?["state"]?.stringValue }

    @Test func `CFG-33: below the clock floor a configuration waits for the clock and is then tried again`() throws {
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        let (envelope, now) = (try nodes.envelope(2), nodes.clock.wallNow)
        nodes.clock.setWallClock(now + .seconds(-86_400))
        #expect(nodes.verdict(envelope) == "clock-unset")
        #expect(try state() == "waiting for clock")
        nodes.clock.setWallClock(now + .seconds(60))
        nodes.run(until: { (try? nodes.held())??["version"] == 2 })
        #expect(try app.offers.count == 2 && state() == "applied")
    }

    @Test func `CFG-33, CTL-12: a clock that once was years ahead locks out one app, until its key's trust ends`()
        throws
    {
        let app = try nodes.startApp()
        let now = nodes.clock.wallNow
        nodes.clock.setWallClock(now + .seconds(10 * 365 * 86_400))
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        nodes.clock.setWallClock(now)
        #expect(nodes.verdict(try nodes.envelope(2)) == "clock-unset")
        let problems = nodes.ask(nodes.secondary, "health").body.rows("problems")
        #expect(problems.contains { $0["name"] == "clock" && $0["pairing"] == nil })
        app.disconnect()
        #expect(nodes.endTrust().code == 0)
        _ = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(3)) == "applied")
    }

    @Test func `CTL-25: with begin an apply waits for the verdict of this device's own app, and for nobody else's`()
        throws
    {
        let app = try nodes.startApp()
        func begin(_ envelope: [UInt8], at node: Node) -> [PropertyListDictionary] {
            let body = nodes.application(of: envelope).merging(["begin": true])
            return nodes.ask(node, "apply", body).body.rows("results")
        }
        #expect(begin(try nodes.envelope(1), at: nodes.secondary).map { $0["verdict"] } == ["applied"])
        #expect(app.offers.count == 1)
        #expect(begin(try nodes.envelope(2), at: nodes.primary).map { $0["state"] } == ["queued"])
    }

    @Test
    func
        `CTL-25: apply at the app's own device ends when a newer version takes its place or the trusted key is removed`()
        throws
    {
        let app = try nodes.connect(to: .secondary, .init(anchor: nodes.signer.publicKey.key.pem)) { client in
            client.answerOffers { _ in nil }
        }
        var answers: [ControlAnswer?] = [nil, nil]
        func begin(_ number: Int) throws {
            let envelope = try nodes.envelope(UInt64(number) + 1)
            nodes.begin(nodes.secondary, "apply", nodes.application(of: envelope, wait: 60_000)) {
                answers[number] = $0
            }
            nodes.run(until: { app.offers.count == number + 1 })
        }
        try begin(0)
        let start = nodes.clock.now
        try begin(1)
        #expect(nodes.endTrust().code == 0)
        nodes.run(until: { answers.allSatisfy { $0 != nil } })
        for answer in answers {
            let result = try #require(answer?.body.rows("results").first)
            #expect(result["verdict"] == "superseded", "\(result)")
        }
        #expect(nodes.clock.now.since(start) < .seconds(5))
    }

    @Test func `CFG-34: a lifetime that is over reverts, tells the app, and lets only a higher version apply`() throws {
        let app = try nodes.startApp()
        let brief = try nodes.envelope(1) { $0.lifetime = 60 }
        #expect(nodes.verdict(brief) == "applied")
        nodes.clock.advance(by: .seconds(45))
        #expect(try state() == "applied" && app.reloads == 0)
        nodes.clock.advance(by: .seconds(30))
        nodes.run(until: { app.reloads == 1 })
        #expect(try state() == "none")
        #expect(nodes.verdict(brief) == "rollback")
        #expect(nodes.verdict(try nodes.envelope(2)) == "applied")
    }

    @Test func `CFG-43: an app that does not answer, or about other bytes, is asked again at its next registration`()
        throws
    {
        let app = try nodes.startApp()
        let envelope = try nodes.envelope(1)
        for answer in [nil, OfferReply(VerificationFailure(.schema, "other bytes"), of: [1, 2, 3])] {
            app.answerOffers { _ in answer }
            #expect(nodes.verdict(envelope, wait: 60_000) == "waiting-for-app")
        }
        #expect(try state() == "waiting for app")
        app.disconnect()
        let next = try nodes.startApp()
        nodes.run(until: { nodes.reported() == "applied" })
        #expect(next.offers.map(\.envelope) == [envelope])
    }

    @Test func `CFG-43: an app with too many unread messages gets the configuration once it has room again`() throws {
        let app = try nodes.startApp()
        app.offerFailure = full
        #expect(nodes.verdict(try nodes.envelope(1)) == "waiting-for-app")
        // More often than an offer has attempts.
        nodes.run(until: { app.received(.configuration).count == 5 })
        #expect(nodes.lines("no verdict of the app, the configuration waits").count >= 4)
        app.offerFailure = nil
        nodes.run(until: { nodes.reported() == "applied" })
        #expect(try state() == "applied")
    }

    @Test func `CFG-43, CFG-42: an app with too many unread messages reads its files once it has room again`() throws {
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(1) { $0.lifetime = 60 }) == "applied")
        app.offerFailure = full
        nodes.clock.advance(by: .seconds(75))
        nodes.run(until: { (try? state()) == "none" })
        #expect(app.reloads == 0)
        app.offerFailure = nil
        nodes.run(until: { app.reloads == 1 })
    }

    @Test
    func
        `CFG-17, CFG-74, CTL-27: the operator's key ends waiting-for-key and stays against an app's other key, which shows`()
        throws
    {
        let envelope = try nodes.envelope(1)
        #expect(nodes.verdict(envelope) == "waiting-for-key")
        #expect(nodes.trust(nodes.signer.publicKey.key.pem, at: nodes.secondary).code == 0)
        #expect(nodes.verdict(envelope) == "waiting-for-app")
        let stranger = ConfigurationPrivateKey.generate().publicKey.key.pem
        try nodes.startApp(.init(anchor: stranger)).disconnect()
        #expect(
            nodes.hasNoted(
                "alarm: anchor-conflict, another configuration key is trusted and stays; see 'tandem trust replace'"))
        #expect(nodes.verdict(try nodes.envelope(2)) == "waiting-for-app")
        func isConflicting() -> Bool {
            nodes.ask(nodes.secondary, "trust-list").body.rows("anchors").first?["conflict"] == true
        }
        let apps = nodes.ask(nodes.secondary, "status").body.rows("applications")
        #expect(isConflicting() && apps.first?["conflict"] == true)
        try nodes.startApp().disconnect()
        #expect(!isConflicting())
    }

    @Test func `CTL-27: a conflict is that of the app's last registration, whichever key is trusted`() throws {
        let app = try nodes.startApp()
        func isConflicting() -> Bool { nodes.trusted(by: nodes.secondary)?["conflict"] == true }
        #expect(!isConflicting())
        let next = ConfigurationPrivateKey.generate().publicKey.key.pem
        let body = nodes.body(["role": "secondary", "key": .string(next), "yes": true])
        #expect(nodes.ask(nodes.secondary, "trust-replace", body).body["done"] == true)
        #expect(isConflicting(), "the app that is connected has the former key")
        app.disconnect()
        #expect(isConflicting())
        try nodes.startApp(.init()).disconnect()
        #expect(!isConflicting(), "the next build of the app has none")
    }

    @Test func `LIM-54: conflicting keys of one user's apps write so many alarms in a minute`() throws {
        try nodes.startApp().disconnect()
        for _ in 0..<30 {
            try nodes.startApp(.init(anchor: ConfigurationPrivateKey.generate().publicKey.key.pem)).disconnect()
        }
        let alarms = nodes.notes.filter { "\($0.message)".hasPrefix("alarm: anchor-conflict") }
        #expect(alarms.count == 20)
    }

    @Test func `CFG-32: what waits for the app is superseded by a higher version, and a lower one is refused`() throws {
        try nodes.startApp().disconnect()
        let (first, second) = (try nodes.envelope(1), try nodes.envelope(2))
        #expect(nodes.verdict(first) == "waiting-for-app")
        #expect(nodes.verdict(second) == "waiting-for-app")
        nodes.run(until: {
            (try? nodes.rows("configurations", of: nodes.primary).contains { $0["lastVerdict"] == "superseded" })
                == true
        })
        #expect(nodes.verdict(first) == "rollback")
        #expect(nodes.verdict(try nodes.envelope(2) { $0.values = ["volume": 1] }) == "equivocation")
        let app = try nodes.startApp()
        nodes.run(until: { (try? state()) == "applied" })
        #expect(app.offers.map(\.envelope) == [second])
    }

    @Test func `CFG-52: of early failures within a minute the first is reported, and then each of the others`() throws {
        _ = try nodes.startApp()
        let forged = try (1...3).map { try nodes.envelope($0, with: .generate()) }
        #expect(nodes.verdict(forged[0]) == "threshold")
        #expect(nodes.verdict(forged[1], wait: 1000) == nil)
        let last = try #require(nodes.results(forged[2], wait: 90_000)["the secondary"])
        #expect(last["verdict"] == "threshold", "\(last)")
        #expect(nodes.lines("configuration reported").count == 3)
    }

    @Test func `CFG-10, CTL-4: each secondary reports for itself, and 'only' narrows to those that it names`() throws {
        try nodes.startOther(as: .secondary)
        try nodes.pair(nodes.primary, nodes.other)
        let (app, other) = (try nodes.startApp(), try nodes.startApp(at: .other))
        let all = nodes.results(try nodes.envelope(1))
        #expect(all.mapValues { $0["verdict"]?.stringValue } == ["the secondary": "applied", "the other": "applied"])
        let device = try nodes.device(of: nodes.other)
        let named = nodes.results(try nodes.envelope(2) { $0.only = [device] })
        #expect(named.mapValues { $0["verdict"]?.stringValue } == ["the other": "applied"])
        #expect(app.offers.count == 1 && other.offers.count == 2)
        other.disconnect()
        let mixed = nodes.results(try nodes.envelope(3))
        #expect(
            mixed.mapValues { $0["verdict"]?.stringValue } == [
                "the secondary": "applied", "the other": "waiting-for-app",
            ])
    }

    @Test func `CFG-21, CTL-25: a primary that trusts no key for a configuration says that it has not checked it`()
        throws
    {
        _ = try nodes.startApp()
        func isUnchecked(_ envelope: [UInt8]) -> Bool {
            let answer = nodes.ask(nodes.primary, "apply", nodes.application(of: envelope, wait: 0))
            return answer.body["unchecked"] == true
        }
        #expect(isUnchecked(try nodes.envelope(1)))
        #expect(nodes.trust(nodes.signer.publicKey.key.pem, at: nodes.primary).code == 0)
        #expect(!isUnchecked(try nodes.envelope(2)))
    }

    @Test func `CFG-21: a primary's own configuration goes to the app on the primary`() throws {
        let app = try nodes.startApp(at: .primary)
        let envelope = try nodes.envelope(1) { $0.role = .primary }
        #expect(nodes.verdict(envelope) == "applied")
        #expect(app.offers.map(\.envelope) == [envelope])
        #expect(nodes.verdict(envelope, at: nodes.secondary) == "wrong-role")
    }

    @Test func `CFG-31, CTL-4: without a pairing nothing is applied or forwarded`() throws {
        let envelope = try nodes.envelope(1)
        for node in [nodes.primary, nodes.secondary] {
            try nodes.unpair(node)
            #expect(nodes.verdict(envelope, at: node) == "not-found")
        }
    }
}
