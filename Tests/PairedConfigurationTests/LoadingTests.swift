// Start without a daemon: the files are verified again, the staged one is tried first, and whatever is wrong leaves the
// last good one in force.

import Foundation
import PairedConfiguration
import Synchronization
import TandemCrypto
import TandemFiles
import TandemSignedConfiguration
import Testing

@Suite struct LoadingTests {
    private let fixture: Fixture

    init() throws { fixture = try Fixture() }

    @Test("CFG-37: the active one is applied at start")
    func theActiveOneIsAppliedAtStart() throws {
        try Fixture.withDirectory { directory in
            let envelope = try fixture.envelope { $0.expires = Fixture.now.seconds + 1 }
            try fixture.writeActive(envelope, in: directory)
            let app = fixture.app(in: directory.path, time: TestTime(Fixture.now + .seconds(1_000_000)))
            #expect(app.volume == 90)
            let applied = try #require(app.applied)
            #expect(applied.digest == SHA256.digest(envelope))
            let printed = "\(ConfigurationEvent.applied(applied))"
            #expect(printed.hasPrefix("applied(version \(applied.version) for \(applied.target.text), "))
            #expect(!printed.contains("["), "a digest is no list of numbers")
            #expect(fixture.verdict(app, try fixture.message(envelope, mark: 7)) == "applied")
        }
    }

    @Test("CFG-37: the staged one is tried first")
    func theStagedOneIsTriedFirst() throws {
        try Fixture.withDirectory { directory in
            try fixture.writeActive(try fixture.envelope(version: 6), in: directory)
            let staged = try fixture.envelope(version: 7, values: ["volume": 55])
            try directory.write("staged.plist", try fixture.staged(staged, mark: 6).dictionary)
            let app = fixture.app(in: directory.path)
            #expect(app.volume == 55)
            #expect(fixture.verdict(app, try fixture.message(staged, mark: 6)) == "applied")
        }
    }

    @Test("CFG-37: a staged one that fails leaves the active one and is told by name")
    func aStagedOneThatFailsLeavesTheActiveOneAndIsToldByName() throws {
        let foreign = ConfigurationPrivateKey.generate()
        let bad: [(String, [UInt8], UInt64?)] = [
            ("schema", try fixture.envelope(values: ["volume": 101]), 6),
            ("rollback", try fixture.envelope(version: 5), 6),
            ("rollback", try fixture.envelope(version: 8), 9),
            ("threshold", try fixture.envelope(key: foreign), 6),
            ("expired", try fixture.envelope { $0.expires = Fixture.now.seconds }, 6),
        ]
        for (name, envelope, mark) in bad {
            try Fixture.withDirectory { directory in
                let active = try fixture.envelope(version: 6, values: ["volume": 66])
                try fixture.writeActive(active, in: directory)
                try directory.write("staged.plist", try fixture.staged(envelope, mark: mark).dictionary)
                let app = AppConfiguration()
                let load = fixture.load(app, in: directory.path)
                #expect(app.volume == 66, "\(name)")
                #expect(load.applied?.version == 6)
                #expect(load.failures.map(\.rejection.name) == [name])
                #expect(load.failures.map(\.file) == ["staged.plist"])
            }
        }
    }

    @Test("CFG-36: damaged and foreign files leave the defaults")
    func damagedAndForeignFilesLeaveTheDefaults() throws {
        try Fixture.withDirectory { directory in
            let good = try fixture.active(try fixture.envelope()).dictionary
            let bytes = try PropertyListWriter.write(good)
            for count in stride(from: 0, to: bytes.count, by: 37) {
                try directory.replace("configuration.plist", with: Array(bytes.prefix(count)))
                let app = AppConfiguration()
                let load = fixture.load(app, in: directory.path)
                #expect(app.volume == 75 && load.applied == nil)
                #expect(load.failures.map(\.rejection.name) == ["damaged"])
            }
            var flipped = bytes
            flipped[bytes.count / 3] ^= 1
            try directory.replace("configuration.plist", with: flipped)
            #expect(fixture.load(AppConfiguration(), in: directory.path).applied == nil)
            let foreign = try fixture.envelope(key: ConfigurationPrivateKey.generate())
            try fixture.writeActive(foreign, in: directory)
            let load = fixture.load(AppConfiguration(), in: directory.path)
            #expect(load.failures.map(\.rejection.name) == ["threshold"])
        }
        let nowhere = fixture.load(AppConfiguration(), in: "/nonexistent/tandem")
        #expect(nowhere.applied == nil && nowhere.failures.count == 1)
    }

