// One end of a link for requests about settings: a device whose other end is the test.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSettings
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

/// A device in the role, whose link the test is the other end of.
final class OneEnd {
    let scheduler = ManualScheduler()
    let pairing = UniqueIdentifier.random()
    let app: ApplicationIdentifier
    let remote: RemoteSettings
    private let directory = TemporaryDirectory()
    let settings: ApplicationSettings
    private let announced: Announced
    /// The device's side of the app: how often it was to read its files, and what ends that.
    private(set) var reloads: [() -> Void] = []

    private final class Announced {
        var digest: [UInt8]?
        var reload: (@escaping () -> Void) -> Void = { _ in }
        var describe: () async -> Void = {}
    }

    /// The digest that the secondary has announced.
    var digest: [UInt8]? {
        get { announced.digest }
        set { announced.digest = newValue }
    }

    /// Called when the file of a schema is there and the store does not name it yet.
    var describe: () async -> Void {
        get { announced.describe }
        set { announced.describe = newValue }
    }

    init(as role: DeviceRole, with document: SchemaDocument? = nil) throws {
        let app = try ApplicationIdentifier("org.example.alarm")
        let digests = document.map { SchemaDigests(exact: SHA256.digest($0.bytes), open: nil) }
        let applications = try OwnedDirectory(existing: directory.path)
        if let document {
            try applications.directory(named: app.description).replace("schema.plist", with: document.bytes)
        }
        let announced = Announced()
        settings = ApplicationSettings(
            in: applications,
            device: ApplicationSettings.Surroundings(
                owners: { [app: Linux.user] }, schema: { _ in digests },
                describe: { _, _, _ in
                    await announced.describe()
                    return true
                },
                lost: { _, _ in }, signed: { _ in SignedValues() }, reload: { _, done in announced.reload(done) },
                questions: PageQuestions(
                    to: PageQuestions.Surroundings(connected: { _ in nil }, offer: { _, _, _, _ in }),
                    scheduler: scheduler),
                log: { _, _ in }), scheduler: scheduler)
        remote = RemoteSettings(
            settings,
            device: RemoteSettings.Surroundings(
                role: { _ in role }, name: { _ in "peer" }, schema: { _, _ in announced.digest }),
            scheduler: scheduler)
        (self.app, self.announced) = (app, announced)
        announced.reload = { [weak self] in self?.reloads.append($0) }
    }

    /// The link is ready.
    func link(
        knowing capabilities: Set<Capability> = [.edits, .pageQuestions], _ send: @escaping (Envelope) -> Void
    ) throws {
        remote.opened(pairing, try #require(RemoteSettings.Scope(capabilities)), send: send)
    }

    func run() {
        for _ in 0..<4 {
            scheduler.run()
            settings.waitForDisk()
        }
        scheduler.run()
    }

    /// Asks; the outcome comes later.
    func ask(
        _ command: ControlName = .settingsGet, _ body: PropertyListDictionary = [:],
        _ done: @escaping (Result<PropertyListDictionary, ControlFailure>) -> Void
    ) {
        scheduler.start { [remote, app, pairing] in
            do throws(ControlFailure) {
                done(.success(try await remote.perform(command, body, of: app, at: pairing)))
            } catch { done(.failure(error)) }
        }
        run()
    }

    /// The other device asks.
    func query(_ command: ControlName, _ body: PropertyListDictionary) throws {
        let frame = SettingsQueryFrame(command, id: .random(), app: app, pairing: pairing, body: body)
        #expect(try remote.receive(frame.envelope, from: pairing))
        run()
    }

    func answer(_ query: Envelope, _ body: PropertyListDictionary) throws {
        let frame = SettingsAnswerFrame(to: try SettingsQueryFrame(query), body: body)
        #expect(try remote.receive(frame.envelope, from: pairing))
        run()
    }
}
