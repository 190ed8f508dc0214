// Links over real sockets on a real loop, TCP and Unix alike (PAR-1): the same code as over the in-process twin.

import TandemBase
import TandemCrypto
import TandemDaemon
import TandemPairing
import TandemReactor
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(1))) struct SocketLinkTests {
    private let loop: EventLoop
    private let directory = TemporaryDirectory()

    init() throws { loop = try EventLoop() }

    private func address(_ kind: String) throws -> SocketAddress {
        kind == "unix" ? .unix(path: directory.path("device.sock")) : try SocketAddress("127.0.0.1:0")
    }

    private func linkedDevices(_ kind: String) throws -> (LinkedDevice, LinkedDevice, LinkDialer) {
        let primary = try LinkedDevice("gateway", on: loop)
        let secondary = try LinkedDevice("panel", on: loop)
        let pairing = UniqueIdentifier.random()
        try primary.remember(pairing, .primary, peer: secondary)
        try secondary.remember(pairing, .secondary, peer: primary)
        let listening = try primary.acceptor.listen(at: address(kind), on: loop)
        let dialer = LinkDialer(
            pairing: pairing, at: listening, context: secondary.context, source: .sockets(on: loop), random: { 7 },
            record: { [weak secondary] in secondary?.registry[pairing] })
        dialer.start()
        loop.run { secondary.ready.count == 1 && primary.ready.count == 1 }
        return (primary, secondary, dialer)
    }

    @Test(arguments: ["unix", "tcp"])
    func devicesLinkAndExchangeFramesOverSockets(kind: String) throws {
        let (primary, secondary, dialer) = try linkedDevices(kind)
        let pairing = try #require(secondary.link).pairing
        let app = try ApplicationIdentifier("com.example.lights")
        secondary.link?.send(Envelope(.messageData, app: app, pairing: pairing, id: .random(), body: [1, 2, 3]))
        loop.run { primary.received.count == 1 }
        dialer.stop()
        primary.context.links.endAll(.stopping)
        loop.run { !secondary.closed.isEmpty }
        #expect(secondary.closed == [.endedByPeer(.stopping)])
        #expect(primary.received.first?.body == [1, 2, 3])
        primary.acceptor.close()
    }

    @Test func theFramesOfATurnLeaveWithOneWrite() throws {
        let (primary, secondary, dialer) = try linkedDevices("tcp")
        let app = try ApplicationIdentifier("com.example.lights")
        let pairing = try #require(secondary.link).pairing
        let frame = try Envelope(.messageData, app: app, pairing: pairing, id: .random(), body: [1, 2, 3]).frame()
        let counts = SystemCallCounter.counting {
            for _ in 0..<40 { secondary.link?.frames.send(frame) }
            loop.runOnce()
        }
        #expect(counts.writes == 1)
        loop.run { primary.received.count == 40 }
        dialer.stop()
        primary.acceptor.close()
    }

    @Test func aPortInUseIsAnErrorThatNamesIt() throws {
        let first = try LinkedDevice("gateway", on: loop)
        let second = try LinkedDevice("other", on: loop)
        let address = try first.acceptor.listen(at: SocketAddress("127.0.0.1:0"), on: loop)
        #expect(throws: ListenError.inUse(address)) { try second.acceptor.listen(at: address, on: loop) }
        first.acceptor.close()
    }
}