    @Test("CFG-34, CFG-42: a lifetime that is over is not loaded and a removed file deactivates")
    func aLifetimeThatIsOverIsNotLoadedAndARemovedFileDeactivates() throws {
        try Fixture.withDirectory { directory in
            let envelope = try fixture.envelope { $0.lifetime = 604_800 }
            try fixture.writeActive(envelope, in: directory)
            let app = fixture.app(in: directory.path, time: TestTime(Fixture.now + .seconds(604_799)))
            #expect(app.volume == 90)
            let late = fixture.app(in: directory.path, time: TestTime(Fixture.now + .seconds(604_800)))
            #expect(late.volume == 75)
            try directory.remove("configuration.plist")
            #expect(fixture.verdict(app, ["tandem.reload": true]) == "applied")
            #expect(app.volume == 75 && app.applied == nil)
        }
    }

    @Test("CFG-42: a reload names the fault of what is applied and does not load, and its digest")
    func aReloadNamesTheFaultOfWhatIsApplied() throws {
        try Fixture.withDirectory { directory in
            let foreign = try fixture.envelope(key: ConfigurationPrivateKey.generate())
            try fixture.writeActive(foreign, in: directory)
            let app = fixture.app(in: directory.path)
            let reply = try #require(app.sessionDidReceiveMessage(["tandem.reload": true]).flatMap { OfferReply($0) })
            #expect(reply.verdict == .rejected(.threshold) && reply.digest == SHA256.digest(foreign))
            let good = try fixture.envelope()
            try fixture.writeActive(good, in: directory)
            let loads = ReloadReply.message(loaded: SHA256.digest(good))
            #expect(app.sessionDidReceiveMessage(["tandem.reload": true]) == loads)
        }
    }

    @Test("CFG-116: the answer to a reload names what the library has loaded, except after the end of a lifetime")
    func aReloadNamesWhatIsLoaded() throws {
        try Fixture.withDirectory { directory in
            let (active, next) = (try fixture.envelope { $0.lifetime = 60 }, try fixture.envelope(version: 8))
            let time = TestTime()
            let app = fixture.app(in: directory.path, time: time)
            func loaded() -> PropertyListDictionary? { app.sessionDidReceiveMessage(["tandem.reload": true]) }
            #expect(loaded() == ["tandem.verdict": "applied", "tandem.loaded": .data([])])
            try fixture.writeActive(active, in: directory)
            #expect(loaded() == ReloadReply.message(loaded: SHA256.digest(active)))
            try directory.write("staged.plist", try fixture.staged(next, mark: 7).dictionary)
            #expect(loaded() == ReloadReply.message(loaded: SHA256.digest(next)))
            try directory.remove("staged.plist")
            time.advance(by: .seconds(60))
            #expect(loaded() == ["tandem.verdict": "applied"], "the daemon may not have counted so far")
            #expect(app.applied == nil)
        }
    }

