// Reading a whole file that must be small: a key, a join link, an envelope, a configuration. The limit is checked
// before anything is allocated, and again while reading, because a file can grow.

internal import TandemReactor

/// The owner and permissions that a file must have to be read.
package enum FileTrust: Sendable {
    /// Any regular file that can be read.
    case any
    /// The caller's own file that no other user may read or write: a key or a secret.
    case ownAndPrivate
    /// The caller's own file or root's that no other user may write: the daemon acts on its content.
    case ownOrRootsAndUnwritable
}

/// Reads small files whole.
package enum FileReading {
    /// The bytes of the regular file at `path`.
    /// - Parameter followsLinks: whether a symbolic link leads to the file; `trust` is about the file then.
    /// - Throws: ``FileError``, for a symbolic link unless it is followed, and for more than `limit` bytes.
    package static func read(
        path: String, limit: Int, trust: FileTrust = .any, followsLinks: Bool = false
    ) throws(FileError) -> [UInt8] {
        let entry = try DirectoryEntry(path: path)
        return try read(followsLinks ? try entry.resolved() : entry, limit: limit, trust: trust)
    }

    static func read(_ entry: DirectoryEntry, limit: Int, trust: FileTrust) throws(FileError) -> [UInt8] {
        let file = try entry.openFile()
        let status = try entry.status(of: file)
        guard status.isRegular else { throw .notARegularFile(path: entry.path) }
        switch trust {
        case .any: break
        case .ownAndPrivate: try checkPrivate(status, entry)
        case .ownOrRootsAndUnwritable: try checkUnwritable(status, entry)
        }
        guard status.size <= UInt64(limit) else { throw .tooLarge(path: entry.path, limit: limit) }
        return try bytes(of: file, entry, expected: Int(status.size), limit: limit)
    }

    /// Also of a directory.
    static func checkPrivate(_ status: FileStatus, _ entry: DirectoryEntry) throws(FileError) {
        let user = Linux.user
        guard status.owner == user else { throw .otherOwner(path: entry.path, owner: status.owner, expected: user) }
        guard status.mode & 0o077 != 0 else { return }
        guard status.isDirectory else { throw .loosePermissions(path: entry.path, mode: status.mode) }
        throw .looseDirectory(path: entry.path, mode: status.mode)
    }

    static func checkUnwritable(_ status: FileStatus, _ entry: DirectoryEntry) throws(FileError) {
        let user = Linux.user
        guard status.owner == user || status.owner == 0 else {
            throw .otherOwner(path: entry.path, owner: status.owner, expected: user)
        }
        guard status.mode & 0o022 == 0 else { throw .writableByOthers(path: entry.path, mode: status.mode) }
    }

    private static func bytes(
        of file: borrowing OwnedDescriptor, _ entry: DirectoryEntry, expected: Int, limit: Int
    ) throws(FileError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(expected)
        while let chunk = try nextChunk(of: file, entry, size: min(65_536, limit - bytes.count + 1)) {
            bytes += chunk
            guard bytes.count <= limit else { throw .tooLarge(path: entry.path, limit: limit) }
        }
        return bytes
    }

    /// The next bytes; nil at the end of the file.
    private static func nextChunk(
        of file: borrowing OwnedDescriptor, _ entry: DirectoryEntry, size: Int
    ) throws(FileError) -> [UInt8]? {
        let descriptor = file.raw
        do throws(SystemError) {
            let chunk = try [UInt8](unsafeUninitializedCapacity: size) { buffer, count throws(SystemError) in
                if case .bytes(let read) = try Linux.read(descriptor, into: UnsafeMutableRawBufferPointer(buffer)) {
                    count = read
                }
            }
            return chunk.isEmpty ? nil : chunk
        } catch {
            throw .system(path: entry.path, error)
        }
    }
}
