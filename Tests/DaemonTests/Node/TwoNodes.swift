// Whole daemons of one process on a clock that the test moves: real stores, keys and TLS over in-process streams. Every
// connection, registration and control request takes the way that it takes in a daemon on sockets.

import TandemBase
import TandemCrypto
import TandemDaemon
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import TandemTransport
import Testing

/// The streams between nodes, and from host apps to nodes.
final class NodesNetwork: NodeNetwork {
    let clock: ManualScheduler
    private var acceptors: [SocketAddress: LinkAcceptor] = [:]
    private var endpoints: [SocketAddress: LocalEndpoint] = [:]
    private var links: [InProcessStream] = []
    /// When unset, no device answers.
    var isUp = true

    init(_ clock: ManualScheduler) { self.clock = clock }

    var dialling: StreamSource {
        StreamSource { [unowned self] address, completion in
            let attempt = clock.schedule(after: .milliseconds(1)) { [self] in
                guard isUp, let acceptor = acceptors[address] else {
                    return completion(.failure(.failed(address, SystemError(call: "connect", errno: 111))))
                }
                let (near, far) = InProcessStream.pair(on: clock)
                links.append(near)
                acceptor.take(far)
                completion(.success(near))
            }
            return { [clock] in clock.cancel(attempt) }
        }
    }

    func listen(at address: SocketAddress, for links: LinkAcceptor) throws(ListenError) -> SocketAddress {
        acceptors[address] = links
        return address
    }

    func listen(at address: SocketAddress, access: SocketAccess, for apps: LocalEndpoint) throws(ListenError) {
        endpoints[address] = apps
    }

    /// Cuts the links that there are.
    func cut() {
        for link in links { link.close(.failed(SystemError(call: "recv", errno: 104))) }
        links = []
    }

    /// A host app's stream to a local socket.
    func dial(_ address: SocketAddress, user: UInt32) throws -> InProcessStream {
        let endpoint = try #require(endpoints[address])
        let (near, far) = InProcessStream.pair(on: clock)
        endpoint.accept(far, credentials: PeerCredentials(user: user, group: user, process: 1))
        return near
    }
}

/// A primary's and a secondary's daemon.
final class TwoNodes {
    let directory = TemporaryDirectory()
    let clock = ManualScheduler()
    let network: NodesNetwork
    private(set) var notes: [LogEvent] = []
    /// One at a time holds its state directory: a stopped one has to go before the next is made.
    private var nodes: [DeviceRole: Node] = [:]
    let app: ApplicationIdentifier
    let signer = ConfigurationPrivateKey.generate()
    private(set) var target: PairedIdentifier = .vendor(.random())

