// The Linux calls that rooms above use, with typed results: a call that would block, or a stream that has ended, is a
// value and not an error. Every descriptor is born close-on-exec and, where it can be, non-blocking.

internal import CTandemLinux
internal import Glibc
package import TandemBase

/// The Linux calls.
package enum Linux {
    /// The result of a non-blocking read or write.
    package enum Transfer: Equatable, Sendable {
        case bytes(Int)
        case wouldBlock
        /// The other side has finished (reading), or is gone (writing).
        case ended
    }

    private static func transfer(_ result: Int, _ call: StaticString) throws(SystemError) -> Transfer {
        if result >= 0 { return .bytes(result) }
        switch CInt(-result) {
        case EAGAIN: return .wouldBlock
        case EPIPE: return .ended
        case let number: throw SystemError(call: call, errno: number)
        }
    }

    /// The result of a call on a socket. Only a bug of ours makes `EBADF` or `EFAULT` there, and continuing could touch
    /// another's socket.
    private static func socketTransfer(_ result: Int, _ call: StaticString) throws(SystemError) -> Transfer {
        precondition(result != -Int(EBADF) && result != -Int(EFAULT), "socket call on a bad descriptor or pointer")
        return try transfer(result, call)
    }

    private static func ended(_ transfer: Transfer) -> Transfer { transfer == .bytes(0) ? .ended : transfer }

    /// Reads from a pipe, a file or a device.
    package static func read(
        _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Transfer {
        let result = SystemCall.retried { Glibc.read(descriptor, buffer.baseAddress, buffer.count) }
        return ended(try transfer(result, "read"))
    }

    /// Reads from a socket.
    package static func receive(
        _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Transfer {
        let result = SystemCall.retried { recv(descriptor, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT)) }
        return ended(try socketTransfer(result, "recv"))
    }

    /// Reads from a socket: first into room that was taken before, if there is some, then into what the block has left,
    /// which is counted up to `limit` bytes of the block.
    package static func receive(
        _ descriptor: CInt, into room: ByteSlice?, then block: ByteBlock, upTo limit: Int
    ) throws(SystemError) -> Transfer {
        // The slice and the block keep the memory alive until the call is over.
        defer { withExtendedLifetime((room, block)) {} }
        let rest = UnsafeMutableRawBufferPointer(rebasing: block.bytes[min(block.filled, limit)..<limit])
        guard let room else { return try receive(descriptor, into: rest) }
        let bytes = UnsafeMutableRawBufferPointer(rebasing: room.block.bytes[room.start..<room.end])
        let result = withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { parts in
            parts.initializeElement(at: 0, to: iovec(iov_base: bytes.baseAddress, iov_len: bytes.count))
            parts.initializeElement(at: 1, to: iovec(iov_base: rest.baseAddress, iov_len: rest.count))
            var message = header(of: parts)
            return SystemCall.retried { recvmsg(descriptor, &message, CInt(MSG_DONTWAIT)) }
        }
        return ended(try socketTransfer(result, "recvmsg"))
    }

    private static func header(of parts: UnsafeMutableBufferPointer<iovec>) -> msghdr {
        var message = msghdr()
        message.msg_iov = parts.baseAddress
        message.msg_iovlen = parts.count
        return message
    }

    /// Writes to a pipe, a file or a device.
    package static func write(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Transfer {
        try transfer(SystemCall.retried { Glibc.write(descriptor, bytes.baseAddress, bytes.count) }, "write")
    }

    /// Whether a write of a few bytes would not wait, nor end the process now: without a reader it is SIGPIPE, which a
    /// host app need not ignore. A reader that goes between this look and the write still ends it. For descriptors that
    /// others share, which must not become non-blocking.
    static func isWritable(_ descriptor: CInt) -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return SystemCall.retried { poll(&wanted, 1, 0) } > 0 && wanted.revents == Int16(POLLOUT)
    }

    /// The most parts that one send takes: enough for a burst of replies, little enough for the stack.
    package static var partsPerSend: Int { 64 }

    /// Writes the first parts to a socket in one call, and without a signal when the peer is gone. The bytes are not
    /// copied.
    package static func send(_ descriptor: CInt, _ parts: [ByteSlice]) throws(SystemError) -> Transfer {
        // The parts keep their blocks alive until the call is over.
        defer { withExtendedLifetime(parts) {} }
        let count = min(parts.count, partsPerSend)
        let result = withUnsafeTemporaryAllocation(of: iovec.self, capacity: partsPerSend) { vectors in
            for index in 0..<count {
                let bytes = parts[index].unsafeBytes
                vectors.initializeElement(
                    at: index,
                    to: iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count))
            }
            var message = header(of: UnsafeMutableBufferPointer(rebasing: vectors[..<count]))
            return SystemCall.retried { sendmsg(descriptor, &message, sending) }
        }
        return try socketTransfer(result, "sendmsg")
    }

    /// Writes bytes that are only lent to a socket, without a signal when the peer is gone.
    package static func send(_ descriptor: CInt, _ bytes: RawSpan) throws(SystemError) -> Transfer {
        let result = bytes.withUnsafeBytes { bytes in
            // Not sendmsg: the kernel would fetch a header and a list of one part first.
            SystemCall.retried { Glibc.send(descriptor, bytes.baseAddress, bytes.count, sending) }
        }
        return try socketTransfer(result, "send")
    }

    private static var sending: CInt { CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT) }
}

