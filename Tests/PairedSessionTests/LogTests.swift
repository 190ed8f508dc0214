// The log of the libraries: who gets events, from when on, and what is in none of them. The log is the process's:
// events of other tests come, too, and each test looks for its own.

import Foundation
import Glibc
import PairedConfiguration
import PairedSession
import PairedSessionFoundation
import TandemBase
import TandemReactor
import TandemSession
import TandemTestSupport
import Testing

/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class LoudConfiguration: Configuration, @unchecked Sendable {
    @Toggle("Whether the log was on in reset") var wasOn = false

    override class var manifest: ApplicationManifest { ApplicationManifest(["APLLogging": true]) }

    override func reset() { wasOn = PairedLog.isVerbose }
}

/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class SecretiveConfiguration: Configuration, @unchecked Sendable {
    @Preference(secret: true) var keyOfLogTest = "hunter2"
    @Preference(restart: true) var nameOfLogTest = "one"
    @Preference var listOfLogTest = ["hunter4"]
}

/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class MistakenConfiguration: Configuration, @unchecked Sendable {
    @Toggle("Logging") var logging = false

    override class var manifest: ApplicationManifest { ApplicationManifest(["APLKeychainAccessibility": "Sometimes"]) }
}

/// `@unchecked`: every property is a wrapper around state behind a mutex.
private final class PagelessConfiguration: Configuration, @unchecked Sendable {
    override var settingsBundle: String? { "/nowhere/LogTests.bundle" }
}

/// Has the one method that every delegate has to have.
private final class ShortDelegate: WCSessionDelegate {
    func session(_ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?) {
    }
}

/// Replies two times to each message.
private final class TwiceReplyingDelegate: WCSessionDelegate {
    func session(_ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?) {
    }

    func session(
        _ session: WCSession, didReceiveMessage message: [String: Any],
        replyHandler: @escaping @Sendable ([String: Any]) -> Void
    ) {
        for _ in 0..<2 { replyHandler([:]) }
    }
}

@Suite(.serialized) struct LogTests {
    /// - Parameter isExpected: waits for an event. Another test's thread may be delivering notices of the store that
    ///   all configurations of the process share, and delivers these, too.
    private func events(
        from level: LogLevel, of key: String, isExpected: Bool = true, _ body: () -> Void
    ) -> [LogEvent] {
        let collector = Collector<LogEvent>()
        PairedLog.send(from: level) { collector.add($0) }
        defer { PairedLog.send(from: .error, to: nil) }
        body()
        var events: [LogEvent] { collector.all.filter { $0.fields.contains(.text("key", key)) } }
        let end = ContinuousClock.now + .seconds(10)
        while isExpected, events.isEmpty, ContinuousClock.now < end { sched_yield() }
        return events
    }

    @Test func `SES-31: a switch that meets a delegate without sessionDidDeactivate is an error in the log, once`()
        throws
    {
        let events = Collector<LogEvent>()
        PairedLog.send(from: .error) { events.add($0) }
        defer { PairedLog.send(from: .error, to: nil) }
        let apple = try WCSessionFixture(ShortDelegate())
        let (daemon, scheduler) = (apple.fixture.daemon, apple.fixture.scheduler)
        let pairings = [daemon.pair(), daemon.pair()]
        for next in pairings.reversed() {
            apple.session.activate()
            apple.session.settle(with: scheduler)
            daemon.situation.active = next
            daemon.tellSituation()
            apple.session.settle(with: scheduler)
        }
        let own = pairings.map { LogField.text("pairing", "\($0)") }
        let reports = events.all.filter { $0.fields.contains(where: own.contains) }
        #expect(reports.count == 1 && reports.first?.message.description.contains("sessionDidDeactivate") == true)
    }

    @Test func `FIL-18: a received file that the process does not see is an error in the log, with its path`() throws {
        let events = Collector<LogEvent>()
        PairedLog.send(from: .error) { events.add($0) }
        defer { PairedLog.send(from: .error, to: nil) }
        let (fixture, path) = (try SessionFixture(), "/nowhere/inbox/p/i/hidden.jpg")
        fixture.daemon.pair()
        fixture.activate()
        fixture.core.run { core in _ = core.handleItems([.file]) { _, _ in } }
        try fixture.daemon.deliver(
            ["path": .string(path), "name": "hidden.jpg", "size": 5, "digest": .data([1])], on: .file)
        fixture.scheduler.run()
        let reports = events.all.filter { $0.fields.contains(.outside("path", path)) }
        #expect(reports.count == 1 && reports.first?.message.description.contains("daemon's own path") == true)
    }

    @Test func `an activation that cannot begin is an error in the log, too: many delegates ignore it`() throws {
        let events = Collector<LogEvent>()
        PairedLog.send(from: .error) { events.add($0) }
        defer { PairedLog.send(from: .error, to: nil) }
        let fixture = try SessionFixture()
        fixture.activate()
        let session = WCSession(over: fixture.session)
        session.install(SecretiveConfiguration())
        session.activate()
        #expect(events.all.contains { $0.message.description == "the session cannot be activated" })
    }

