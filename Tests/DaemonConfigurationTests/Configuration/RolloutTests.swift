// Staged rollouts between whole daemons (CFG-79): the first secondary decides whether the other one gets it, also over
// restarts of the primary.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSignedConfiguration
import TandemStore
import TandemTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)), .serialized) struct RolloutTests {
    private let nodes: TwoNodes

    init() throws {
        nodes = try TwoNodes(paired: true)
        try nodes.startOther(as: .secondary)
        try nodes.pair(nodes.primary, nodes.other)
    }

    /// Applies an envelope to one secondary first; returns the states or verdicts of both.
    private func apply(_ envelope: [UInt8], _ stage: PropertyListDictionary, wait: Int64 = 90_000) -> [String: String] {
        var body = nodes.application(of: envelope, wait: wait)
        for (key, value) in stage { body[key] = value }
        var answer: ControlAnswer?
        let exchanged = nodes.clock.now + .seconds(1)
        nodes.begin(nodes.primary, "apply", body) { answer = $0 }
        nodes.run(until: { answer != nil || nodes.clock.now > exchanged })
        if answer == nil { passTrial() }
        nodes.run(until: { answer != nil })
        #expect(answer?.code == 0, "\(String(describing: answer))")
        let results = (answer?.body.rows("results") ?? []).map { result in
            (result["name"]?.stringValue ?? "", (result["verdict"] ?? result["state"])?.stringValue ?? "")
        }
        return Dictionary(results) { first, _ in first }
    }

    /// An app has lived with its value for LIM-87.
    private func passTrial() { nodes.clock.advance(by: .seconds(45)) }

    private func rollout() throws -> String? {
        nodes.ask(nodes.primary, "configuration-list").body.rows("desired").first?["rollout"]?.stringValue
    }

    @Test func `CFG-79: the rollout comes to the other secondary when the first has applied it`() throws {
        let (app, other) = (try nodes.startApp(), try nodes.startApp(at: .other))
        let results = apply(try nodes.envelope(1), ["only": ["the other"]])
        #expect(results == ["the secondary": "applied", "the other": "applied"])
        #expect(app.offers.count == 1 && other.offers.count == 1)
        #expect(try rollout() == nil)
        #expect(Set(apply(try nodes.envelope(2), ["first": 1]).values) == ["applied"])
    }

    @Test func `CFG-79, CTL-25: a rejection by the first stops it, and only the operator lets it go on`() throws {
        let (app, other) = (try nodes.startApp(), try nodes.startApp(at: .other))
        app.answerOffers { OfferReply(VerificationFailure(.schema, "too loud"), of: $0.envelope) }
        let envelope = try nodes.envelope(1)
        let results = apply(envelope, ["only": ["the secondary"]])
        #expect(results == ["the secondary": "schema", "the other": "stopped"])
        #expect(try rollout() == "stopped: schema")
        try nodes.restart(.other)
        nodes.waitForLink()
        #expect(other.offers.isEmpty)
        let again = try nodes.startApp(at: .other)
        #expect(apply(envelope, [:]) == ["the secondary": "schema", "the other": "applied"])
        #expect(again.offers.count == 1)
    }

    @Test func `CFG-79, CFG-63: a value that the first app does not live with never gets to the other one`() throws {
        var (app, other) = (try nodes.startApp(), try nodes.startApp(at: .other))
        let results = apply(try nodes.envelope(1), ["only": ["the secondary"]], wait: 500)
        #expect(results == ["the secondary": "applied", "the other": "held-back"])
        #expect(try nodes.rows("desired", of: nodes.primary).first?["rollout"] == "waiting for the first", "CTL-23")
        for attempt in 1...3 {
            app.disconnect()
            if attempt < 3 { app = try nodes.startApp() }
        }
        nodes.run(until: { (try? rollout()) == "stopped: failed" })
        try nodes.restart(.other)
        nodes.waitForLink()
        #expect(other.offers.isEmpty)
        other = try nodes.startApp(at: .other)
        nodes.run(until: { true })
        #expect(other.offers.isEmpty)
    }

    @Test func `CFG-79: a rollout goes on after a restart of the primary`() throws {
        try nodes.startApp().disconnect()
        let other = try nodes.startApp(at: .other)
        let results = apply(try nodes.envelope(1), ["only": ["the secondary"]], wait: 500)
        #expect(results == ["the secondary": "waiting-for-app", "the other": "held-back"])
        try nodes.restart(.primary)
        nodes.waitForLink()
        #expect(try rollout() == "waiting for the first" && other.offers.isEmpty)
        let app = try nodes.startApp()
        nodes.run(until: { app.offers.count == 1 && nodes.reported() == "applied" })
        #expect(other.offers.isEmpty)
        try nodes.restart(.primary)
        nodes.waitForLink()
        passTrial()
        nodes.run(until: { other.offers.count == 1 })
        nodes.run(until: { (try? rollout()) == .some(nil) })
    }

    @Test func `CFG-79, CTL-25: of a number those with a link come first, whatever their names`() throws {
        let app = try nodes.startApp()
        try nodes.startApp(at: .other).disconnect()
        nodes.stop(.other)
        nodes.run(until: {
            (try? nodes.rows("pairings", of: nodes.primary))?.first { $0["name"] == "the other" }?["level"] != "linked"
        })
        let results = apply(try nodes.envelope(1), ["first": 1], wait: 500)
        #expect(results == ["the secondary": "applied", "the other": "held-back"])
        #expect(try rollout() == "waiting for the first")
        passTrial()
        nodes.run(until: { (try? rollout()) == .some(nil) })
        try nodes.start(.other)
        let other = try nodes.startApp(at: .other)
        nodes.run(until: { other.offers.count == 1 })
        #expect(app.offers.count == 1)
        let both = apply(try nodes.envelope(2), ["first": 2], wait: 500)
        #expect(both == ["the secondary": "applied", "the other": "applied"], "nobody is left to wait")
        for number: PropertyListValue in [0, -1, "1", 1.5] {
            var body = nodes.application(of: try nodes.envelope(3))
            body["first"] = number
            #expect(nodes.ask(nodes.primary, "apply", body).name == "bad-request")
        }
    }

    @Test func `CFG-79, CTL-25: of a number those that have the app come first, whatever their names and links`() throws
    {
        _ = try nodes.startApp()
        #expect(apply(try nodes.envelope(1), [:], wait: 500)["the secondary"] == "applied")
        let results = apply(try nodes.envelope(2), ["first": 1], wait: 500)
        #expect(results == ["the secondary": "applied", "the other": "no-app"])
        passTrial()
        nodes.run(until: { (try? rollout()) == .some(nil) })
        let other = try nodes.startApp(at: .other)
        nodes.waitFor("applied", at: "the other", version: 2)
        #expect(!other.offers.isEmpty)
    }

    @Test("CFG-79, CTL-25: the answer names the first secondaries that are waited for, also one without the app")
    func awaitedSecondaries() throws {
        _ = try nodes.startApp()
        var body = nodes.application(of: try nodes.envelope(1), wait: 500)
        body["first"] = 2
        func awaited() -> [String?] {
            let rows = nodes.ask(nodes.primary, "apply", body).body.rows("results")
            return rows.filter { $0["awaited"] == true }.map { $0["name"]?.stringValue }
        }
        #expect(Set(awaited()) == ["the secondary", "the other"])
        body["follow"] = true
        passTrial()
        nodes.run(until: { awaited() == ["the other"] })
        #expect(nodes.desired(of: "the other")?["noApp"] == true)
        body["follow"] = false
        body["first"] = nil
        #expect(awaited().isEmpty, "applied again to all")
    }

    @Test func `CTL-25: a name that no secondary has, or several have, begins nothing`() throws {
        var body = nodes.application(of: try nodes.envelope(1))
        body["only"] = ["the kitchen"]
        #expect(nodes.ask(nodes.primary, "apply", body).name == "not-found")
        body["only"] = []
        #expect(nodes.ask(nodes.primary, "apply", body).name == "bad-request")
        #expect(try nodes.rows("desired", of: nodes.primary).isEmpty)
    }

    @Test func `CTL-25: there is no rollout to the primary's own app`() throws {
        var body = nodes.application(of: try nodes.envelope(1) { $0.role = .primary })
        body["first"] = 1
        #expect(nodes.ask(nodes.primary, "apply", body).name == "bad-request")
    }

    @Test func `CFG-79: no rollout waits for a pairing whose end a crash has cut short`() throws {
        _ = try nodes.startApp()
        let waiting = apply(try nodes.envelope(1), ["only": ["the other"]], wait: 500)
        #expect(waiting == ["the other": "waiting-for-key", "the secondary": "held-back"])
        let ended = try #require(try nodes.rows("pairings", of: nodes.primary).first { $0["name"] == "the other" })
        let pairing = try #require(ended["pairing"]?.dataValue)
        nodes.stop()
        let store = try Store(path: nodes.directory.path("primary-state/tandem.sqlite"))
        let mine = try store.read(RowRange(space: RowSpace(rawValue: 1), limit: nil)).filter { $0.contains(pairing) }
        try #require(!mine.isEmpty)
        var isStored = false
        LoopStore(store, on: nodes.clock).commit(mine.map { .delete($0.space, key: $0.key) }) { _ in isStored = true }
        nodes.run(until: {
            _ = try? store.read(RowRange(space: RowSpace(rawValue: 1), limit: 1))
            return isStored
        })
        store.close()
        try nodes.start(.primary)
        nodes.run(until: { (try? rollout()) == "stopped: unpaired" })
        nodes.stop(.primary)
        let after = try Store(path: nodes.directory.path("primary-state/tandem.sqlite"))
        for space in [UInt8(3), 40, 41, 43, 45, 47] {
            let rows = try after.read(RowRange(space: RowSpace(rawValue: space), limit: nil))
            #expect(!rows.contains { $0.key.starts(with: pairing) }, "space \(space)")
        }
        after.close()
    }
}

extension Row {
    /// Whether its key or its value names an identifier.
    fileprivate func contains(_ bytes: [UInt8]) -> Bool {
        key.firstRange(of: bytes) != nil || value.firstRange(of: bytes) != nil
    }
}