// MARK: - paths and files

/// A file's metadata in the file system.
package struct FileStatus: Hashable, Sendable {
    package let device: UInt64
    package let inode: UInt64
    package let size: UInt64
    package let owner: UInt32
    /// The permission bits.
    package let mode: UInt32
    private let kind: UInt32
    /// When bytes were last written, and when anything of the file was last changed: nanoseconds since 1970.
    package let modified: Int64
    package let changed: Int64

    /// Whether it is the status of the same file, which may have changed meanwhile.
    package func isOfSameFile(as other: FileStatus) -> Bool { inode == other.inode && device == other.device }

    package var isRegular: Bool { kind == S_IFREG }
    package var isDirectory: Bool { kind == S_IFDIR }
    package var isSymbolicLink: Bool { kind == S_IFLNK }
    package var isSocket: Bool { kind == S_IFSOCK }

    fileprivate init(_ found: stat) {
        device = UInt64(found.st_dev)
        inode = UInt64(found.st_ino)
        size = UInt64(found.st_size)
        owner = found.st_uid
        mode = found.st_mode & 0o7777
        kind = found.st_mode & S_IFMT
        modified = Self.nanoseconds(found.st_mtim)
        changed = Self.nanoseconds(found.st_ctim)
    }

    /// No file is from before 1678 or after 2262; a claim to be is not worth a trap.
    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

extension Linux {
    /// The status of an open file.
    package static func status(of descriptor: CInt) throws(SystemError) -> FileStatus {
        var found = stat()
        try SystemCall.check(SystemCall.retried { fstat(descriptor, &found) }, "fstat")
        return FileStatus(found)
    }

    /// The status of the entry at a path; nil if there is none. A symbolic link is not followed.
    /// - Parameter directory: where a relative path starts; nil is the working directory.
    package static func lookAt(path: String, in directory: CInt? = nil) throws(SystemError) -> FileStatus? {
        var found = stat()
        let start = directory ?? AT_FDCWD
        let result = path.withCString { path in
            SystemCall.retried { fstatat(start, path, &found, AT_SYMLINK_NOFOLLOW) }
        }
        if result == -ENOENT { return nil }
        try SystemCall.check(result, "fstatat")
        return FileStatus(found)
    }

    /// Fails with the error that keeps the process's effective user from the entry, which is not opened.
    /// - Parameter access: such as `R_OK | W_OK`.
    package static func checkAccess(path: String, _ access: CInt) throws(SystemError) {
        let result = path.withCString { path in
            SystemCall.retried { faccessat(AT_FDCWD, path, access, AT_EACCESS) }
        }
        try SystemCall.check(result, "faccessat")
    }

    package static func unlink(path: String) throws(SystemError) {
        try SystemCall.check(path.withCString { path in SystemCall.once { Glibc.unlink(path) } }, "unlink")
    }

    package static func setMode(path: String, _ mode: UInt32) throws(SystemError) {
        try SystemCall.check(path.withCString { path in SystemCall.retried { chmod(path, mode) } }, "chmod")
    }

    package static func setGroup(path: String, _ group: UInt32) throws(SystemError) {
        try SystemCall.check(path.withCString { path in SystemCall.retried { lchown(path, .max, group) } }, "lchown")
    }

    /// Renames a file, also into another directory, where no file has the new name yet: 0 or minus the error number.
    package static func renameNew(
        _ from: UnsafePointer<CChar>, in fromDirectory: CInt, to: UnsafePointer<CChar>, in toDirectory: CInt
    ) -> CInt {
        tandem_rename_new(fromDirectory, from, toDirectory, to)
    }

    /// Opens a file, never through a symbolic link; one that it makes has mode 0600.
    package static func open(path: String, _ flags: CInt) throws(SystemError) -> OwnedDescriptor {
        let result = path.withCString { path in
            SystemCall.retried { Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600) }
        }
        return try OwnedDescriptor(result, "open")
    }

    /// The bytes of so many blocks, or the largest number: the server of a file system may claim more than fit in 64
    /// bits.
    package static func bytes(ofBlocks count: UInt, size: UInt) -> UInt64 {
        let (bytes, overflow) = UInt64(count).multipliedReportingOverflow(by: UInt64(size))
        return overflow ? .max : bytes
    }

    /// Takes the lock of an open file until the descriptor closes; false if another has it.
    package static func tryLock(_ descriptor: CInt) throws(SystemError) -> Bool {
        let result = SystemCall.retried { flock(descriptor, LOCK_EX | LOCK_NB) }
        if result == -EWOULDBLOCK { return false }
        try SystemCall.check(result, "flock")
        return true
    }

    /// Releases the lock, also if a forked child still has a copy of the descriptor.
    package static func unlock(_ descriptor: CInt) { _ = SystemCall.retried { flock(descriptor, LOCK_UN) } }

    /// A descriptor that is only there to be given up when no other is left.
    package static func openReserve() throws(SystemError) -> OwnedDescriptor {
        try OwnedDescriptor(openNull(O_RDONLY | O_CLOEXEC), "open")
    }

    private static func openNull(_ flags: CInt) -> CInt {
        "/dev/null".withCString { path in SystemCall.retried { Glibc.open(path, flags) } }
    }
}

