// A typed configuration on a session (SES-70), beside a scripted daemon on a manual clock: its part of the
// registration, arrivals that wait for the load, and configurations from the daemon.

import Foundation
import PairedConfiguration
import PairedSession
import PairedSessionFoundation
import TandemBase
import TandemCrypto
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import TandemWire
import Testing

/// Loads when the test says so.
private final class SlowConfiguration: Sendable {
    typealias Loaded = @Sendable () -> Void

    let loads = Collector<(role: DeviceRole, directory: String?, loaded: Loaded)>()
    let taken = Collector<ReceivedMessage>()

    func installed(
        identifier: String? = "kitchen", schema: InstalledConfiguration.Schema? = nil
    ) -> InstalledConfiguration {
        InstalledConfiguration(
            anchor: { "the anchor of the \($0)" }, identifier: identifier, allowsInvalidSignatures: true,
            identity: ApplicationIdentity(name: "Kitchen", version: "7"), schema: schema,
            load: { self.loads.add(($0, $1, $2)) }, take: { self.taken.add($0) })
    }
}

struct InstalledConfigurationTests {
    private let fixture: SessionFixture
    private let pairing: UniqueIdentifier
    private let configuration = SlowConfiguration()

    init() throws {
        fixture = try SessionFixture()
        pairing = fixture.daemon.pair()
    }

    private func send(_ body: PropertyListDictionary, _ kind: FrameKind = .message) throws {
        try fixture.daemon.message(body, kind, reply: true)
        fixture.scheduler.run()
    }

    private func deliver() throws {
        try fixture.daemon.deliver()
        fixture.scheduler.run()
    }

    private func handleItems() -> Collector<DeliveredItem> {
        let items = Collector<DeliveredItem>()
        fixture.core.run { core in _ = core.handleItems([.userInfo]) { item, _ in items.add(item) } }
        return items
    }

    /// A load of the configuration has ended.
    private func loaded(_ index: Int = 0) throws {
        try #require(configuration.loads.all.count > index)
        configuration.loads.all[index].loaded()
        fixture.scheduler.run()
    }

    @Test("SES-70 SET-84: an installed configuration registers its anchor, identifier, policy and manifest")
    func registers() throws {
        try fixture.core.install(configuration.installed())
        fixture.activate()
        let registration = try #require(fixture.daemon.registrations.first)
        #expect(registration.anchor == "the anchor of the primary" && registration.identifier?.description == "kitchen")
        #expect(registration.allowsInvalidSignatures && registration.receives)
        #expect(registration.features.identity == ApplicationIdentity(name: "Kitchen", version: "7"))
    }

    @Test("CFG-111: each daemon gets the anchor of its own side, also when the next daemon is of the other one")
    func anchorOfTheRole() throws {
        try fixture.core.install(configuration.installed())
        fixture.activate()
        for role in [DeviceRole.secondary, .primary] {
            fixture.daemon.role = role
            fixture.cut(waiting: .seconds(10))
        }
        let anchors = fixture.daemon.registrations.map(\.anchor)
        #expect(anchors == ["primary", "secondary", "primary"].map { "the anchor of the \($0)" })
    }

    @Test("SES-71: a schema is named by its digest, and sent to a daemon that asks for it, and to no other")
    func schema() throws {
        let digest = Array(repeating: UInt8(7), count: 32)
        try fixture.core.install(configuration.installed(schema: .init(digest: digest, document: [1, 2, 3])))
        fixture.activate()
        #expect(fixture.daemon.registrations.first?.schema == digest)
        #expect(!fixture.daemon.received.contains { $0.kind == .query })
        fixture.daemon.wantsSchema = true
        fixture.cut(waiting: .seconds(10))
        let queries = try fixture.daemon.received.filter { $0.kind == .query }.map { try QueryFrame($0) }
        #expect(queries.count == 1 && queries.first?.pairing == nil)
        #expect(try queries.first?.question() == .schema(document: [1, 2, 3]))
    }

    @Test(
        "SET-78, SES-70: a session that has ended lets go of its configuration, which could write the next one's files")
    func ended() throws {
        final class Follower: Sendable {}
        weak var kept: Follower?
        do {
            let follower = Follower()
            kept = follower
            try fixture.core.install(
                InstalledConfiguration(
                    anchor: { _ in nil }, identifier: nil, allowsInvalidSignatures: false,
                    load: { _, _, loaded in loaded() }, take: { _ in },
                    follow: { _ in withExtendedLifetime(follower) {} }))
        }
        fixture.activate()
        #expect(kept != nil)
        fixture.core.run { $0.end() }
        fixture.scheduler.run()
        #expect(kept == nil)
    }

