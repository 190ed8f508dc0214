// A daemon's side of the offer, as far as the library sees it: messages and files.

import PairedConfiguration
import Synchronization
import TandemCrypto
import TandemFiles
import TandemSignedConfiguration
import TandemTestSupport
import Testing

struct Fixture {
    static let now = WallTime(seconds: 1_800_000_000)

    let application: ApplicationIdentifier
    let target: PairedIdentifier
    let device: UniqueIdentifier

    init(target: String = "custom:hw-1") throws {
        application = try ApplicationIdentifier("org.example.alarm")
        self.target = try PairedIdentifier(text: target)
        device = try #require(UniqueIdentifier(bytes: Array(0..<16)))
    }

    func app(in directory: String? = nil, time: TestTime = TestTime()) -> AppConfiguration {
        let app = AppConfiguration()
        load(app, in: directory, time: time.time)
        return app
    }

    @discardableResult
    func load(
        _ app: Configuration, in directory: String?, time: ConfigurationTime = TestTime().time
    ) -> ConfigurationLoad {
        app.load(application: application, role: .secondary, directory: directory, time: time)
    }

    func active(_ envelope: [UInt8]) throws -> ActiveConfiguration {
        ActiveConfiguration(try record(envelope), applied: Fixture.now, isWaived: false)
    }

    /// Writes the file of what the daemon has as applied.
    func writeActive(_ envelope: [UInt8], in directory: OwnedDirectory) throws {
        try directory.write("configuration.plist", try active(envelope).dictionary)
    }

    func envelope(
        version: UInt64 = 7, values: PropertyListDictionary = ["volume": 90],
        key: ConfigurationPrivateKey = AppConfiguration.key, _ change: (inout ConfigurationPayload) -> Void = { _ in }
    ) throws -> [UInt8] {
        var payload = ConfigurationPayload(
            application: application, role: .secondary, target: target, version: version, transaction: .random(),
            issued: Fixture.now.seconds - 60, values: values)
        change(&payload)
        return try ConfigurationSigner.sign(payload, with: [key])
    }

    func record(_ envelope: [UInt8]) throws -> ConfigurationRecord {
        let key = ConfigurationSlotKey(application: application, role: .secondary, target: target)
        return try ConfigurationRecord(key: key, device: device, envelope: envelope)
    }

    func staged(_ envelope: [UInt8], mark: UInt64? = nil, allowsInvalid: Bool = false) throws -> StagedConfiguration {
        StagedConfiguration(
            try record(envelope), staged: Fixture.now, mark: mark, allowsInvalid: allowsInvalid,
            isWaived: allowsInvalid, deliveries: ConfigurationDeliveries())
    }

    func message(
        _ envelope: [UInt8], mark: UInt64? = nil, allowsInvalid: Bool = false
    ) throws -> PropertyListDictionary {
        ConfigurationOffer(try staged(envelope, mark: mark, allowsInvalid: allowsInvalid)).message
    }

    func verdict(_ app: Configuration, _ message: PropertyListDictionary) -> String? {
        app.sessionDidReceiveMessage(message)?["tandem.verdict"]?.stringValue
    }

    /// Runs with a directory of its own, removed afterwards.
    static func withDirectory(_ body: (OwnedDirectory) throws -> Void) throws {
        let place = TemporaryDirectory()
        try withExtendedLifetime(place) { try body(try OwnedDirectory(existing: place.path)) }
    }
}

/// Clocks and alarms that a test moves.
final class TestTime: Sendable {
    private struct State {
        var wall: WallTime
        var boot = MonotonicTime(nanoseconds: 1_000_000_000)
        var alarms: [(due: MonotonicTime, action: @Sendable () -> Void)] = []
    }

    private let state: Mutex<State>

    init(_ now: WallTime = Fixture.now) { state = Mutex(State(wall: now)) }

    var time: ConfigurationTime {
        ConfigurationTime(
            wall: { self.state.withLock(\.wall) }, boot: { self.state.withLock(\.boot) },
            wake: { delay, action in self.state.withLock { $0.alarms.append(($0.boot + delay, action)) } })
    }

    var alarmCount: Int { state.withLock(\.alarms.count) }

    func setWall(_ wall: WallTime) { state.withLock { $0.wall = wall } }

    /// Lets time pass; alarms ring when they are due.
    func advance(by duration: Duration) {
        let end = state.withLock { $0.boot + duration }
        while let alarm = state.withLock({ state in Self.ring(&state, until: end) }) { alarm() }
        state.withLock { Self.move(&$0, to: end) }
    }

    private static func ring(_ state: inout State, until end: MonotonicTime) -> (@Sendable () -> Void)? {
        guard let index = state.alarms.indices.min(by: { state.alarms[$0].due < state.alarms[$1].due }),
            state.alarms[index].due <= end
        else { return nil }
        let alarm = state.alarms.remove(at: index)
        move(&state, to: max(alarm.due, state.boot))
        return alarm.action
    }

    private static func move(_ state: inout State, to boot: MonotonicTime) {
        state.wall = state.wall + boot.since(state.boot)
        state.boot = boot
    }
}

/// The reports of a configuration, in their order; it observes as long as this is kept.
final class Observed<Report: Sendable>: Sendable {
    private final class Reports: Sendable {
        let all = Mutex<[Report]>([])
    }

    private let reports: Reports
    private let observation: ConfigurationObservation

    /// - Parameter observe: begins the observation.
    init(_ observe: (@escaping @Sendable (Report) -> Void) -> ConfigurationObservation) {
        let reports = Reports()
        self.reports = reports
        observation = observe { report in reports.all.withLock { $0.append(report) } }
    }

    var all: [Report] { reports.all.withLock { $0 } }
}

extension Configuration {
    func observedEvents() -> Observed<ConfigurationEvent> { Observed { observeEvents($0) } }

    func observedChanges() -> Observed<SettingChanges> { Observed { observe($0) } }
}

extension PreferenceStore {
    /// All entries; nil if they cannot be read.
    func read() throws -> PropertyListDictionary? {
        var found: PropertyListDictionary?
        try update { entries in
            found = entries
            return PreferenceEdit()
        }
        return found
    }
}

extension OwnedDirectory {
    func write(_ name: String, _ fields: PropertyListDictionary) throws {
        try replace(name, with: try PropertyListWriter.write(fields))
    }
}

extension ConfigurationThread {
    /// Returns when everything that was due on the thread has run.
    static func rest() async {
        await withCheckedContinuation { ended in run { ended.resume() } }
    }
}
