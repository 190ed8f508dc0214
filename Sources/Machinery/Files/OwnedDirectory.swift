// A directory that is ours alone, held open: a device's state, an app's own files. It refuses one that another user
// owns or may write to, and a symbolic link, because a user who can change it can change the files that we trust. Names
// in it come from a small alphabet, so that none can leave it.

internal import Glibc
import TandemBase
package import TandemReactor

/// An open directory of known owner; any thread may use it.
package final class OwnedDirectory: Sendable {
    package let path: String
    private let descriptor: OwnedDescriptor

    /// Opens the directory, making it and its parents if they are missing.
    /// - Parameters:
    ///   - mode: of a directory made now; one that exists keeps its own.
    ///   - owner: the user who must own it, and gets it when it is made; nil means the caller.
    package convenience init(path: String, mode: UInt32 = 0o700, owner: UInt32? = nil) throws(FileError) {
        let entry = try DirectoryEntry(path: Self.trimmed(path))
        try Self.makeParents(of: entry.path)
        try self.init(entry, mode: mode, owner: owner, makes: true)
    }

    /// Opens the directory at `path`, which must exist.
    package convenience init(existing path: String, owner: UInt32? = nil) throws(FileError) {
        try self.init(try DirectoryEntry(path: Self.trimmed(path)), mode: 0, owner: owner, makes: false)
    }

    private init(_ entry: DirectoryEntry, mode: UInt32, owner: UInt32?, makes: Bool) throws(FileError) {
        let isNew = makes ? try entry.makeDirectory() : false
        path = entry.path
        descriptor = try entry.openDirectory()
        let expected = owner ?? Linux.user
        if isNew { try Self.prepare(descriptor, entry, mode: mode, owner: expected) }
        try Self.check(try entry.status(of: descriptor), entry, owner: expected)
    }

    private static func prepare(
        _ descriptor: borrowing OwnedDescriptor, _ entry: DirectoryEntry, mode: UInt32, owner: UInt32
    ) throws(FileError) {
        try entry.setMode(of: descriptor, mode)
        guard owner != Linux.user else { return }
        try entry.setOwner(of: descriptor, owner)
    }

    private static func check(_ status: FileStatus, _ entry: DirectoryEntry, owner: UInt32) throws(FileError) {
        guard status.owner == owner else { throw .otherOwner(path: entry.path, owner: status.owner, expected: owner) }
        guard status.mode & 0o022 == 0 else { throw .writableByOthers(path: entry.path, mode: status.mode) }
    }

    /// A slash at the end would make the kernel follow a symbolic link.
    private static func trimmed(_ path: String) -> String {
        var bytes = path.utf8[...]
        while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        return String(Substring(bytes))
    }

    /// By bytes, as the kernel reads a path: a slash before a combining mark is no Character of its own.
    private static func makeParents(of path: String) throws(FileError) {
        let bytes = path.utf8
        for slash in bytes.indices.dropFirst() where bytes[slash] == UInt8(ascii: "/") {
            _ = try DirectoryEntry(path: String(Substring(bytes[..<slash]))).makeDirectory()
        }
    }

    /// Makes the directory and its parents if they are missing; one that exists stays as it is.
    package static func makeMissing(_ path: String, mode: UInt32) throws(FileError) {
        let entry = try DirectoryEntry(path: trimmed(path))
        try makeParents(of: entry.path)
        guard try entry.makeDirectory() else { return }
        // Not with the mode that the process's mask leaves.
        try entry.setMode(of: try entry.openDirectory(), mode)
    }

    // MARK: inside

    /// The directory of this name in this one, made if it is missing: mode 0750 and the app's user for an app's own.
    package func directory(
        named name: String, mode: UInt32 = 0o700, owner: UInt32? = nil
    ) throws(FileError) -> OwnedDirectory {
        try OwnedDirectory(try safeEntry(name), mode: mode, owner: owner, makes: true)
    }

    /// Takes the directory for this process alone.
    /// - Throws: ``FileError/inUse(path:process:)`` while another process has it.
    package func lock() throws(FileError) -> DirectoryLock {
        try DirectoryLock(directory: descriptor.raw, path: path)
    }

    /// The bytes of the file; nil if there is none.
    package func read(_ name: String, limit: Int, trust: FileTrust = .any) throws(FileError) -> [UInt8]? {
        try read(try safeEntry(name), limit, trust)
    }

    /// As ``read(_:limit:trust:)``, of a file that others have named, in any script.
    package func read(named name: String, limit: Int, trust: FileTrust) throws(FileError) -> [UInt8]? {
        try read(try namedEntry(name), limit, trust)
    }

    private func read(_ entry: DirectoryEntry, _ limit: Int, _ trust: FileTrust) throws(FileError) -> [UInt8]? {
        try FileError.unlessMissing(try FileReading.read(entry, limit: limit, trust: trust))
    }

    /// The status of a file of the user's own or root's that no other user may write; nil if there is none. It is not
    /// opened: to close it would end the locks that this process has on it.
    package func trustedStatus(of name: String) throws(FileError) -> FileStatus? {
        let entry = try safeEntry(name)
        guard let status = try entry.status() else { return nil }
        guard !status.isSymbolicLink else { throw .symbolicLink(path: entry.path) }
        guard status.isRegular else { throw .notARegularFile(path: entry.path) }
        try FileReading.checkUnwritable(status, entry)
        return status
    }

    /// Refuses a file or directory that another user owns, reads or writes; without one of this name nothing happens.
    package func checkPrivate(_ name: String) throws(FileError) {
        let entry = try safeEntry(name)
        guard let status = try entry.status() else { return }
        guard !status.isSymbolicLink else { throw .symbolicLink(path: entry.path) }
        try FileReading.checkPrivate(status, entry)
    }

    /// The status of the file or of what else has this name; nil if there is nothing.
    package func status(of name: String) throws(FileError) -> FileStatus? { try safeEntry(name).status() }

    /// Whether its path still leads to it: somebody may have removed it, or moved it away.
    package func isInPlace() throws(FileError) -> Bool {
        let entry = try DirectoryEntry(path: path)
        let own = try entry.status(of: descriptor)
        return try entry.status()?.isOfSameFile(as: own) == true
    }

    /// Whether other users see the names in it, as its mode is now.
    package func isListableByOthers() throws(FileError) -> Bool {
        try DirectoryEntry(path: path).status(of: descriptor).mode & 0o044 != 0
    }

    /// Lets all other users pass through to the entries that they know by name. A mode that lets some of them pass
    /// already is somebody's choice and stays.
    /// - Returns: whether the mode is another one now.
    package func letOthersPass() throws(FileError) -> Bool {
        let entry = try DirectoryEntry(path: path)
        let mode = try entry.status(of: descriptor).mode
        guard mode & Self.passage == 0 else { return false }
        try entry.setMode(of: descriptor, mode | Self.passage)
        return true
    }

    /// Search permission for the group and for others.
    private static var passage: UInt32 { 0o011 }

    /// Its path without symbolic links.
    package func resolvedPath() throws(FileError) -> String { try DirectoryEntry(path: path).resolved().path }

    /// Moves the file to a name that nothing has; without the file nothing happens.
    package func move(_ name: String, to other: String) throws(FileError) {
        let (entry, target) = (try safeEntry(name), try safeEntry(other))
        let result = entry.move(to: target)
        if result != -ENOENT { try target.check(result, "renameat2") }
    }

    /// Puts the bytes in the file's place, whole and durable when this returns; after a failure the file is the old
    /// one, or (if only the last step failed) perhaps the new one.
    package func replace(
        _ name: String, with bytes: [UInt8], _ attributes: FileAttributes = .privateFile
    ) throws(FileError) {
        try replacement(name).run(bytes, attributes)
    }

    /// As ``replace(_:with:_:)``, if the file still has the bytes that the caller has read; nil for no file.
    /// - Throws: ``FileError/changedMeanwhile(path:)`` if another writer was faster; its file stays.
    package func replace(
        _ name: String, with bytes: [UInt8], insteadOf known: [UInt8]?, limit: Int
    ) throws(FileError) {
        var replacement = try replacement(name)
        let path = replacement.entry.path
        // At the last step, when the new bytes are on the disk: the rename alone is left.
        replacement.willTake = { step throws(FileError) in
            guard step == .rename, try self.read(name, limit: limit) != known else { return }
            throw .changedMeanwhile(path: path)
        }
        try replacement.run(bytes, .privateFile)
    }

    /// Gives the file a further name, `name.damaged` or with a number after that, under which it stays when the first
    /// name is replaced. A file that has such a name already, because the replacement failed, gets no other.
    /// - Returns: the further name.
    package func keepAside(_ name: String) throws(FileError) -> String {
        let entry = try safeEntry(name)
        for number in 1...Self.mostKeptAside {
            let other = try safeEntry(name + ".damaged" + (number == 1 ? "" : "-\(number)"))
            if try entry.link(to: other) {
                try synchronise()
                return other.name
            }
            if entry.isLinked(to: other) { return other.name }
        }
        throw .tooManyAside(path: entry.path, kept: Self.mostKeptAside)
    }

    /// Files kept aside under one name: more of them need a person.
    private static var mostKeptAside: Int { 99 }

    /// Waits until other processes and threads have had their turn at the directory's files, and takes one.
    /// - Parameter limit: how long it waits for a holder that does not end.
    /// - Throws: ``FileError/inUse(path:process:)`` after that.
    package func turn(within limit: Duration) throws(FileError) -> DirectoryTurn {
        try DirectoryTurn(try opened(), path: path, within: limit)
    }

    func replacement(_ name: String) throws(FileError) -> AtomicReplacement {
        _ = try safeEntry(name)
        return AtomicReplacement(name: name, directory: descriptor.raw, path: path)
    }

    /// Removes the file, durably; false if there was none.
    @discardableResult
    package func remove(_ name: String) throws(FileError) -> Bool {
        let entry = try safeEntry(name)
        guard try entry.remove() else { return false }
        try entry.synchronise(descriptor.raw)
        return true
    }

    /// Writes a file as ``replace(_:with:_:)`` does, and removes it: on a full disk an empty one could be made.
    /// - Throws: why no file can be written in it now.
    package func checkWritable(_ attributes: FileAttributes = .privateFile) throws(FileError) {
        try replacement("tandem").rehearse([UInt8](repeating: 0xFF, count: 4096), attributes)
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
        let space = try fileSystem()
        return Linux.bytes(ofBlocks: space.f_bavail, size: space.f_frsize)
    }

    /// The bytes of the whole file system, without those that are kept for root: nothing that others remove makes room
    /// there for a user who may not write it.
    package func wholeSpace() throws(FileError) -> UInt64 {
        let space = try fileSystem()
        let kept = space.f_bfree > space.f_bavail ? space.f_bfree - space.f_bavail : 0
        return Linux.bytes(ofBlocks: space.f_blocks > kept ? space.f_blocks - kept : 0, size: space.f_frsize)
    }

    private func fileSystem() throws(FileError) -> statvfs {
        var space = statvfs()
        let raw = descriptor.raw
        try DirectoryEntry(path: path).check(SystemCall.retried { fstatvfs(raw, &space) }, "statvfs")
        return space
    }

    /// Opens it once more, for a holder of its own.
    func opened() throws(FileError) -> OwnedDescriptor {
        try DirectoryEntry(directory: descriptor.raw, name: ".", in: path).openDirectory()
    }
}