    @Test("SES-70: a custom identifier that cannot be is refused before anything is registered")
    func badIdentifier() throws {
        let error = #expect(throws: SessionError.self) {
            try fixture.core.install(configuration.installed(identifier: ""))
        }
        #expect(error?.code == .invalidParameter && error?.name == "identifier")
    }

    @Test("SES-70: activation is complete, and messages and items reach the app, once the configuration is loaded")
    func loadsFirst() throws {
        try fixture.core.install(configuration.installed())
        let (messages, items) = (fixture.receive(), handleItems())
        let (first, second) = (fixture.activate(), fixture.activate())
        try send(["n": 1])
        try deliver()
        let load = try #require(configuration.loads.all.first)
        #expect(load.role == .primary && load.directory == "/apps/x" && configuration.loads.all.count == 1)
        #expect(first.all.isEmpty && second.all.isEmpty && messages.all.isEmpty && items.all.isEmpty)
        load.loaded()
        fixture.scheduler.run()
        #expect(first.all.count == 1 && second.all.count == 1)
        #expect(messages.all.count == 1 && items.all.count == 1)
    }

    @Test("SET-81, SET-84: what the manifest of an app's own class says is registered")
    func manifest() throws {
        try ManifestConfiguration().install(on: fixture.session, in: .memory)
        fixture.activate()
        let identity = fixture.daemon.registrations.first?.features.identity
        #expect(identity == ApplicationIdentity(name: "Front Door", version: "2.1", icon: "door.png"))
        let session = try PairedSession(
            options: PairedSessionOptions(socketPath: "/tmp/none.sock"), configuration: ManifestConfiguration())
        #expect(session.application.description == "com.example.door")
    }

    @Test("SET-81: the manifest's identifier is the session's, unless the app has named another one")
    func identified() {
        let door = ManifestConfiguration()
        #expect(PairedSessionOptions().identified(by: door).application == "com.example.door")
        #expect(PairedSessionOptions(application: "org.example.a").identified(by: door).application == "org.example.a")
    }

    @Test("SES-70: a session that was asked to activate no longer takes a configuration, and says so")
    func installedTooLate() throws {
        fixture.activate()
        let error = #expect(throws: SessionError.self) {
            try PanelConfiguration().install(on: fixture.session, in: .memory)
        }
        #expect(error?.code == .invalidParameter && error?.name == "configuration")
        let bound = fixture.session.session(for: pairing)
        #expect(throws: SessionError.self) { try PanelConfiguration().install(on: bound, in: .memory) }
        let waiting = try SessionFixture()
        waiting.daemon.isRunning = false
        waiting.activate()
        #expect(throws: SessionError.self) { try PanelConfiguration().install(on: waiting.session, in: .memory) }
    }

    @Test("SES-70: a configuration is on one session at a time, and may go on another one when that is over")
    func installedTwice() throws {
        let app = PanelConfiguration()
        try app.install(on: fixture.session, in: .memory)
        let other = try SessionFixture()
        let error = #expect(throws: SessionError.self) { try app.install(on: other.session, in: .memory) }
        #expect(error?.code == .invalidParameter && error?.name == "configuration")
        #expect(error?.reason.contains("one session") == true)
        #expect(throws: SessionError.self) { try app.install(on: fixture.session, in: .memory) }
        fixture.session.end {}
        fixture.scheduler.run()
        try app.install(on: other.session, in: .memory)
        var released: PairedSession? = try PairedSession(PairedSessionOptions(application: "com.example.app"))
        let next = PanelConfiguration()
        if let released { try next.install(on: released, in: .memory) }
        released = nil
        try next.install(on: try SessionFixture().session, in: .memory)
    }

    @Test("SES-70: a session has one configuration: a second one is refused, and free for another session")
    func secondConfiguration() throws {
        try PanelConfiguration().install(on: fixture.session, in: .memory)
        let second = PanelConfiguration()
        let error = #expect(throws: SessionError.self) { try second.install(on: fixture.session, in: .memory) }
        #expect(error?.name == "configuration" && error?.reason.contains("another configuration") == true)
        try second.install(on: try SessionFixture().session, in: .memory)
    }

    @Test("SES-70: a configuration that its session refuses may go on another one")
    func refusedBefore() throws {
        fixture.activate()
        let app = PanelConfiguration()
        #expect(throws: SessionError.self) { try app.install(on: fixture.session, in: .memory) }
        try app.install(on: try SessionFixture().session, in: .memory)
    }

    @Test("CFG-60: a damaged link is malformed, and a URL that is not the app's own is nil")
    func openedURLs() async throws {
        let app = PanelConfiguration()
        app.load(application: fixture.session.application, role: .primary, directory: nil)
        #expect(try await app.open(url: "https://example.org/", on: fixture.session) == nil)
        let verdict = try await app.open(url: "tandem:apply/1?e=%%", on: fixture.session)
        #expect(verdict?.name == "malformed")
    }

    @Test("CFG-60: a verdict is one line, also with line ends and escape sequences in its text")
    func verdictsAreLines() {
        let cases: [(name: String?, text: String, line: String)] = [
            ("applied", "", "applied"), (nil, "", "no verdict yet"), (nil, "slow", "no verdict yet: slow"),
            ("wrong-target", "it is for 'custom:a\nb\u{1B}[31m'", "wrong-target: it is for 'custom:a\\nb\\u{1b}[31m'"),
        ]
        for (name, text, line) in cases {
            #expect(ConfigurationVerdict(name: name, text: text).description == line)
        }
    }

    @Test("CFG-110: an app has its user's edits at its next start before a daemon answers, and each daemon's by itself")
    func remembersItsHome() throws {
        let (home, own) = (TemporaryDirectory(), TemporaryDirectory())
        let edits: PropertyListDictionary = ["v": 1, "values": ["volume": 70]]
        try OwnedDirectory(path: home.path).replace("edits.plist", with: try PropertyListWriter.write(edits))
        fixture.daemon.directory = home.path
        let first = PanelConfiguration()
        try first.install(on: fixture.session, in: .directory(own.path))
        #expect(first.volume == 50)
        fixture.activate()
        fixture.scheduler.settle()
        #expect(first.volume == 70)

        let second = PanelConfiguration()
        try second.install(on: try SessionFixture().session, in: .directory(own.path))
        #expect(second.volume == 70, "nothing was activated")
        let elsewhere = PanelConfiguration()
        let session = try PairedSession(
            PairedSessionOptions(application: fixture.session.application.description, socketPath: "/tmp/other.sock"))
        try elsewhere.install(on: session, in: .directory(own.path))
        #expect(elsewhere.volume == 50)
        let nothing = PanelConfiguration()
        try nothing.install(on: try SessionFixture().session, in: .memory)
        #expect(nothing.volume == 50)
    }

    @Test("CFG-110: a directory that is gone, or a damaged memory, is as none")
    func lostHome() throws {
        let own = TemporaryDirectory()
        fixture.daemon.directory = own.path + "/gone"
        try PanelConfiguration().install(on: fixture.session, in: .directory(own.path))
        fixture.activate()
        fixture.scheduler.settle()
        let folder = try OwnedDirectory(existing: own.path)
        let name = try #require(try folder.names().first { $0.hasPrefix("daemon-") })
        for bytes in [nil, [], Array("no".utf8)] as [[UInt8]?] {
            if let bytes { try folder.replace(name, with: bytes) }
            let next = PanelConfiguration()
            try next.install(on: try SessionFixture().session, in: .directory(own.path))
            #expect(next.volume == 50)
        }
    }

    @Test("SES-70: while it loads 256 messages wait, and the next is answered inbox-full; items always have a place")
    func bounded() throws {
        try fixture.core.install(configuration.installed())
        let messages = fixture.receive()
        fixture.activate()
        for number in 0..<257 { try send(["n": .integer(Int64(number))]) }
        #expect(fixture.daemon.received.last?.name == "inbox-full")
        try deliver()
        let items = handleItems()
        try loaded()
        #expect(messages.all.map { $0.dictionary?["n"]?.integerValue } == (0..<256).map { Int64($0) })
        #expect(items.all.count == 1)
    }

    @Test("SES-70: items that wait while it loads take no room of messages")
    func itemsBesideMessages() throws {
        try fixture.core.install(configuration.installed())
        let messages = fixture.receive()
        fixture.activate()
        for _ in 0..<10 { try deliver() }
        for number in 0..<256 { try send(["n": .integer(Int64(number))]) }
        #expect(!fixture.daemon.received.contains { $0.name == "inbox-full" })
        try loaded()
        #expect(messages.all.count == 256)
    }

    @Test("SES-70: a connection that was lost while it loaded is activated by the load of the next one only")
    func lostWhileLoading() throws {
        try fixture.core.install(configuration.installed())
        let results = fixture.activate()
        fixture.cut(waiting: .seconds(10))
        try #require(configuration.loads.all.count == 2)
        try loaded(0)
        #expect(results.all.isEmpty)
        for _ in 0..<2 { try loaded(1) }
        #expect(results.all.count == 1)
    }

    @Test("SES-70, SES-48: a load that ends without a connection opens nothing, and what waits leaves on the next one")
    func loadedTooLate() throws {
        try fixture.core.install(configuration.installed())
        fixture.activate()
        try loaded()
        fixture.core.run { $0.submit(Submission(.userInfo, to: nil, OutgoingContent(["n": 1]))) { _ in } }
        fixture.scheduler.run()
        fixture.cut(waiting: .seconds(10))
        try #require(configuration.loads.all.count == 2)
        fixture.daemon.isRunning = false
        fixture.cut()
        let results = fixture.activate()
        try loaded(1)
        #expect(results.all.isEmpty && fixture.session.activationState != .activated)
        fixture.daemon.isRunning = true
        fixture.scheduler.advance(by: .seconds(10))
        try #require(configuration.loads.all.count == 3)
        #expect(results.all.isEmpty)
        try loaded(2)
        #expect(results.all.count == 1)
        #expect(
            fixture.daemon.received.filter { $0.kind == .submit }.count == 2, "once on the first connection, once more")
    }

    @Test("SES-48, SES-70: what is submitted while a configuration loads leaves once, behind older items")
    func submittedWhileLoading() throws {
        func submit() -> UniqueIdentifier {
            let submission = Submission(.userInfo, to: nil, OutgoingContent(["n": 1]))
            fixture.core.run { $0.submit(submission) { _ in } }
            fixture.scheduler.run()
            return submission.id
        }
        func isSubmitted(_ ids: UniqueIdentifier...) -> Bool {
            let frames = fixture.daemon.received.filter { $0.kind == .submit }
            return frames.count == ids.count && zip(frames, ids).allSatisfy { $0.id == $1 }
        }
        try fixture.core.install(configuration.installed())
        fixture.activate()
        let first = submit()
        #expect(isSubmitted(first), "code that the load waits for may wait for the acceptance")
        try loaded()
        #expect(isSubmitted(first))
        fixture.cut(waiting: .seconds(10))
        #expect(isSubmitted(first))
        let second = submit()
        try loaded(1)
        #expect(isSubmitted(first, first, second))
    }

    @Test("SES-70: what waits for a load and is owed an answer goes with its connection; a message without one stays")
    func waitingAtALoss() throws {
        try fixture.core.install(configuration.installed())
        let (messages, items) = (fixture.receive(), handleItems())
        fixture.activate()
        try send(["n": 1])
        try deliver()
        try fixture.daemon.message(["n": 3])
        fixture.scheduler.run()
        fixture.cut(waiting: .seconds(10))
        try #require(configuration.loads.all.count == 2)
        try loaded(1)
        #expect(messages.all.map { $0.dictionary?["n"] } == [3] && items.all.isEmpty)
    }

    @Test("SES-70: configurations from the daemon go to the installed configuration and to no message handler")
    func configurationsOnly() throws {
        try fixture.core.install(configuration.installed())
        let messages = fixture.receive()
        fixture.activate()
        try loaded()
        try send(["tandem.configuration": .data([1])], .configuration)
        try send(["n": 1])
        #expect(configuration.taken.all.count == 1 && messages.all.count == 1)
        let taken = try #require(configuration.taken.all.first)
        try taken.reply(["tandem.verdict": "applied"])
        fixture.scheduler.run()
        #expect(try #require(fixture.daemon.received.last).dictionaryBody() == ["tandem.verdict": "applied"])
    }

    @Test("SES-70: an ended session lets go what waits for the load, which answers it")
    func endedWhileLoading() throws {
        try fixture.core.install(configuration.installed())
        let (messages, results) = (fixture.receive(), fixture.activate())
        try send(["n": 1])
        fixture.core.run { $0.end() }
        fixture.scheduler.run()
        try loaded()
        #expect(messages.all.isEmpty && results.all.count == 1 && results.all[0].error?.name == "ended")
    }
}

