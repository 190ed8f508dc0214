// Walks through SQLite's write-ahead log as it lies on the disk, a page at a time ("WAL-mode File Format" in SQLite's
// documentation). It judges nothing and changes nothing.

import Glibc

/// The first 32 bytes of a log.
struct LogHeader {
    static let size = 32

    let salts: [UInt8]
    let pageSize: Int
    let checksum: LogChecksum
    let areWordsBigEndian: Bool
    private let bytes: [UInt8]

    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.bytes = bytes
        salts = Array(bytes[16..<24])
        pageSize = Self.number(bytes[8..<12])
        checksum = LogChecksum(written: bytes[24..<32])
        areWordsBigEndian = bytes[3] & 1 == 1
    }

    /// Whether it is as it was written, and of the one version that there is; so it is that SQLite reads the log at all.
    var isWhole: Bool {
        Self.number(bytes[0..<4]) | 1 == 0x377F_0683 && Self.number(bytes[4..<8]) == 3_007_000
            && (512...65_536).contains(pageSize) && pageSize.nonzeroBitCount == 1 && checksum == sum(with: salts)
    }

    /// Whether it would be whole with these salts.
    func isWhole(with salts: [UInt8]) -> Bool { checksum == sum(with: salts) }

    private func sum(with salts: [UInt8]) -> LogChecksum {
        var sum = LogChecksum()
        sum.add(bytes[0..<16] + salts, areWordsBigEndian: areWordsBigEndian)
        return sum
    }

    static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) } }
}

/// One page in the log with what stands before it.
struct LogFrame {
    static let headSize = 24

    let salts: [UInt8]
    /// Whether it is the last of a commit.
    let endsCommit: Bool
    /// What it says that the sum is up to and with it.
    let checksum: LogChecksum
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        salts = Array(bytes[8..<16])
        endsCommit = LogHeader.number(bytes[4..<8]) != 0
        checksum = LogChecksum(written: bytes[16..<24])
    }

    /// What the sum is with it if it was this before it.
    func sum(after sum: LogChecksum, _ header: LogHeader) -> LogChecksum {
        var sum = sum
        sum.add(bytes[0..<8], areWordsBigEndian: header.areWordsBigEndian)
        sum.add(bytes[Self.headSize...], areWordsBigEndian: header.areWordsBigEndian)
        return sum
    }
}

/// A log that is read from its beginning to its end.
struct LogReading: ~Copyable {
    private let descriptor: Int32

    /// Nil if there is no log, or it cannot be opened: then SQLite cannot read it either, and says so.
    init?(path: String) {
        descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// The next bytes, exactly so many; nil at the end.
    func next(_ count: Int) -> [UInt8]? {
        var filled = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while filled < count {
                let got = read(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled)
                if got < 0, errno == EINTR { continue }
                guard got > 0 else { break }
                filled += got
            }
            initialized = filled
        }
        return filled == count ? bytes : nil
    }

    /// The next page; nil at the end, where less than a page is none.
    func nextFrame(pageSize: Int) -> LogFrame? { next(LogFrame.headSize + pageSize).map(LogFrame.init) }
}
