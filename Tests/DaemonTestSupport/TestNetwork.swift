// Network of tests: in-process streams between devices, and from host apps to them, on one manual clock. It serves
// single links as well as whole daemons.

package import TandemBase
import TandemCrypto
package import TandemDaemon
package import TandemPairing
package import TandemReactor
package import TandemSession
import TandemTLS
package import TandemTestSupport
package import TandemTransport
package import TandemWire
import Testing

package final class TestNetwork: NodeNetwork {
    package static let address = "unix:/primary"

    package let scheduler = ManualScheduler()
    private var acceptors: [SocketAddress: LinkAcceptor] = [:]
    private var endpoints: [SocketAddress: LocalEndpoint] = [:]
    private var links: [InProcessStream] = []
    /// From an attempt to its connection.
    private let latency: Duration
    package var faults = FaultPlan.none
    /// Connections made so far.
    package private(set) var connections = 0
    /// The time of each attempt.
    package private(set) var attempts: [MonotonicTime] = []
    /// When set, no device answers.
    package var isDown = false

    package init(latency: Duration = .zero) { self.latency = latency }

    package func attach(_ device: LinkedDevice) throws {
        acceptors[try SocketAddress(Self.address)] = device.acceptor
    }

    package var dialling: StreamSource {
        StreamSource { [unowned self] address, completion in
            attempts.append(scheduler.now)
            let attempt = scheduler.schedule(after: latency) { [self] in
                guard !isDown, let acceptor = acceptors[address] else {
                    return completion(.failure(.timedOut(address)))
                }
                completion(.success(connect(to: acceptor)))
            }
            return { [scheduler] in scheduler.cancel(attempt) }
        }
    }

    /// A raw stream whose other end the acceptor has taken.
    package func connect(to acceptor: LinkAcceptor) -> InProcessStream {
        connections += 1
        let (near, far) = InProcessStream.pair(on: scheduler, faults: faults)
        links.append(near)
        acceptor.take(far)
        return near
    }

    package func listen(at address: SocketAddress, for links: LinkAcceptor) throws(ListenError) -> SocketAddress {
        acceptors[address] = links
        return address
    }

    package func listen(at address: SocketAddress, access: SocketAccess, for apps: LocalEndpoint) throws(ListenError) {
        endpoints[address] = apps
    }

    /// The device at an address is found at another one, too.
    package func alias(_ other: SocketAddress, of address: SocketAddress) { acceptors[other] = acceptors[address] }

    /// Cuts the links that there are.
    package func cut() {
        for link in links { link.close(.failed(SystemError(call: "recv", errno: 104))) }
        links = []
    }

    /// Cuts them, and lets no device answer.
    package func takeDown() {
        isDown = true
        cut()
    }

    /// A host app's connection to a local socket.
    package func client(at path: String, user: UInt32) throws -> Client {
        Client(to: try #require(endpoints[.unix(path: path)]), on: scheduler, user: user)
    }

    /// Two devices with one pairing, pending or active on both sides.
    /// - Parameters:
    ///   - epochs: those that their records name.
    ///   - versions: the highest ones that they have seen of each other.
    ///   - clocks: their schedulers; nil for the network's.
    ///   - offer: what the secondary's hello offers.
    package func pairedDevices(
        state: PairingRecord.State = .active, epochs: PerRole<UInt64> = PerRole(1),
        versions: PerRole<ProtocolVersion?> = PerRole(nil),
        on clocks: (primary: any Scheduler, secondary: any Scheduler)? = nil, offer: HelloOffer? = nil
    ) throws -> (primary: LinkedDevice, secondary: LinkedDevice) {
        let primary = try LinkedDevice("gateway", on: clocks?.primary ?? scheduler)
        let secondary = try LinkedDevice("panel", on: clocks?.secondary ?? scheduler, offer: offer)
        try attach(primary)
        let pairing = UniqueIdentifier.random()
        try primary.remember(
            pairing, .primary, peer: secondary, state: state, epoch: epochs.primary, version: versions.primary)
        try secondary.remember(
            pairing, .secondary, peer: primary, state: state, epoch: epochs.secondary, version: versions.secondary)
        return (primary, secondary)
    }

    /// A primary and a raw peer with the key of its secondary in this pairing, which has said nothing yet.
    package func rawSecondary(
        in pairing: UniqueIdentifier, on clock: (any Scheduler)? = nil
    ) throws -> (primary: LinkedDevice, peer: RawLink) {
        let primary = try LinkedDevice("gateway", on: clock ?? scheduler)
        let panel = try LinkedDevice("panel", on: scheduler)
        try primary.remember(pairing, .primary, peer: panel)
        let peer = try RawLink(over: connect(to: primary.acceptor), identity: TLSIdentity(key: panel.key))
        peer.device = panel.pin.derivedIdentifier
        return (primary, peer)
    }

    package func dialer(of secondary: LinkedDevice, seed: UInt64 = 1) throws -> LinkDialer {
        let pairing = try #require(secondary.registry.pairings.first).pairing
        var generator = SeededGenerator(seed: seed)
        return LinkDialer(
            pairing: pairing, at: try SocketAddress(Self.address), context: secondary.context, source: dialling,
            random: { generator.next() }, record: { [weak secondary] in secondary?.registry[pairing] })
    }

    /// A dialer that has done what it can at once.
    package func dial(from secondary: LinkedDevice) throws -> LinkDialer {
        let dialer = try dialer(of: secondary)
        dialer.start()
        scheduler.run()
        return dialer
    }

    /// Two devices with a ready link between them.
    package func linkedDevices() throws -> (primary: LinkedDevice, secondary: LinkedDevice, dialer: LinkDialer) {
        let (primary, secondary) = try pairedDevices()
        let dialer = try dial(from: secondary)
        #expect(primary.ready.count == 1 && secondary.ready.count == 1)
        return (primary, secondary, dialer)
    }
}

extension LinkedDevice {
    package func remember(
        _ pairing: UniqueIdentifier, _ role: DeviceRole, peer: LinkedDevice, state: PairingRecord.State = .active,
        epoch: UInt64 = 1, version: ProtocolVersion? = nil
    ) throws {
        let record = PairingRecord(
            pairing: pairing, role: role, peer: peer.pin, claim: peer.claim, epoch: epoch, highestVersion: version,
            state: state, created: scheduler.wallNow, address: role == .secondary ? TestNetwork.address : nil)
        let row = PairingChange.putPairing(record).row
        registry = try PairingRegistry(
            rows: registry.pairings.map { PairingChange.putPairing($0).row } + [row], sealedUnder: Self.tokenKey)
    }
}
