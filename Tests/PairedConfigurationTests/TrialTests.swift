// The library's side of a trial, without a daemon: starts are counted before the app sees a value, an app that does not
// live with it gets the last good one back, and a lifetime ends while the app runs.

import PairedConfiguration
import Synchronization
import TandemCrypto
import TandemFiles
import TandemSignedConfiguration
import Testing

@Suite struct TrialTests {
    private let fixture: Fixture
    private let good: [UInt8]
    private let bad: [UInt8]

    init() throws {
        fixture = try Fixture()
        good = try fixture.envelope(version: 6, values: ["volume": 66])
        bad = try fixture.envelope(version: 7, values: ["volume": 77])
    }

    /// The daemon's files while a configuration is on trial: version 7 if none is named.
    private func writeTrial(
        of envelope: [UInt8]? = nil, in directory: OwnedDirectory, attempts: UInt64 = 0
    ) throws {
        let tried = envelope ?? bad
        try fixture.writeActive(tried, in: directory)
        let trial = ConfigurationTrial(
            digest: SHA256.digest(tried), attempts: attempts, deliveries: ConfigurationDeliveries(),
            previous: try fixture.active(good))
        try directory.write("trial.plist", trial.dictionary)
    }

    private static func attempts(in directory: OwnedDirectory) throws -> LoadAttempts {
        guard let bytes = try directory.read(ConfigurationFile.attempts, limit: 65_536) else { return LoadAttempts() }
        return try LoadAttempts(try PropertyListReader.readDictionary(bytes))
    }

    /// One start of the app: a process of its own.
    private func start(in directory: OwnedDirectory) -> (app: AppConfiguration, load: ConfigurationLoad) {
        let app = AppConfiguration()
        return (app, fixture.load(app, in: directory.path))
    }

    @Test("CFG-62, CFG-66: three starts with one on trial are counted, and the fourth has the last good one")
    func threeStarts() throws {
        try Fixture.withDirectory { directory in
            try writeTrial(in: directory)
            for count in 1...3 as ClosedRange<UInt64> {
                let start = start(in: directory)
                #expect(start.app.volume == 77 && start.load.failures.isEmpty)
                #expect(try Self.attempts(in: directory).starts(of: SHA256.digest(bad)) == count)
            }
            for _ in 0..<3 {
                let start = start(in: directory)
                #expect(start.app.volume == 66 && start.load.applied?.version == 6)
                #expect(start.load.failures.map(\.rejection.name) == ["failed"])
                #expect(start.load.failures.map(\.file) == ["configuration.plist"])
                #expect(try Self.attempts(in: directory).starts(of: SHA256.digest(bad)) == 4)
            }
        }
    }

    @Test("CFG-62: the account is on disk before the app hears of the value")
    func countedBeforehand() throws {
        try Fixture.withDirectory { directory in
            try writeTrial(in: directory)
            let app = AppConfiguration()
            let seen = Mutex<UInt64?>(nil)
            let digest = SHA256.digest(bad)
            let observation = app.observe { _ in
                let starts = try? Self.attempts(in: directory).starts(of: digest)
                seen.withLock { $0 = starts }
            }
            fixture.load(app, in: directory.path)
            #expect(seen.withLock { $0 } == 1)
            observation.cancel()
        }
    }

    @Test("CFG-62: the daemon's attempts count beside the library's")
    func theDaemonsAttemptsCount() throws {
        try Fixture.withDirectory { directory in
            try writeTrial(in: directory, attempts: 2)
            #expect(start(in: directory).app.volume == 77)
            #expect(start(in: directory).app.volume == 66)
        }
    }

