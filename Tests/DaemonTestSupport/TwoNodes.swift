// Whole daemons of one process on a clock that the test moves: real stores, keys and TLS over in-process streams. Every
// connection, registration and control request takes the way that it takes in a daemon on sockets.

import Glibc
package import TandemBase
package import TandemCrypto
package import TandemDaemon
import TandemOperations
import TandemPages
package import TandemPropertyList
package import TandemReactor
package import TandemSession
package import TandemSettings
package import TandemSignedConfiguration
package import TandemTestSupport
import TandemTransport
package import TandemWire
import Testing

/// A primary's and a secondary's daemon, and others that a test may start.
package final class TwoNodes {
    /// The devices; the third one is a second primary or a second secondary, and the last one is at the end of a chain.
    package enum Place: String, CaseIterable { case primary, secondary, other, last }

    package let directory = TemporaryDirectory()
    /// A daemon that stops is gone before the next attempt reaches its address.
    package let network = TestNetwork(latency: .milliseconds(1))
    package private(set) var notes: [LogEvent] = []
    private let running = Running()
    private var otherRole = DeviceRole.secondary
    /// Where the primary listens, from its next start on.
    package var linkName = "link.sock"
    /// The secondaries that have secondaries of their own, from their next starts on.
    package var carriers: Set<Place> = []
    /// The devices with a socket for their other side, too, from their next starts on.
    package var twoSided: Set<Place> = []
    /// The daemons' half of that decision, from their next starts on.
    package var allowsInvalidSignatures = false
    /// The group that may use the daemons' local sockets, from their next starts on.
    package var localGroup: String?
    /// How long a disk may end no commit, from the daemons' next starts on. Time passes in small steps then.
    package var diskPatience: Duration?
    /// The secondary's commands that start apps, from its next start on, and the loop that watches their programs.
    package var wake: (commands: WakeCommands, processes: EventLoop)?
    /// State directories elsewhere.
    package var states: [Place: String] = [:]
    package let app: ApplicationIdentifier
    package let signer = ConfigurationPrivateKey.generate()
    package private(set) var target: PairedIdentifier = .vendor(.random())

    private final class Running {
        /// One at a time holds its state directory: a stopped one has to go before the next is made.
        var nodes: [Place: Node] = [:]
    }

    package init(paired: Bool = false) throws {
        app = try ApplicationIdentifier("org.example.alarm")
        for place in [Place.primary, .secondary] { try start(place) }
        target = .vendor(try device(of: primary))
        if paired { try pair() }
    }

    /// A closure that an app of the test keeps must not refer to this object: the daemons refer to their apps, so that
    /// they would never stop.
    deinit {
        // The clock belongs to the thread that ran it last, and a test may end on another one.
        clock.run()
        stop()
    }

    package var clock: ManualScheduler { network.scheduler }

    package func role(_ place: Place) -> DeviceRole { DeviceRole(rawValue: place.rawValue) ?? otherRole }

    package func options(_ place: Place) -> NodeOptions {
        var options = NodeOptions(
            role: role(place), name: "the \(place)", state: states[place] ?? directory.path("\(place)-state"),
            local: directory.path("\(place).sock"))
        options.allowsInvalidSignatures = allowsInvalidSignatures
        options.localGroup = localGroup
        if place == .secondary, let wake { options.wake = wake.commands }
        if twoSided.contains(place) { options.localOther = directory.path("\(place)-other.sock") }
        if options.role == .primary || carriers.contains(place) {
            options.listen = [.unix(path: directory.path(place == .primary ? linkName : "\(place)-link.sock"))]
        }
        return options
    }

    package func make(_ options: NodeOptions) throws -> Node {
        var generator = SeededGenerator(seed: 1)
        return try Node(
            options, software: "a test", scheduler: clock, network: network, processes: wake?.processes,
            diskPatience: diskPatience, random: { generator.next() }, log: { [weak self] in self?.notes.append($0) })
    }

    package var primary: Node { node(.primary) }
    package var secondary: Node { node(.secondary) }
    package var other: Node { node(.other) }
    package var last: Node { node(.last) }

    private func node(_ place: Place) -> Node {
        guard let node = running.nodes[place] else { preconditionFailure("\(place) runs between restarts") }
        return node
    }

    package func hasNoted(_ message: String) -> Bool { notes.contains { "\($0.message)" == message } }

    /// The lines of the log with a message.
    package func lines(_ message: String) -> [String] { notes.filter { "\($0.message)" == message }.map { "\($0)" } }

    // MARK: time

    /// Lets time pass until the condition holds: at most two minutes of it.
    package func run(until condition: () -> Bool) {
        let end = clock.now + .seconds(120)
        var hasRun = true
        while true {
            if clock.run() || hasRun { settle() }
            if condition() { return }
            guard clock.now < end else { break }
            hasRun = clock.advance(by: .milliseconds(20))
            guard !hasRun else { continue }
            // Nothing was due: on to the next timer, but not far, because conditions may ask for the time.
            clock.step(to: clock.now + .milliseconds(180))
            hasRun = true
        }
        Issue.record("it did not come about in two minutes")
    }

    /// Lets the disk's threads end, and what waits for them run: they take no time on this clock.
    private func settle() {
        for _ in 0..<8 {
            for node in running.nodes.values { node.settleStore() }
            guard clock.run() else { return }
        }
    }

    // MARK: life

    package func stop() { for place in Place.allCases { stop(place) } }

    package func restart(_ place: Place) throws {
        stop(place)
        try start(place)
    }

    package func start(_ place: Place) throws {
        let node = try make(options(place))
        running.nodes[place] = node
        try node.start()
    }

    /// Starts the third device.
    package func startOther(as role: DeviceRole) throws {
        otherRole = role
        try start(.other)
    }

    package func stop(_ place: Place) {
        guard let node = running.nodes[place] else { return }
        var isStopped = false
        // Weak: a stopping node holds its completion until the clock has passed its longest time.
        node.stop { [weak running] in
            isStopped = true
            // Its threads have ended: nothing is left to wait for.
            running?.nodes[place] = nil
        }
        run(until: { isStopped })
    }

    /// The bytes of a store's files; nil for one that is not there.
    package typealias Backup = [String: [UInt8]?]

    /// Stops a node and keeps its store.
    package func backUp(_ place: Place) -> Backup {
        stop(place)
        let names = ["tandem.sqlite", "tandem.sqlite-wal"].map { "\(place)-state/\($0)" }
        return Dictionary(uniqueKeysWithValues: names.map { ($0, TemporaryDirectory.read(directory.path($0))) })
    }

    /// Stops a node and puts an earlier store in the place of its own.
    package func restore(_ backup: Backup, at place: Place) {
        stop(place)
        for (name, bytes) in backup {
            unlink(directory.path(name))
            if let bytes { directory.write(bytes, to: name) }
        }
        unlink(directory.path("\(place)-state/tandem.sqlite-shm"))
    }

    // MARK: control

    package func ask(
        _ node: Node, _ command: String, _ body: PropertyListDictionary = [:], user: UInt32 = Linux.user,
        isOperator: Bool = true
    ) -> ControlAnswer {
        var answer: ControlAnswer?
        node.respond(to: request(command, body, user: user, isOperator: isOperator)) { answer = $0 }
        run(until: { answer != nil })
        return answer ?? .done()
    }

    package func begin(
        _ node: Node, _ command: String, _ body: PropertyListDictionary, _ completion: @escaping (ControlAnswer) -> Void
    ) {
        node.respond(to: request(command, body), completion: completion)
    }

    package func request(
        _ command: String, _ body: PropertyListDictionary = [:], user: UInt32 = Linux.user, isOperator: Bool = true
    ) -> ControlRequest {
        ControlRequest(command: command, body: body, caller: Caller(user, isOperator: isOperator))
    }

    /// A request's body about the app.
    package func body(_ more: PropertyListDictionary = [:]) -> PropertyListDictionary {
        var body = more
        body["app"] = .string(app.description)
        return body
    }

    package func status(of node: Node) throws -> PropertyListDictionary {
        let answer = ask(node, "status")
        try #require(answer.code == 0)
        return answer.body
    }

    package func rows(_ name: String, of node: Node) throws -> [PropertyListDictionary] {
        try status(of: node).rows(name)
    }

    package func device(of node: Node) throws -> UniqueIdentifier {
        try #require(try status(of: node)["device"]?.identifierValue)
    }

    /// The identifier of the node's newest pairing.
    package func pairing(of node: Node) throws -> PropertyListValue {
        try #require(try rows("pairings", of: node).last?["pairing"])
    }

    /// The same, of the primary by default.
    package func pairingIdentifier(of node: Node? = nil) throws -> UniqueIdentifier {
        try #require(try pairing(of: node ?? primary).identifierValue)
    }

    /// A message of the app that wants a reply.
    package func message(through pairing: UniqueIdentifier? = nil) throws -> Envelope {
        var message = try Envelope(.message).with(body: ["a": 1])
        message[.app] = app
        message[.pairing] = try pairing ?? pairingIdentifier()
        message[.id] = UniqueIdentifier.random()
        message[.reply] = true
        return message
    }

    /// An item that the app submits.
    package func item(
        through pairing: UniqueIdentifier? = nil, of other: ApplicationIdentifier? = nil,
        on channel: Channel = .userInfo
    ) throws -> Envelope {
        let pairing = try pairing ?? pairingIdentifier()
        return try Envelope(.submit, app: other ?? app, pairing: pairing, id: .random(), channel: channel)
            .with(body: ["n": 1])
    }

    package func pair(_ primary: Node? = nil, _ secondary: Node? = nil) throws {
        let made = ask(primary ?? self.primary, "pair")
        let joined = ask(secondary ?? self.secondary, "join", ["link": try #require(made.body["link"])])
        try #require(joined.code == 0, "\(joined)")
        waitForLink()
    }

    /// Until each device has a pairing, and all of them have ready links.
    package func waitForLink() {
        run(until: { [self] in
            running.nodes.values.allSatisfy { node in
                let levels = try? rows("pairings", of: node).map { $0["level"]?.stringValue }
                return levels?.isEmpty == false && levels?.allSatisfy { $0 == "linked" } == true
            }
        })
    }

    package func unpair(_ node: Node) throws {
        #expect(ask(node, "unpair", ["pairing": try pairing(of: node), "yes": true]).code == 0)
    }

    // MARK: apps and configurations

    /// An app that trusts the signer and judges what it is offered by all steps.
    package func startApp(
        at place: Place = .secondary, _ registration: TandemSession.Registration? = nil, on side: DeviceRole? = nil
    ) throws -> Client {
        let registration = registration ?? .init(anchor: signer.publicKey.key.pem)
        return try connect(to: place, registration, on: side) { [app, signer, clock] client in
            client.judgeOffers(to: app, as: side ?? role(place), trusting: signer, on: clock)
        }
    }

    /// An app on the secondary that has sent its schema, and answers these kinds of questions about its pages.
    package func startApp(
        with document: SchemaDocument, answering kinds: [String] = PageQuestion.Kind.allCases.map(\.rawValue)
    ) throws -> Client {
        let questions = try #require(ProvidedNames(kinds))
        let app = try startApp(
            at: .secondary, .init(schema: SHA256.digest(document.bytes), questions: questions))
        try bring(document.bytes, from: app)
        return app
    }

    /// An app sends its schema; returns the daemon's answer.
    @discardableResult
    package func bring(_ schema: [UInt8], from client: Client) throws -> Envelope? {
        let count = client.received(.answer).count
        let question = QueryFrame.Question.schema(document: schema)
        try client.send(QueryFrame(question, id: .random(), app: app, pairing: nil, channel: nil).envelope)
        run(until: { client.received(.answer).count > count })
        return client.received(.answer).last
    }

    /// The rows of the app's settings at the secondary.
    package var settings: [PropertyListDictionary] { ask(secondary, "settings-get", body()).body.rows("settings") }

    package func setting(_ key: String) -> PropertyListDictionary? { settings.first { $0["key"] == .string(key) } }

    /// A user of the secondary edits the app's settings.
    package func edit(_ values: PropertyListDictionary) -> ControlAnswer {
        ask(secondary, "settings-set", body(["values": .dictionary(values)]))
    }

    /// The directory of the app's files at the secondary.
    package var folder: String { directory.path("secondary-state/apps/\(app)") }

    /// A host app's connection; it may be refused.
    /// - Parameter side: the socket of that side; nil for the one that the daemon was started for.
    package func connect(
        to place: Place, _ registration: TandemSession.Registration = .init(), as other: ApplicationIdentifier? = nil,
        on side: DeviceRole? = nil, user: UInt32 = Linux.user, prepare: (Client) -> Void = { _ in }
    ) throws -> Client {
        let path = try #require(options(place).sockets[side ?? role(place)])
        let client = try network.client(at: path, user: user)
        prepare(client)
        try client.hello()
        run(until: { !client.received(.hello).isEmpty })
        try client.register(other ?? app, registration)
        run(until: { !client.received(.registered).isEmpty || client.refusal != nil })
        return client
    }

    /// Whether an app's connection was told that its counterpart is installed.
    package func seesInstalled(_ client: Client) -> Bool? {
        try? client.states(now: clock.now).last?.pairings.first?.isInstalled
    }

    /// An app of the primary that may submit items: its counterpart is installed.
    package func startSender() throws -> Client {
        let sender = try connect(to: .primary)
        run(until: { seesInstalled(sender) == true })
        return sender
    }

    package func envelope(
        _ version: UInt64, with key: ConfigurationPrivateKey? = nil, under keySet: UInt64 = 1,
        _ change: (inout ConfigurationPayload) throws -> Void = { _ in }
    ) throws -> [UInt8] {
        var payload = ConfigurationPayload(
            application: app, role: .secondary, target: target, version: version, keySetVersion: keySet,
            transaction: .random(), issued: clock.wallNow.seconds - 60, values: ["volume": 80])
        try change(&payload)
        return try ConfigurationSigner.sign(payload, with: [key ?? signer])
    }

    /// The body of `apply`.
    package func application(of envelope: [UInt8], wait: Int64 = 20_000) -> PropertyListDictionary {
        ["envelope": .data(envelope), "app": .string(app.description), "wait": .integer(wait)]
    }

    /// Applies an envelope and returns the result of each device by its name.
    package func results(_ envelope: [UInt8], at node: Node? = nil, wait: Int64 = 20_000) -> [String:
        PropertyListDictionary]
    {
        let answer = ask(node ?? primary, "apply", application(of: envelope, wait: wait))
        #expect(answer.code == 0, "\(answer)")
        return Dictionary(answer.body.rows("results").map { ($0["name"]?.stringValue ?? "", $0) }) { first, _ in first }
    }

    /// The verdict in the only result, or the name of the failure.
    package func verdict(_ envelope: [UInt8], at node: Node? = nil, wait: Int64 = 20_000) -> String? {
        let answer = ask(node ?? primary, "apply", application(of: envelope, wait: wait))
        if answer.code != 0 { return answer.name }
        let results = answer.body.rows("results")
        #expect(results.count == 1)
        return results.first?["verdict"]?.stringValue
    }

    /// The last verdict that the primary knows of the newest configuration that it has forwarded.
    package func reported() -> String? {
        (try? rows("configurations", of: primary))?.last?["lastVerdict"]?.stringValue
    }

    /// The row of a secondary in the primary's table of what is desired.
    package func desired(of name: String = "the secondary") -> PropertyListDictionary? {
        (try? rows("desired", of: primary))?.first { $0["name"]?.stringValue == name }
    }

    /// Until the primary knows this verdict of a secondary on a version.
    package func waitFor(_ verdict: String, at name: String = "the secondary", version: UInt64 = 1) {
        run(until: {
            let row = desired(of: name)
            return row?["verdict"]?.stringValue == verdict && row?["version"]?.unsignedValue == version
        })
    }

    /// The configuration that the secondary has for the app: state and version.
    package func held() throws -> PropertyListDictionary? { try rows("configurations", of: secondary).first }
}

extension PropertyListDictionary {
    /// The dictionaries of a list; none without the list.
    package func rows(_ key: String) -> [PropertyListDictionary] {
        self[key]?.arrayValue?.compactMap(\.dictionaryValue) ?? []
    }
}

/// Without children: a failed expectation prints its values with all that they refer to, and traps at the daemons'
/// machines, which nothing may copy.
extension TwoNodes: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: []) }
}