// MARK: - large files

extension OwnedDirectory {
    /// The directory of this name, if it is there.
    package func existing(_ name: String, owner: UInt32? = nil) throws(FileError) -> OwnedDirectory? {
        try FileError.unlessMissing(try OwnedDirectory(try safeEntry(name), mode: 0, owner: owner, makes: false))
    }

    /// Names returned by one call: far more than a sane app has, and little memory.
    private static var returnedAtOnce: Int { 10_000 }

    /// The entries besides the kept names and those that start with a dot. The number is bounded, because an app can
    /// create any number of entries: the next call, once these are gone, returns the rest.
    package func others(than kept: Set<String>) throws(FileError) -> [EntryName] {
        let stream = try DirectoryNames(in: descriptor.raw, at: path)
        var names: [EntryName] = []
        while names.count < Self.returnedAtOnce, let name = try stream.next() {
            if !name.isHidden, !kept.contains(name.text) { names.append(name) }
        }
        return names
    }

    /// An entry whose name may be of any script; it stays in the directory all the same.
    func namedEntry(_ name: String) throws(FileError) -> DirectoryEntry {
        let bytes = name.utf8
        guard (1...255).contains(bytes.count), name != ".", name != "..",
            !bytes.contains(UInt8(ascii: "/")), !bytes.contains(0)
        else { throw .unsafeName(name) }
        return DirectoryEntry(directory: descriptor.raw, name: name, in: path, holder: self)
    }