    @Test("CFG-62, CFG-66: a staged one is counted, too, and leaves the active one in force when it fails")
    func staged() throws {
        try Fixture.withDirectory { directory in
            try fixture.writeActive(good, in: directory)
            try directory.write("staged.plist", try fixture.staged(bad, mark: 6).dictionary)
            for _ in 1...3 { #expect(start(in: directory).app.volume == 77) }
            let (app, load) = start(in: directory)
            #expect(app.volume == 66 && load.failures.map(\.file) == ["staged.plist"])
            #expect(fixture.verdict(app, try fixture.message(bad, mark: 6)) == "failed", "offered again, too")
            #expect(app.volume == 66)
            #expect(fixture.verdict(app, try fixture.message(try fixture.envelope(version: 8), mark: 6)) == "applied")
        }
    }

    @Test("CFG-37, CFG-61: a waived one that waits is not loaded during the trial of another, which counts and fails")
    func waivedDuringATrial() throws {
        try Fixture.withDirectory { directory in
            try writeTrial(in: directory)
            let stranger = try fixture.envelope(version: 8, key: ConfigurationPrivateKey.generate())
            let staged = try fixture.staged(stranger, mark: 7, allowsInvalid: true)
            try directory.write("staged.plist", staged.dictionary)
            func start() -> WaivingConfiguration {
                let app = WaivingConfiguration()
                fixture.load(app, in: directory.path)
                return app
            }
            for _ in 1...3 { #expect(start().volume == 77) }
            #expect(start().volume == 66)
            try directory.remove("trial.plist")
            #expect(start().volume == 90)
        }
    }

    @Test("CFG-62, LIM-88: an app that dies over an offer, and then at its starts, sees the value three times in all")
    func anOfferIsAnAttempt() throws {
        try Fixture.withDirectory { directory in
            try fixture.writeActive(good, in: directory)
            let app = start(in: directory).app
            try directory.write("staged.plist", try fixture.staged(bad, mark: 6).dictionary)
            #expect(fixture.verdict(app, try fixture.message(bad, mark: 6)) == "applied" && app.volume == 77)
            for _ in 2...3 { #expect(start(in: directory).app.volume == 77) }
            #expect(start(in: directory).app.volume == 66)
        }
    }

    @Test("CFG-62, CFG-65: one process counts each configuration once, as a start or as an offer")
    func oneProcessIsOneStart() throws {
        try Fixture.withDirectory { directory in
            try writeTrial(in: directory)
            let app = start(in: directory).app
            for _ in 0..<5 { app.reload() }
            #expect(try Self.attempts(in: directory).starts(of: SHA256.digest(bad)) == 1)
            let later = try fixture.envelope(version: 8)
            #expect(fixture.verdict(app, try fixture.message(later, mark: 7)) == "applied")
            try writeTrial(of: later, in: directory, attempts: 1)
            app.reload()
            #expect(app.volume == 90)
            #expect(fixture.verdict(app, try fixture.message(later, mark: 7)) == "applied")
            #expect(try Self.attempts(in: directory).starts(of: SHA256.digest(later)) == 1)
        }
    }

    @Test("CFG-61: an app that lives half a minute, or says that it is well, has proved it for all later starts")
    func proof() throws {
        for confirms in [true, false] {
            try Fixture.withDirectory { directory in
                try writeTrial(in: directory)
                let time = TestTime()
                let app = fixture.app(in: directory.path, time: time)
                if confirms {
                    app.confirmHealthy()
                } else {
                    time.advance(by: .seconds(29))
                    #expect(try !Self.attempts(in: directory).isHealthy(SHA256.digest(bad)))
                    time.advance(by: .seconds(1))
                }
                #expect(try Self.attempts(in: directory).isHealthy(SHA256.digest(bad)))
                for _ in 0..<6 { #expect(start(in: directory).app.volume == 77) }
            }
        }
    }

    @Test("CFG-61: what is not on trial is not counted and sets no alarm")
    func provenOnesAreNotCounted() throws {
        try Fixture.withDirectory { directory in
            try fixture.writeActive(good, in: directory)
            let time = TestTime()
            let app = fixture.app(in: directory.path, time: time)
            app.confirmHealthy()
            #expect(try app.volume == 66 && directory.names() == ["configuration.plist"])
            #expect(time.alarmCount == 0)
        }
    }

    @Test("CFG-62: a start that cannot be counted has the last good one")
    func uncounted() throws {
        try Fixture.withDirectory { directory in
            try writeTrial(in: directory)
            // Nothing can be put in its place.
            _ = try OwnedDirectory(path: directory.path + "/attempts.plist/inside")
            let (app, load) = start(in: directory)
            #expect(app.volume == 66 && load.failures.last?.rejection.name == "failed")
        }
    }

    @Test("CFG-65: a damaged account is told by name and begun again")
    func damagedAccount() throws {
        try Fixture.withDirectory { directory in
            try writeTrial(in: directory)
            try directory.replace("attempts.plist", with: [1, 2, 3])
            let (app, load) = start(in: directory)
            #expect(app.volume == 77 && load.failures.map(\.file) == ["attempts.plist"])
            #expect(try Self.attempts(in: directory).starts(of: SHA256.digest(bad)) == 1)
        }
    }

    @Test("CFG-64: one that replaced another during its trial leaves both on trial")
    func replacedDuringItsTrial() throws {
        try Fixture.withDirectory { directory in
            try fixture.writeActive(bad, in: directory)
            let trial = ConfigurationTrial(
                digest: SHA256.digest([8]), replaced: SHA256.digest(bad), attempts: 3,
                deliveries: ConfigurationDeliveries(),
                previous: try fixture.active(good))
            try directory.write("trial.plist", trial.dictionary)
            for _ in 1...3 { #expect(start(in: directory).app.volume == 77) }
            #expect(start(in: directory).app.volume == 66)
        }
    }

    // MARK: lifetimes

    /// An app that has loaded a configuration which was applied now, for an hour.
    private func withAnHour(
        _ body: (_ app: AppConfiguration, _ time: TestTime, _ directory: OwnedDirectory, _ envelope: [UInt8]) throws ->
            Void
    ) throws {
        let brief = try fixture.envelope { $0.lifetime = 3600 }
        try Fixture.withDirectory { directory in
            try fixture.writeActive(brief, in: directory)
            let time = TestTime()
            try body(fixture.app(in: directory.path, time: time), time, directory, brief)
        }
    }

    @Test("CFG-34, CFG-68: a lifetime ends in a running app without its daemon, and stays ended")
    func lifetimeEnds() throws {
        try withAnHour { app, time, directory, brief in
            let events = app.observedEvents()
            time.setWall(Fixture.now + .seconds(-86_400))
            time.advance(by: .seconds(3599))
            #expect(app.volume == 90 && events.all.isEmpty)
            time.advance(by: .seconds(1))
            #expect(app.volume == 75 && app.applied == nil)
            #expect(events.all == [.deactivated])
            time.setWall(Fixture.now + .seconds(60))
            let again = try fixture.message(brief)
            #expect(fixture.verdict(app, again) == "rollback")
            let (next, load) = start(in: directory)
            #expect(next.volume == 75 && load.failures.map(\.rejection.name) == ["reverted"])
        }
    }

    @Test("CFG-68, LIM-89: running time adds up over starts, whatever the clock shows")
    func lifetimeAddsUp() throws {
        let brief = try fixture.envelope { $0.lifetime = 3600 }
        try Fixture.withDirectory { directory in
            try fixture.writeActive(brief, in: directory)
            for _ in 0..<3 {
                let time = TestTime(Fixture.now + .seconds(-86_400))
                let app = fixture.app(in: directory.path, time: time)
                #expect(app.volume == 90)
                time.advance(by: .seconds(1200))
            }
            let time = TestTime(Fixture.now + .seconds(-86_400))
            let app = fixture.app(in: directory.path, time: time)
            #expect(app.volume == 75)
        }
    }

    @Test("CFG-34: a clock that went ahead and is set back gives no time back in a running app")
    func lifetimeNeverDecreases() throws {
        try withAnHour { app, time, _, _ in
            time.setWall(Fixture.now + .seconds(2400))
            time.advance(by: .seconds(600))
            time.setWall(Fixture.now)
            time.advance(by: .seconds(599))
            #expect(app.volume == 90)
            time.advance(by: .seconds(1))
            #expect(app.volume == 75, "3,000 s were shown, and 600 s ran")
        }
    }

    @Test("CFG-34, CFG-68: a staged one goes on with the time that former starts have used, and is not offered again")
    func stagedLifetimeAddsUp() throws {
        let brief = try fixture.envelope { $0.lifetime = 3600 }
        try Fixture.withDirectory { directory in
            try directory.write("staged.plist", try fixture.staged(brief).dictionary)
            for expected in [90, 75] {
                let time = TestTime()
                let app = fixture.app(in: directory.path, time: time)
                #expect(app.volume == 90)
                // The trial, and three counts.
                time.advance(by: .seconds(1830))
                #expect(app.volume == expected)
            }
            let (next, _) = start(in: directory)
            #expect(next.volume == 75)
            #expect(fixture.verdict(next, try fixture.message(brief)) == "rollback")
        }
    }

    @Test("CFG-34, CFG-68: one that the daemon handed over ends, too, without any file")
    func handedOverOneEnds() throws {
        let time = TestTime()
        let app = fixture.app(in: nil, time: time)
        let brief = try fixture.envelope { $0.lifetime = 60 }
        #expect(fixture.verdict(app, try fixture.message(brief)) == "applied")
        time.advance(by: .seconds(59))
        #expect(app.volume == 90)
        time.advance(by: .seconds(1))
        #expect(app.volume == 75 && app.applied == nil)
        #expect(fixture.verdict(app, try fixture.message(try fixture.envelope(version: 8), mark: 7)) == "applied")
        time.advance(by: .seconds(3600))
        #expect(app.volume == 90, "the alarm of the one before it is void")
    }
}

/// An app that allows invalid signatures.
///
/// `@unchecked`: its property is a wrapper around state behind a mutex.
private final class WaivingConfiguration: Configuration, @unchecked Sendable {
    @Slider("Alarm volume", in: 50...100) var volume = 75

    override var publicKey: String? { AppConfiguration.key.publicKey.key.pem }
    override var allowsInvalidSignatures: Bool { true }
}