/// `@unchecked`: a wrapper around state behind a mutex, which the base class checks.
private final class ClockConfiguration: Configuration, @unchecked Sendable {
    @Toggle("Show the seconds") var showsSeconds = false
    override var customIdentifier: String? { "clock" }
    static let keys: [DeviceRole: String] = [
        .primary: ConfigurationPrivateKey.generate().publicKey.key.pem,
        .secondary: ConfigurationPrivateKey.generate().publicKey.key.pem,
    ]
    override func publicKey(for role: DeviceRole) -> String? { Self.keys[role] }
}

/// `@unchecked`: a wrapper around state behind a mutex, which the base class checks.
private final class NamelessConfiguration: Configuration, @unchecked Sendable {
    @Toggle("On") var isOn = false
    override var customIdentifier: String? { "" }
}

/// Runs the manual clock, and in between all that the library's own threads have been given: each of them works in
/// order, so that an action at its end is a wait without time.
private func turn(_ fixture: SessionFixture, _ session: WCSession) {
    for _ in 0..<4 {
        fixture.scheduler.run()
        let isDone = DispatchSemaphore(value: 0)
        ConfigurationThread.run { isDone.signal() }
        isDone.wait()
        session.callbacks.sync {}
    }
}

@Suite(.timeLimit(.minutes(10)))
struct InstalledOnWCSessionTests {
    private let fixture: SessionFixture
    private let session: WCSession
    private let directory = TemporaryDirectory()
    private let configuration = ClockConfiguration()

