// A primary's and a secondary's daemon in one process on one loop, with control requests as the local endpoint gives them.

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

final class TwoNodes {
    let directory = TemporaryDirectory()
    let loop: EventLoop
    /// One at a time holds its state directory: a stopped one has to go before the next is made.
    private var nodes: [DeviceRole: Node] = [:]
    let app: ApplicationIdentifier
    let signer = ConfigurationPrivateKey.generate()
    private(set) var target: PairedIdentifier = .vendor(.random())

    init() throws {
        loop = try EventLoop()
        app = try ApplicationIdentifier("org.example.alarm")
        for role in DeviceRole.allCases { try start(role) }
        let device = try status(of: try #require(nodes[.primary]))["device"]?.dataValue.flatMap {
            UniqueIdentifier(bytes: $0)
        }
        target = .vendor(try #require(device))
    }

    private static func node(_ role: DeviceRole, _ directory: TemporaryDirectory, _ loop: EventLoop) throws -> Node {
        var options = NodeOptions(
            role: role, name: "the \(role.rawValue)", state: directory.path("\(role.rawValue)-state"),
            local: directory.path("\(role.rawValue).sock"))
        if role == .primary { options.listen = [.unix(path: directory.path("link.sock"))] }
        return try Node(options, software: "a test", loop: loop, log: { _ in })
    }

    var primary: Node { node(.primary) }
    var secondary: Node { node(.secondary) }

    private func node(_ role: DeviceRole) -> Node {
        guard let node = nodes[role] else { preconditionFailure("both run between restarts") }
        return node
    }

    // MARK: life

    func stop() { for node in nodes.values { stop(node) } }

    func restart(_ role: DeviceRole) throws {
        if let node = nodes.removeValue(forKey: role) { stop(node) }
        try start(role)
    }

    private func start(_ role: DeviceRole) throws {
        let node = try Self.node(role, directory, loop)
        nodes[role] = node
        try node.start()
    }

    private func stop(_ node: Node) {
        var isStopped = false
        node.stop { isStopped = true }
        loop.run(until: { isStopped })
    }

    // MARK: control

    func ask(_ node: Node, _ command: String, _ body: PropertyListDictionary = [:]) -> ControlAnswer {
        var answer: ControlAnswer?
        begin(node, command, body) { answer = $0 }
        loop.run(until: { answer != nil })
        return answer ?? .done()
    }

    func begin(
        _ node: Node, _ command: String, _ body: PropertyListDictionary, _ completion: @escaping (ControlAnswer) -> Void
    ) {
        let caller = PeerCredentials(user: Linux.user, group: Linux.user, process: 1)
        node.respond(
            to: ControlRequest(command: command, body: body, caller: caller, isPrivileged: true),
            completion: completion)
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
        loop.run(until: { [self] in
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
        let hostApp = HostApp { [app, signer, loop] offer in
            do throws(VerificationFailure) {
                let context = VerificationContext(
                    profile: .full, application: app, role: .secondary,
                    anchor: .trusted(TrustedKeySet(signer.publicKey)), target: offer.target, device: offer.device,
                    now: loop.wallNow)
                return OfferReply(
                    applied: try ApplicableConfiguration(verifying: offer.envelope, in: context).verified)
            } catch {
                return OfferReply(error, of: offer.envelope)
            }
        }
        let own = registration ?? TandemSession.Registration(anchor: signer.publicKey.key.pem)
        try hostApp.connect(to: directory.path("secondary.sock"), as: app, own, on: loop)
        return hostApp
    }

    func envelope(
        _ version: UInt64, with key: ConfigurationPrivateKey? = nil,
        _ change: (inout ConfigurationPayload) throws -> Void = { _ in }
    ) throws -> [UInt8] {
        var payload = ConfigurationPayload(
            application: app, role: .secondary, target: target, version: version, transaction: .random(),
            issued: loop.wallNow.seconds - 60, values: ["volume": 80])
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
