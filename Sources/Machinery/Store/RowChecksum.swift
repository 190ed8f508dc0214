// A checksum for every row, so that a flipped bit is an error and never a value. SQLite itself checks structure, not
// content. FNV-1a over words of eight bytes, with a shift that brings the high half down: each step is a bijection, so
// any change within one word is certain to be found, and others almost.

/// The 64-bit checksum of a row's space, key and value.
enum RowChecksum {
    static func of(space: UInt8, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        mix(UInt64(space), into: &hash)
        mix(key, into: &hash)
        mix(value, into: &hash)
        return hash
    }

    static func of(space: UInt8, key: [UInt8], value: [UInt8]) -> UInt64 {
        key.withUnsafeBytes { key in value.withUnsafeBytes { of(space: space, key: key, value: $0) } }
    }

    /// The count goes in, too: what the last word lacks is zero.
    private static func mix(_ bytes: UnsafeRawBufferPointer, into hash: inout UInt64) {
        mix(UInt64(bytes.count), into: &hash)
        var place = 0
        while place + 8 <= bytes.count {
            mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)), into: &hash)
            place += 8
        }
        guard place < bytes.count else { return }
        mix(bytes[place...].reversed().reduce(0) { $0 << 8 | UInt64($1) }, into: &hash)
    }

    private static func mix(_ word: UInt64, into hash: inout UInt64) {
        hash = (hash ^ word) &* 0x100_0000_01B3
        hash ^= hash >> 32
    }
}
