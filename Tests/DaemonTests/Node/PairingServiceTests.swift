// Pairings of whole daemons: links that are refused, pairings that lapse, end or are replaced, several primaries, names
// that change, and a store that was restored from a backup.

import Glibc
import TandemBase
import TandemDaemonTestSupport
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(10))) struct PairingServiceTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes() }

    private func link(seconds: Int64 = 900) throws -> PropertyListValue {
        try #require(nodes.ask(nodes.primary, "pair", ["seconds": .integer(seconds)]).body["link"])
    }

    private func join(_ node: Node, _ link: PropertyListValue) -> String? {
        nodes.ask(node, "join", ["link": link]).name
    }

    private func pairings(of node: Node) throws -> [PropertyListDictionary] { try nodes.rows("pairings", of: node) }

    @Test func `PAR-8: a link is refused after its time, and to a second device by name of no cause but in the log`()
        throws
    {
        let late = try link(seconds: 60)
        nodes.clock.advance(by: .seconds(61))
        #expect(join(nodes.secondary, late) == "join-refused")
        try nodes.startOther(as: .secondary)
        let used = try link()
        #expect(join(nodes.other, used) == nil)
        #expect(join(nodes.secondary, used) == "join-refused")
        #expect(nodes.hasNoted("alarm: join refused, the token was already used by another device"))
        #expect(try pairings(of: nodes.primary).map { $0["name"] } == ["the other"])
        #expect(try pairings(of: nodes.secondary).isEmpty)
    }

    @Test func `DEL-31, CTL-12: a full disk is named in health and the log; a pairing ends on it, and makes room`()
        throws
    {
        guard let disk = SmallDisk(), disk.resize("8m") else { return }
        defer { nodes.stop() }
        nodes.stop(.secondary)
        nodes.states[.other] = disk.path + "/state"
        try nodes.startOther(as: .secondary)
        try nodes.pair(nodes.primary, nodes.other)
        let app = try nodes.connect(to: .other)
        let pairing = try nodes.pairingIdentifier(of: nodes.other)
        nodes.network.takeDown()
        func submit(_ id: UniqueIdentifier = .random()) throws {
            let body: PropertyListDictionary = ["n": .data([UInt8](repeating: 7, count: 60_000))]
            let item = Envelope(.submit, app: nodes.app, pairing: pairing, id: id, channel: .userInfo)
            let before = app.frames.count
            try app.send(item.with(body: body))
            nodes.run(until: { app.frames.count > before })
        }
        let first = UniqueIdentifier.random()
        try submit(first)
        for _ in 0..<7 { try submit() }
        disk.fill()
        while app.received(.failure).isEmpty { try submit() }
        #expect(app.received(.failure).map(\.code) == [7015])
        try submit(first)
        #expect(app.received(.accepted).count { $0.id == first } == 2, "DEL-33: an item that is stored needs no room")
        nodes.clock.advance(by: .seconds(6))
        // The first look: the ledger has seen it when it happened.
        let problems = nodes.ask(nodes.other, "health").body.rows("problems")
        let full = problems.first { $0["name"] == "store" }?["text"]?.stringValue ?? ""
        #expect(full.hasPrefix("the disk is full") && full.contains(disk.path), "\(problems)")
        #expect(nodes.notes.count { "\($0.message)".hasPrefix("the disk is full") && $0.level == .error } == 1)
        let answer = nodes.ask(nodes.other, "unpair", ["pairing": try nodes.pairing(of: nodes.other), "yes": true])
        #expect(answer.code == 0, "\(answer)")
        #expect(try pairings(of: nodes.other).isEmpty)
        try nodes.restart(.other)
        #expect(try pairings(of: nodes.other).isEmpty, "its end was durable")
    }

    @Test func `PAR-10: a pending pairing lapses on both devices after a day`() throws {
        var joined: ControlAnswer?
        nodes.begin(nodes.secondary, "join", ["link": try link()]) { [network = nodes.network] in
            joined = $0
            network.takeDown()
        }
        nodes.run(until: { joined != nil })
        for node in [nodes.primary, nodes.secondary] {
            #expect(try pairings(of: node).map { $0["state"] } == ["pending"])
        }
        nodes.clock.advance(by: .seconds(24 * 3600))
        nodes.run(until: { (try? pairings(of: nodes.primary) + pairings(of: nodes.secondary))?.isEmpty == true })
        #expect(
            nodes.lines("a pairing lapsed, pending for 24 h by this device's clock").count == 2
                && !nodes.hasNoted("unpaired"))
    }

    @Test func `CTL-10, CTL-12: a join that comes to no link is a problem of the device that dials, with the cause`()
        throws
    {
        var joined: ControlAnswer?
        nodes.begin(nodes.secondary, "join", ["link": try link()]) { [network = nodes.network] in
            joined = $0
            network.takeDown()
        }
        nodes.run(until: { joined != nil })
        nodes.clock.advance(by: .seconds(20))
        let problem = try #require(nodes.ask(nodes.secondary, "health").body.rows("problems").first)
        let text = problem["text"]?.stringValue ?? ""
        #expect(problem["name"] == "unlinked" && text.contains("link.sock"), "\(text)")
        let row = try #require(try pairings(of: nodes.secondary).first)
        #expect(row["state"] == "pending" && row["reason"]?.stringValue?.contains("link.sock") == true, "\(row)")
        #expect(row["error"]?.stringValue?.hasPrefix("unreachable: ") == true, "\(row)")
        #expect(nodes.ask(nodes.primary, "health").body["state"] == "healthy")
        #expect(try pairings(of: nodes.primary).first?["reason"] == "pending")
    }

    @Test func `PAR-13: the end of a pairing takes what was queued for it`() throws {
        try nodes.pair()
        try nodes.startApp().disconnect()
        let app = try nodes.startApp(at: .primary, .init())
        nodes.network.takeDown()
        try app.send(nodes.item())
        nodes.run(until: { !app.received(.accepted).isEmpty })
        #expect(try nodes.rows("queues", of: nodes.primary).map { $0["waiting"] } == [1])
        #expect(try nodes.rows("queues", of: nodes.primary).first?["peerName"] == "the secondary", "CTL-72")
        try nodes.unpair(nodes.primary)
        #expect(try nodes.rows("queues", of: nodes.primary).isEmpty)
        try nodes.restart(.primary)
        #expect(try nodes.rows("queues", of: nodes.primary).isEmpty)
    }

    @Test func `PAR-15, CFG-31: another primary changes nothing until it is chosen; then its configuration shows`()
        throws
    {
        try nodes.pair()
        let app = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(3)) == "applied")
        try nodes.startOther(as: .primary)
        try nodes.pair(nodes.other, nodes.secondary)
        #expect(try pairings(of: nodes.secondary).filter { $0["active"] == true }.map { $0["name"] } == ["the primary"])
        let others = PairedIdentifier.vendor(try nodes.device(of: nodes.other))
        let envelope = try nodes.envelope(1) { $0.target = others }
        #expect(nodes.verdict(envelope, at: nodes.other) == "waiting-for-app")
        let text = try nodes.rows("configurations", of: nodes.other).last?["text"]?.stringValue
        #expect(text?.hasPrefix("another primary is the active one") == true, "CFG-25")
        #expect(app.offers.count == 1, "the app has the chosen primary's configuration")
        #expect(nodes.ask(nodes.secondary, "switch", ["who": "the other"]).body["changed"] == true)
        nodes.run(until: { app.offers.count == 2 })
        #expect(app.offers.last?.envelope == envelope)
        #expect(nodes.ask(nodes.secondary, "switch", ["who": "the primary"]).body["changed"] == true)
        #expect(nodes.verdict(try nodes.envelope(2)) == "rollback", "marks stay")
        #expect(nodes.verdict(try nodes.envelope(4)) == "applied")
    }

    @Test
    func `PAR-15, CTL-3: unpairing the chosen one of several names the others, by their UUIDs if they share a name`()
        throws
    {
        try nodes.pair()
        for number in 0..<2 {
            if number > 0 {
                nodes.stop(.other)
                let state = nodes.directory.path("other-state")
                #expect(rename(state, "\(state)-former") == 0)
            }
            try nodes.startOther(as: .secondary)
            #expect(join(nodes.other, try link()) == nil)
            nodes.run(until: {
                let states = try? nodes.rows("pairings", of: nodes.primary).map { $0["state"]?.stringValue }
                return states?.count == number + 2 && states?.allSatisfy { $0 == "active" } == true
            })
        }
        let caller = try nodes.connect(to: .primary)
        let shown = nodes.ask(nodes.primary, "unpair", ["who": "the secondary"]).body
        let ended = nodes.ask(nodes.primary, "unpair", ["who": "the secondary", "yes": true])
        #expect(shown["pairing"]?.dataValue?.count == 16 && shown["pairing"] == ended.body["pairing"], "CTL-29")
        let left = try pairings(of: nodes.primary).compactMap { $0["pairing"]?.identifierValue }
        let unchosen = ended.body["unchosen"]?.arrayValue?.compactMap(\.stringValue) ?? []
        #expect(left.count == 2 && Set(unchosen) == Set(left.map(\.description)), "\(ended)")
        let problems = nodes.ask(nodes.primary, "health").body.rows("problems").filter { $0["name"] == "none-active" }
        #expect(problems.count == 1 && problems.first?["pairing"] == nil, "CTL-12")
        #expect(problems.first?["text"]?.stringValue?.contains("'tandem switch ") == true, "\(problems)")
        let last = try nodes.pairing(of: nodes.primary)
        #expect(nodes.ask(nodes.primary, "switch", ["pairing": last]).body["changed"] == true)
        let names = nodes.ask(nodes.primary, "health").body.rows("problems").map { $0["name"]?.stringValue }
        #expect(!names.contains("none-active"), "CTL-12")
        nodes.run(until: {
            (try? caller.states(now: nodes.clock.now).last?.active).flatMap { $0 }?.bytes == last.dataValue
        })
        let again = nodes.ask(nodes.primary, "unpair", ["pairing": last, "yes": true])
        #expect(again.body["unchosen"] == [], "the only one that is left is chosen")
    }

    @Test
    func
        `PAR-18, CTL-30, CTL-64: a primary's changed identifier has no effect until the secondary's operator accepts it`()
        throws
    {
        try nodes.pair()
        _ = try nodes.startApp()
        for name in ["one", "two"] {
            try nodes.connect(to: .primary, .init(identifier: CustomIdentifier(name))).disconnect()
        }
        let (one, two) = (try PairedIdentifier(text: "custom:one"), try PairedIdentifier(text: "custom:two"))
        nodes.run(until: { nodes.hasNoted("alarm: custom identifier changed, the old one stays until it is accepted") })
        let renamed = try nodes.envelope(1) { $0.target = two }
        #expect(nodes.verdict(renamed) == "wrong-target")
        var body = nodes.body(["who": "the primary"])
        let shown = nodes.ask(nodes.secondary, "identifier-accept", body).body
        #expect(shown["former"] == "one" && shown["offered"] == "two" && shown["target"] == .string(two.text))
        #expect(shown["done"] == false && shown["configuration"] == "none")
        let claims = nodes.ask(nodes.secondary, "apps").body.rows("apps").first?.rows("claims")
        #expect(claims?.first?["offered"] == "two")
        (body["yes"], body["target"]) = (true, .string(one.text))
        #expect(nodes.ask(nodes.secondary, "identifier-accept", body).name == "not-found", "another was shown")
        body["target"] = .string(two.text)
        #expect(nodes.ask(nodes.secondary, "identifier-accept", body).body["done"] == true)
        #expect(nodes.ask(nodes.secondary, "identifier-accept", body).name == "not-found", "once")
        #expect(nodes.verdict(renamed) == "applied")
        #expect(nodes.verdict(try nodes.envelope(2) { $0.target = one }) == "wrong-target")
    }

    @Test("CTL-30, CTL-32, CTL-64: an app that a claim alone names has every number, and is accepted and assigned")
    func claimedOnly() throws {
        try nodes.pair()
        func row() -> PropertyListDictionary? {
            nodes.ask(nodes.secondary, "apps").body.rows("apps").first
        }
        for name in ["one", "two"] {
            try nodes.connect(to: .primary, .init(identifier: CustomIdentifier(name))).disconnect()
        }
        nodes.run(until: { row()?.rows("claims").first?["offered"] == "two" })
        let numbers = ["items", "files", "letters", "contexts", "configurations"]
        let shown = try #require(row())
        #expect(shown["connected"] == false && shown["receiving"] == false && shown["uid"] == nil)
        #expect(numbers.allSatisfy { shown[$0] == 0 })
        let app = PropertyListValue.string(nodes.app.description)
        let accepted = nodes.ask(nodes.secondary, "identifier-accept", ["app": app, "who": "the primary"])
        #expect(accepted.body["configuration"] == "none")
        let assigned = nodes.ask(nodes.secondary, "app-assign", ["app": app, "uid": 1001]).body
        #expect(assigned["uid"] == 1001 && assigned["former"] == nil && assigned["connected"] == false)
        #expect(numbers.allSatisfy { assigned[$0] == 0 })
    }

    @Test
    func `DEL-10, DEL-36: a primary whose store was restored begins a new epoch, and configuration arrives again`()
        throws
    {
        try nodes.pair()
        let app = try nodes.startApp()
        let backup = nodes.backUp(.primary)
        try nodes.start(.primary)
        nodes.waitForLink()
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        nodes.restore(backup, at: .primary)
        let links = nodes.notes.count { "\($0.message)" == "link ready" }
        try nodes.start(.primary)
        nodes.run(until: {
            nodes.hasNoted("a new epoch begins: a store was restored, or the other device joined again")
        })
        nodes.waitForLink()
        #expect(nodes.notes.count { "\($0.message)" == "link ready" } == links + 2, "no link in the old epoch")
        #expect(nodes.verdict(try nodes.envelope(2)) == "applied")
        #expect(app.offers.count == 2)
    }

    @Test func `PAR-22: what a join by trust brings is refused if the primary is not trusted when it is stored`()
        throws
    {
        try nodes.pair(nodes.primary, nodes.secondary)
        let record = try #require(nodes.secondary.pairings.all.first)
        var failure: JoinFailure?
        nodes.clock.start { [pairings = nodes.secondary.pairings] in
            do throws(JoinFailure) {
                try await pairings.add(record, mayReplace: true, byTrust: true)
            } catch { failure = error }
        }
        nodes.run(until: { failure != nil })
        #expect(failure == .notTrusted)
    }

    @Test func `PAR-16, CTL-71: what joining a trusted primary would discard is named with the command for that`() {
        let failure = JoinFailure.wouldReplace(PairingContents(items: 3))
        let reason = "\(LogEvent(.info, "not joined", failure.reasonByTrust))"
        #expect(reason.contains("3 items, 0 files") && reason.contains("'tandem unpair' here discards that"))
        #expect(!reason.contains("--replace"), "no link was used")
    }

    @Test
    func `PAR-18, LIM-54: a primary that changes an identifier without end fills no log`()
        throws
    {
        try nodes.pair(nodes.primary, nodes.secondary)
        let pairings = nodes.secondary.pairings
        let pairing = try #require(pairings.all.first?.pairing)
        func name(_ text: String) throws -> CustomIdentifier { try CustomIdentifier(text) }
        pairings.declared(try name("first"), for: nodes.app, pairing: pairing)
        for number in 0..<200 {
            pairings.declared(try name("other \(number)"), for: nodes.app, pairing: pairing)
            nodes.run(until: { true })
        }
        let other = try ApplicationIdentifier("org.example.other")
        let kitchen = try name("kitchen")
        pairings.declared(kitchen, for: other, pairing: pairing)
        nodes.run(until: { pairings.targets.target(of: other, through: pairing) == .custom(kitchen) })
        let lines = nodes.notes.count { "\($0.message)".contains("identifier") && $0.level == .error }
        #expect((1...60).contains(lines), "\(lines)")
    }
}
