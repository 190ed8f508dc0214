// A gateway with a local socket for each of its sides, between a control room and a panel: each app is on one side, and
// what is for the other side never reaches it.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSettings
import TandemSignedConfiguration
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(10)), .serialized) struct TwoSidesTests {
    /// The control room, the gateway, and the panel as `other`.
    private let nodes: TwoNodes
    /// The app between control room and gateway, and the one between gateway and panel.
    private let up: ApplicationIdentifier
    private let down: ApplicationIdentifier

    init() throws {
        nodes = try TwoNodes()
        (up, down) = (nodes.app, try ApplicationIdentifier("org.example.panels"))
        nodes.carriers = [.secondary]
        nodes.twoSided = [.secondary]
        try nodes.restart(.secondary)
        try nodes.pair()
        try nodes.startOther(as: .secondary)
        try nodes.pair(nodes.secondary, nodes.other)
    }

    private var gateway: Node { nodes.secondary }

    private func connect(_ app: ApplicationIdentifier, on side: DeviceRole) throws -> Client {
        try nodes.connect(to: .secondary, as: app, on: side)
    }

    /// The UUID of the gateway's pairing as this.
    private func pairing(as role: DeviceRole) throws -> UniqueIdentifier {
        let row = try nodes.rows("pairings", of: gateway).first { $0["role"] == .string(role.rawValue) }
        return try #require(row?["pairing"]?.identifierValue)
    }

    private func isInstalled(_ client: Client, as pairing: UniqueIdentifier) -> Bool {
        (try? client.states(now: nodes.clock.now).last?.pairings.first { $0.pairing == pairing }?.isInstalled) ?? false
    }

    private func waitForCounterpart(of client: Client, _ pairing: UniqueIdentifier) {
        nodes.run(until: { isInstalled(client, as: pairing) })
    }

    private func message(_ app: ApplicationIdentifier, _ pairing: UniqueIdentifier) throws -> Envelope {
        var message = try nodes.message(through: pairing)
        message[.app] = app
        return message
    }

    private func submit(
        _ app: ApplicationIdentifier, _ pairing: UniqueIdentifier, by client: Client, on channel: Channel = .userInfo
    ) throws {
        let count = client.received(.accepted).count
        try client.send(nodes.item(through: pairing, of: app, on: channel))
        nodes.run(until: { client.received(.accepted).count > count })
    }

    private func remove(_ app: ApplicationIdentifier) {
        let answer = nodes.ask(gateway, "app-remove", ["app": .string(app.description), "yes": true])
        #expect(answer.code == 0, "\(answer)")
    }

    private func row(_ app: ApplicationIdentifier) throws -> PropertyListDictionary? {
        try nodes.rows("applications", of: gateway).first { $0["app"]?.stringValue == app.description }
    }

    private func envelope(
        _ version: UInt64, for role: DeviceRole, _ target: PairedIdentifier
    ) throws -> [UInt8] {
        try nodes.envelope(version) { ($0.role, $0.target) = (role, target) }
    }

    private func ownTarget() throws -> PairedIdentifier { .vendor(try nodes.device(of: gateway)) }

    // MARK: each app on its side

    @Test func `SES-83, CTL-62: apps on both sockets exchange messages and items, each over its side's pairings`()
        throws
    {
        let (above, below) = (try pairing(as: .secondary), try pairing(as: .primary))
        let room = try nodes.connect(to: .primary, as: up)
        let panel = try nodes.connect(to: .other, as: down)
        let (upper, lower) = (try connect(up, on: .secondary), try connect(down, on: .primary))
        #expect(upper.received(.hello).first.flatMap { try? $0.dictionaryBody()["role"] } == "secondary")
        #expect(try lower.received(.registered).first?.dictionaryBody()["role"] == "primary")
        for (sender, receiver, app, pairing) in [
            (upper, room, up, above), (room, upper, up, above), (lower, panel, down, below),
            (panel, lower, down, below),
        ] {
            waitForCounterpart(of: sender, pairing)
            try sender.send(try message(app, pairing))
            nodes.run(until: { !receiver.received(.message).isEmpty })
            try submit(app, pairing, by: sender)
            try submit(app, pairing, by: sender, on: .context)
            nodes.run(until: { receiver.received(.delivery).count == 2 })
        }
        #expect(try upper.states(now: nodes.clock.now).last?.pairings.map(\.pairing) == [above])
        #expect(try lower.states(now: nodes.clock.now).last?.pairings.map(\.pairing) == [below])
        #expect([upper, lower].allSatisfy { $0.received(.message).count == 1 && $0.received(.delivery).count == 2 })
        #expect(upper.received(.context).allSatisfy { $0.pairing == above && $0.app == up })
        // Each is connected, and the operator sees its side at either socket.
        #expect(try row(up)?["role"] == "secondary" && row(up)?["connected"] == true)
        #expect(try row(down)?["role"] == "primary" && row(down)?["connected"] == true)
        let listed = nodes.ask(gateway, "apps").body.rows("apps")
        #expect(Set(listed.compactMap { $0["role"]?.stringValue }) == ["primary", "secondary"])
        #expect(try nodes.status(of: gateway)["localOther"]?.stringValue?.hasSuffix("secondary-other.sock") == true)
        let controller = try nodes.network.client(at: nodes.directory.path("secondary-other.sock"), user: Linux.user)
        try controller.hello()
        try controller.send(Envelope(.control, id: .random(), command: "status").with(body: [:]))
        nodes.run(until: { !controller.received(.result).isEmpty })
        let answer = try controller.received(.result).first?.dictionaryBody()
        #expect(answer?["device"] == .data(try nodes.device(of: gateway).bytes) && answer?["role"] == "secondary")
    }

    @Test
    func `SES-83: the other side's socket refuses an app by name, also after a restart, until the app is removed`()
        throws
    {
        let first = try connect(up, on: .secondary)
        for receives in [true, false] {
            let other = try nodes.connect(to: .secondary, .init(receives: receives), on: .primary)
            #expect(other.refusal == "app-other-side" && other.isClosed)
            let text = try Refusal(try #require(other.received(.refusal).last)).text
            #expect(text.contains("secondary side") && text.contains("tandem apps remove \(up)"), "\(text)")
        }
        #expect(try nodes.connect(to: .secondary, on: .primary, user: 1001).refusal == "app-owned")
        #expect(!first.isClosed)
        try nodes.restart(.secondary)
        #expect(try connect(up, on: .primary).refusal == "app-other-side")
        #expect(try connect(up, on: .secondary).refusal == nil)
        let below = try pairing(as: .primary)
        let panel = try nodes.connect(to: .other, as: up)
        nodes.waitForLink()
        #expect(!isInstalled(panel, as: below), "the panel has no counterpart on the gateway's other side")
        remove(up)
        let moved = try connect(up, on: .primary)
        #expect(moved.refusal == nil)
        #expect(try connect(up, on: .secondary).refusal == "app-other-side")
        waitForCounterpart(of: panel, below)
        #expect(try row(up)?["role"] == "primary")
    }

    @Test func `SES-83, SES-75: a sender that borrows an app on one side ends when the other side's app registers`()
        throws
    {
        let sender = try nodes.connect(to: .secondary, .init(receives: false), on: .primary)
        #expect(sender.refusal == nil)
        _ = try connect(up, on: .secondary)
        nodes.run(until: { sender.isClosed })
        #expect(sender.refusal == "app-other-side")
    }

    // MARK: what comes for the other side

    @Test func `SES-83, DEL-12: an item for an app that has moved to the other side is answered as not installed`()
        throws
    {
        let above = try pairing(as: .secondary)
        let room = try nodes.connect(to: .primary, as: up)
        let before = try connect(up, on: .secondary)
        waitForCounterpart(of: room, above)
        nodes.network.takeDown()
        try submit(up, above, by: room)
        try submit(up, above, by: room, on: .context)
        before.disconnect()
        remove(up)
        let moved = try connect(up, on: .primary)
        nodes.network.isDown = false
        nodes.waitForLink()
        nodes.run(until: {
            (try? nodes.rows("queues", of: nodes.primary))?.contains { $0["refusal"] == "not-installed" } == true
        })
        let queues = try nodes.rows("queues", of: nodes.primary)
        #expect(queues.filter { $0["channel"] == "userInfo" }.map { $0["code"] } == [7006])
        nodes.run(until: { !isInstalled(room, as: above) })
        try room.send(try message(up, above))
        nodes.run(until: { !room.received(.failure).isEmpty })
        let failure = try room.onlyFailure()
        #expect(failure.code == .watchAppNotInstalled, "\(failure)")
        #expect(moved.received(.delivery).isEmpty && moved.received(.context).isEmpty)
        #expect(moved.received(.message).isEmpty)
        try nodes.restart(.secondary)
        let again = try connect(up, on: .primary)
        nodes.waitForLink()
        nodes.clock.advance(by: .seconds(5))
        nodes.clock.run()
        #expect(again.received(.delivery).isEmpty && again.received(.context).isEmpty)
    }

    @Test func `SES-83: what waits for an app that is nobody's goes to no app of the other side`() throws {
        // The operator sends as the app on the primary side; the outcome is its.
        let below = try pairing(as: .primary)
        let panel = try nodes.connect(to: .other, as: up)
        let sender = try nodes.connect(to: .secondary, .init(receives: false), on: .primary)
        waitForCounterpart(of: sender, below)
        try submit(up, below, by: sender)
        try submit(up, below, by: sender, on: .context)
        sender.disconnect()
        nodes.run(until: { panel.received(.delivery).count >= 1 })
        for delivery in panel.received(.delivery) { try panel.send(delivery.verdict()) }
        let app = try connect(up, on: .secondary)
        nodes.clock.advance(by: .seconds(5))
        nodes.run(until: { true })
        #expect(app.received(.context).isEmpty && app.received(.finished).isEmpty)
    }

    @Test func `SES-83, SES-72: a primary's question about settings finds no app of the secondary's other side`() throws
    {
        let document = try SchemaDocument(writing: [
            SettingDeclaration(
                name: "name", type: .string, editor: .edit, summary: "", access: .counterpart,
                initialValue: .string("lamp"))
        ])
        let app = try nodes.connect(
            to: .secondary, .init(schema: SHA256.digest(document.bytes)), on: .primary)
        try nodes.bring(document.bytes, from: app)
        #expect(nodes.ask(gateway, "settings-get", nodes.body()).code == 0, "its own device has it")
        var asked = nodes.body(["who": "the secondary"])
        #expect(nodes.ask(nodes.primary, "settings-get", asked).name == "not-found")
        asked["values"] = .dictionary(["name": "x"])
        #expect(nodes.ask(nodes.primary, "settings-set", asked).name == "not-found")
    }

    // MARK: signed configuration

    @Test func `SES-83, CFG-112: a configuration for the gateway's own app as a primary is applied there`() throws {
        let target = try ownTarget()
        let app = try nodes.startApp(on: .primary)
        let first = try envelope(1, for: .primary, target)
        #expect(nodes.verdict(first, at: gateway) == "applied")
        #expect(app.offers.map(\.envelope) == [first])
        #expect(nodes.verdict(try envelope(1, for: .primary, target), at: gateway) == "equivocation")
        #expect(nodes.verdict(try envelope(2, for: .primary, nodes.target), at: gateway) == "wrong-target")
        let row = try nodes.rows("configurations", of: gateway).first { $0["app"]?.stringValue == up.description }
        #expect(row?["role"] == "primary" && row?["state"] == "applied")
        try nodes.restart(.secondary)
        #expect(nodes.verdict(first, at: gateway) == "applied", "it is in force after a restart")
        // On the other side the app is none of the primary's.
        remove(up)
        _ = try nodes.startApp(on: .secondary)
        #expect(nodes.verdict(try envelope(3, for: .primary, target), at: gateway) == "wrong-role")
    }

    @Test
    func
        `SES-83, CFG-112: a configuration for the secondary's app is not shown to the app of this name on the primary side`()
        throws
    {
        let app = try nodes.startApp(on: .primary)
        // The control room's operator and the gateway's both trust the key for the secondary's app.
        #expect(nodes.trust(nodes.signer.publicKey.key.pem, at: gateway).code == 0)
        let results = nodes.results(try envelope(1, for: .secondary, nodes.target), wait: 3_000)
        #expect(results["the secondary"]?["verdict"] != "applied")
        nodes.clock.advance(by: .seconds(20))
        nodes.run(until: { true })
        #expect(app.offers.isEmpty && app.reloads == 0)
        for file in ["staged.plist", "configuration.plist", "trial.plist"] {
            #expect(TemporaryDirectory.read("\(nodes.folder)/\(file)") == nil)
        }
        // For the panels it is their primary's, and the gateway forwards it to them.
        let panel = try nodes.startApp(at: .other)
        let below = try nodes.results(envelope(1, for: .secondary, ownTarget()), at: gateway)
        #expect(below["the other"]?["verdict"] == "applied")
        #expect(panel.offers.count == 1 && app.offers.isEmpty)
    }

    @Test func `CFG-112, CFG-92: key sets for the gateway's own app are followed there, those for the panels' go down`()
        throws
    {
        let (own, panels) = (KeyHolders(of: up, as: .primary), KeyHolders(of: up))
        let (ownAnchor, anchor) = (try own.set(1, [nodes.signer]), try panels.set(1, [nodes.signer]))
        let app = try nodes.startApp(.init(anchor: KeySetText.text(of: ownAnchor)), on: .primary)
        let panel = try nodes.startApp(at: .other, .init(anchor: KeySetText.text(of: anchor)))
        let below = try pairing(as: .primary)
        waitForCounterpart(of: app, below)
        waitForCounterpart(of: panel, below)
        #expect(nodes.trust(anchor, at: gateway).code == 0)
        let followed = try nodes.results(own.set(2, [nodes.signer]), at: gateway)
        #expect(followed.count == 1 && followed["the secondary"]?["verdict"] == "applied")
        let forwarded = try nodes.results(panels.set(2, [nodes.signer]), at: gateway)
        #expect(forwarded["the other"]?["verdict"] == "applied")
        remove(up)
        #expect(nodes.verdict(try own.set(3, [nodes.signer]), at: gateway) == "wrong-role")
    }

    // MARK: rows and assignments

    @Test func `SES-83: a row of a release before has the side that the daemon is started for, and keeps it`() throws {
        nodes.twoSided = [.other]
        try nodes.restart(.other)
        _ = try nodes.connect(to: .other, as: up)
        nodes.stop(.other)
        let store = try Store(path: nodes.directory.path("other-state/tandem.sqlite"), opening: .mustExist)
        let key = Array(up.description.utf8)
        var value = try PropertyListReader.readDictionary(
            try #require(try store.read(RowRange(space: .application)).first { $0.key == key }).value)
        #expect(value["role"] == "secondary")
        value["role"] = nil
        let row = try PropertyListWriter.write(value)
        store.commit([.put(.application, key: key, value: row)]) { _ in }
        store.close()
        try nodes.start(.other)
        nodes.clock.run()
        nodes.stop(.other)
        // The same state, now started for the other side.
        try nodes.startOther(as: .primary)
        #expect(try nodes.connect(to: .other, as: up, on: .primary).refusal == "app-other-side")
        #expect(try nodes.connect(to: .other, as: up, on: .secondary).refusal == nil)
    }

    @Test("CTL-22, SES-83, CTL-32: an operator assigns an app that is not installed to a side, and no installed one")
    func assignedSide() throws {
        func assign(_ role: String?) -> ControlAnswer {
            var body: PropertyListDictionary = [
                "app": .string(up.description), "uid": .integer(Int64(Linux.user)), "yes": true,
            ]
            body["role"] = role.map { .string($0) }
            return nodes.ask(gateway, "app-assign", body)
        }
        var changed: [Bool] = []
        let registrations = gateway.local.registrations
        gateway.applications.whenChanged = { changed.append(registrations.isChanging($0)) }
        #expect(assign("primary").body["done"] == true)
        #expect(changed == [false], "CTL-22: items may wait that its side takes now")
        #expect(try connect(up, on: .secondary).refusal == "app-other-side")
        #expect(assign("secondary").body["done"] == true)
        #expect(try connect(up, on: .primary).refusal == "app-other-side")
        let app = try connect(up, on: .secondary)
        #expect(app.refusal == nil)
        nodes.run(until: { (try? row(up)?["connected"]) == true })
        let refused = assign("primary")
        #expect(refused.name == "wrong-role")
        #expect(assign("middle").name == "bad-request")
        #expect(assign("secondary").body["done"] == false)
        #expect(!app.isClosed)
        remove(up)
        // Without a side, the first registration decides.
        #expect(assign(nil).body["done"] == true)
        #expect(try row(up)?["role"] == nil)
        #expect(try connect(up, on: .primary).refusal == nil)
        #expect(try connect(up, on: .secondary).refusal == "app-other-side")
    }
}
