// Where a daemon keeps files that are not an app's yet: one directory for each pairing, in it one for each app, in it
// one file for each item. The names are identifiers that this program wrote; nothing from a peer or an app becomes one.
// Everything here blocks, and runs on a file worker's thread.

internal import Glibc
package import TandemBase
internal import TandemReactor

/// The key of one file on a spool, and in an app's inbox.
package struct SpoolKey: Sendable, Hashable {
    package let pairing: UniqueIdentifier
    package let app: ApplicationIdentifier
    package let item: UniqueIdentifier

    package init(pairing: UniqueIdentifier, app: ApplicationIdentifier, item: UniqueIdentifier) {
        self.pairing = pairing
        self.app = app
        self.item = item
    }
}

/// A directory of files on their way.
package final class FileSpool: Sendable {
    private let parent: OwnedDirectory
    private let name: String
    private let digest: @Sendable () -> any FileDigest

    /// The spool of this name in a device's own directory, made when it is first used.
    /// - Parameter digest: makes the digest of one file.
    package init(_ name: String, in directory: OwnedDirectory, digest: @escaping @Sendable () -> any FileDigest) {
        parent = directory
        self.name = name
        self.digest = digest
    }

    private func root() throws(FileError) -> OwnedDirectory { try parent.directory(named: name) }

    /// Whether it was ever used.
    package var exists: Bool { (try? parent.existing(name)) != nil }

    /// Opens the file for its next bytes, making it if it is missing; what it holds is read through the digest.
    package func open(_ key: SpoolKey) throws(FileError) -> GrowingFile {
        let directory = try root().directory(named: key.pairing.description).directory(
            named: key.app.description)
        return try GrowingFile(named: key.item.description, in: directory, digest: digest())
    }

    /// Opens the file to read parts of it; nil if it is not there.
    package func read(_ key: SpoolKey) throws(FileError) -> FileParts? {
        guard let directory = try directory(of: key) else { return nil }
        return try directory.parts(of: key.item.description)
    }

    /// Removes the file if it is there.
    package func remove(_ key: SpoolKey) throws(FileError) {
        try directory(of: key)?.remove(key.item.description)
    }

    /// The removal of all files of a pairing; nil if nothing is there.
    package func removal(of pairing: UniqueIdentifier) throws(FileError) -> TreeRemoval? {
        guard let root = try parent.existing(name) else { return nil }
        return try TreeRemoval([pairing.description], in: root, depth: 2)
    }

    /// Removes every file of one app in one pairing that is not to be kept.
    package func removeAll(
        of app: ApplicationIdentifier, in pairing: UniqueIdentifier, but kept: Set<UniqueIdentifier>
    ) throws(FileError) {
        let key = SpoolKey(pairing: pairing, app: app, item: pairing)
        guard let files = try directory(of: key) else { return }
        for name in try files.names() where UniqueIdentifier(text: name).map(kept.contains) != true {
            try files.remove(name)
        }
    }

    /// Removes every file that is not to be kept: what a process left behind that ended in the middle. One that cannot
    /// be removed now stops nothing else.
    /// - Returns: those that stay, and the bytes of those to be kept.
    package func removeAll(but kept: Set<SpoolKey>) throws(FileError) -> [SpoolKey: Int64] {
        var sizes: [SpoolKey: Int64] = [:]
        try forEach { (key, name, files) throws(FileError) in
            if let key, kept.contains(key) { return sizes[key] = try files.size(of: name) }
            if (try? files.remove(name)) == nil, let key { sizes[key] = 0 }
        }
        return sizes
    }

    /// The bytes of each file of the pairings.
    package func sizes(of pairings: Set<UniqueIdentifier>) throws(FileError) -> [SpoolKey: Int64] {
        var sizes: [SpoolKey: Int64] = [:]
        try forEach { (key, name, files) throws(FileError) in
            if let key, pairings.contains(key.pairing) { sizes[key] = try files.size(of: name) }
        }
        return sizes
    }

    /// Visits each file; its key is nil if it has no name of an item.
    private func forEach(
        _ visit: (_ key: SpoolKey?, _ name: String, _ files: OwnedDirectory) throws(FileError) -> Void
    ) throws(FileError) {
        guard let root = try parent.existing(name) else { return }
        for pairing in try root.names() {
            guard let pairingID = UniqueIdentifier(text: pairing) else { continue }
            let apps = try root.directory(named: pairing)
            for name in try apps.names() {
                guard let app = try? ApplicationIdentifier(name) else { continue }
                let files = try apps.directory(named: name)
                for file in try files.names() {
                    let item = UniqueIdentifier(text: file)
                    try visit(item.map { SpoolKey(pairing: pairingID, app: app, item: $0) }, file, files)
                }
            }
        }
    }

    /// The removal of every file of a pairing that no longer exists; nil if there is no such file.
    package func removal(butOf pairings: Set<UniqueIdentifier>) throws(FileError) -> TreeRemoval? {
        guard let root = try parent.existing(name) else { return nil }
        let gone = try root.names().filter { UniqueIdentifier(text: $0).map(pairings.contains) != true }
        return try TreeRemoval(gone, in: root, depth: 2)
    }

    /// The bytes that may still be written.
    package func availableSpace() throws(FileError) -> Int64 { Int64(clamping: try parent.availableSpace()) }

    /// The bytes of the whole file system, without those that are kept for root.
    package func wholeSpace() throws(FileError) -> Int64 { Int64(clamping: try parent.wholeSpace()) }

    /// The directory of the key's app, if it is there.
    func directory(of key: SpoolKey) throws(FileError) -> OwnedDirectory? {
        try parent.existing(name)?.existing(key.pairing.description)?.existing(key.app.description)
    }
}