/// An open file descriptor; closed when its owner goes away. The kernel reuses numbers at once, and a second close
/// would close another's file: so a descriptor has exactly one owner, and the type no copy.
package struct OwnedDescriptor: ~Copyable, Sendable {
    /// The number, lent for calls while the owner lives.
    package let raw: CInt

    /// Takes over a descriptor that no other owner closes.
    package init(takingOwnership raw: CInt) {
        precondition(raw >= 0, "a descriptor is never negative")
        self.raw = raw
    }

    /// Takes over the result of a call that opens something.
    init(_ result: CInt, _ call: StaticString) throws(SystemError) {
        self.raw = try SystemCall.check(result, call)
    }

    deinit {
        let raw = raw
        _ = SystemCall.once { close(raw) }
    }

    /// Gives the number up without closing it.
    package consuming func release() -> CInt {
        let raw = raw
        discard self
        return raw
    }
}

// MARK: - the process

extension Linux {
    /// The identity of the calling thread.
    package static var currentThread: UInt64 { UInt64(pthread_self()) }

    /// The time since boot, sleep included: a deadline passes while the machine sleeps, as it does for the peer.
    package static var bootTime: MonotonicTime {
        let time = reading(of: CLOCK_BOOTTIME)
        return MonotonicTime(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }

    /// The wall clock.
    package static var wallTime: WallTime {
        let time = reading(of: CLOCK_REALTIME)
        return WallTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    private static func reading(of clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }

    /// The content of a `user` key in the keyrings of the process; nil if there is none that it may read.
    package static func keyringContent(_ description: String) -> [UInt8]? {
        // The kernel's own limit for the content of such a key.
        let limit = 32_767
        var count = 0
        let content = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
            count = Int(description.withCString { tandem_keyring_read($0, buffer.baseAddress, limit) })
            initialized = max(0, min(count, limit))
        }
        return count > 0 && count <= limit ? content : nil
    }

    /// Calls the action when the process exits in order: `exit`, or the end of `main`. No signal calls it.
    package static func atExit(_ action: @convention(c) () -> Void) { atexit(action) }

    /// The user that this process runs as.
    package static var user: UInt32 { geteuid() }

    /// Opens `/dev/null` in place of a standard input, output or error that this process was started without: the first
    /// file or socket would get the number, and what is printed or logged would go there. Before anything is opened.
    /// - Returns: the numbers that were missing.
    @discardableResult
    package static func fillUsualDescriptors() throws(SystemError) -> [CInt] {
        let usual: Range<CInt> = 0..<3
        let missing = usual.filter { fcntl($0, F_GETFD) < 0 }
        // The lowest free number is taken, which is the next one that is missing.
        for _ in missing { try SystemCall.check(openNull(O_RDWR), "open") }
        return missing
    }

    /// Keeps this process's secrets to itself: no core file contains its keys, no other process of the user traces it,
    /// and what it creates without a mode of its own is for its user alone.
    package static func closeToOthers() throws(SystemError) {
        umask(0o077)
        try SystemCall.check(tandem_process_forbid_dump(), "prctl")
    }

    /// Returns free heap to the system, whole pages of it; takes some hundred microseconds.
    package static func giveBackHeap() { tandem_heap_trim() }

    /// Sets the soft limit of open descriptors, at most to the hard one.
    package static func setDescriptorLimit(_ limit: UInt64) throws(SystemError) {
        var limits = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        try SystemCall.check(SystemCall.once { getrlimit(resource, &limits) }, "getrlimit")
        limits.rlim_cur = min(rlim_t(limit), limits.rlim_max)
        try SystemCall.check(SystemCall.once { setrlimit(resource, &limits) }, "setrlimit")
    }

    /// The number of the group with this name.
    package static func groupIdentifier(named name: String) throws(SystemError) -> UInt32 {
        try entry("getgrnam", group(), { getgrnam_r(name, $0, $1, $2, $3) }, \.gr_gid)
    }

    /// The number of the user with this name.
    package static func userIdentifier(named name: String) throws(SystemError) -> UInt32 {
        try entry("getpwnam", passwd(), { getpwnam_r(name, $0, $1, $2, $3) }, \.pw_uid)
    }

    /// The name of a user; nil if there is none.
    package static func userName(of user: UInt32) -> String? {
        (try? entry("getpwuid", passwd(), { getpwuid_r(user, $0, $1, $2, $3) }) { entry in
            String(validatingCString: entry.pw_name)
        }) ?? nil
    }

    /// A fact of the user or the group that `find` looks up.
    /// - Throws: ENOENT if there is none.
    static func entry<Entry, Fact>(
        _ call: StaticString, _ blank: Entry,
        _ find: (
            UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
        ) -> CInt, _ fact: (Entry) -> Fact
    ) throws(SystemError) -> Fact {
        var entry = blank
        var found: UnsafeMutablePointer<Entry>?
        // The entry points into it.
        let size = 16_384
        let texts = UnsafeMutablePointer<CChar>.allocate(capacity: size)
        defer { texts.deallocate() }
        let number = find(&entry, texts, size, &found)
        guard found != nil else { throw SystemError(call: call, errno: number == 0 ? ENOENT : number) }
        return fact(entry)
    }

    /// The absolute path of the program that this process runs; nil if the kernel does not say.
    package static var executablePath: String? {
        guard let path = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }

    /// The absolute path of the working directory; nil if it is removed, or may not be known.
    package static var workingDirectory: String? {
        guard let path = getcwd(nil, 0) else { return nil }
        defer { free(path) }
        return String(validatingCString: path)
    }

    /// The value of an environment variable; nil if it is unset, empty or not UTF-8.
    package static func environment(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(validatingCString: value)
    }
}
