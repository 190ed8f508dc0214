// A directory for each app and pairing (SES-32): `pairings/<UUID>` below the app's own, so that what an app keeps of
// one device never mixes with another's, and goes when the pairing goes.

import TandemFiles
import TandemIdentity
import TandemLog

/// Makes, names and removes the directories; confined to the daemon's loop.
final class PairingDirectories {
    private static let folder = "pairings"

    private struct Place: Hashable {
        let app: ApplicationIdentifier
        let pairing: UniqueIdentifier
    }

    /// Holds one directory for each app.
    private let applications: OwnedDirectory
    private let owners: () -> [ApplicationIdentifier: UInt32]
    private let log: LogHandler
    private var paths: [Place: String] = [:]

    /// - Parameter owners: the installed apps and their users at the moment.
    init(
        in applications: OwnedDirectory, owners: @escaping () -> [ApplicationIdentifier: UInt32],
        log: @escaping LogHandler
    ) {
        self.applications = applications
        self.owners = owners
        self.log = log
    }

    /// The path, made if it is missing; nil if it cannot be made.
    func path(of app: ApplicationIdentifier, in pairing: UniqueIdentifier) -> String? {
        let place = Place(app: app, pairing: pairing)
        if let path = paths[place] { return path }
        guard let owner = owners()[app] else { return nil }
        do throws(FileError) {
            let folder = try applications.directory(named: app.description, mode: 0o750, owner: owner)
                .directory(named: Self.folder, mode: 0o750, owner: owner)
            let path = try folder.directory(named: pairing.description, mode: 0o750, owner: owner).path
            paths[place] = path
            return path
        } catch {
            log(LogEvent(.error, "no directory for a pairing", .text("app", "\(app)"), .text("error", "\(error)")))
            return nil
        }
    }

    /// Directories within directories, each held open while its content goes: no app of sound mind goes deeper.
    private static let deepest = 64

    /// The pairing has ended: its directories go, with all that is in them.
    func remove(_ pairing: UniqueIdentifier) { removeAll { $0 == pairing.description } }

    /// Removes what an earlier run could not any more.
    func keepOnly(_ pairings: [UniqueIdentifier]) {
        let kept = Set(pairings.map(\.description))
        removeAll { !kept.contains($0) }
    }

    private func removeAll(where isGone: (String) -> Bool) {
        paths = paths.filter { !isGone($0.key.pairing.description) }
        for app in owners() {
            let path = "\(applications.path)/\(app.key)/\(Self.folder)"
            do throws(FileError) {
                let folder = try OwnedDirectory(existing: path, owner: app.value)
                for name in try folder.names() where isGone(name) {
                    try folder.removeDirectory(name, depth: Self.deepest)
                }
            } catch {
                if case .missing = error { continue }
                log(LogEvent(.error, "a pairing's directory stays", .text("path", path), .text("error", "\(error)")))
            }
        }
    }
}