    init() throws {
        network = NodesNetwork(clock)
        app = try ApplicationIdentifier("org.example.alarm")
        for role in DeviceRole.allCases { try start(role) }
        let device = try status(of: try #require(nodes[.primary]))["device"]?.dataValue.flatMap {
            UniqueIdentifier(bytes: $0)
        }
        target = .vendor(try #require(device))
    }

    func options(_ role: DeviceRole) -> NodeOptions {
        var options = NodeOptions(
            role: role, name: "the \(role.rawValue)", state: directory.path("\(role.rawValue)-state"),
            local: directory.path("\(role.rawValue).sock"))
        if role == .primary { options.listen = [.unix(path: directory.path("link.sock"))] }
        return options
    }

    func make(_ options: NodeOptions) throws -> Node {
        var generator = SeededGenerator(seed: 1)
        return try Node(
            options, software: "a test", scheduler: clock, network: network, random: { generator.next() },
            log: { [weak self] in self?.notes.append($0) })
    }

    var primary: Node { node(.primary) }
    var secondary: Node { node(.secondary) }

    private func node(_ role: DeviceRole) -> Node {
        guard let node = nodes[role] else { preconditionFailure("both run between restarts") }
        return node
    }

    // MARK: time

    /// Lets time pass until the condition holds: at most two minutes of it.
    func run(until condition: () -> Bool) {
        let end = clock.now + .seconds(120)
        while true {
            // The disk's threads take no time on this clock.
            for _ in 0..<8 {
                clock.run()
                for node in nodes.values { node.settleStore() }
            }
            clock.run()
            if condition() { return }
            guard clock.now < end else { break }
            clock.advance(by: .milliseconds(20))
        }
        Issue.record("it did not come about in two minutes")
    }

    // MARK: life

    func stop() { for role in DeviceRole.allCases { stop(role) } }

    func restart(_ role: DeviceRole) throws {
        stop(role)
        try start(role)
    }

    private func start(_ role: DeviceRole) throws {
        let node = try make(options(role))
        nodes[role] = node
        try node.start()
    }

    func stop(_ role: DeviceRole) {
        guard let node = nodes[role] else { return }
        var isStopped = false
        node.stop { [self] in
            isStopped = true
            // Its threads have ended: nothing is left to wait for.
            nodes[role] = nil
        }
        run(until: { isStopped })
    }

    // MARK: control

    func ask(_ node: Node, _ command: String, _ body: PropertyListDictionary = [:]) -> ControlAnswer {
        var answer: ControlAnswer?
        begin(node, command, body) { answer = $0 }
        run(until: { answer != nil })
        return answer ?? .done()
    }

    func begin(
        _ node: Node, _ command: String, _ body: PropertyListDictionary, _ completion: @escaping (ControlAnswer) -> Void
    ) {
        node.respond(to: request(command, body), completion: completion)
    }

    func request(
        _ command: String, _ body: PropertyListDictionary = [:], user: UInt32 = Linux.user, isPrivileged: Bool = true
    ) -> ControlRequest {
        ControlRequest(
            command: command, body: body, caller: PeerCredentials(user: user, group: user, process: 1),
            isPrivileged: isPrivileged)
    }

    func status(of node: Node) throws -> PropertyListDictionary {
        let answer = ask(node, "status")
        try #require(answer.code == 0)
        return answer.body
    }

    func rows(_ name: String, of node: Node) throws -> [PropertyListDictionary] {
        try status(of: node)[name]?.arrayValue?.compactMap(\.dictionaryValue) ?? []
    }

    func pair() throws {
        let made = ask(primary, "pair")
        let link = try #require(made.body["link"])
        let joined = ask(secondary, "join", ["link": link])
        try #require(joined.code == 0, "\(joined)")
        waitForLink()
    }

    /// Until both ends have a ready link.
    func waitForLink() {
        run(until: { [self] in
            [primary, secondary].allSatisfy { node in
                (try? rows("pairings", of: node))?.first?["level"]?.stringValue == "linked"
            }
        })
    }

    func unpair(_ node: Node) throws {
        let pairing = try #require(try rows("pairings", of: node).first?["pairing"])
        #expect(ask(node, "unpair", ["pairing": pairing]).code == 0)
    }

    // MARK: apps and configurations

    /// An app on the secondary that trusts the signer and judges what it is handed by all steps.
    func startApp(_ registration: TandemSession.Registration? = nil) throws -> HostApp {
        let hostApp = HostApp { [app, signer, clock] offer in
            do throws(VerificationFailure) {
                let context = VerificationContext(
                    profile: .full, application: app, role: .secondary,
                    anchor: .trusted(TrustedKeySet(signer.publicKey)), target: offer.target, device: offer.device,
                    now: clock.wallNow)
                return OfferReply(
                    applied: try ApplicableConfiguration(verifying: offer.envelope, in: context).verified)
            } catch {
                return OfferReply(error, of: offer.envelope)
            }
        }
        let own = registration ?? TandemSession.Registration(anchor: signer.publicKey.key.pem)
        try connect(hostApp, to: .secondary, own)
        return hostApp
    }

    func connect(
        _ hostApp: HostApp, to role: DeviceRole, _ registration: TandemSession.Registration,
        user: UInt32 = Linux.user
    ) throws {
        let stream = try network.dial(.unix(path: options(role).local), user: user)
        try hostApp.connect(over: stream, as: app, registration) { run(until: $0) }
    }

    func envelope(
        _ version: UInt64, with key: ConfigurationPrivateKey? = nil,
        _ change: (inout ConfigurationPayload) throws -> Void = { _ in }
    ) throws -> [UInt8] {
        var payload = ConfigurationPayload(
            application: app, role: .secondary, target: target, version: version, transaction: .random(),
            issued: clock.wallNow.seconds - 60, values: ["volume": 80])
        try change(&payload)
        return try ConfigurationSigner.sign(payload, with: [key ?? signer])
    }

    func apply(_ envelope: [UInt8], at node: Node? = nil, wait: Int64 = 20_000) -> ControlAnswer {
        ask(
            node ?? primary, "apply",
            ["envelope": .data(envelope), "app": .string(app.description), "wait": .integer(wait)])
    }

    /// The verdict in the only result, or the name of the failure.
    func verdict(_ envelope: [UInt8], at node: Node? = nil) -> String? {
        let answer = apply(envelope, at: node)
        if answer.code != 0 { return answer.name }
        let results = answer.body["results"]?.arrayValue?.compactMap(\.dictionaryValue) ?? []
        #expect(results.count == 1)
        return results.first?["verdict"]?.stringValue
    }

    /// The configuration that the secondary holds for the app: state and version.
    func held() throws -> PropertyListDictionary? { try rows("configurations", of: secondary).first }
}
