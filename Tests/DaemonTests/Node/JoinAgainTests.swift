// Pairings that go on: a device that joins again, a primary that moves, and what the end of a pairing takes with it and
// what it leaves to another primary.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct JoinAgainTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes() }

    private func link(of node: Node) throws -> PropertyListValue {
        try #require(nodes.ask(node, "pair").body["link"])
    }

    /// Submits items at the secondary that wait, because the link is down.
    private func submitItems(_ count: Int) throws {
        try nodes.startApp(at: .primary, .init()).disconnect()
        let app = try nodes.startApp(at: .secondary, .init())
        nodes.run(until: { nodes.seesInstalled(app) == true })
        nodes.network.takeDown()
        let pairing = try nodes.pairingIdentifier(of: nodes.secondary)
        for _ in 0..<count { try app.send(nodes.item(through: pairing)) }
        nodes.run(until: { app.received(.accepted).count == count })
    }

    @Test func `PAR-16: a device that joins again keeps its pairing, its items and its configuration`() throws {
        try nodes.pair()
        let app = try nodes.startApp()
        let envelope = try nodes.envelope(1)
        #expect(nodes.verdict(envelope) == "applied")
        let pairing = try nodes.pairing(of: nodes.secondary)
        app.disconnect()
        try submitItems(2)
        nodes.network.isDown = false
        // The dialler has not tried again yet: the join is the first to reach the primary.
        #expect(nodes.ask(nodes.secondary, "join", ["link": try link(of: nodes.primary)]).code == 0)
        nodes.waitForLink()
        for node in [nodes.primary, nodes.secondary] {
            #expect(try nodes.rows("pairings", of: node).map { $0["pairing"] } == [pairing])
        }
        let receiver = try nodes.startApp(at: .primary, .init())
        nodes.run(until: { receiver.received(.delivery).count == 1 })
        #expect(try nodes.held()?["state"] == "applied")
        _ = try nodes.startApp()
        #expect(nodes.verdict(envelope) == "applied", "the same file again, and not a rollback")
        #expect(!nodes.hasNoted("unpaired"))
    }

    @Test func `PAR-16: a pairing that its primary has ended is replaced only when the operator knows what is lost`()
        throws
    {
        try nodes.pair()
        try submitItems(3)
        let old = try nodes.pairing(of: nodes.secondary)
        try nodes.unpair(nodes.primary)
        nodes.network.isDown = false
        let link = try link(of: nodes.primary)
        let refused = nodes.ask(nodes.secondary, "join", ["link": link])
        #expect(refused.name == "would-replace")
        let text = refused.body["text"]?.stringValue ?? ""
        #expect(text.contains("3 items, 0 files") && text.contains("--replace"), "\(text)")
        #expect(try nodes.rows("queues", of: nodes.secondary).map { $0["waiting"] } == [3])
        let joined = nodes.ask(nodes.secondary, "join", ["link": link, "replace": true])
        #expect(joined.code == 0, "\(joined)")
        nodes.run(until: {
            (try? nodes.rows("pairings", of: nodes.secondary).contains { $0["pairing"] == old }) == false
        })
        nodes.waitForLink()
        #expect(try nodes.rows("queues", of: nodes.secondary).isEmpty)
    }

    @Test func `PAR-16: a secondary that has ended its pairing gets it back, and everything arrives in a new epoch`()
        throws
    {
        try nodes.pair()
        let receiver = try nodes.startApp()
        let pairing = try nodes.pairing(of: nodes.primary)
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        let sender = try nodes.startApp(at: .primary, .init())
        try nodes.unpair(nodes.secondary)
        nodes.run(until: { (try? nodes.rows("pairings", of: nodes.primary).first?["level"]) == "unreachable" })
        #expect(nodes.ask(nodes.secondary, "join", ["link": try link(of: nodes.primary)]).code == 0)
        nodes.waitForLink()
        #expect(try nodes.pairing(of: nodes.secondary) == pairing)
        try sender.send(nodes.item())
        nodes.run(until: { receiver.received(.delivery).count == 1 })
    }

    @Test func `PAR-16, CTL-10: a pairing that was ended here and made again has no error of the time before`() throws {
        try nodes.pair()
        let pairing = try nodes.pairing(of: nodes.secondary)
        try nodes.unpair(nodes.secondary)
        try nodes.pair()
        let row = try #require(try nodes.rows("pairings", of: nodes.secondary).first)
        #expect(row["pairing"] == pairing && row["error"] == nil, "\(row)")
    }

    @Test func `PAR-6, CTL-4: a device cannot join itself, by link or by fingerprint`() throws {
        let answer = nodes.ask(nodes.primary, "join", ["link": try link(of: nodes.primary)])
        #expect(answer.name == "own-device" && answer.body["text"]?.stringValue?.contains("other device") == true)
        let fingerprint = try #require(try nodes.status(of: nodes.primary)["fingerprint"])
        let body: PropertyListDictionary = ["fingerprint": fingerprint, "role": "secondary"]
        #expect(nodes.ask(nodes.primary, "trust-device", body).name == "own-device")
        #expect(try nodes.rows("pairings", of: nodes.primary).isEmpty)
    }

    @Test func `PAR-13, CTL-29: unpair counts what it drops, and drops nothing before the operator agrees`() throws {
        try nodes.pair()
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        app.disconnect()
        try submitItems(2)
        let pairing = try nodes.pairing(of: nodes.secondary)
        var request: PropertyListDictionary = ["pairing": pairing]
        var dropped: PropertyListDictionary = [
            "done": false, "pairing": pairing, "name": "the primary", "role": "secondary", "items": 2, "files": 0,
            "configurations": 1, "edits": 0, "unchosen": [],
        ]
        let asked = nodes.ask(nodes.secondary, "unpair", request)
        #expect(asked.code == 0 && asked.body == dropped, "\(asked)")
        #expect(try nodes.rows("pairings", of: nodes.secondary).count == 1)
        (request["yes"], dropped["done"]) = (true, true)
        let ended = nodes.ask(nodes.secondary, "unpair", request)
        #expect(ended.code == 0 && ended.body == dropped, "\(ended)")
        #expect(try nodes.rows("pairings", of: nodes.secondary).isEmpty)
    }

    @Test func `PAR-19: a primary that moved is found at its new address without pairing again`() throws {
        try nodes.pair()
        let pairing = try nodes.pairing(of: nodes.secondary)
        nodes.stop(.primary)
        nodes.linkName = "moved.sock"
        try nodes.start(.primary)
        let address = SocketAddress.unix(path: nodes.directory.path("moved.sock")).description
        nodes.run(until: { (try? nodes.rows("pairings", of: nodes.secondary).first?["level"]) == "unreachable" })
        let answer = nodes.ask(nodes.secondary, "address", ["who": "the primary", "address": .string(address)])
        #expect(answer.code == 0 && answer.body["pairing"] == pairing && answer.body["former"] != nil)
        nodes.waitForLink()
        try nodes.restart(.secondary)
        nodes.waitForLink()
        #expect(nodes.ask(nodes.primary, "address", ["pairing": pairing, "address": "a:1"]).name == "wrong-role")
        #expect(nodes.ask(nodes.secondary, "address", ["who": "nobody", "address": "a:1"]).name == "not-found")
        #expect(nodes.ask(nodes.secondary, "address", ["pairing": pairing, "address": "a b"]).name == "bad-request")
    }

    @Test func `PAR-19: joining again with a link from another address is enough`() throws {
        try nodes.pair()
        let pairing = try nodes.pairing(of: nodes.secondary)
        nodes.stop(.primary)
        nodes.linkName = "moved.sock"
        try nodes.start(.primary)
        #expect(nodes.ask(nodes.secondary, "join", ["link": try link(of: nodes.primary)]).code == 0)
        nodes.waitForLink()
        #expect(try nodes.pairing(of: nodes.secondary) == pairing)
    }

    @Test func `CFG-31: what two primaries target by one custom identifier stays when one of them is unpaired`() throws
    {
        try nodes.pair()
        try nodes.startOther(as: .primary)
        try nodes.pair(nodes.other, nodes.secondary)
        let app = try nodes.startApp()
        for place in [TwoNodes.Place.primary, .other] {
            try nodes.connect(to: place, .init(identifier: CustomIdentifier("the-kitchen"))).disconnect()
        }
        let kitchen = try PairedIdentifier(text: "custom:the-kitchen")
        let others = try nodes.rows("pairings", of: nodes.secondary).first { $0["name"] == "the other" }?["pairing"]
        nodes.run(until: {
            let targets = try? app.states(now: nodes.clock.now).last?.pairings.map(\.target)
            return targets == [kitchen, kitchen]
        })
        #expect(nodes.verdict(try nodes.envelope(3) { $0.target = kitchen }) == "applied")
        let ended = nodes.ask(nodes.secondary, "unpair", ["pairing": try #require(others), "yes": true])
        #expect(ended.body["configurations"] == 0, "\(ended)")
        #expect(try nodes.held()?["state"] == "applied")
        #expect(nodes.verdict(try nodes.envelope(3) { $0.target = kitchen }) == "equivocation", "its mark is open")
        #expect(nodes.verdict(try nodes.envelope(4) { $0.target = kitchen }) == "applied")
    }

    @Test func `CFG-31: after a switch the app reads its files before it is given what waits for the other target`()
        throws
    {
        try nodes.pair()
        try nodes.startOther(as: .primary)
        try nodes.pair(nodes.other, nodes.secondary)
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(3)) == "applied")
        let others = PairedIdentifier.vendor(try nodes.device(of: nodes.other))
        #expect(nodes.verdict(try nodes.envelope(1) { $0.target = others }, at: nodes.other) == "waiting-for-app")
        let before = app.received(.configuration).count
        #expect(nodes.ask(nodes.secondary, "switch", ["who": "the other"]).body["changed"] == true)
        nodes.run(until: { app.received(.configuration).count == before + 2 })
        let messages = try app.received(.configuration).dropFirst(before).map { try $0.dictionaryBody() }
        #expect(messages.map { ConfigurationOffer.isReload($0) } == [true, false])
    }
}