    init() throws {
        fixture = try SessionFixture()
        fixture.daemon.pair()
        // An app whose directory cannot be read answers a reload by that (CFG-115).
        fixture.daemon.directory = directory.path
        session = WCSession(over: fixture.session)
    }

    @Test("SES-70: a WCSession without a delegate answers configurations, once one is installed on it")
    func withoutDelegate() throws {
        session.install(configuration)
        session.activate()
        turn(fixture, session)
        #expect(session.activationState == .activated)
        #expect(fixture.daemon.registrations.first?.identifier?.description == "clock")
        #expect(fixture.daemon.registrations.first?.anchor == ClockConfiguration.keys[.primary])
        try fixture.daemon.message(["tandem.reload": true], .configuration, reply: true)
        turn(fixture, session)
        let answer = try fixture.daemon.received.last?.dictionaryBody()
        #expect(answer == ["tandem.verdict": "applied", "tandem.loaded": .data([])], "CFG-116")
    }

    @Test("SES-70: a WCSession never activates without a configuration that could not be installed")
    func refusedConfiguration() {
        session.install(NamelessConfiguration())
        for _ in 0..<2 {
            session.activate()
            turn(fixture, session)
            #expect(session.activationState == .notActivated && fixture.daemon.registrations.isEmpty)
        }
    }

