// The Swift side of the Linux calls: each once, with typed results. A call that would block, or a stream that has
// ended, is a value and not an error. Rooms above use these and never the C library, so that the discipline of the C
// side (interrupted calls, close-on-exec, errno) holds everywhere.

internal import CTandemLinux
internal import Glibc
package import TandemBase

/// The Linux calls.
package enum Linux {
    /// What reading or writing without waiting came to.
    package enum Transfer: Equatable, Sendable {
        case bytes(Int)
        case wouldBlock
        /// The other side has finished (reading), or is gone (writing).
        case ended
    }

    /// The identity of the calling thread.
    package static var currentThread: UInt64 { tandem_thread_current() }

    /// The result of a C door, or its error thrown.
    @discardableResult
    static func check(_ result: CInt, _ call: StaticString) throws(SystemError) -> CInt {
        guard result >= 0 else { throw SystemError(call: call, errno: -result) }
        return result
    }

    private static func transfer(_ result: Int, _ call: StaticString) throws(SystemError) -> Transfer {
        if result >= 0 { return .bytes(result) }
        switch CInt(-result) {
        case EAGAIN: return .wouldBlock
        case EPIPE: return .ended
        case let number: throw SystemError(call: call, errno: number)
        }
    }

    /// Reads from a pipe, a file or a device.
    package static func read(
        _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Transfer {
        ended(try transfer(tandem_read(descriptor, buffer.baseAddress, buffer.count), "read"))
    }

    /// Reads from a socket.
    package static func receive(
        _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Transfer {
        ended(try transfer(tandem_receive(descriptor, buffer.baseAddress, buffer.count), "recv"))
    }

    /// Reads from a socket: first into a place that was taken before, if there is one, then into the block's room,
    /// which is counted up to `limit` bytes of the block.
    package static func receive(
        _ descriptor: CInt, into place: ByteSlice?, then block: ByteBlock, upTo limit: Int
    ) throws(SystemError) -> Transfer {
        // The slice and the block keep the memory alive until the call is over.
        defer { withExtendedLifetime((place, block)) {} }
        let room = UnsafeMutableRawBufferPointer(rebasing: block.bytes[min(block.filled, limit)..<limit])
        guard let place else { return try receive(descriptor, into: room) }
        let bytes = UnsafeMutableRawBufferPointer(rebasing: place.block.bytes[place.start..<place.end])
        return ended(
            try transfer(
                tandem_receive_two(descriptor, bytes.baseAddress, bytes.count, room.baseAddress, room.count), "recvmsg")
        )
    }

    private static func ended(_ transfer: Transfer) -> Transfer { transfer == .bytes(0) ? .ended : transfer }

    /// Writes to a pipe, a file or a device.
    package static func write(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Transfer {
        try transfer(tandem_write(descriptor, bytes.baseAddress, bytes.count), "write")
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
            return tandem_send(descriptor, vectors.baseAddress, count)
        }
        return try transfer(result, "sendmsg")
    }

    /// Writes bytes that are only lent to a socket, without a signal when the peer is gone.
    package static func send(_ descriptor: CInt, _ bytes: RawSpan) throws(SystemError) -> Transfer {
        let result = bytes.withUnsafeBytes { bytes in
            var part = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
            return tandem_send(descriptor, &part, 1)
        }
        return try transfer(result, "sendmsg")
    }
}

// The few calls on paths and other descriptors that sockets need. The protected store has its own in its room.

extension Linux {
    /// What is at a path; a symbolic link is itself.
    package struct FileInformation: Hashable, Sendable {
        package let device: UInt64
        package let inode: UInt64
        package let owner: UInt32
        /// The permission bits.
        package let mode: UInt32
        package let isSocket: Bool
    }

    /// What is at the path; nil if nothing is.
    package static func lookAt(path: String) throws(SystemError) -> FileInformation? {
        var found = tandem_file()
        let result = tandem_file_look(path, &found)
        if result == -ENOENT { return nil }
        try check(result, "lstat")
        return FileInformation(
            device: found.device, inode: found.inode, owner: found.owner, mode: found.mode,
            isSocket: found.is_socket != 0)
    }

    package static func unlink(path: String) throws(SystemError) { try check(tandem_unlink(path), "unlink") }

    package static func setMode(path: String, _ mode: UInt32) throws(SystemError) {
        try check(tandem_set_mode(path, mode), "chmod")
    }

    package static func setGroup(path: String, _ group: UInt32) throws(SystemError) {
        try check(tandem_set_group(path, group), "lchown")
    }

    /// Opens a file only for its lock; made with mode 0600 if missing, never through a symbolic link.
    package static func openLock(path: String) throws(SystemError) -> OwnedDescriptor {
        try OwnedDescriptor(tandem_open_lock(path), "open")
    }

    /// Takes the lock of an open file until the descriptor closes; false if another has it.
    package static func tryLock(_ descriptor: CInt) throws(SystemError) -> Bool {
        let result = tandem_lock(descriptor)
        if result == -EWOULDBLOCK { return false }
        try check(result, "flock")
        return true
    }

    /// Gives the lock back, also if a forked child still holds a copy of the descriptor.
    package static func unlock(_ descriptor: CInt) { _ = tandem_unlock(descriptor) }

    /// A descriptor that is only there to be given up when no other is left.
    package static func openReserve() throws(SystemError) -> OwnedDescriptor {
        try OwnedDescriptor(tandem_open_null(), "open")
    }

    /// The reading (first) and the writing (second) end of a pipe; both non-blocking.
    package static func pipe() throws(SystemError) -> DescriptorPair {
        var pair: [CInt] = [-1, -1]
        try check(tandem_pipe(&pair), "pipe2")
        return DescriptorPair(
            first: OwnedDescriptor(takingOwnership: pair[0]), second: OwnedDescriptor(takingOwnership: pair[1]))
    }
}

// The calls about the process: clocks, descriptor limits, groups.

extension Linux {
    /// The time since boot, sleep included.
    package static var bootTime: MonotonicTime { MonotonicTime(nanoseconds: tandem_clock_boot_nanoseconds()) }

    /// The wall clock.
    package static var wallTime: WallTime { WallTime(milliseconds: tandem_clock_wall_milliseconds()) }

    /// The user that this process runs as.
    package static var user: UInt32 { tandem_user_current() }

    /// Opens `/dev/null` in place of a standard input, output or error that this process was started without: the first file
    /// or socket would get the number, and what is printed or logged would go there. Before anything is opened.
    package static func fillUsualDescriptors() throws(SystemError) {
        try check(tandem_process_fill_usual_descriptors(), "open")
    }

    /// Keeps this process's secrets to itself: no core file holds its keys, no other process of the user traces it, and
    /// what it creates without a mode of its own is for its user alone.
    package static func closeToOthers() throws(SystemError) { try check(tandem_process_close_to_others(), "prctl") }

    /// Gives back free heap, whole pages of it; takes some hundred microseconds.
    package static func giveBackHeap() { tandem_heap_give_back() }

    /// Sets the soft limit of open descriptors, at most to the hard one.
    package static func setDescriptorLimit(_ limit: UInt64) throws(SystemError) {
        try check(tandem_descriptor_limit_set(limit), "setrlimit")
    }

    /// The number of the group with this name.
    package static func groupIdentifier(named name: String) throws(SystemError) -> UInt32 {
        var identifier: UInt32 = 0
        try check(tandem_group_identifier(name, &identifier), "getgrnam")
        return identifier
    }
}

// The process's environment, read where a library must find its daemon without being told.

extension Linux {
    /// The value of an environment variable; nil if it is unset, empty or not UTF-8.
    package static func environment(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(validatingCString: value)
    }
}

// A file descriptor with exactly one owner, closed once when the owner is done. Numbers are reused at once by the
// kernel, so a second close would close somebody else's file: the type has no copy.

/// An open file descriptor; closed when its owner goes away.
package struct OwnedDescriptor: ~Copyable, Sendable {
    /// The number, lent for calls while the owner lives.
    package let raw: CInt

    /// Takes over a descriptor that nobody else will close.
    package init(takingOwnership raw: CInt) {
        precondition(raw >= 0, "a descriptor is never negative")
        self.raw = raw
    }

    /// Takes over the result of a door that opens something.
    init(_ result: CInt, _ call: StaticString) throws(SystemError) {
        self.raw = try Linux.check(result, call)
    }

    deinit { _ = tandem_close(raw) }

    /// Gives the number up without closing it.
    package consuming func release() -> CInt {
        let raw = raw
        discard self
        return raw
    }
}
