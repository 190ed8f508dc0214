// One pass over a plain payload: its skeleton (trailer, offset table and the root's references, FRM-6 a, b), and then
// along the keys and the values at the same time, each object where the one before ended and where the offset table
// says. That proves the rules of FRM-6 for this shape: contiguous, every object referenced, no container but the root.
// Plain is what the canonical writing of most frames looks like (FRM-7): a root of five to fourteen pairs as the first
// object, then its keys, then its values, each its own object, with references of one byte. Anything else is left to
// `Envelope(payload:)`, which reads every shape, so a difference here means "not plain", never "wrong".

import TandemBase

/// The offsets of a plain payload's parts.
struct PlainFrame {
    private static var magic: UInt64 { 0x6270_6C69_7374_3030 }
    /// The root's marker; its references follow.
    private static var root: Int { 8 }
    private static var trailerCount: Int { 32 }

    let pairs: Int
    /// Where the offset table begins, and so where the objects end.
    let tableStart: Int
    /// Bytes of an offset.
    let offsetSize: Int
    private let offsetShift: UInt64

    @inline(__always)
    init?(_ payload: RawSpan) {
        let trailer = payload.byteCount - Self.trailerCount
        // The shortest one has 5 pairs: 11 references and offsets, and 10 objects of at least a byte.
        guard trailer > 40, payload.byteCount <= UInt32.max, payload.innerWord(at: 0) == Self.magic else { return nil }
        let marker = payload.innerByte(at: Self.root)
        pairs = Int(marker & 0x0F)
        guard marker >> 4 == 0xD, 5...14 ~= pairs, Self.hasOrder(payload, pairs) else { return nil }
        let sizes = payload.word(at: trailer)
        offsetSize = Int(truncatingIfNeeded: sizes >> 8 & 0xFF)
        offsetShift = UInt64(truncatingIfNeeded: 64 &- 8 &* offsetSize)
        tableStart = trailer - (1 + 2 * pairs) * offsetSize
        // Unused bytes of zero, an offset size, and a reference size of 1: nothing else is in these eight bytes.
        guard offsetSize == 1 || offsetSize == 2 || offsetSize == 4, sizes == UInt64(offsetSize) << 8 | 1,
            payload.word(at: trailer + 8) == UInt64(1 + 2 * pairs), payload.word(at: trailer + 16) == 0,
            payload.word(at: trailer + 24) == UInt64(bitPattern: Int64(tableStart)),
            UInt64(bitPattern: Int64(tableStart)) >> UInt64(8 * offsetSize) == 0,
            tableStart > firstKey, offset(at: tableStart, in: payload) == Self.root
        else { return nil }
    }

    /// The root refers to the objects 1, 2, 3 and so on: as many keys and then as many values, none twice.
    @inline(__always)
    private static func hasOrder(_ payload: RawSpan, _ pairs: Int) -> Bool {
        // Frames that are forwarded have up to eight, as we write them.
        guard pairs <= 8 else { return hasLongOrder(payload, pairs) }
        let rest = UInt64(truncatingIfNeeded: 128 - 16 * pairs)
        return payload.innerWord(at: root + 1) == 0x0102_0304_0506_0708
            && payload.innerWord(at: root + 9) >> rest == 0x090A_0B0C_0D0E_0F10 >> rest
    }

    /// The payload has room for it: each reference has an offset of at least one byte, too.
    private static func hasLongOrder(_ payload: RawSpan, _ pairs: Int) -> Bool {
        guard payload.byteCount > root + 1 + 2 * pairs + trailerCount else { return false }
        return (1...2 * pairs).allSatisfy { payload.innerByte(at: root + $0) == UInt8($0) }
    }

    /// Where the keys begin, right behind the references.
    var firstKey: Int { Self.root + 1 + 2 * pairs }

    /// Where the table has the offset of an object.
    @inline(__always)
    func entry(of object: Int) -> Int { tableStart &+ object &* offsetSize }

    /// The offset at an entry of the table.
    @inline(__always)
    func offset(at entry: Int, in payload: RawSpan) -> Int {
        Int(truncatingIfNeeded: payload.innerWord(at: entry) &>> offsetShift)
    }
}

// MARK: The walk

/// A consumer of the pairs of a plain payload: the routing head of a frame that is forwarded, or a whole envelope.
protocol PlainConsumer {
    /// Takes the pair whose key and value begin at these offsets. Below `limit`, where the objects end, what is read of
    /// a word, a number or an identifier cannot run past the payload.
    /// - Returns: nil if the key or the value is not plain or not right.
    mutating func take(_ key: Int, _ value: Int, before limit: Int, _ payload: RawSpan) -> PlainPair?
}

