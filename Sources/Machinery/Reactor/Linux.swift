// The Swift side of the Linux calls: each once, with typed results. A call that would block, or a stream that has ended,
// is a value and not an error. Rooms above use these and never the C library, so that the discipline of the C side
// (interrupted calls, close-on-exec, errno) holds everywhere.

internal import CTandemLinux
internal import Glibc

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

    private static func ended(_ transfer: Transfer) -> Transfer { transfer == .bytes(0) ? .ended : transfer }

    /// Writes to a pipe, a file or a device.
    package static func write(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Transfer {
        try transfer(tandem_write(descriptor, bytes.baseAddress, bytes.count), "write")
    }

    /// The most parts that one send takes: enough for a burst of replies, little enough for the stack.
    package static var partsPerSend: Int { 64 }

    /// Writes the first parts to a socket in one call, without the first `skipped` bytes of the first part, and without
    /// a signal when the peer is gone. The bytes are not copied.
    package static func send(
        _ descriptor: CInt, _ parts: ArraySlice<[UInt8]>, skipping skipped: Int
    ) throws(SystemError) -> Transfer {
        let result = withUnsafeTemporaryAllocation(of: iovec.self, capacity: partsPerSend) { vectors in
            gather(parts.prefix(partsPerSend), skipping: skipped, into: vectors, count: 0) { count in
                tandem_send(descriptor, vectors.baseAddress, count)
            }
        }
        return try transfer(result, "sendmsg")
    }

    /// Nests one access for each part, because a part's address is only good inside its own.
    private static func gather(
        _ parts: ArraySlice<[UInt8]>, skipping skipped: Int, into vectors: UnsafeMutableBufferPointer<iovec>,
        count: Int, send: (Int) -> Int
    ) -> Int {
        guard let part = parts.first else { return send(count) }
        return part.withUnsafeBytes { bytes in
            let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(skipped))
            vectors[count] = iovec(
                iov_base: UnsafeMutableRawPointer(mutating: rest.baseAddress), iov_len: rest.count)
            return gather(parts.dropFirst(), skipping: 0, into: vectors, count: count + 1, send: send)
        }
    }
}
