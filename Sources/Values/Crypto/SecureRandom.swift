// Random bytes for keys, nonces, identifiers and seeds, from OpenSSL's generator (seeded by the kernel). A machine that
// can give none cannot run this software at all, so failing to get them ends the process rather than weakening a key.

import CTandemOpenSSL

/// Unpredictable random bytes.
package enum SecureRandom {
    /// This many random bytes. May be called on any thread.
    package static func bytes(_ count: Int) -> [UInt8] {
        precondition(count >= 0, "a count of random bytes is not negative")
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            unsafe fill(UnsafeMutableRawBufferPointer(buffer))
            initializedCount = count
        }
    }

    static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let start = buffer.baseAddress, let count = Int32(exactly: buffer.count) else {
            unsafe precondition(buffer.isEmpty, "more random bytes asked for than one call gives")
            return
        }
        let filled = openSSL { unsafe RAND_bytes(start.assumingMemoryBound(to: UInt8.self), count) }
        precondition(filled.value == 1, "the system gives no random bytes")
    }
}
