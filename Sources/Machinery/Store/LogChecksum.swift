// The checksum that SQLite writes into its write-ahead log ("WAL-mode File Format", 4.2): each page's covers all that came
// before it in the log, which is how a page that belongs to an earlier turn of the log is told apart.

/// Two running sums over pairs of 32-bit words.
struct LogChecksum: Equatable {
    private var first: UInt32 = 0
    private var second: UInt32 = 0

    init() {}

    /// As it was written, most significant byte first.
    init(written bytes: some Collection<UInt8>) {
        let whole = bytes.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        first = UInt32(truncatingIfNeeded: whole >> 32)
        second = UInt32(truncatingIfNeeded: whole)
    }

    /// Adds the bytes; what is less than a pair of words at their end is left out, as nothing that is covered has such an end.
    mutating func add(_ bytes: ArraySlice<UInt8>, areWordsBigEndian: Bool) {
        bytes.withUnsafeBytes { bytes in
            for place in stride(from: 0, to: bytes.count & ~7, by: 8) {
                let one = bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)
                let other = bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
                first = first &+ (areWordsBigEndian ? one.bigEndian : one.littleEndian) &+ second
                second = second &+ (areWordsBigEndian ? other.bigEndian : other.littleEndian) &+ first
            }
        }
    }
}