    @Test("SES-70: a WCSession that was asked to activate ignores a configuration, and an error in the log says so")
    func installedTooLate() {
        session.activate()
        turn(fixture, session)
        session.install(configuration)
        session.activate()
        turn(fixture, session)
        #expect(session.activationState == .activated)
        #expect(throws: Never.self) { try configuration.install(on: try SessionFixture().session, in: .memory) }
    }

    @Test(
        "CFG-41: the hook by Apple's types answers what is a configuration, and returns nil for what is the app's own")
    func hook() throws {
        let reply: [String: Any]? = configuration.sessionDidReceiveMessage(["tandem.reload": true] as [String: Any])
        #expect(reply?["tandem.verdict"] as? String == "applied")
        #expect(configuration.sessionDidReceiveMessage(["volume": 3] as [String: Any]) == nil)
        #expect(configuration.sessionDidReceiveMessage(["view": NSObject()] as [String: Any]) == nil)
    }
}

/// `@unchecked`: a wrapper around state behind a mutex, which the base class checks.
private final class ManifestConfiguration: Configuration, @unchecked Sendable {
    @Toggle("Locked") var isLocked = true

    override class var manifest: ApplicationManifest {
        ApplicationManifest([
            "CFBundleIdentifier": "com.example.door", "CFBundleDisplayName": "Front Door",
            "CFBundleShortVersionString": "2.1", "CFBundleIconFile": "door.png",
        ])
    }
}
