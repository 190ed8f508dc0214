// Daemons in the world's own process, on its loop: real sockets and TLS, and frames that can be lost below it.

import TandemBase
import TandemDaemon
import TandemReactor
import TandemTestSupport
import TandemTransport

/// Nodes on one loop.
final class LoopDaemons: Daemons {
    private(set) var notes: [String] = []
    private let site: Site
    private let loop: EventLoop
    private let network: FatedNetwork
    private let draws: Draws
    private var nodes: [Place: Node] = [:]

    init(_ site: Site, on loop: EventLoop, seed: UInt64) {
        (self.site, self.loop, network, draws) = (site, loop, FatedNetwork(loop), Draws(seed: seed))
    }

    var frameFate: FrameFate.Rule? {
        get { network.fate }
        set { network.fate = newValue }
    }

    func start(_ place: Place) throws {
        var options = NodeOptions(
            role: place == .primary ? .primary : .secondary, name: place.fileName, state: site.state(place),
            local: site.socket(place))
        if place == .primary { (options.listen, options.advertise) = ([site.listening], site.dialled) }
        let draws = draws
        let node = try Node(
            options, software: "conformance", scheduler: loop, network: network, random: { draws.next() },
            log: { [weak self] event in self?.notes.append("\(place): \(event.message) \(event.fields)") })
        nodes[place] = node
        try node.start()
    }

    func end(_ place: Place, _ ending: Ending) throws {
        guard let node = nodes.removeValue(forKey: place), ending == .orderly else {
            throw Violation("\(place) cannot be \(ending)")
        }
        try loop.stop(node)
    }

    func pair(_ number: Int) throws -> UniqueIdentifier {
        guard let primary = nodes[.primary], let secondary = nodes[.secondary(number)] else {
            throw Violation("no two daemons run")
        }
        return try loop.pair(primary, secondary)
    }

    func endAll() {
        for node in nodes.values { try? loop.stop(node) }
        nodes = [:]
    }
}

/// The sockets of a loop, with the frames' fate between them and TLS.
private final class FatedNetwork: NodeNetwork {
    private let sockets: SocketNetwork
    var fate: FrameFate.Rule?

    init(_ loop: EventLoop) { sockets = SocketNetwork(on: loop) }

    var dialling: StreamSource { sockets.dialling }

    var wrapping: (any StreamFilter) -> any StreamFilter {
        { [weak self] tls in FrameFaultFilter(tls) { self?.fate } }
    }

    func listen(at address: SocketAddress, for links: LinkAcceptor) throws(ListenError) -> SocketAddress {
        try sockets.listen(at: address, for: links)
    }

    func listen(at address: SocketAddress, access: SocketAccess, for apps: LocalEndpoint) throws(ListenError) {
        try sockets.listen(at: address, access: access, for: apps)
    }
}
