// Where an app finds the files that arrived for it: a directory in its own one, and there one for each item, so that
// two files of the same name never meet. The app owns what it gets. It could put anything in the daemon's way, and
// could be of another user: every step goes through open directories of known owner, and no symbolic link is followed.

internal import Glibc
internal import TandemBase
internal import TandemReactor

/// The files that wait for one app.
package struct AppInbox: Sendable {
    private static var name: String { "inbox" }

    private let app: OwnedDirectory
    private let owner: UInt32?

    /// - Parameter owner: the app's user; nil is the daemon's own.
    package init(of app: OwnedDirectory, owner: UInt32?) {
        self.app = app
        self.owner = owner
    }

    /// Moves a complete file from the spool to the app, in one step. One that is there already stays.
    /// - Parameter name: one component without a slash or NUL, not `.` or `..`.
    /// - Returns: its path; nil if the file is in neither place.
    package func move(_ key: SpoolKey, named name: String, from spool: FileSpool) throws(FileError) -> String? {
        let box = try directory(of: key)
        let target = try box.namedEntry(name)
        if let source = try spool.directory(of: key)?.safeEntry(key.item.description) {
            try give(source)
            let result = source.move(to: target)
            if result != -ENOENT, result != -EEXIST { try target.check(result, "renameat2") }
            if result == 0 { try box.synchronise() }
        }
        return try box.holds(target) ? target.path : nil
    }

    /// The file becomes the app's own before the app can see it.
    private func give(_ source: DirectoryEntry) throws(FileError) {
        guard let owner, owner != Linux.user else { return }
        guard let file = try? source.openFile() else { return }
        try source.setOwner(of: file, owner)
    }

    /// Directories within directories that an app may have made of its files: none of sound mind goes deeper.
    private static var depth: Int { 64 }

    /// The removal of what is left of an item; nil if nothing is there.
    package func removal(of key: SpoolKey) throws(FileError) -> TreeRemoval? {
        try removal(of: [key.item.description], in: items(of: key.pairing.description))
    }

    /// The removal of the files of a pairing; nil if nothing is there.
    package func removal(of pairing: String) throws(FileError) -> TreeRemoval? {
        try removal(of: [pairing], in: app.existing(Self.name, owner: owner))
    }

    /// The removal of every item of a pairing that is not to be kept; nil if nothing is there.
    package func removal(of pairing: String, but kept: Set<String>) throws(FileError) -> TreeRemoval? {
        try removal(ofAllIn: items(of: pairing), but: kept)
    }

    /// The removal of the files of all other pairings; nil if nothing is there.
    package func removal(butOf pairings: Set<String>) throws(FileError) -> TreeRemoval? {
        try removal(ofAllIn: app.existing(Self.name, owner: owner), but: pairings)
    }

    private func removal(of names: [String], in directory: OwnedDirectory?) throws(FileError) -> TreeRemoval? {
        guard let directory else { return nil }
        return try TreeRemoval(names, in: directory, depth: Self.depth)
    }

    private func removal(
        ofAllIn directory: OwnedDirectory?, but kept: Set<String>
    ) throws(FileError) -> TreeRemoval? {
        guard let directory else { return nil }
        return try TreeRemoval(allIn: directory, but: kept, depth: Self.depth)
    }

    private func items(of pairing: String) throws(FileError) -> OwnedDirectory? {
        try app.existing(Self.name, owner: owner)?.existing(pairing, owner: owner)
    }

    private func directory(of key: SpoolKey) throws(FileError) -> OwnedDirectory {
        try app.directory(named: Self.name, owner: owner)
            .directory(named: key.pairing.description, owner: owner)
            .directory(named: key.item.description, owner: owner)
    }
}