    /// An entry whose name is 1-200 of `A-Z a-z 0-9 . _ -` without a leading dot: nothing hidden, nothing that a shell
    /// or a terminal would act on, and short enough for a draft's longer name.
    func safeEntry(_ name: String) throws(FileError) -> DirectoryEntry {
        let bytes = name.utf8
        guard (1...200).contains(bytes.count), bytes.first != UInt8(ascii: "."), bytes.allSatisfy(\.isPlainInNames)
        else { throw .unsafeName(name) }
        return try namedEntry(name)
    }

    /// Opens the file to read parts of it; nil if it is not there.
    func parts(of name: String) throws(FileError) -> FileParts? {
        try FileError.unlessMissing(try FileParts(try safeEntry(name)))
    }

    /// Whether a regular file stands there.
    func holds(_ entry: DirectoryEntry) throws(FileError) -> Bool {
        try entry.status()?.isRegular == true
    }

    /// The bytes of the file of this name; 0 if it is missing.
    func size(of name: String) throws(FileError) -> Int64 {
        Int64(clamping: try safeEntry(name).status()?.size ?? 0)
    }

    /// Makes the names in it durable.
    func synchronise() throws(FileError) { try DirectoryEntry(path: path).synchronise(descriptor.raw) }
}

// MARK: - names

