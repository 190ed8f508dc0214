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
