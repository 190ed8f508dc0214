// Daemons on one event loop, joined by real sockets: device links with TLS over Unix sockets or over TCP on loopback. It
// waits in real time, so only system tests use it.

import PairedSession
import TandemHostApps
package import TandemIdentity
import TandemLink
import TandemNode
import TandemPropertyList
import TandemReactor
import TandemTestSupport
import TandemTransport
import TandemWire

/// Nodes and apps on the sockets of one loop.
package final class SocketWorld: World {
    package let abilities: Set<Ability> = [.durable, .cut, .restart, .killApps]
    package private(set) var pairings: [UniqueIdentifier] = []
    private let loop: EventLoop
    private let directory = TemporaryDirectory()
    private let address: SocketAddress
    private let network: RealNetwork
    private let draws: Draws
    private var nodes: [Place: Node] = [:]
    private var apps: [(app: App, dialer: LoopDialer)] = []

    /// - Parameter overTCP: else over Unix sockets.
    package init(seed: UInt64, secondaries: Int = 1, overTCP: Bool) throws {
        loop = try EventLoop()
        network = RealNetwork(loop)
        draws = Draws(seed: seed)
        // The port in effect is told by the join links.
        address = overTCP ? try SocketAddress("127.0.0.1:0") : .unix(path: directory.path("link"))
        try start(.primary)
        for number in 0..<secondaries {
            try start(.secondary(number))
            try pair(number)
        }
    }

    package var now: MonotonicTime { Linux.bootTime }

    package func wait(within limit: Duration, until condition: () throws -> Bool) rethrows -> Bool {
        try loop.wait(within: limit, until: condition)
    }

    package func cutLinks() { network.cutLinks() }

    package var isLinkAllowed: Bool {
        get { network.isLinkAllowed }
        set { network.isLinkAllowed = newValue }
    }

    // MARK: daemons

    private func name(_ place: Place) -> String {
        switch place {
        case .primary: "primary"
        case .secondary(let number): "secondary-\(number)"
        }
    }

    private func start(_ place: Place) throws {
        var options = NodeOptions(
            role: place == .primary ? .primary : .secondary, name: name(place), state: directory.path(name(place)),
            local: directory.path(name(place) + ".sock"))
        if place == .primary { options.listen = [network.lastAddress ?? address] }
        let node = try Node(options, software: "conformance", scheduler: loop, network: network, log: { _ in })
        nodes[place] = node
        try node.start()
        if place == .primary { network.lastAddress = node.listening.first }
    }

    package func restart(_ place: Place, _ ending: Ending) throws {
        guard let node = nodes.removeValue(forKey: place), ending == .orderly else {
            throw Violation("\(place) cannot be \(ending)")
        }
        try stop(node, place)
        try start(place)
    }

    private func stop(_ node: Node, _ place: Place) throws {
        var isStopped = false
        node.stop { isStopped = true }
        try demand(wait(within: .seconds(20)) { isStopped }, "\(place) stops in 20 s")
    }

    private func ask(_ place: Place, _ command: String, _ body: PropertyListDictionary = [:]) throws -> ControlAnswer {
        var answer: ControlAnswer?
        let caller = PeerCredentials(user: Linux.user, group: Linux.user, process: 1)
        nodes[place]?.respond(
            to: ControlRequest(command: command, body: body, caller: caller, isPrivileged: true)
        ) { answer = $0 }
        _ = wait(within: .seconds(20)) { answer != nil }
        guard let answer, answer.code == 0 else { throw Violation("\(place) refuses \(command): \(answer as Any)") }
        return answer
    }

    private func pair(_ number: Int) throws {
        let made = try ask(.primary, "pair")
        let joined = try ask(.secondary(number), "join", ["link": made.body["link"] ?? ""])
        guard let pairing = joined.body["pairing"]?.dataValue.flatMap({ UniqueIdentifier(bytes: $0) }) else {
            throw Violation("a join gives no pairing")
        }
        pairings.append(pairing)
    }

    // MARK: apps

    package func app(_ name: String, at place: Place) throws -> App {
        let dialer = LoopDialer(to: directory.path(self.name(place) + ".sock"), on: loop)
        let app = try App(name, at: place, on: loop, dialer, seed: draws.next())
        apps.append((app, dialer))
        return app
    }

    package func end(_ app: App, _ ending: Ending) {
        guard let index = apps.firstIndex(where: { $0.app === app }) else { return }
        let dialer = apps.remove(at: index).dialer
        loop.end(app, dialer, ending)
    }

    package func stop() {
        for entry in apps { end(entry.app, .orderly) }
        for (place, node) in nodes { try? stop(node, place) }
        nodes = [:]
    }
}

/// The daemons' sockets, with a way to break them.
private final class RealNetwork: NodeNetwork {
    private let loop: EventLoop
    private let sockets: SocketNetwork
    private var links: [Weak] = []
    var isLinkAllowed = true
    var lastAddress: SocketAddress?

    private struct Weak {
        weak var stream: (any ByteStream)?
    }

    init(_ loop: EventLoop) { (self.loop, sockets) = (loop, SocketNetwork(on: loop)) }

    func cutLinks() {
        for link in links { link.stream?.close(.failed(SystemError(call: "recv", errno: 104))) }
        links = []
    }

    var dialling: StreamSource {
        StreamSource { [self] address, completion in
            guard isLinkAllowed else {
                let attempt = loop.schedule(after: .zero) {
                    completion(.failure(.failed(address, SystemError(call: "connect", errno: 111))))
                }
                return { [loop] in loop.cancel(attempt) }
            }
            return sockets.dialling.connect(address) { [weak self] outcome in
                if case .success(let stream) = outcome { self?.links.append(Weak(stream: stream)) }
                completion(outcome)
            }
        }
    }

    func listen(at address: SocketAddress, for links: LinkAcceptor) throws(ListenError) -> SocketAddress {
        try sockets.listen(at: address, for: links)
    }

    func listen(at address: SocketAddress, access: SocketAccess, for apps: LocalEndpoint) throws(ListenError) {
        try sockets.listen(at: address, access: access, for: apps)
    }
}