/// A name as the file system has it: bytes, because one that is no text must be removable too.
package struct EntryName: Sendable {
    /// With the NUL that ends it.
    let bytes: [CChar]

    /// For people; what is no UTF-8 in it is replaced.
    var text: String { String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self) }
    var isHidden: Bool { bytes.first == CChar(bitPattern: UInt8(ascii: ".")) }

    init(_ text: String) { bytes = Array(text.utf8CString) }

    fileprivate init(_ name: UnsafePointer<CChar>) {
        bytes = Array(UnsafeBufferPointer(start: name, count: strlen(name) + 1))
    }
}

/// The names in an open directory but `.` and `..`, in no order; belongs to its reader. They are read as they are asked
/// for: an app may have put a million files there, and the memory for their names would be the daemon's.
final class DirectoryNames {
    private let stream: OpaquePointer
    private let directory: DirectoryEntry

    /// - Parameter directory: an open one; it may be closed before this is.
    init(in directory: CInt, at path: String) throws(FileError) {
        self.directory = try DirectoryEntry(path: path)
        // A descriptor of its own: reading moves the position, which duplicates share.
        let own = try DirectoryEntry(directory: directory, name: ".", in: path).openDirectory()
        let raw = own.raw
        var opened: OpaquePointer?
        let result = SystemCall.once { () -> CInt in
            opened = fdopendir(raw)
            return opened == nil ? -1 : 0
        }
        try self.directory.check(result, "fdopendir")
        guard let opened else { throw .missing(path: path) }
        stream = opened
        _ = own.release()
    }

    deinit { closedir(stream) }

    /// The next name; nil at the end.
    func next() throws(FileError) -> EntryName? {
        let stream = stream
        while true {
            var entry: UnsafeMutablePointer<dirent>?
            // Nil is the end, and an error only with a number.
            let result = SystemCall.once { () -> CInt in
                errno = 0
                entry = readdir(stream)
                return entry == nil && errno != 0 ? -1 : 0
            }
            try directory.check(result, "readdir")
            guard let entry, let name = MemoryLayout<dirent>.offset(of: \.d_name) else { return nil }
            // The bytes of the name itself, which may be shorter than the field in the structure.
            let bytes = (UnsafeRawPointer(entry) + name).assumingMemoryBound(to: CChar.self)
            if strcmp(bytes, ".") != 0, strcmp(bytes, "..") != 0 { return EntryName(bytes) }
        }
    }

    /// Begins once more, with what is there then.
    func startOver() { rewinddir(stream) }
}
