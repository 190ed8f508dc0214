// A directory for each app and pairing (SES-32): `pairings/<UUID>` below the app's own, so that what an app keeps of
// one device never mixes with another's, and goes when the pairing goes.

import TandemBase
import TandemFiles
import TandemReactor
import TandemStore

/// Makes, names and removes the directories; confined to the daemon's loop.
final class PairingDirectories {
    private static let folder = "pairings"
    /// Up to this many directories are made on the loop, some ten microseconds each; the worker makes more.
    static let madeAtOnce = 16

    private struct Key: Hashable {
        let app: ApplicationIdentifier
        let pairing: UniqueIdentifier
    }

    /// The directories that the worker has made for an app, and why others are missing.
    private struct Made: Sendable {
        var paths: [UniqueIdentifier: String] = [:]
        var failure: FileError?
    }

    /// The apps and pairings whose directories began to go while others were made.
    private struct Removed {
        var apps: Set<ApplicationIdentifier> = []
        var pairings: Set<UniqueIdentifier> = []
    }

    /// Directories of one app that could not be made: each `state` would try all of them.
    private struct Failure {
        var pairings: Set<UniqueIdentifier> = []
        /// When some are tried again.
        private var retry: MonotonicTime
        /// The tries that are left until then, as long as each succeeds.
        private var tries = 0

        init(at now: MonotonicTime) { retry = now + LaterAttempt.pause }

        /// Whether a directory may be tried now.
        mutating func admits(_ pairing: UniqueIdentifier, at now: MonotonicTime) -> Bool {
            guard pairings.contains(pairing) else { return true }
            if now >= retry { (retry, tries) = (now + LaterAttempt.pause, PairingDirectories.madeAtOnce) }
            guard tries > 0 else { return false }
            tries -= 1
            return true
        }

        mutating func fail(_ failed: some Sequence<UniqueIdentifier>, at now: MonotonicTime) {
            pairings.formUnion(failed)
            (retry, tries) = (now + LaterAttempt.pause, 0)
        }
    }

    /// Holds one directory for each app.
    private let applications: OwnedDirectory
    private let installed: CommittedState<InstalledApplications>
    private let scheduler: any Scheduler
    private let log: LogHandler
    /// Not shared: files of items must not wait for the removal of what apps have left behind.
    private let worker: FileWorker
    private var paths: [Key: String] = [:]
    private var failed: [ApplicationIdentifier: Failure] = [:]
    /// The number of registrations that wait for the worker, and what was removed meanwhile.
    private var preparing = 0
    private var removed = Removed()

    init(
        in applications: OwnedDirectory, of installed: CommittedState<InstalledApplications>,
        scheduler: any Scheduler, log: @escaping LogHandler
    ) {
        self.applications = applications
        self.installed = installed
        self.scheduler = scheduler
        self.log = log
        worker = FileWorker(for: scheduler)
    }

    /// The path of the directory, which is made on the loop if it is missing. Nil if it cannot be made; the next
    /// registration tries again, and so does the first call after a pause.
    func path(of app: ApplicationIdentifier, in pairing: UniqueIdentifier) -> String? {
        let key = Key(app: app, pairing: pairing)
        if let path = paths[key] { return path }
        guard let owner = installed.state[app]?.user, failed[app]?.admits(pairing, at: scheduler.now) != false else {
            return nil
        }
        do throws(FileError) {
            let path = try Self.make(pairing, in: try Self.makeFolder(of: app, owner, in: applications), owner)
            paths[key] = path
            forgetFailures(of: app, at: [pairing])
            return path
        } catch {
            cannotMake([pairing], of: app, error)
            return nil
        }
    }

    /// Logs the first of the app's errors since it registered, or since it had all directories.
    private func cannotMake(_ pairings: [UniqueIdentifier], of app: ApplicationIdentifier, _ error: FileError) {
        if failed[app] == nil {
            log(LogEvent(.error, "no directory for a pairing", .text("app", "\(app)"), .text("error", "\(error)")))
        }
        failed[app, default: Failure(at: scheduler.now)].fail(pairings, at: scheduler.now)
    }

    /// The directories are there, or have gone with their pairings.
    private func forgetFailures(of app: ApplicationIdentifier, at pairings: Set<UniqueIdentifier>) {
        failed[app]?.pairings.subtract(pairings)
        if failed[app]?.pairings.isEmpty == true { failed[app] = nil }
    }

    /// Whether a registration needs many directories that are not known, or some that could not be made before.
    func needsPreparation(of app: ApplicationIdentifier, in pairings: [UniqueIdentifier]) -> Bool {
        guard installed.state[app] != nil else { return false }
        return failed[app] != nil || unknown(of: app, among: pairings).count > Self.madeAtOnce
    }

