// Whether what SQLite leaves out of its log is a commit that a crash cut off, or damage. SQLite drops everything from
// the first page on whose checksum is wrong, without a word: one flipped bit would take back what was acknowledged. But
// each commit is synchronised before the next is begun, so a page that follows the end of another commit proves that
// one to have been whole. A flipped bit in the very last commit remains undetected: it looks as if the power had failed
// in that commit.

import Glibc
import TandemBase
import TandemReactor

enum LogEnd: Equatable {
    /// Everything in it is used.
    case whole
    /// Its end is part of a commit that was never acknowledged, and is not used.
    case cutOff
    /// A commit that was whole is not used: the first byte of what is damaged.
    case damaged(at: Int)

    /// Whether the store at `path` has a log with at least a header.
    static func hasLog(_ path: String) -> Bool {
        LogReader(path: StorePart.log.path(of: path))?.next(LogHeader.size).flatMap(LogHeader.init) != nil
    }

    /// Looks at the log of the store at `path`.
    /// - Parameters:
    ///   - file: the mark of the file alone, if commits may be in the log alone.
    ///   - pageSize: the file's.
    /// - Returns: how it ends, and the bytes up to there.
    static func ofLog(of path: String, behind file: StoreMark?, pageSize: Int) -> (end: LogEnd, size: Int) {
        guard let reader = LogReader(path: StorePart.log.path(of: path)),
            let header = reader.next(LogHeader.size).flatMap(LogHeader.init)
        else { return (.whole, 0) }
        if header.isWhole { return ofPages(reader, header) }
        return (ofDamagedHeader(reader, header, behind: file, pageSize: pageSize), 0)
    }

    /// A header is synchronised before the pages that it is for. Without them it is a beginning that was cut off, and
    /// what follows it is of an earlier turn and in the store's file: its first commit has the mark that the file has.
    private static func ofDamagedHeader(
        _ reader: borrowing LogReader, _ header: LogHeader, behind file: StoreMark?, pageSize: Int
    ) -> LogEnd {
        guard let first = reader.nextFrame(pageSize: pageSize) else { return .cutOff }
        if first.salts == header.salts || header.isWhole(with: first.salts) { return .damaged(at: 0) }
        guard let file else { return .cutOff }
        var mark = first.mark
        while mark == nil, let frame = reader.nextFrame(pageSize: pageSize) { mark = frame.mark }
        return mark == file ? .cutOff : .damaged(at: 0)
    }

    private static func ofPages(_ reader: borrowing LogReader, _ header: LogHeader) -> (end: LogEnd, size: Int) {
        var sum = header.checksum
        var offset = LogHeader.size
        while let frame = reader.nextFrame(pageSize: header.pageSize) {
            let next = frame.sum(after: sum, header)
            guard frame.salts == header.salts, frame.checksum == next else {
                let isDamaged = proves(frame, sum: next, reader, header)
                return (isDamaged ? .damaged(at: offset) : .ofLeftOut(frame, header), offset)
            }
            sum = next
            offset += LogFrame.headSize + header.pageSize
        }
        return (.whole, offset)
    }

    /// Pages of an earlier turn of the log lie behind every commit of this one.
    private static func ofLeftOut(_ frame: LogFrame, _ header: LogHeader) -> LogEnd {
        frame.salts == header.salts ? .cutOff : .whole
    }

    /// Whether behind the first page that is not used there is the end of a commit, and right behind it what was
    /// written next.
    /// - Parameter sum: what the first page's checksum should be.
    private static func proves(
        _ first: LogFrame, sum: LogChecksum, _ reader: borrowing LogReader, _ header: LogHeader
    ) -> Bool {
        // The flipped bit may be in the checksum itself: then what follows was summed from what it should be.
        var before = first
        var sums = [first.checksum, sum]
        while let frame = reader.nextFrame(pageSize: header.pageSize) {
            let follows =
                frame.salts == header.salts && sums.contains { frame.sum(after: $0, header) == frame.checksum }
            if follows, before.endsCommit { return true }
            before = frame
            sums = [frame.checksum]
        }
        return false
    }
}

