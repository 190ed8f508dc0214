// Links over real sockets on a real loop, TCP and Unix alike (PAR-1): the same code as over the in-process twin.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPairing
import TandemReactor
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct SocketLinkTests {
    private let loop: EventLoop
    private let directory = TemporaryDirectory()

    init() throws { loop = try EventLoop() }

    private func address(_ kind: String) throws -> SocketAddress {
        kind == "unix" ? .unix(path: directory.path("device.sock")) : try SocketAddress("127.0.0.1:0")
    }

    private typealias Devices = (
        primary: LinkedDevice, secondary: LinkedDevice, acceptor: LinkAcceptor, dialer: LinkDialer
    )

    /// Two devices with a ready link between them.
    /// - Parameter connections: those that the primary takes at once.
    private func linkedDevices(
        _ kind: String, connections: Int = LinkAcceptor.connectionLimit
    ) throws -> Devices {
        let primary = try LinkedDevice("gateway", on: loop)
        let secondary = try LinkedDevice("panel", on: loop)
        let pairing = UniqueIdentifier.random()
        try primary.remember(pairing, .primary, peer: secondary)
        try secondary.remember(pairing, .secondary, peer: primary)
        let acceptor = LinkAcceptor(context: primary.context, connections: connections)
        let listening = try acceptor.listen(at: address(kind), on: loop)
        let dialer = LinkDialer(
            pairing: pairing, at: listening, context: secondary.context, source: .sockets(on: loop), random: { 7 },
            record: { [weak secondary] in secondary?.registry[pairing] })
        dialer.start()
        loop.run { secondary.ready.count == 1 && primary.ready.count == 1 }
        return (primary, secondary, acceptor, dialer)
    }

    @Test(arguments: ["unix", "tcp"])
    func devicesLinkAndExchangeFramesOverSockets(kind: String) throws {
        let (primary, secondary, acceptor, dialer) = try linkedDevices(kind)
        let pairing = try #require(secondary.link).pairing
        let app = try ApplicationIdentifier("com.example.lights")
        secondary.link?.send(Envelope(.messageData, app: app, pairing: pairing, id: .random(), body: [1, 2, 3]))
        loop.run { primary.received.count == 1 }
        dialer.stop()
        primary.context.links.endAll(.stopping)
        loop.run { !secondary.closed.isEmpty }
        #expect(secondary.closed == [.endedByPeer(.stopping)])
        #expect(primary.received.first?.body == [1, 2, 3])
        acceptor.close()
    }

    @Test func theFramesOfATurnLeaveWithOneWrite() throws {
        let (primary, secondary, acceptor, dialer) = try linkedDevices("tcp")
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
        acceptor.close()
    }

    @Test func `LIM-4: links and strangers have their places together, and a connection beyond them is closed at once`()
        throws
    {
        #expect(LinkAcceptor.connectionLimit == 4096, "all places, where no test sets fewer")
        let devices = try linkedDevices("unix", connections: 3)
        let (acceptor, dialer) = (devices.acceptor, devices.dialer)
        let path = directory.path("device.sock")
        var strangers = try (0..<2).map { _ in try RawPeer(connectingTo: path) }
        loop.run { acceptor.unknownConnections == 2 }
        let refused = try RawPeer(connectingTo: path)
        var isLate = false
        loop.schedule(after: .seconds(3)) { isLate = true }
        loop.run { ((try? refused.receiveAvailable()) ?? []).isEmpty && refused.isEnded || isLate }
        try #require(refused.isEnded)
        #expect(acceptor.unknownConnections == 2 && dialer.status == .linked)
        strangers.removeLast().disappear()
        loop.run { acceptor.unknownConnections == 1 }
        strangers.append(try RawPeer(connectingTo: path))
        loop.run { acceptor.unknownConnections == 2 }
        dialer.stop()
        acceptor.close()
    }

    @Test func aPortInUseIsAnErrorThatNamesIt() throws {
        let first = try LinkedDevice("gateway", on: loop)
        let second = try LinkedDevice("other", on: loop)
        let address = try first.acceptor.listen(at: SocketAddress("127.0.0.1:0"), on: loop)
        #expect(throws: ListenError.inUse(address)) { try second.acceptor.listen(at: address, on: loop) }
        first.acceptor.close()
    }
}
