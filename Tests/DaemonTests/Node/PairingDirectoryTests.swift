// SES-32: a directory for each app and pairing, told in `state`, the same after a restart, gone with the pairing.

import Glibc
import TandemBase
import TandemDaemonTestSupport
import TandemFiles
import TandemOperations
import TandemReactor
import TandemSession
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.timeLimit(.minutes(10))) struct PairingDirectoryTests {
    private let nodes: TwoNodes

    init() throws { nodes = try TwoNodes() }

    private func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The directories that an app on the secondary gets at its registration.
    private func told() throws -> [String?] {
        let app = try nodes.startApp()
        defer { app.disconnect() }
        let body = try #require(app.received(.registered).last).dictionaryBody()
        return try SessionState(body: body, now: nodes.clock.now).pairings.map(\.directory)
    }

    @Test func `SES-32: the directory is made, told, kept over a restart, and deleted with the pairing`() throws {
        try nodes.pair()
        let path = try #require(try told().first ?? nil)
        let name = try nodes.pairingIdentifier(of: nodes.secondary).description
        #expect(path == nodes.directory.path("secondary-state/apps/\(nodes.app)/pairings/\(name)") && exists(path))
        #expect(mkdir("\(path)/albums", 0o700) == 0 && symlink("/etc", "\(path)/albums/link") == 0)
        try nodes.restart(.secondary)
        #expect(exists("\(path)/albums"))
        #expect(try told() == [path])
        try nodes.unpair(nodes.secondary)
        nodes.run(until: { !exists(path) })
        #expect(!exists(path) && exists("/etc/passwd"))
        #expect(try told().isEmpty)
    }

    /// The directories of one app without a daemon around them.
    private struct Alone {
        let directory = TemporaryDirectory()
        let scheduler = ManualScheduler()
        let app: ApplicationIdentifier
        let directories: PairingDirectories
        let lines = LogLines()
        /// One more than are made on the loop.
        let pairings = (0...PairingDirectories.madeAtOnce).map { _ in UniqueIdentifier.random() }

        init() throws {
            app = try ApplicationIdentifier("org.example.app")
            var apps = try InstalledApplications(rows: [], leaving: [], path: "", role: .primary)
            _ = apps.install(app, as: ApplicationOwnership(user: Linux.user, role: .primary))
            directories = PairingDirectories(
                in: try OwnedDirectory(path: directory.path("apps")),
                of: CommittedState(apps, in: LoopStore(UnwillingStore(), on: scheduler)), scheduler: scheduler,
                log: { [lines] in lines.append($0) })
        }

        /// - Parameter meanwhile: runs while the worker makes the directories, or before.
        func prepare(meanwhile: () -> Void = {}) {
            scheduler.start { [directories, app, pairings] in await directories.prepare(app, in: pairings) }
            meanwhile()
            for _ in 0..<4 {
                directories.waitForDisk()
                scheduler.run()
            }
        }
    }

    @Test func `SES-32: where a registration needs many directories none is made on the loop`() throws {
        let alone = try Alone()
        let (directory, app, directories, pairings) = (alone.directory, alone.app, alone.directories, alone.pairings)
        defer { directories.close() }
        #expect(!directories.needsPreparation(of: app, in: Array(pairings.dropFirst())))
        #expect(directories.needsPreparation(of: app, in: pairings))
        alone.prepare()
        let folder = directory.path("apps/\(app)/pairings")
        #expect(Set(try OwnedDirectory(existing: folder).names()) == Set(pairings.map(\.description)))
        #expect(rename(folder, directory.path("elsewhere")) == 0)
        #expect(pairings.map { directories.path(of: app, in: $0) } == pairings.map { "\(folder)/\($0)" })
        #expect(!exists(folder), "they are known")
        #expect(!directories.needsPreparation(of: app, in: pairings))
    }

    @Test func `SES-32: a pairing that ends while a registration's directories are made takes no other's along`() throws
    {
        let alone = try Alone()
        defer { alone.directories.close() }
        alone.prepare { alone.directories.remove(alone.pairings[0]) }
        let folder = alone.directory.path("apps/\(alone.app)/pairings")
        let others = Array(alone.pairings.dropFirst())
        #expect(!exists("\(folder)/\(alone.pairings[0])"))
        #expect(rename(folder, alone.directory.path("elsewhere")) == 0)
        #expect(others.map { alone.directories.path(of: alone.app, in: $0) } == others.map { "\(folder)/\($0)" })
        #expect(!exists(folder), "they are known")
    }

    @Test func `SES-32: directories that cannot be made are one line in the log, until the app registers again`() throws
    {
        let alone = try Alone()
        defer { alone.directories.close() }
        let folder = alone.directory.path("apps/\(alone.app)")
        let paths = { alone.pairings.compactMap { alone.directories.path(of: alone.app, in: $0) } }
        alone.directory.write([], to: "apps/\(alone.app)")
        alone.prepare()
        #expect(alone.lines.all.map { "\($0.message)" } == ["no directory for a pairing"])
        #expect(unlink(folder) == 0)
        for _ in 0..<2 { #expect(paths().isEmpty) }
        #expect(alone.lines.all.count == 1 && !exists(folder))
        #expect(alone.directories.needsPreparation(of: alone.app, in: Array(alone.pairings.prefix(1))))
        alone.prepare()
        #expect(paths().count == alone.pairings.count && alone.lines.all.count == 1)
        #expect(!alone.directories.needsPreparation(of: alone.app, in: alone.pairings))
    }

    @Test func `SES-32, LIM-56: what could not be made is tried again after a pause, once while it fails`() throws {
        let alone = try Alone()
        defer { alone.directories.close() }
        let count = { alone.pairings.compactMap { alone.directories.path(of: alone.app, in: $0) }.count }
        let folder = alone.directory.path("apps/\(alone.app)")
        alone.directory.write([], to: "apps/\(alone.app)")
        alone.prepare()
        alone.scheduler.advance(by: LaterAttempt.pause)
        #expect(alone.directories.path(of: alone.app, in: alone.pairings[0]) == nil && unlink(folder) == 0)
        #expect(count() == 0 && !exists(folder), "one try in each period")
        alone.scheduler.advance(by: LaterAttempt.pause)
        #expect(count() == PairingDirectories.madeAtOnce, "the loop makes no more at once")
        alone.scheduler.advance(by: LaterAttempt.pause)
        #expect(count() == alone.pairings.count && alone.lines.all.count == 1)
        #expect(!alone.directories.needsPreparation(of: alone.app, in: alone.pairings))
    }

    @Test
    func `SES-32: what is known stays known while another registration of the app fails, and goes with its pairing`()
        throws
    {
        let alone = try Alone()
        let (app, directories, pairings) = (alone.app, alone.directories, alone.pairings)
        defer { directories.close() }
        alone.directory.write([], to: "apps/\(app)")
        var path: String?
        alone.prepare {
            alone.scheduler.run()
            directories.waitForDisk()
            // The worker has failed, and its result has not come yet.
            #expect(unlink(alone.directory.path("apps/\(app)")) == 0)
            path = directories.path(of: app, in: pairings[0])
        }
        #expect(path != nil && directories.path(of: app, in: pairings[0]) == path)
        #expect(directories.path(of: app, in: pairings[1]) == nil && directories.needsPreparation(of: app, in: []))
        for pairing in pairings { directories.remove(pairing) }
        #expect(!directories.needsPreparation(of: app, in: []))
    }

    @Test func `SES-32: what an earlier run could not delete goes at the next start`() throws {
        try nodes.pair()
        let path = try #require(try told().first ?? nil)
        let stray = path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/\(UniqueIdentifier.random())"
        #expect(mkdir(stray, 0o700) == 0 && exists(stray))
        try nodes.restart(.secondary)
        nodes.run(until: { !exists(stray) })
        #expect(!exists(stray) && exists(path))
    }
}