// Walks through SQLite's write-ahead log as it lies on the disk, a page at a time ("WAL-mode File Format" in SQLite's
// documentation). It judges nothing and changes nothing.

/// The first 32 bytes of a log.
struct LogHeader {
    static let size = 32

    let salts: [UInt8]
    let pageSize: Int
    let checksum: LogChecksum
    let areWordsBigEndian: Bool
    private let bytes: [UInt8]

    /// Nil where no log was begun: the file may have been extended with zeros before that.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size, bytes.contains(where: { $0 != 0 }) else { return nil }
        self.bytes = bytes
        salts = Array(bytes[16..<24])
        pageSize = Self.number(bytes[8..<12])
        checksum = LogChecksum(written: bytes[24..<32])
        areWordsBigEndian = bytes[3] & 1 == 1
    }

    /// Whether it is as it was written, and of the one version that there is; so it is that SQLite reads the log at
    /// all.
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

    static func number(_ bytes: ArraySlice<UInt8>) -> Int { Int(bigEndianBytes: bytes.prefix(4)) }
}

/// One page in the log with what stands before it.
struct LogFrame {
    static let headSize = 24

    let salts: [UInt8]
    /// Whether it is the last of a commit.
    let endsCommit: Bool
    /// The store's mark, if this is the page that has it.
    var mark: StoreMark? {
        LogHeader.number(bytes[0..<4]) == 1 ? StoreMark(page: Array(bytes[Self.headSize...])) : nil
    }
    /// The running checksum, this frame included, that the log states.
    let checksum: LogChecksum
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        salts = Array(bytes[8..<16])
        endsCommit = LogHeader.number(bytes[4..<8]) != 0
        checksum = LogChecksum(written: bytes[16..<24])
    }

    /// The running checksum after this frame, computed from the one before it.
    func sum(after sum: LogChecksum, _ header: LogHeader) -> LogChecksum {
        var sum = sum
        sum.add(bytes[0..<8], areWordsBigEndian: header.areWordsBigEndian)
        sum.add(bytes[Self.headSize...], areWordsBigEndian: header.areWordsBigEndian)
        return sum
    }
}

/// A log that is read from its beginning to its end.
struct LogReader: ~Copyable {
    private let descriptor: OwnedDescriptor

    /// Nil if there is no log, or it cannot be opened: then SQLite cannot read it either, and says so.
    init?(path: String) {
        guard let opened = try? Linux.open(path: path, O_RDONLY) else { return nil }
        descriptor = opened
    }

    /// The next bytes, exactly so many; nil at the end.
    func next(_ count: Int) -> [UInt8]? {
        var filled = 0
        let raw = descriptor.raw
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while filled < count {
                let rest = buffer.baseAddress.map { $0 + filled }
                let got = SystemCall.retried { read(raw, rest, count - filled) }
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

// The checksum that SQLite writes into its write-ahead log ("WAL-mode File Format", 4.2): each page's checksum covers
// all pages before it in the log, and so does not fit a page of an earlier turn of the log.

/// Two running sums over pairs of 32-bit words.
struct LogChecksum: Equatable {
    private var first: UInt32 = 0
    private var second: UInt32 = 0

    init() {}

    /// As it was written, most significant byte first.
    init(written bytes: some Collection<UInt8>) {
        let whole = UInt64(bigEndianBytes: bytes.prefix(8))
        first = UInt32(truncatingIfNeeded: whole >> 32)
        second = UInt32(truncatingIfNeeded: whole)
    }

    /// Adds the bytes; what is less than a pair of words at their end is left out, as nothing that is covered has such
    /// an end.
    mutating func add(_ bytes: ArraySlice<UInt8>, areWordsBigEndian: Bool) {
        bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset + 8 <= bytes.count {
                let one = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                let other = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                first = first &+ (areWordsBigEndian ? one.bigEndian : one.littleEndian) &+ second
                second = second &+ (areWordsBigEndian ? other.bigEndian : other.littleEndian) &+ first
                offset += 8
            }
        }
    }
}
