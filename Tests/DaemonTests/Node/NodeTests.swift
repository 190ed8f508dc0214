// A daemon's start, its restored state, its refusals to start, and its links to another daemon.

import Glibc
import TandemBase
import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemStore
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct NodeTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes() }

    private func pairing(of node: Node) throws -> PropertyListDictionary? { try nodes.rows("pairings", of: node).first }

    // MARK: start

    @Test func `a wildcard address needs one that peers can dial`() throws {
        nodes.stop()
        var options = nodes.options(.primary)
        options.listen = [try SocketAddress("0.0.0.0:4747")]
        let node = try nodes.make(options)
        let error = #expect(throws: NodeError.self) { try node.start() }
        #expect(error?.description.contains("--advertise") == true)
        node.abandon()
    }

    @Test func `the directory of the local socket is made if it is missing`() throws {
        nodes.stop()
        for (group, mode) in [(nil, 0o700), ("root", 0o755)] as [(String?, mode_t)] {
            var options = nodes.options(.secondary)
            let directory = nodes.directory.path("run-\(mode)/tandem")
            (options.local, options.localGroup) = (directory + "/secondary.sock", group)
            let node = try nodes.make(options)
            try node.start()
            var found = stat()
            #expect(stat(directory, &found) == 0 && found.st_mode & 0o777 == mode)
            node.abandon()
        }
    }

    @Test func `a state directory serves one daemon at a time`() throws {
        #expect(throws: NodeError.self) { try nodes.make(nodes.options(.primary)) }
    }

    @Test func `LIM-54, PAR-8: made-up join tokens write one line in a minute, and the next one counts them`() throws {
        let text = try #require(nodes.ask(nodes.primary, "pair").body["link"]?.stringValue)
        let link = try JoinLink(text: text)
        func joinWithMadeUpToken() throws {
            let token = try #require(JoinTokenIdentifier(bytes: SecureRandom.bytes(JoinTokenIdentifier.byteCount)))
            let wrong = try JoinLink(
                address: link.address, token: token, secret: link.secret, primary: link.primary, expires: link.expires)
            #expect(nodes.ask(nodes.secondary, "join", ["link": .string(wrong.text)]).code != 0)
        }
        func warnings() -> [LogEvent] {
            nodes.notes.filter { "\($0.message)".contains("join") && $0.level == .warning }
        }
        for _ in 0..<5 { try joinWithMadeUpToken() }
        #expect(warnings().count == 1)
        nodes.clock.advance(by: .seconds(61))
        try joinWithMadeUpToken()
        #expect(warnings().count == 2 && warnings().last?.fields.last == .integer("unwritten before", 4))
    }

    @Test func `LIM-54: a peer whose link ends again and again writes so many lines in a minute`() throws {
        try nodes.pair()
        nodes.waitForLink()
        nodes.clock.advance(by: .seconds(61))
        let before = nodes.notes.count
        for _ in 0..<100 {
            nodes.network.cut()
            nodes.clock.advance(by: .milliseconds(300))
        }
        for message in ["link ready", "link closed"] {
            #expect(nodes.notes[before...].count { "\($0.message)" == message } == 2 * 60, "\(message)")
        }
    }

    @Test func `PAR-2: the keys are made once, and the device keeps its name`() throws {
        let before = try nodes.status(of: nodes.primary)
        try nodes.restart(.primary)
        let after = try nodes.status(of: nodes.primary)
        for key in ["device", "fingerprint"] { #expect(before[key] != nil && before[key] == after[key]) }
        #expect(before["device"] != (try nodes.status(of: nodes.secondary))["device"])
    }

    @Test func `a lost or exposed key is never replaced`() throws {
        try nodes.pair()
        nodes.stop()
        let path = nodes.directory.path("primary-state/device.pem")
        #expect(chmod(path, 0o644) == 0)
        #expect(throws: NodeError.self) { try nodes.make(nodes.options(.primary)) }
        #expect(unlink(path) == 0)
        let error = #expect(throws: NodeError.self) { try nodes.make(nodes.options(.primary)) }
        #expect(error?.description.contains("device.pem is missing") == true, "\(error as Any)")
    }

    @Test(arguments: [UInt8(1), 2, 3]) func `a row that does not read stops the start by name`(space: UInt8) throws {
        nodes.stop()
        let store = try Store(path: nodes.directory.path("secondary-state/tandem.sqlite"))
        store.commit([.put(RowSpace(rawValue: space), key: [1], value: [2])]) { _ in }
        store.close()
        let error = #expect(throws: NodeError.self) { try nodes.make(nodes.options(.secondary)) }
        #expect(error?.description.contains("this version cannot read") == true, "\(error as Any)")
    }

    @Test(
        "DEL-32: a counter that could not count on stops the start by name",
        arguments: [
            (UInt8(38), "report-counter"), (59, "counter"),
        ])
    func counters(space: UInt8, key: String) throws {
        nodes.stop()
        for counter in [Limits.lastCount, .max] {
            let store = try Store(path: nodes.directory.path("secondary-state/tandem.sqlite"))
            let value: PropertyListDictionary = ["value": PropertyListValue(counter)]
            store.commit([.put(RowSpace(rawValue: space), key: Array(key.utf8), value: value.ownBytes)]) { _ in }
            store.close()
            guard counter == .max else {
                try nodes.start(.secondary)
                nodes.stop(.secondary)
                continue
            }
            let error = #expect(throws: NodeError.self) { try nodes.make(nodes.options(.secondary)) }
            #expect(error?.description.contains("this version cannot read") == true, "\(error as Any)")
        }
    }

    // MARK: restored state

    @Test func `SES-64: a restarted daemon knows the pairing and the counterpart's app before there is a link`() throws
    {
        try nodes.pair()
        let counterpart = try nodes.connect(to: .secondary)
        let app = try nodes.connect(to: .primary)
        func states(_ client: Client) -> [SessionState] { (try? client.states(now: nodes.clock.now)) ?? [] }
        nodes.run(until: { states(app).last?.pairings.first?.isInstalled == true })
        counterpart.disconnect()
        nodes.stop(.secondary)
        try nodes.restart(.primary)
        let again = states(try nodes.connect(to: .primary))
        #expect(again.allSatisfy { $0.pairings.map(\.isInstalled) == [true] && $0.active != nil })
        #expect(again.last?.pairings.first?.reason == .noLink)
        try nodes.unpair(nodes.primary)
        try nodes.restart(.primary)
        #expect(states(try nodes.connect(to: .primary)).last?.pairings.isEmpty == true)
    }

    @Test func `pairings, the active one and apps with their identifiers are restored`() throws {
        try nodes.pair()
        let registration = TandemSession.Registration(identifier: try CustomIdentifier("the-kitchen"))
        try nodes.connect(to: .primary, registration).disconnect()
        let before = try pairing(of: nodes.primary)
        try nodes.restart(.primary)
        nodes.waitForLink()
        let after = try pairing(of: nodes.primary)
        for key in ["pairing", "peer", "name", "role", "state", "active", "version"] {
            #expect(before?[key] == after?[key])
        }
        #expect(after?["state"] == "active" && after?["active"] == true)
        let record = try nodes.rows("applications", of: nodes.primary).first
        #expect(record?["identifier"] == "the-kitchen" && record?["connected"] == false)
        #expect(record?["uid"]?.unsignedValue == UInt64(Linux.user))
    }

    @Test func `SES-7: an app that declares an identifier has it as its target in a state, without a new connection`()
        throws
    {
        try nodes.pair()
        let identifier = try CustomIdentifier("the-kitchen")
        let client = try nodes.connect(to: .primary, .init(identifier: identifier))
        func target() -> PairedIdentifier? {
            (try? client.states(now: nodes.clock.now))?.last?.pairings.first?.target
        }
        nodes.run(until: { target() == .custom(identifier) })
    }

    @Test func `SET-84: a primary's status has the names of its own apps and of its secondaries' apps`() throws {
        try nodes.pair()
        nodes.waitForLink()
        let identity = ApplicationIdentity(name: "Kitchen\u{1B}[2J", version: "1.2", icon: "icon.png")
        let registration = TandemSession.Registration(features: ApplicationFeatures(identity: identity))
        let client = try nodes.connect(to: .secondary, registration)
        nodes.run { (try? nodes.rows("counterparts", of: nodes.primary))?.isEmpty == false }
        let row = try #require(try nodes.rows("counterparts", of: nodes.primary).first)
        let pairing = try nodes.pairing(of: nodes.primary)
        #expect(row["app"] == .string(nodes.app.description) && row["pairing"] == pairing)
        #expect(row["name"] == "Kitchen\u{1B}[2J" && row["version"] == "1.2" && row["icon"] == "icon.png")
        let own = try #require(try nodes.rows("applications", of: nodes.secondary).first)
        #expect(own["name"] == row["name"] && own["version"] == "1.2")
        client.disconnect()
    }

    @Test("CTL-3, CON-15: a primary's status says whether a secondary's app is connected there, as far as a link tells")
    func connectedCounterparts() throws {
        try nodes.pair()
        nodes.waitForLink()
        let features = ApplicationFeatures(identity: ApplicationIdentity(name: "Kitchen"))
        func follows(_ isConnected: PropertyListValue) {
            nodes.run(until: {
                (try? nodes.rows("counterparts", of: nodes.primary))?.first?["connected"] == isConnected
            })
        }
        let client = try nodes.connect(to: .secondary, .init(features: features))
        follows(true)
        client.disconnect()
        follows(false)
        let again = try nodes.connect(to: .secondary, .init(features: features))
        follows(true)
        nodes.stop(.secondary)
        follows(false)
        withExtendedLifetime(again) {}
    }

    @Test func `SES-6: an app of another user is refused, also after a restart`() throws {
        try nodes.startApp().disconnect()
        for _ in 0..<2 {
            let other = try nodes.connect(to: .secondary, user: Linux.user + 1)
            #expect(other.refusal == "app-owned" && other.received(.registered).isEmpty)
            try nodes.restart(.secondary)
        }
    }

    // MARK: links

    @Test func `SES-19: a lost link comes back, and status says why it was lost`() throws {
        try nodes.pair()
        nodes.network.takeDown()
        nodes.run(until: { (try? pairing(of: nodes.secondary))?["level"] == "unreachable" })
        let lost = try #require(try pairing(of: nodes.secondary))
        #expect(lost["error"]?.stringValue?.isEmpty == false)
        nodes.run(until: { (try? pairing(of: nodes.secondary))?["reason"]?.stringValue?.contains("link.sock") == true })
        let error = try pairing(of: nodes.secondary)?["error"]?.stringValue ?? ""
        #expect(error.hasPrefix("unreachable: ") && error.contains("link.sock"), "\(error)")
        nodes.network.isDown = false
        nodes.waitForLink()
        #expect(try pairing(of: nodes.secondary)?["reason"] == "none")
    }

    @Test func `PAR-13: the end of a pairing ends its link, and the other device says so`() throws {
        try nodes.pair()
        try nodes.unpair(nodes.primary)
        #expect(try nodes.rows("pairings", of: nodes.primary).isEmpty)
        nodes.run(until: { (try? pairing(of: nodes.secondary))?["level"] == "unreachable" })
        #expect(nodes.hasNoted("the other device has ended the pairing"))
    }

    @Test func `SES-4, CTL-12: health names the command that lets an older version in, and it dials at once`() throws {
        try nodes.pair()
        let pairing = try nodes.pairing(of: nodes.secondary)
        nodes.stop(.secondary)
        // The primary has spoken a newer version once, as far as this device's store says.
        let space = RowSpace(rawValue: 1)
        let store = try Store(path: nodes.directory.path("secondary-state/tandem.sqlite"))
        for row in try store.read(RowRange(space: space)) {
            guard var record = try? PropertyListReader.readDictionary(row.value), record["epoch"] != nil else {
                continue
            }
            record["version"] = 2
            store.commit([.put(space, key: row.key, value: try PropertyListWriter.write(record))]) { _ in }
        }
        store.close()
        try nodes.start(.secondary)
        nodes.clock.advance(by: .seconds(60))
        #expect(nodes.notes.contains { "\($0.message)".contains("tandem allow-version") })
        func text() -> String {
            nodes.ask(nodes.secondary, "health").body.rows("problems").first?["text"]?.stringValue ?? ""
        }
        let name = try #require(pairing.identifierValue)
        #expect(text().contains("tandem allow-version \(name) 1"), "\(text())")
        #expect(nodes.ask(nodes.secondary, "allow-version", ["pairing": pairing, "version": 9]).name == "bad-request")
        #expect(nodes.ask(nodes.secondary, "allow-version", ["pairing": pairing, "version": 1]).code == 0)
        #expect(!text().contains("tandem allow-version \(name)"), "\(text())")
        nodes.clock.advance(by: .milliseconds(100))
        nodes.waitForLink()
        let since = try self.pairing(of: nodes.secondary)?["since"]?.integerValue ?? 0
        #expect(since < 1000, "\(since)")
    }

    @Test func `CTL-12: a pairing that is ended here ends its problems`() throws {
        try nodes.pair()
        nodes.network.takeDown()
        nodes.clock.advance(by: .seconds(10))
        #expect(nodes.ask(nodes.primary, "health").body["state"] == "degraded")
        try nodes.unpair(nodes.primary)
        let health = nodes.ask(nodes.primary, "health").body
        #expect(health["state"] == "healthy", "\(health)")
    }

    @Test func `CTL-12: a state that is moved away or replaced under a running daemon is a problem until it is back`()
        throws
    {
        func problems() -> [String] {
            nodes.ask(nodes.primary, "health").body.rows("problems").compactMap { $0["name"]?.stringValue }
        }
        try nodes.pair()
        for name in ["primary-state", "primary-state/tandem.sqlite"] {
            let (path, aside) = (nodes.directory.path(name), nodes.directory.path("aside"))
            #expect(problems() == [])
            try #require(rename(path, aside) == 0)
            #expect(problems() == ["no-state"])
            if name.hasSuffix("sqlite") {
                nodes.directory.write([1], to: name)
                #expect(problems() == ["no-state"], "a copy that was put there is not what this daemon writes")
            }
            try #require(rename(aside, path) == 0)
            #expect(problems() == [])
        }
    }

    @Test(arguments: [TwoNodes.Place.primary, .secondary])
    func `CTL-10: a pairing that the other device has ended says so, and how to end it here`(place: TwoNodes.Place)
        throws
    {
        try nodes.pair()
        let (ending, left) =
            place == .primary ? (nodes.primary, nodes.secondary) : (nodes.secondary, nodes.primary)
        #expect(try pairing(of: left)?["endedThere"] == nil)
        try nodes.unpair(ending)
        nodes.run(until: { (try? pairing(of: left))?["endedThere"] != nil })
        nodes.clock.advance(by: .seconds(60))
        #expect(try #require(try pairing(of: left)?["endedThere"]?.integerValue) <= 60_000)
        let text = try #require(nodes.ask(left, "health").body.rows("problems").first?["text"]?.stringValue)
        #expect(text.contains("has no such pairing") && text.contains("tandem unpair"), "\(text)")
        let reason = place == .primary ? "the primary: peer-refused-not-paired" : "the secondary: peer-unpaired"
        #expect(text.hasPrefix("no link to \(reason); "), "\(text)")
    }

    @Test func `CTL-10: the end of a pairing on the other device is known again after a restart of the one that dials`()
        throws
    {
        try nodes.pair()
        nodes.stop(.secondary)
        try nodes.unpair(nodes.primary)
        try nodes.start(.secondary)
        nodes.run(until: { (try? pairing(of: nodes.secondary))?["endedThere"] != nil })
        #expect(try pairing(of: nodes.secondary)?["error"] == "peer-refused-not-paired")
        let unpaired = nodes.ask(nodes.secondary, "unpair", ["who": "the primary", "yes": true])
        #expect(unpaired.code == 0 && unpaired.body["endedThere"] != nil)
    }

    @Test(arguments: 0..<8) func `PAR-13: a pairing that ends while its hello is judged gets no link`(delay: Int) throws
    {
        try nodes.pair()
        let body: PropertyListDictionary = ["who": "the secondary", "yes": true]
        nodes.network.cut()
        // The dialler's first wait is at most a second (SES-19).
        nodes.clock.advance(by: .milliseconds(130 * delay))
        #expect(nodes.ask(nodes.primary, "unpair", body).code == 0)
        nodes.clock.advance(by: .seconds(5))
        #expect(try nodes.rows("pairings", of: nodes.primary).isEmpty)
        nodes.run(until: { (try? pairing(of: nodes.secondary))?["level"] == "unreachable" })
    }

    @Test func `PAR-12, CTL-71: devices that trust each other by hand pair once both do, and one says what is missing`()
        throws
    {
        let fingerprints = try [nodes.primary, nodes.secondary].map {
            try #require(try nodes.status(of: $0)["fingerprint"])
        }
        let link = SocketAddress.unix(path: nodes.directory.path("link.sock")).description
        let primary: PropertyListDictionary = [
            "fingerprint": fingerprints[0], "role": "primary", "address": .string(link),
        ]
        #expect(nodes.ask(nodes.secondary, "trust-device", primary).code == 0)
        nodes.run(until: { nodes.hasNoted("trusted primary not joined yet") })
        nodes.clock.advance(by: .seconds(300))
        let lines = nodes.lines("trusted primary not joined yet")
        #expect(lines.count == 1 && lines[0].contains("run 'tandem trust-device' there"), "\(lines)")
        #expect(nodes.ask(nodes.secondary, "trust-device", primary).code == 0)
        nodes.run(until: { nodes.lines("trusted primary not joined yet").count == 2 })
        #expect(try nodes.rows("pairings", of: nodes.primary).isEmpty)
        let secondary: PropertyListDictionary = ["fingerprint": fingerprints[1], "role": "secondary"]
        #expect(nodes.ask(nodes.primary, "trust-device", secondary).code == 0)
        nodes.waitForLink()
    }

    // MARK: open requests

    enum LinkEnd: CaseIterable {
        case cut, peerStops, stopsHere, unpairedThere, unpairedHere
    }

    @Test(arguments: LinkEnd.allCases)
    func `SES-11: a request that reached its handler never fails as not sent`(end: LinkEnd) throws {
        try nodes.pair()
        let handler = try nodes.connect(to: .secondary)
        let caller = try nodes.connect(to: .primary)
        nodes.run(until: { !caller.received(.state).isEmpty && !handler.received(.state).isEmpty })
        try caller.send(nodes.message())
        nodes.run(until: { !handler.received(.message).isEmpty })
        switch end {
        case .cut: nodes.network.cut()
        case .peerStops: nodes.stop(.secondary)
        case .stopsHere: nodes.stop(.primary)
        case .unpairedThere: try nodes.unpair(nodes.secondary)
        case .unpairedHere: try nodes.unpair(nodes.primary)
        }
        nodes.run(until: { !caller.received(.failure).isEmpty })
        let error = try caller.onlyFailure()
        #expect(error.code.rawValue == (end == .unpairedHere ? 7005 : 7014))
        if end == .unpairedHere { #expect(error.name == "not-paired") }
    }

    // MARK: slow lines

    /// Bytes per second, and the time from end to end in ms.
    @Test(arguments: [(500_000, 50), (5_000_000, 200)])
    func `DEL-27: all that waits arrives over a slow line, and a message beside it is answered within 2 s`(
        rate: Int, delay: Int
    ) throws {
        try nodes.pair()
        let handler = try nodes.connect(to: .secondary)
        let caller = try nodes.connect(to: .primary)
        let pairing = try nodes.pairingIdentifier()
        nodes.network.takeDown()
        let body = try Body.bytes(["a": .data([UInt8](repeating: 7, count: 65_000))])[...]
        let senders = try (0..<40).map { number in
            let app = try ApplicationIdentifier("org.example.sender\(number)")
            let sender = try nodes.connect(to: .primary, as: app)
            let key = QueueKey(pairing: pairing, app: app, channel: .userInfo)
            for _ in 0..<4 { try sender.send(SubmitFrame(ItemKey(key, .random()), body: body).envelope) }
            nodes.run(until: { sender.received(.accepted).count == 4 })
            return sender
        }
        nodes.network.faults.bytesPerSecond = rate
        nodes.network.faults.delay = .milliseconds(delay) ... .milliseconds(delay)
        nodes.network.isDown = false
        nodes.waitForLink()
        let connections = nodes.network.connections
        let announcements = caller.received(.state).count
        nodes.run(until: { caller.received(.state).count > announcements })
        let (sent, slowest) = exchange(from: caller, to: handler, through: pairing) {
            senders.allSatisfy { $0.received(.progress).count == 4 }
        }
        #expect(caller.received(.failure).isEmpty && sent > 2)
        #expect(slowest <= .seconds(2), "the slowest of \(sent) messages took \(slowest)")
        #expect(nodes.network.connections == connections, "the link stays")
    }

    /// One request after the other, each sent when the last one is answered, until the condition holds.
    private func exchange(
        from caller: Client, to handler: Client, through pairing: UniqueIdentifier, until isOver: () -> Bool
    ) -> (sent: Int, slowest: Duration) {
        var (sent, sentAt, answered, slowest) = (0, nodes.clock.now, 0, Duration.zero)
        nodes.run(until: {
            for message in handler.received(.message).dropFirst(answered) {
                answered += 1
                try? handler.reply(to: message)
            }
            if caller.received(.reply).count == sent {
                if sent > 0 { slowest = max(slowest, nodes.clock.now.since(sentAt)) }
                (sent, sentAt) = (sent + 1, nodes.clock.now)
                try? caller.send(nodes.message(through: pairing))
            }
            return isOver()
        })
        return (sent, slowest)
    }

    @Test func `LIM-60, LIM-63: of a flood, no more than a link's queue stands before another app's message`() throws {
        try nodes.pair()
        nodes.network.cut()
        nodes.network.faults.bytesPerSecond = 500_000
        let (handler, caller) = (try nodes.connect(to: .secondary), try nodes.connect(to: .primary))
        let pairing = try nodes.pairingIdentifier()
        let flooding = try ApplicationIdentifier("org.example.flood")
        let (sink, flood) = (
            try nodes.connect(to: .secondary, as: flooding), try nodes.connect(to: .primary, as: flooding)
        )
        nodes.waitForLink()
        nodes.clock.advance(by: .seconds(3))
        let body = try Body.bytes(["a": .data([UInt8](repeating: 7, count: 30_000))])
        for _ in 0..<60 {
            try flood.send(Envelope(.message, app: flooding, pairing: pairing, id: .random(), body: body))
        }
        nodes.run(until: { sink.received(.message).count >= 3 })
        let before = sink.received(.message).count
        try caller.send(nodes.message(through: pairing))
        nodes.run(until: { !handler.received(.message).isEmpty })
        // The queue's 64 KiB, the 128 KiB that the system takes ahead, a turn of its own, and what was under way.
        #expect((sink.received(.message).count - before) * body.count <= (64 + 128 + 16 + 30) << 10)
    }

    @Test func `SES-67, LIM-60 to LIM-62: an app that floods a slow line is held back itself, and loses nothing`()
        throws
    {
        try nodes.pair()
        nodes.network.cut()
        nodes.network.faults.bytesPerSecond = 500_000
        nodes.network.faults.delay = .milliseconds(50) ... .milliseconds(50)
        let (handler, caller) = (try nodes.connect(to: .secondary), try nodes.connect(to: .primary))
        let pairing = try nodes.pairingIdentifier()
        let flooding = try (0..<3).map { try ApplicationIdentifier("org.example.flood\($0)") }
        let sinks = try flooding.map { try nodes.connect(to: .secondary, as: $0) }
        let floods = try flooding.map { try nodes.connect(to: .primary, as: $0) }
        nodes.waitForLink()
        nodes.clock.advance(by: .seconds(3))
        let before = sinks.map(\.frames.count)
        let body = try Body.bytes(["a": .data([UInt8](repeating: 7, count: 60_000))])
        for (app, flood) in zip(flooding, floods) {
            for _ in 0..<60 {
                try flood.send(Envelope(.message, app: app, pairing: pairing, id: .random(), body: body))
            }
        }
        let (sent, slowest) = exchange(from: caller, to: handler, through: pairing) {
            zip(sinks, before).allSatisfy { $0.frames.count >= $1 + 60 }
        }
        #expect(slowest <= .seconds(2) && sent > 10, "the slowest of \(sent) messages took \(slowest)")
        #expect((floods + [caller]).allSatisfy { $0.received(.failure).isEmpty })
    }

    // MARK: hostile bodies

    @Test func `DEL-28: a body that no app could read is refused where it enters`() throws {
        try nodes.pair()
        let app = try nodes.connect(to: .primary)
        let pairing = try nodes.pairingIdentifier()
        for channel in [Channel.userInfo, .urgent, .context, .settings] {
            let key = QueueKey(pairing: pairing, app: nodes.app, channel: channel)
            try app.send(SubmitFrame(ItemKey(key, .random()), body: [1, 2, 3]).envelope)
        }
        nodes.run(until: { app.received(.failure).count == 4 })
        for failure in app.received(.failure) {
            let error = try SessionError(failure: failure)
            #expect(error.code.rawValue == 7008 && error.name == "malformed")
        }
        // The same from a peer: no valid daemon sends it, so it is judged here.
        for channel in [Channel.userInfo, .urgent, .context, .settings] {
            let key = ItemKey(QueueKey(pairing: pairing, app: nodes.app, channel: channel), .random())
            let item = ItemFrame(
                key, sequence: 1, revision: channel.properties.isLatestWins ? 1 : nil, body: [1, 2, 3])
            let answer = try SessionError(failure: #require(AppDelivery.fault(of: item.envelope)))
            #expect(answer.code.rawValue == 7014 && answer.name == "malformed")
        }
        let key = QueueKey(pairing: pairing, app: nodes.app, channel: .context)
        let large = try Body.bytes(["a": .data([UInt8](repeating: 7, count: Limits.contextBody))])[...]
        let tooLarge = ItemFrame(ItemKey(key, .random()), sequence: 1, revision: 1, body: large)
        #expect(try SessionError(failure: #require(AppDelivery.fault(of: tooLarge.envelope))).code == .payloadTooLarge)
    }

    // MARK: the end

    @Test func `CFG-22: a daemon and an app that allow invalid signatures are both logged`() throws {
        let warning = "invalid signatures are allowed to apps that allow them, too"
        #expect(!nodes.hasNoted(warning))
        var options = nodes.options(.other)
        options.allowsInvalidSignatures = true
        let node = try nodes.make(options)
        try node.start()
        #expect(nodes.hasNoted(warning))
        _ = try nodes.connect(to: .other, as: try ApplicationIdentifier("org.example.strict"))
        nodes.run(until: { nodes.hasNoted("app registered") })
        #expect(!nodes.hasNoted("an app allows invalid signatures"))
        _ = try nodes.connect(to: .other, .init(allowsInvalidSignatures: true))
        nodes.run(until: { nodes.hasNoted("an app allows invalid signatures") })
        var isStopped = false
        node.stop { isStopped = true }
        nodes.run(until: { isStopped })
    }

    @Test func `THR-6, THR-13: no file of a device can be read or written by other users`() throws {
        try nodes.pair()
        _ = try nodes.startApp()
        #expect(nodes.verdict(try nodes.envelope(1)) == "applied")
        func found(_ test: String) -> [Substring] {
            guard let pipe = popen("find '\(nodes.directory.path)' \(test)", "r") else { return [] }
            var output: [UInt8] = []
            while case let byte = fgetc(pipe), byte != EOF { output.append(UInt8(truncatingIfNeeded: byte)) }
            return pclose(pipe) == 0 ? String(decoding: output, as: UTF8.self).split(separator: "\n") : []
        }
        #expect(found("-path '*secondary-state*' -type f -name '*.plist'").count > 0, "there is a configuration")
        #expect(found("-mindepth 1 -type f -perm /077").isEmpty)
        #expect(found("-mindepth 1 -type d -perm /026").isEmpty, "a directory may be entered, and no more")
    }

    @Test func `SES-18: a stopping daemon says bye, answers open requests, and closes its store`() throws {
        let app = try nodes.startApp()
        var health: ControlAnswer?
        nodes.begin(nodes.secondary, "drain", ["wait": 1]) { _ in }
        let secondary = nodes.secondary
        nodes.stop(.secondary)
        #expect(app.received(.bye).first?.name == "stopping")
        secondary.respond(to: nodes.request("health")) { health = $0 }
        nodes.clock.run()
        #expect(health?.body["ready"] == false && health?.body["reason"] == "stopping")
    }
}