/// A pair that was taken: its key, and the offsets behind its two objects.
typealias PlainPair = (key: EnvelopeKey, keyEnd: Int, valueEnd: Int)

extension PlainFrame {
    /// Lends the consumer all pairs.
    /// - Returns: their keys; nil if something is not plain or not right.
    @inline(__always)
    func walk(_ payload: RawSpan, with consumer: inout some PlainConsumer) -> EnvelopeKeys? {
        var keys = EnvelopeKeys()
        var (keyEntry, valueEntry) = (entry(of: 1), entry(of: 1 + pairs))
        // Where the table says that the values begin; the walk proves that the keys end there.
        let firstValue = offset(at: valueEntry, in: payload)
        var (key, value) = (firstKey, firstValue)
        for _ in 0..<pairs {
            guard key < value, value < tableStart, offset(at: keyEntry, in: payload) == key,
                offset(at: valueEntry, in: payload) == value
            else { return nil }
            guard let taken = consumer.take(key, value, before: tableStart, payload) else { return nil }
            keys.insert(taken.key)
            (key, value) = (taken.keyEnd, taken.valueEnd)
            (keyEntry, valueEntry) = (keyEntry &+ offsetSize, valueEntry &+ offsetSize)
        }
        // A key that is there twice is one in the set.
        return key == firstValue && value == tableStart && keys.count == pairs ? keys : nil
    }
}

// MARK: Words

// The words of the protocol as they lie in a payload: short ASCII strings, compared as numbers with constants that the
// compiler makes of literals. No String is made for what a peer sent. As the marker, which tells the length, is part of
// the number, a longer word or one with a NUL behind it is another number.

extension RawSpan {
    /// Where the string ends that is at `offset`; nil if it is not this one of 1 to 14 ASCII characters.
    @inline(__always)
    func plainWord(_ text: StaticString, at offset: Int) -> Int? {
        let count = text.utf8CodeUnitCount
        var (bits, mask) = (0x50 | UInt64(count), 0xFF as UInt64)
        for index in 0..<7 {
            // A literal of this module: the pointer is good for the count of bytes that it says.
            bits = bits << 8 | UInt64(index < count ? unsafe text.utf8Start[index] : 0)
            mask = mask << 8 | (index < count ? 0xFF : 0)
        }
        guard innerWord(at: offset) & mask == bits else { return nil }
        for index in min(7, count)..<count {
            guard unsafe innerByte(at: offset + 1 + index) == text.utf8Start[index] else { return nil }
        }
        return offset &+ 1 &+ count
    }
}

/// A closed list of words as numbers: the marker and the first seven characters of each, which no two of them share,
/// and the up to seven characters behind.
struct PlainWords: Sendable {
    private let heads: [UInt64]
    private let tails: [UInt64]

    @inline(__always)
    var count: Int { heads.count }

    init(_ words: [String]) {
        precondition(words.allSatisfy { 1...14 ~= $0.utf8.count }, "a marker has the count of a short word")
        heads = words.map { word in
            let bytes = [0x50 | UInt8(word.utf8.count)] + word.utf8.prefix(7)
            return UInt64(bigEndianBytes: bytes) << UInt64(64 - 8 * bytes.count)
        }
        tails = words.map { UInt64(bigEndianBytes: $0.utf8.dropFirst(7)) }
        precondition(Set(heads).count == words.count, "no two words begin alike")
    }

    /// The index in the list of the word that is the string at an offset, and where the string ends.
    /// - Parameter next: the index to begin the search at.
    @inline(__always)
    func find(_ payload: RawSpan, at offset: Int, from next: Int) -> Plain<Int>? {
        let word = payload.innerWord(at: offset)
        let count = Int(truncatingIfNeeded: word >> 56) - 0x50
        guard 1...14 ~= count else { return nil }
        let head = count < 7 ? word & ~(UInt64.max &>> UInt64(8 + 8 * count)) : word
        var index = next
        while index < heads.count, heads[index] != head { index += 1 }
        if index == heads.count {
            index = 0
            while index < next, heads[index] != head { index += 1 }
            guard index < next else { return nil }
        }
        if count > 7 {
            // One to seven characters, of the eight bytes that are loaded.
            let tail = payload.innerWord(at: offset &+ 8) &>> UInt64(truncatingIfNeeded: 64 &- 8 &* (count &- 7))
            guard tail == tails[index] else { return nil }
        }
        return (index, offset &+ 1 &+ count)
    }
}

extension EnvelopeKey {
    static let plainWords = PlainWords(allCases.map(\.rawValue))
}

extension Channel {
    static let plainWords = PlainWords(allCases.map(\.rawValue))
}

extension FrameKind {
    static let plainWords = PlainWords(allCases.map(\.rawValue))
}