    /// Makes the directories that a registration needs on the worker: a thousand would hold up the loop.
    func prepare(_ app: ApplicationIdentifier, in pairings: [UniqueIdentifier]) async {
        guard let owner = installed.state[app]?.user else { return }
        let (applications, missing) = (applications, unknown(of: app, among: pairings))
        failed[app] = nil
        preparing += 1
        let made = await worker.value { Self.make(missing, of: app, owner, in: applications) }
        preparing -= 1
        let removed = removed
        if preparing == 0 { self.removed = Removed() }
        guard !removed.apps.contains(app) else { return }
        let present = missing.filter { !removed.pairings.contains($0) }
        // Another registration of the app, or a `state`, may have made what this one could not.
        for pairing in present {
            if let path = made.paths[pairing] { paths[Key(app: app, pairing: pairing)] = path }
        }
        let unknown = unknown(of: app, among: present)
        forgetFailures(of: app, at: Set(present).subtracting(unknown))
        if let failure = made.failure, !unknown.isEmpty { cannotMake(unknown, of: app, failure) }
    }

    private static func make(
        _ pairings: [UniqueIdentifier], of app: ApplicationIdentifier, _ owner: UInt32,
        in applications: OwnedDirectory
    ) -> Made {
        var made = Made()
        do throws(FileError) {
            let folder = try makeFolder(of: app, owner, in: applications)
            for pairing in pairings {
                do throws(FileError) { made.paths[pairing] = try make(pairing, in: folder, owner) } catch {
                    made.failure = made.failure ?? error
                }
            }
        } catch {
            made.failure = error
        }
        return made
    }

    private func unknown(
        of app: ApplicationIdentifier, among pairings: [UniqueIdentifier]
    ) -> [UniqueIdentifier] { pairings.filter { paths[Key(app: app, pairing: $0)] == nil } }

    private static func makeFolder(
        of app: ApplicationIdentifier, _ owner: UInt32, in applications: OwnedDirectory
    ) throws(FileError) -> OwnedDirectory {
        try applications.directory(named: app.description, mode: 0o750, owner: owner)
            .directory(named: Self.folder, mode: 0o750, owner: owner)
    }

    private static func make(
        _ pairing: UniqueIdentifier, in folder: OwnedDirectory, _ owner: UInt32
    ) throws(FileError) -> String {
        try folder.directory(named: pairing.description, mode: 0o750, owner: owner).path
    }

    /// Directories within directories, each open while its content is removed: no sane app nests deeper.
    private static let deepest = 64

    /// The pairing has ended: its directories go, with all that is in them. Nobody waits for that; what is not done
    /// when the daemon ends is done at its next start.
    func remove(_ pairing: UniqueIdentifier) {
        if preparing > 0 { removed.pairings.insert(pairing) }
        paths = paths.filter { $0.key.pairing != pairing }
        for app in failed.keys { forgetFailures(of: app, at: [pairing]) }
        let name = pairing.description
        for (app, owner) in installed.state.records.mapValues(\.user) {
            remove(of: app, owner) { (folder) throws(FileError) in
                try TreeRemoval([name], in: folder, depth: Self.deepest)
            }
        }
    }

    /// An app was removed: its own directory goes, with all that is in it; returns when it is gone, or why it stays is
    /// in the log.
    func remove(of app: ApplicationIdentifier) async {
        if preparing > 0 { removed.apps.insert(app) }
        paths = paths.filter { $0.key.app != app }
        failed[app] = nil
        let applications = applications
        let name = app.description
        // Unsafe, because a closed worker never calls back: the next start removes what is left.
        let failure: FileError? = await withUnsafeContinuation { continuation in
            worker.remove({ () throws(FileError) in
                try applications.names().contains(name)
                    ? TreeRemoval([name], in: applications, depth: Self.deepest) : nil
            }) { continuation.resume(returning: $0) }
        }
        guard let failure else { return }
        log(
            LogEvent(
                .error, "the directory of a removed app stays", .text("app", name), .text("error", "\(failure)")))
    }

    /// Removes directories that an earlier run could no longer remove. Its names are read at once, before a new pairing
    /// can be made: the directory of that is there before the worker comes to the removal.
    func keepOnly(_ pairings: [UniqueIdentifier]) {
        let kept = Set(pairings.map(\.description))
        for (app, owner) in installed.state.records.mapValues(\.user) {
            let gone = (try? Self.folder(of: app, owner, in: applications).others(than: kept)) ?? []
            guard !gone.isEmpty else { continue }
            remove(of: app, owner) { (folder) throws(FileError) in
                try TreeRemoval(gone, in: folder, depth: Self.deepest)
            }
        }
    }

    private func remove(
        of app: ApplicationIdentifier, _ owner: UInt32,
        _ removal: @escaping @Sendable (OwnedDirectory) throws(FileError) -> TreeRemoval
    ) {
        let applications = applications
        worker.remove({ () throws(FileError) in
            try FileError.unlessMissing(try removal(try Self.folder(of: app, owner, in: applications)))
        }) { [log] error in
            guard let error else { return }
            log(LogEvent(.error, "a pairing's directory stays", .text("app", "\(app)"), .text("error", "\(error)")))
        }
    }

    private static func folder(
        of app: ApplicationIdentifier, _ owner: UInt32, in applications: OwnedDirectory
    ) throws(FileError) -> OwnedDirectory {
        try OwnedDirectory(existing: "\(applications.path)/\(app)/\(folder)", owner: owner)
    }

    /// Waits for the disk; for tests that turn time by hand.
    func waitForDisk() { worker.waitUntilIdle() }

    /// Ends the thread.
    func close() { worker.close() }
}
