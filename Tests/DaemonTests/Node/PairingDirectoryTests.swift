// SES-32: a directory for each app and pairing, told in `state`, the same after a restart, gone with the pairing.

import Glibc
import TandemBase
import TandemFiles
import TandemOperations
import TandemPropertyList
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
        let pairing = try #require(try nodes.rows("pairings", of: nodes.secondary).first?["pairing"]?.dataValue)
        let name = try #require(UniqueIdentifier(bytes: pairing)).description
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

    @Test func `SES-32: where a registration needs many directories none is made on the loop`() throws {
        let (directory, scheduler) = (TemporaryDirectory(), ManualScheduler())
        let app = try ApplicationIdentifier("org.example.app")
        var apps = try InstalledApplications(rows: [], leaving: [], path: "", role: .primary)
        _ = apps.install(app, as: ApplicationOwnership(user: Linux.user, role: .primary))
        let directories = PairingDirectories(
            in: try OwnedDirectory(path: directory.path("apps")),
            of: CommittedState(apps, in: LoopStore(UnwillingStore(), on: scheduler)), scheduler: scheduler,
            log: { _ in })
        defer { directories.close() }
        let pairings = (0...PairingDirectories.madeAtOnce).map { _ in UniqueIdentifier.random() }
        #expect(!directories.needsPreparation(of: app, in: Array(pairings.dropFirst())))
        #expect(directories.needsPreparation(of: app, in: pairings))
        scheduler.start { await directories.prepare(app, in: pairings) }
        directories.waitForDisk()
        scheduler.run()
        let folder = directory.path("apps/\(app)/pairings")
        #expect(Set(try OwnedDirectory(existing: folder).names()) == Set(pairings.map(\.description)))
        #expect(rename(folder, directory.path("elsewhere")) == 0)
        #expect(pairings.map { directories.path(of: app, in: $0) } == pairings.map { "\(folder)/\($0)" })
        #expect(!exists(folder), "they are known")
        #expect(!directories.needsPreparation(of: app, in: pairings))
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
