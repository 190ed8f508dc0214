// A name in an open directory, and the calls on it: each result becomes a value or an error that names the path. No
// call follows a symbolic link in the last place, so that another writer to the directory cannot lead us elsewhere;
// when a call refuses one, this file finds out what stood there.

internal import Glibc
internal import TandemReactor

/// A name in a directory that the holder keeps open.
struct DirectoryEntry {
    /// The directory's descriptor.
    let directory: CInt
    let name: String
    /// How people know the entry.
    let path: String
    /// Keeps the directory open, for an entry that outlives the call that it was made for.
    private let holder: OwnedDirectory?

    /// An entry named by a path of its own.
    /// - Throws: ``FileError/nulInPath(_:)``: the kernel would take the part before the NUL, which is another file.
    init(path: String) throws(FileError) {
        guard !path.utf8.contains(0) else { throw .nulInPath(path) }
        directory = AT_FDCWD
        name = path
        self.path = path
        holder = nil
    }

    init(directory: CInt, name: String, in parent: String, holder: OwnedDirectory? = nil) {
        self.holder = holder
        self.directory = directory
        self.name = name
        path = parent + "/" + name
    }

    /// The result of a system call, or an error that says what is wrong with this entry.
    @discardableResult
    func check(_ result: CInt, _ call: StaticString) throws(FileError) -> CInt {
        guard result < 0 else { return result }
        throw failure(SystemError(call: call, errno: -result))
    }

    private func failure(_ error: SystemError) -> FileError {
        switch error.errno {
        case ENOENT: .missing(path: path)
        case ENOSPC, EDQUOT: .full(path: path)
        case EXDEV: .otherFileSystem(path: path)
        case ELOOP, ENOTDIR: whatStandsHere() ?? .system(path: path, error)
        default: .system(path: path, error)
        }
    }

    private func whatStandsHere() -> FileError? {
        guard let status = try? Linux.lookAt(path: name, in: directory) else { return nil }
        if status.isSymbolicLink { return .symbolicLink(path: path) }
        return status.isDirectory ? nil : .notADirectory(path: path)
    }

    func openDirectory() throws(FileError) -> OwnedDescriptor { try open(O_RDONLY | O_DIRECTORY) }

    /// Opens the file to read it. Not blocking, because a pipe in its place would be waited for without end.
    func openFile() throws(FileError) -> OwnedDescriptor { try open(O_RDONLY | O_NONBLOCK | O_NOCTTY) }

    func create(mode: UInt32) throws(FileError) -> OwnedDescriptor { try open(O_WRONLY | O_CREAT | O_EXCL, mode: mode) }

