// A paired device that misuses its link: it speaks for another pairing, for another role, or sends what has no place
// there (FRM-13, SES-4, PAR-2). A field never proves anything.

import TandemBase
import TandemCrypto
import TandemDaemon
import TandemDaemonTestSupport
import TandemPairing
import TandemTLS
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite struct MisuseTests {
    private let network = TestNetwork()
    private let app = try? ApplicationIdentifier("com.example.lights")
    /// A primary with two paired secondaries, the first of which speaks raw frames.
    private let primary: LinkedDevice
    private let peer: RawLink
    private let mine = UniqueIdentifier.random()
    private let others = UniqueIdentifier.random()

    init() throws {
        (primary, peer) = try network.rawSecondary(in: mine)
        try primary.remember(others, .primary, peer: LinkedDevice("kiosk", on: network.scheduler))
    }

    @Test func aHelloForAnothersPairingIsRefused() throws {
        try peer.greet(others)
        network.scheduler.run()
        #expect(peer.refusals == ["not-paired"])
        #expect(primary.ready.isEmpty)
    }

    @Test func `SES-4: a client's hello without a pairing is refused as envelope`() throws {
        try peer.greet(nil)
        network.scheduler.run()
        #expect(peer.refusals == ["envelope"])
        #expect(primary.ready.isEmpty)
    }

    /// A secondary that dials, and the raw primary at the other end.
    private func dialled() throws -> (server: RawLink, gateway: LinkedDevice, panel: LinkedDevice, dialer: LinkDialer) {
        let (gateway, panel) = (
            try LinkedDevice("gateway", on: network.scheduler), try LinkedDevice("panel", on: network.scheduler)
        )
        try panel.remember(mine, .secondary, peer: gateway)
        let (near, far) = InProcessStream.pair(on: network.scheduler)
        let source = StreamSource { [scheduler = network.scheduler] _, completion in
            let attempt = scheduler.schedule(after: .zero) { completion(.success(near)) }
            return { scheduler.cancel(attempt) }
        }
        let dialer = LinkDialer(
            pairing: mine, at: try SocketAddress(TestNetwork.address), context: panel.context, source: source,
            random: { 0 }, record: { [weak panel, mine] in panel?.registry[mine] })
        dialer.start()
        let server = try RawLink(over: far, identity: TLSIdentity(key: gateway.key), side: .server)
        network.scheduler.run()
        return (server, gateway, panel, dialer)
    }

    @Test(arguments: [false, true])
    func `SES-4: a server's hello is for the dialled pairing if it names none, and refused if it names another`(
        isNamed: Bool
    ) throws {
        let (server, gateway, panel, dialer) = try dialled()
        let link = LinkHello(name: "gateway", epoch: 1, instance: .random(), received: [], sent: [])
        let hello = Hello(
            .chosen(.first), software: "raw/1", role: .primary, device: gateway.pin.derivedIdentifier, link: link)
        try server.send(HelloFrame(hello, pairing: isNamed ? others : nil).envelope)
        network.scheduler.run()
        #expect(server.refusals == (isNamed ? ["not-yours"] : []))
        #expect(panel.ready.map(\.pairing) == (isNamed ? [] : [mine]))
        dialer.stop()
    }

    @Test(arguments: [Limits.helloFrame, Limits.helloFrame + 1])
    func `LIM-52, SES-61: a large frame of a primary is refused before its hello is judged`(count: Int) throws {
        let (server, _, panel, dialer) = try dialled()
        server.send(try Frame(payload: [UInt8](repeating: 0x41, count: count)).bytes.copied())
        network.scheduler.run()
        #expect(server.refusals == [count > Limits.helloFrame ? "too-large" : "malformed"] && panel.ready.isEmpty)
        dialer.stop()
    }

    @Test(arguments: [0, 4_294_967_296, 1 << 63, UInt64.max])
    func `SES-2, LIM-133: a hello with an epoch out of range is refused and changes nothing`(epoch: UInt64) throws {
        try peer.greet(mine, epoch: epoch)
        network.scheduler.run()
        #expect(peer.refusals == ["envelope"])
        #expect(primary.ready.isEmpty && primary.registry[mine]?.epoch == 1)
    }

    @Test func `PAR-14, LIM-133: a hello with the last epoch makes a link in it`() throws {
        try peer.greet(mine, epoch: 4_294_967_295)
        network.scheduler.run()
        #expect(peer.refusals.isEmpty && primary.ready.count == 1)
        let record = try #require(primary.registry[mine])
        #expect(record.epoch == 4_294_967_295)
        #expect(try PairingRecord(row: record.row) == record)
    }

    @Test func aHelloInTheWrongRoleIsRefused() throws {
        try peer.greet(mine, role: .primary)
        network.scheduler.run()
        #expect(peer.refusals == ["not-paired"])
        #expect(primary.ready.isEmpty)
    }

    @Test func aHelloWithAClaimedVendorIdentifierIsRefused() throws {
        peer.device = .random()
        try peer.greet(mine)
        network.scheduler.run()
        #expect(peer.refusals == ["not-paired"])
        #expect(primary.ready.isEmpty)
    }

    @Test func aHelloWithoutWhatALinkNeedsIsRefused() throws {
        try peer.send(Envelope(.hello, pairing: mine).with(body: Hello.offer(software: "x").body))
        network.scheduler.run()
        #expect(peer.refusals == ["envelope"])
        #expect(primary.ready.isEmpty)
    }

    @Test func aFrameForAnothersPairingIsNeverForwarded() throws {
        try peer.greet(mine)
        try peer.send(Envelope(.messageData, app: app, pairing: others, id: .random(), body: [1]))
        network.scheduler.run()
        #expect(primary.received.isEmpty)
        #expect(peer.refusals == ["not-yours"])
        #expect(primary.closed.first?.name == "not-yours")
        #expect(peer.isClosed)
    }

    @Test func kindsOfTheLocalSocketHaveNoPlaceOnALink() throws {
        try peer.greet(mine)
        try peer.send(Envelope(.control, id: .random(), command: "unpair"))
        network.scheduler.run()
        #expect(primary.received.isEmpty)
        #expect(peer.refusals == ["unexpected"])
    }

    @Test func aSecondHelloEndsTheLink() throws {
        try peer.greet(mine)
        try peer.greet(mine)
        network.scheduler.run()
        #expect(peer.refusals == ["unexpected"])
        #expect(primary.ready.count == 1 && primary.closed.count == 1)
    }

    @Test func aLengthOverTheLimitEndsAPinnedLinkToo() throws {
        try peer.greet(mine)
        network.scheduler.run()
        peer.send([0x00, 0x08, 0x00, 0x01])
        network.scheduler.run()
        #expect(primary.closed.first?.name == "invalid-frame")
        #expect(peer.isClosed)
    }

    @Test func aPeerThatOnlySendsHalfAFrameIsEndedInTime() throws {
        try peer.greet(mine)
        network.scheduler.run()
        peer.send([0, 0])
        network.scheduler.advance(by: .seconds(16))
        #expect(primary.closed.count == 1)
        #expect(peer.isClosed)
    }
}

extension RawLink {
    /// Says hello for a pairing, or none, as a secondary would.
    func greet(
        _ pairing: UniqueIdentifier?, role: DeviceRole = .secondary, epoch: UInt64 = 1,
        versions: ClosedRange<ProtocolVersion> = ProtocolVersion.supported
    ) throws {
        let link = LinkHello(name: "panel", epoch: epoch, instance: .random(), received: [], sent: [])
        let hello = Hello(
            .offered(versions), software: "raw/1", role: role, device: device, link: link)
        try send(Envelope(.hello, pairing: pairing).with(body: hello.body))
    }
}
