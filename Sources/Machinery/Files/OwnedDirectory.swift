// A directory that is ours alone, held open: a device's state, an app's own files. It refuses one that another user
// owns or may write to, and a symbolic link, because whoever can change it can change what we trust. Names in it come
// from a small alphabet, so that none can leave it.

internal import CTandemLinux
internal import TandemReactor

/// An open directory of known owner; any thread may use it.
package final class OwnedDirectory: Sendable {
    package let path: String
    private let descriptor: OwnedDescriptor

    /// Opens the directory, making it and its parents if they are missing.
    /// - Parameters:
    ///   - mode: of a directory made now; one that exists keeps its own.
    ///   - owner: the user who must own it, and gets it when it is made; nil means the caller.
    package convenience init(path: String, mode: UInt32 = 0o700, owner: UInt32? = nil) throws(FileError) {
        let trimmed = Self.trimmed(path)
        try Self.makeParents(of: trimmed)
        try self.init(FilePlace(path: trimmed), mode: mode, owner: owner, makes: true)
    }

    /// Opens the directory at `path`, which must exist.
    package convenience init(existing path: String, owner: UInt32? = nil) throws(FileError) {
        try self.init(FilePlace(path: Self.trimmed(path)), mode: 0, owner: owner, makes: false)
    }

    convenience init(existingAt place: FilePlace, owner: UInt32?) throws(FileError) {
        try self.init(place, mode: 0, owner: owner, makes: false)
    }

    private init(_ place: FilePlace, mode: UInt32, owner: UInt32?, makes: Bool) throws(FileError) {
        let isNew = makes ? try place.makeDirectory(mode: 0o700) : false
        path = place.path
        descriptor = try place.openDirectory()
        let expected = owner ?? tandem_user_current()
        if isNew { try Self.prepare(descriptor, place, mode: mode, owner: expected) }
        try Self.check(try place.status(of: descriptor), place, owner: expected)
    }

    private static func prepare(
        _ descriptor: borrowing OwnedDescriptor, _ place: FilePlace, mode: UInt32, owner: UInt32
    ) throws(FileError) {
        try place.check(tandem_file_set_mode(descriptor.raw, mode), "fchmod")
        guard owner != tandem_user_current() else { return }
        try place.check(tandem_file_set_owner(descriptor.raw, owner, .max), "fchown")
    }

    private static func check(_ status: tandem_status, _ place: FilePlace, owner: UInt32) throws(FileError) {
        guard status.owner == owner else { throw .otherOwner(path: place.path, owner: status.owner, expected: owner) }
        guard status.mode & 0o022 == 0 else { throw .writableByOthers(path: place.path, mode: status.mode) }
    }

    /// A slash at the end would make the kernel follow a symbolic link.
    private static func trimmed(_ path: String) -> String {
        var path = Substring(path)
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return String(path)
    }

    private static func makeParents(of path: String) throws(FileError) {
        for slash in path.indices.dropFirst() where path[slash] == "/" {
            _ = try FilePlace(path: String(path[..<slash])).makeDirectory(mode: 0o700)
        }
    }

    // MARK: inside

    /// The directory of this name in this one, made if it is missing: mode 0750 and the app's user for an app's own.
    package func directory(
        named name: String, mode: UInt32 = 0o700, owner: UInt32? = nil
    ) throws(FileError) -> OwnedDirectory {
        try OwnedDirectory(try safePlace(name), mode: mode, owner: owner, makes: true)
    }

    /// Takes the directory for this process alone.
    /// - Throws: ``FileError/inUse(path:process:)`` while another process has it.
    package func lock() throws(FileError) -> DirectoryLock {
        try DirectoryLock(directory: descriptor.raw, path: path)
    }

    /// The bytes of the file; nil if there is none.
    package func read(_ name: String, limit: Int, trust: FileTrust = .any) throws(FileError) -> [UInt8]? {
        let place = try safePlace(name)
        do throws(FileError) {
            return try FileReading.read(place, limit: limit, trust: trust)
        } catch {
            if case .missing = error { return nil }
            throw error
        }
    }

    /// Puts the bytes in the file's place, whole and durable when this returns; after a failure the file is the old
    /// one, or (if only the last step failed) perhaps the new one.
    package func replace(
        _ name: String, with bytes: [UInt8], _ attributes: FileAttributes = .privateFile
    ) throws(FileError) {
        try replacement(name).run(bytes, attributes)
    }

    func replacement(_ name: String) throws(FileError) -> AtomicReplacement {
        _ = try safePlace(name)
        return AtomicReplacement(name: name, directory: descriptor.raw, path: path)
    }

    /// Removes the file, durably; false if there was none.
    @discardableResult
    package func remove(_ name: String) throws(FileError) -> Bool {
        let place = try safePlace(name)
        guard try place.remove() else { return false }
        try place.check(tandem_file_synchronise(descriptor.raw), "fsync")
        return true
    }

    /// The names of the files and directories in it, sorted; without those that start with a dot.
    package func names() throws(FileError) -> [String] {
        let stream = try DirectoryNames(in: descriptor.raw, at: path)
        var names: [String] = []
        while let name = try stream.next() { if !name.isHidden { names.append(name.text) } }
        return names.sorted()
    }

    /// The bytes that this user may still write on the file system.
    package func availableSpace() throws(FileError) -> UInt64 {
        var bytes: UInt64 = 0
        try FilePlace(path: path).check(tandem_space_available(descriptor.raw, &bytes), "statvfs")
        return bytes
    }

    /// The bytes of the whole file system, without those that are kept for root.
    package func wholeSpace() throws(FileError) -> UInt64 {
        var bytes: UInt64 = 0
        try FilePlace(path: path).check(tandem_space_whole(descriptor.raw, &bytes), "statvfs")
        return bytes
    }

    /// Opens it once more, for a holder of its own.
    func opened() throws(FileError) -> OwnedDescriptor {
        try FilePlace(directory: descriptor.raw, name: ".", in: path).openDirectory()
    }

    /// Lends the descriptor to the watch.
    func withDescriptor<T, Failure: Error>(_ body: (CInt) throws(Failure) -> T) throws(Failure) -> T {
        try body(descriptor.raw)
    }
}
