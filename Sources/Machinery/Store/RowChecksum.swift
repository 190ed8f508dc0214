// A checksum for every row, so that a flipped bit is an error and never a value. SQLite itself checks structure, not
// content. FNV-1a: each step is a bijection, so any change within one byte is certain to be found, and others almost.

/// The 64-bit checksum of a row's space, key and value.
enum RowChecksum {
    static func of(space: UInt8, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        mix(space, into: &hash)
        withUnsafeBytes(of: UInt64(key.count).littleEndian) { for byte in $0 { mix(byte, into: &hash) } }
        for byte in key { mix(byte, into: &hash) }
        for byte in value { mix(byte, into: &hash) }
        return hash
    }

    static func of(space: UInt8, key: [UInt8], value: [UInt8]) -> UInt64 {
        key.withUnsafeBytes { key in value.withUnsafeBytes { of(space: space, key: key, value: $0) } }
    }

    private static func mix(_ byte: UInt8, into hash: inout UInt64) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
}