    @Test func `options that are set on an open session are ignored, and an error in the log says so`() throws {
        let events = Collector<LogEvent>()
        PairedLog.send(from: .error) { events.add($0) }
        defer { PairedLog.send(from: .error, to: nil) }
        let session = WCSession(over: try SessionFixture().session)
        session.setOptions(PairedSessionOptions(application: "com.example.late"))
        #expect(events.all.contains { $0.message.description.contains("setOptions before the first activate()") })
    }

    @Test func `SET-82: the manifest turns the log on before the app's own code runs`() {
        PairedLog.send(from: .error) { _ in }
        defer { PairedLog.send(from: .error, to: nil) }
        #expect(!PairedLog.isVerbose)
        #expect(LoudConfiguration().wasOn)
        #expect(PairedLog.isVerbose)
        PairedLog.isVerbose = false
        #expect(!PairedLog.isVerbose)
    }

    @Test func `SET-34: settings pages that are not there are an error in the log at start`() {
        let events = Collector<LogEvent>()
        PairedLog.send(from: .error) { events.add($0) }
        defer { PairedLog.send(from: .error, to: nil) }
        _ = PagelessConfiguration(problems: .collect)
        let end = ContinuousClock.now + .seconds(10)
        var isLogged: Bool { events.all.contains { $0.message.description == "settings page not shown" } }
        while !isLogged, ContinuousClock.now < end { sched_yield() }
        #expect(isLogged)
    }

    @Test func `SET-86: events are values, and a secret is in none of them`() {
        let secret = events(from: .debug, of: "keyOfLogTest") { SecretiveConfiguration().keyOfLogTest = "hunter3" }
        #expect(
            secret.map(\.description) == [
                "debug setting changed key=keyOfLogTest origin=local old=<redacted> new=<redacted> restart=no"
            ])
        #expect(secret.first?.fields.contains { $0.name == "new" && $0.value == .redacted } == true)
        let plain = events(from: .debug, of: "nameOfLogTest") { SecretiveConfiguration().nameOfLogTest = "two\n" }
        #expect(
            plain.map(\.description) == [
                "debug setting changed key=nameOfLogTest origin=local old=one new=\"two\\n\" restart=yes"
            ])
        #expect(
            events(from: .info, of: "nameOfLogTest", isExpected: false) {
                SecretiveConfiguration().nameOfLogTest = "two"
            }.isEmpty)
    }

    @Test func `PAG-23: the log shows a list by its kind, because an item may have a secret`() throws {
        let events = events(from: .debug, of: "listOfLogTest") {
            SecretiveConfiguration().listOfLogTest = ["hunter5", "b"]
        }
        let line = try #require(events.first).description
        #expect(line.contains("an array of 1") && line.contains("an array of 2") && !line.contains("hunter"))
    }

    @Test func `SES-26: a missing daemon does not end an app that has no standard error`() async {
        await #expect(processExitsWith: .success) {
            close(STDERR_FILENO)
            PairedSessionOptions().onMissingDaemon?("/run/tandem/primary.sock: no such file")
        }
    }

    @Test func `SET-86: what a receiver alone kept may use the log when the next receiver replaces it`() {
        final class Console: Sendable {
            let wasVerbose: Collector<Bool>

            init(_ wasVerbose: Collector<Bool>) { self.wasVerbose = wasVerbose }

            deinit { wasVerbose.add(PairedLog.isVerbose) }
        }
        func sendToConsole(_ wasVerbose: Collector<Bool>) {
            let console = Console(wasVerbose)
            PairedLog.send(from: .error) { _ in withExtendedLifetime(console) {} }
        }
        let wasVerbose = Collector<Bool>()
        sendToConsole(wasVerbose)
        PairedLog.send(from: .error, to: nil)
        // Another test's thread may be writing an event, and lets go of the receiver after that.
        let end = ContinuousClock.now + .seconds(10)
        while wasVerbose.all.isEmpty, ContinuousClock.now < end { sched_yield() }
        #expect(wasVerbose.all == [false])
    }

    @Test func `SES-28: a second reply is an error in the log`() throws {
        let events = Collector<LogEvent>()
        PairedLog.send(from: .error) { events.add($0) }
        defer { PairedLog.send(from: .error, to: nil) }
        let apple = try WCSessionFixture(TwiceReplyingDelegate())
        apple.fixture.daemon.pair()
        apple.session.activate()
        apple.session.settle(with: apple.fixture.scheduler)
        try apple.fixture.daemon.message(reply: true)
        apple.session.settle(with: apple.fixture.scheduler)
        #expect(events.all.contains { $0.message.description == "a reply was not sent" })
    }

    #if DEBUG
        @Test func `SET-85 SET-87: without a receiver mistakes are lines on standard error`() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                PairedLog.write(LogEvent(.warning, "no error"))
                _ = MistakenConfiguration()
            }
            let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(
                text.contains("Z error mistake in the declaration problem=\"APLKeychainAccessibility in the manifest"))
            #expect(!text.contains("no error"))
        }
    #endif
}