    /// Opens what has this name, never through a symbolic link.
    func open(_ flags: CInt, mode: UInt32 = 0) throws(FileError) -> OwnedDescriptor {
        let directory = directory
        let result = name.withCString { name in
            SystemCall.retried { openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC, mode) }
        }
        return OwnedDescriptor(takingOwnership: try check(result, "open"))
    }

    /// The entry that a symbolic link of this name leads to; this one if there is no link.
    func resolved() throws(FileError) -> DirectoryEntry {
        var target: UnsafeMutablePointer<CChar>?
        defer { free(target) }
        let result: CInt = path.withCString { path in
            SystemCall.once {
                target = realpath(path, nil)
                return target == nil ? -1 : 0
            }
        }
        try check(result, "realpath")
        guard let found = target else { return self }
        return try DirectoryEntry(path: String(cString: found))
    }

    /// Removes the file; false if there was none.
    @discardableResult
    func remove() throws(FileError) -> Bool {
        let directory = directory
        let result = name.withCString { name in SystemCall.once { unlinkat(directory, name, 0) } }
        if result == -ENOENT { return false }
        try check(result, "unlink")
        return true
    }

    /// Makes a directory that only its owner may enter; false if something stands there already.
    func makeDirectory() throws(FileError) -> Bool {
        let directory = directory
        let result = name.withCString { name in SystemCall.retried { mkdirat(directory, name, 0o700) } }
        if result == -EEXIST { return false }
        // A file system such as /proc refuses in these words what has its parent.
        if result == -ENOENT { throw .system(path: path, SystemError(call: "mkdir", errno: ENOENT)) }
        try check(result, "mkdir")
        return true
    }

    /// Moves the file to a name that nothing has yet: 0, or minus the error number.
    func move(to target: DirectoryEntry) -> CInt {
        name.withCString { name in
            target.name.withCString { Linux.renameNew(name, in: directory, to: $0, in: target.directory) }
        }
    }

    /// Takes the place of the file of the other name, in one step. Both are in one file system.
    func replace(_ target: DirectoryEntry) throws(FileError) {
        let (from, to) = (directory, target.directory)
        let result = name.withCString { name in
            target.name.withCString { other in SystemCall.once { renameat(from, name, to, other) } }
        }
        try target.check(result, "rename")
    }

    /// Gives the file a further name; false if something has that.
    func link(to target: DirectoryEntry) throws(FileError) -> Bool {
        let (from, to) = (directory, target.directory)
        let result = name.withCString { name in
            target.name.withCString { other in SystemCall.once { linkat(from, name, to, other, 0) } }
        }
        if result == -EEXIST { return false }
        try check(result, "link")
        return true
    }

    /// Whether the file here has that name, too.
    func isLinked(to other: DirectoryEntry) -> Bool {
        guard let here = try? Linux.lookAt(path: name, in: directory),
            let there = try? Linux.lookAt(path: other.name, in: other.directory)
        else { return false }
        return here.isOfSameFile(as: there)
    }

    func setMode(of file: borrowing OwnedDescriptor, _ mode: UInt32) throws(FileError) {
        let raw = file.raw
        try check(SystemCall.retried { fchmod(raw, mode) }, "fchmod")
    }

    /// Gives the file to a user; its group stays.
    func setOwner(of file: borrowing OwnedDescriptor, _ owner: UInt32) throws(FileError) {
        let raw = file.raw
        try check(SystemCall.retried { fchown(raw, owner, .max) }, "fchown")
    }

    /// Makes the open file or directory durable.
    func synchronise(_ descriptor: CInt) throws(FileError) { try check(SystemCall.once { fsync(descriptor) }, "fsync") }

    /// Writes some of the bytes at the offset.
    /// - Returns: how many, at least one.
    func write(_ bytes: RawSpan, to descriptor: CInt, at offset: Int64) throws(FileError) -> Int {
        let written = bytes.withUnsafeBytes { bytes in
            SystemCall.retried { pwrite(descriptor, bytes.baseAddress, bytes.count, Int(offset)) }
        }
        try check(CInt(clamping: written), "pwrite")
        return written
    }

    /// Writes all of the bytes, the first at the offset.
    func writeAll(_ bytes: [UInt8], to descriptor: CInt, at offset: Int64 = 0) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let rest = bytes.span.bytes.extracting(droppingFirst: done)
            done += try write(rest, to: descriptor, at: offset + Int64(done))
        }
    }

    /// Reads bytes from the offset on into the buffer; 0 only at the end of the file.
    func read(
        _ descriptor: CInt, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        let count = SystemCall.retried { pread(descriptor, buffer.baseAddress, buffer.count, Int(offset)) }
        try check(CInt(clamping: count), "pread")
        return count
    }

    func status(of descriptor: borrowing OwnedDescriptor) throws(FileError) -> FileStatus {
        do throws(SystemError) { return try Linux.status(of: descriptor.raw) } catch { throw failure(error) }
    }

    /// The status of the entry with this name; nil if there is none.
    func status() throws(FileError) -> FileStatus? {
        do throws(SystemError) {
            return try Linux.lookAt(path: name, in: directory)
        } catch {
            throw failure(error)
        }
    }
}