/// Moves files by path: by name where both places are on one file system, else by a whole copy before the old one goes.
/// Nothing is overwritten and no symbolic link is followed in the last place.
package enum FileMove {
    /// - Throws: ``FileError`` also where something stands already.
    package static func move(from path: String, to other: String) throws(FileError) {
        let (source, target) = (try DirectoryEntry(path: path), try DirectoryEntry(path: other))
        let result = source.move(to: target)
        guard result == -EXDEV else {
            let isSourceMissing = result == -ENOENT ? try source.status() == nil : false
            try (isSourceMissing ? source : target).check(result, "renameat2")
            return
        }
        try copy(source, target)
        try source.remove()
    }

    private static func copy(_ source: DirectoryEntry, _ target: DirectoryEntry) throws(FileError) {
        let parts = try FileParts(source)
        let file = try target.create(mode: 0o600)
        do throws(FileError) {
            var offset: Int64 = 0
            while offset < parts.size {
                let bytes = try parts.read(at: offset, count: 1 << 20)
                guard !bytes.isEmpty else { throw .changedMeanwhile(path: source.path) }
                try target.writeAll(bytes, to: file.raw, at: offset)
                offset += Int64(bytes.count)
            }
            guard try parts.isUnchanged() else { throw .changedMeanwhile(path: source.path) }
            try target.synchronise(file.raw)
            try synchroniseName(of: target)
        } catch {
            _ = try? target.remove()
            throw error
        }
    }

    /// Makes the new name durable before the old file is removed: the two file systems commit in no fixed order.
    private static func synchroniseName(of entry: DirectoryEntry) throws(FileError) {
        // By bytes: Swift joins a slash and a combining mark behind it into one Character.
        let parent = entry.path.utf8.lastIndex(of: UInt8(ascii: "/")).map { entry.path.utf8[...$0] }
        // The dot makes the kernel follow a parent that is a symbolic link.
        let directory = try DirectoryEntry(path: String(decoding: parent ?? "".utf8[...], as: UTF8.self) + ".")
        do throws(FileError) {
            let descriptor = try directory.openDirectory()
            try directory.synchronise(descriptor.raw)
        } catch .system(_, let error) where error.errno == EACCES || error.errno == EINVAL {
            // A directory that may be written to and not read, or of a file system that does not synchronise names.
        } catch {
            throw error
        }
    }
}