    @Test("CFG-115: an app that cannot read what is applied says so at a reload, and not that it loads")
    func unreadFiles() throws {
        try Fixture.withDirectory { parent in
            let directory = try parent.directory(named: "app")
            let (path, aside) = (directory.path, directory.path + "-aside")
            let file = "\(path)/configuration.plist"
            try fixture.writeActive(try fixture.envelope(), in: directory)
            let app = fixture.app(in: path)
            func unread() throws -> UnreadConfiguration {
                let reply = try #require(app.sessionDidReceiveMessage(["tandem.reload": true]))
                #expect(app.volume == 75 && app.applied == nil)
                return try #require(UnreadConfiguration(reply), "\(reply)")
            }
            // Permissions keep nothing from root, so that the kinds are wrong.
            try #require(rename(file, aside) == 0 && mkdir(file, 0o700) == 0)
            #expect(try unread().text.contains(file))
            #expect(app.reload().failures.map(\.rejection.name) == ["unreadable"])
            try #require(rmdir(file) == 0)
            try directory.replace("configuration.plist", with: [1, 2, 3])
            #expect(try unread().text.contains("configuration.plist"))
            #expect(app.reload().failures.map(\.rejection.name) == ["damaged"])
            try #require(rename(aside, file) == 0)
            #expect(fixture.verdict(app, ["tandem.reload": true]) == "applied" && app.volume == 90)
            try #require(rename(path, aside) == 0)
            #expect(try unread().text.contains(path))
            try #require(rename(aside, path) == 0)
            #expect(fixture.verdict(app, ["tandem.reload": true]) == "applied" && app.volume == 90)
        }
    }

    @Test("CFG-22: a waived one is dropped by a load that does not allow it")
    func aWaivedOneIsDroppedByALoadThatDoesNotAllowIt() throws {
        try Fixture.withDirectory { directory in
            let foreign = try fixture.envelope(version: 9, key: ConfigurationPrivateKey.generate())
            let record = ActiveConfiguration(try fixture.record(foreign), applied: Fixture.now, isWaived: true)
            try directory.write("waived.plist", record.dictionary)
            let app = AppConfiguration()
            let load = fixture.load(app, in: directory.path)
            #expect(load.applied == nil && app.volume == 75)
            #expect(load.failures.map(\.rejection.name) == ["threshold"])
        }
    }

    @Test("CFG-37: values and what is applied can be read while files are read and a signature is verified")
    func readersDoNotWait() throws {
        let app = AppConfiguration()
        let gate = Gate()
        let loaded = fixture.load(
            app, in: nil,
            time: ConfigurationTime(
                wall: { gate.time(Fixture.now) }, boot: { MonotonicTime(nanoseconds: 1) }, wake: { _, _ in }))
        #expect(loaded.applied == nil)
        let message = try fixture.message(try fixture.envelope())
        for call in ["hook", "reload"] {
            gate.close()
            let finished = Gate()
            finished.close()
            Thread.detachNewThread {
                if call == "hook" { _ = app.sessionDidReceiveMessage(message) } else { app.reload() }
                finished.open()
            }
            // The judge has asked for the time and waits for it.
            gate.waitForCaller()
            let isFirst = call == "hook"
            #expect(app.volume == (isFirst ? 75 : 90) && (app.applied == nil) == isFirst)
            #expect(app.declarationProblems.isEmpty && !app.declarations.isEmpty)
            gate.open()
            finished.wait()
            #expect(app.volume == 90 && app.applied?.version == 7)
        }
    }
}

/// A clock that stops whoever asks it for the time while it is closed.
private final class Gate: Sendable {
    private let condition = NSCondition()
    private let state = Mutex((isClosed: false, callers: 0))

    func close() { change { $0 = (true, 0) } }

    func open() { change { $0.isClosed = false } }

    func time(_ time: WallTime) -> WallTime {
        change { $0.callers += 1 }
        wait()
        return time
    }

    func wait() { wait { !$0.isClosed } }

    func waitForCaller() { wait { $0.callers > 0 } }

    private func change(_ change: (inout (isClosed: Bool, callers: Int)) -> Void) {
        condition.lock()
        defer { condition.unlock() }
        state.withLock { change(&$0) }
        condition.broadcast()
    }

    private func wait(until isDone: ((isClosed: Bool, callers: Int)) -> Bool) {
        condition.lock()
        defer { condition.unlock() }
        while !state.withLock({ isDone($0) }) { condition.wait() }
    }
}
