// The values of a plain payload, read where they lie, with the types and ranges of FRM-8 and in the forms that writers
// use; nil for anything else. The same rules as EnvelopeValue's, without the words for what is wrong. Each says where
// the object ends; the walk over the objects proves that the next one begins there, and that it begins before the
// table.

import TandemBase

/// A value and the offset of the byte behind its object.
typealias Plain<Value> = (value: Value, end: Int)

extension RawSpan {
    @inline(__always)
    func plainIdentifier(at offset: Int) -> Plain<UniqueIdentifier>? {
        // Data, whose count is an integer of one byte, and that is 16.
        guard innerWord(at: offset) >> 40 == 0x4F_10_10 else { return nil }
        return (UniqueIdentifier(high: innerWord(at: offset + 3), low: innerWord(at: offset + 11)), offset + 19)
    }

    @inline(__always)
    func plainBoolean(at offset: Int) -> Plain<Bool>? {
        let marker = innerByte(at: offset)
        return marker >> 1 == 0x08 >> 1 ? (marker & 1 == 1, offset + 1) : nil
    }

    @inline(__always)
    func plainInteger(at offset: Int) -> Plain<Int64>? {
        let head = innerWord(at: offset)
        switch head >> 56 {
        // Eight bytes are signed, fewer are not (FRM-6 f).
        case 0x10: return (Int64((head << 8) >> 56), offset + 2)
        case 0x11: return (Int64((head << 8) >> 48), offset + 3)
        case 0x12: return (Int64((head << 8) >> 32), offset + 5)
        case 0x13: return (Int64(bitPattern: innerWord(at: offset + 1)), offset + 9)
        default: return nil
        }
    }

    /// An integer of FRM-8's range for `deadline`.
    @inline(__always)
    func plainDeadline(at offset: Int) -> Plain<UInt32>? {
        let plain = plainInteger(at: offset, in: 1...Limits.deadlineMilliseconds)
        return plain.map { (UInt32(truncatingIfNeeded: $0.value), $0.end) }
    }

    /// An integer of a range.
    @inline(__always)
    func plainInteger(at offset: Int, in range: ClosedRange<Int64>) -> Plain<Int64>? {
        plainInteger(at: offset).flatMap { range.contains($0.value) ? $0 : nil }
    }

    /// The kind of a frame that is forwarded.
    @inline(__always)
    func plainKind(at offset: Int) -> Plain<FrameKind>? {
        if let end = plainWord("message", at: offset) { return (.message, end) }
        if let end = plainWord("reply", at: offset) { return (.reply, end) }
        if let end = plainWord("messageData", at: offset) { return (.messageData, end) }
        return plainWord("failure", at: offset).map { (.failure, $0) }
    }
}

// MARK: By the table of keys

extension RawSpan {
    /// Where a value of this type ends, for the keys that ``EnvelopeHead`` passes.
    func plainEnd(of type: EnvelopeValue.Kind, at offset: Int, before limit: Int) -> Int? {
        switch type {
        // The one key of each of these has a field in the head. A kind passed here would not be the one that is routed.
        case .kind, .application, .body: nil
        case .channel: Channel.plainWords.find(self, at: offset, from: 0)?.end
        case .identifier: plainIdentifier(at: offset)?.end
        case .boolean: plainBoolean(at: offset)?.end
        case .integer(let range, _): plainInteger(at: offset, in: range)?.end
        case .text: plainText(at: offset, before: limit)?.end
        case .shortText: plainTopic(at: offset, before: limit)?.end
        case .zero: plainInteger(at: offset, in: 0...0)?.end
        }
    }
}

// MARK: Data and text

extension RawSpan {
    /// Any data.
    /// - Parameter limit: where the objects end; the content ends there at the latest.
    @inline(__always)
    func plainData(at offset: Int, before limit: Int) -> Plain<EnvelopeHead.PayloadRange>? {
        plainContent(at: offset, type: 0x4, before: limit)?.plain
    }

    /// An application identifier whose characters nobody has checked.
    @inline(__always)
    func plainName(at offset: Int, before limit: Int) -> Plain<EnvelopeHead.PayloadRange>? {
        plainContent(at: offset, type: 0x5, before: limit)?.plain
    }

    /// An application identifier.
    @inline(__always)
    func plainApplication(at offset: Int, before limit: Int) -> Plain<EnvelopeHead.PayloadRange>? {
        guard let content = plainContent(at: offset, type: 0x5, before: limit),
            1...ApplicationIdentifier.maximumLength ~= content.count, innerByte(at: content.start) != UInt8(ascii: "."),
            allWords(in: content, { $0.areApplicationCharacters })
        else { return nil }
        return content.plain
    }

    /// A word or a name (FRM-8) in ASCII; any other is left to the full reading.
    @inline(__always)
    func plainText(at offset: Int, before limit: Int) -> Plain<EnvelopeHead.PayloadRange>? {
        guard let content = plainContent(at: offset, type: 0x5, before: limit), content.count <= Limits.envelopeText,
            allWords(in: content, { $0.isASCII })
        else { return nil }
        return content.plain
    }

    /// A topic (FRM-8) in ASCII without NUL; any other is left to the full reading.
    @inline(__always)
    func plainTopic(at offset: Int, before limit: Int) -> Plain<EnvelopeHead.PayloadRange>? {
        guard let content = plainContent(at: offset, type: 0x5, before: limit),
            1...Limits.shortText ~= content.count, allWords(in: content, { $0.isASCII && !$0.hasZeroByte })
        else { return nil }
        return content.plain
    }

    /// Data or ASCII text: the four high bits of its marker, then its count (FRM-6 h).
    @inline(__always)
    private func plainContent(at offset: Int, type: UInt64, before limit: Int) -> PlainContent? {
        let head = innerWord(at: offset)
        guard head >> 60 == type else { return nil }
        let low = head >> 56 & 0x0F
        if low < 0x0F { return PlainContent(start: offset + 1, count: low, before: limit) }
        switch head >> 48 & 0xFF {
        case 0x10: return PlainContent(start: offset + 3, count: head >> 40 & 0xFF, before: limit)
        case 0x11: return PlainContent(start: offset + 4, count: head >> 32 & 0xFFFF, before: limit)
        case 0x12: return PlainContent(start: offset + 6, count: head >> 16 & 0xFFFF_FFFF, before: limit)
        default: return nil
        }
    }

    /// Whether a rule holds for the content, eight bytes at a time; behind its end stands the letter `a`.
    @inline(__always)
    private func allWords(in content: PlainContent, _ rule: (UInt64) -> Bool) -> Bool {
        var offset = content.start
        while offset + 8 <= content.end {
            guard rule(innerWord(at: offset)) else { return false }
            offset += 8
        }
        guard offset < content.end else { return true }
        let behind = UInt64.max &>> UInt64(truncatingIfNeeded: 8 &* (content.end &- offset))
        return rule(innerWord(at: offset) & ~behind | 0x6161_6161_6161_6161 & behind)
    }
}

/// Where the content of data or text is.
struct PlainContent {
    let start: Int
    let end: Int

    /// nil if it does not end where the objects end, or before.
    @inline(__always)
    init?(start: Int, count: UInt64, before limit: Int) {
        self.start = start
        // Of four bytes at most: there is no overflow.
        end = start &+ Int(truncatingIfNeeded: count)
        guard end <= limit else { return nil }
    }

    @inline(__always)
    var count: Int { end - start }

    /// Exact, because ``PlainFrame`` refuses payloads that four bytes cannot count.
    @inline(__always)
    var plain: Plain<EnvelopeHead.PayloadRange> {
        (EnvelopeHead.PayloadRange(start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: end)), end)
    }
}

// MARK: Eight characters at once

// Each byte of a word is a character. While all bytes are below 0x80, adding 0x80 - n to a byte sets its high bit
// exactly if it is n or more, and nothing is carried into the next byte.

extension UInt64 {
    private static var highBits: UInt64 { 0x8080_8080_8080_8080 }

    /// The same byte eight times.
    @inline(__always)
    private static func eight(_ byte: UInt8) -> UInt64 { 0x0101_0101_0101_0101 &* UInt64(byte) }

    /// Whether all bytes are ASCII.
    @inline(__always)
    var isASCII: Bool { self & Self.highBits == 0 }

    /// Whether a byte is zero, among bytes below 0x80.
    @inline(__always)
    var hasZeroByte: Bool { (self &+ ~Self.highBits) & Self.highBits != Self.highBits }

    /// Whether all bytes may stand in an application identifier (FRM-8): `A-Z a-z 0-9 . _ -`.
    @inline(__always)
    var areApplicationCharacters: Bool {
        guard isASCII else { return false }
        // The bit makes small letters of capitals, and of the other signs around them none.
        let letters = (self | Self.eight(0x20)).bytes(from: "a", to: "z")
        // Between `-` and `9` lies `/` as well.
        let others = bytes(from: "-", to: "9") & ~bytes(equalTo: "/") | bytes(equalTo: "_")
        return (letters | others) & Self.highBits == Self.highBits
    }

    /// The high bits of the bytes in a range, among other bits.
    @inline(__always)
    private func bytes(from first: Unicode.Scalar, to last: Unicode.Scalar) -> UInt64 {
        let (first, last) = (UInt8(ascii: first), UInt8(ascii: last))
        return (self &+ Self.eight(0x80 - first)) & ~(self &+ Self.eight(0x7F - last))
    }

    /// The high bits of the bytes that are a character, among other bits.
    @inline(__always)
    private func bytes(equalTo character: Unicode.Scalar) -> UInt64 {
        Self.highBits &- (self ^ Self.eight(UInt8(ascii: character)))
    }
}

// The loads that reading an envelope in place needs beside those of Base, and comparisons of bytes that are made of
// them. Of a peer's bytes this room loads nothing elsewhere, and each load is bounds-checked: a mistake in the reader
// ends the process and never reads beyond the peer's bytes. The other unsafe code in this room copies whole payloads
// (Frame, BroadcastFrames), reads our own literals (PlainFrame), or takes an enum as its byte (EnvelopeKey).

extension RawSpan {
    /// The eight bytes at `offset`, big-endian, for an offset that has 32 bytes or more behind it, as all have that lie
    /// before a trailer: the check is then one comparison with a number that a loop keeps.
    @inline(__always)
    func innerWord(at offset: Int) -> UInt64 {
        precondition(UInt(bitPattern: offset) < UInt(bitPattern: max(0, byteCount &- 31)), "a word is in the payload")
        // It is: a negative offset is a large unsigned number, and eight are less than 32.
        return unsafe UInt64(bigEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
    }

    /// The byte at such an offset.
    @inline(__always)
    func innerByte(at offset: Int) -> UInt8 { UInt8(truncatingIfNeeded: innerWord(at: offset) >> 56) }
    /// The text of a range that is known to be ASCII; the range is checked.
    @inline(__always)
    func asciiText(_ range: Range<Int>) -> String {
        unsafe String(copying: UTF8Span(unchecked: extracting(range)._unsafeView(as: UInt8.self), isKnownASCII: true))
    }
}

// MARK: Comparisons

extension RawSpan {
    /// Whether the bytes are the same.
    package func isEqual(to other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        guard byteCount >= 8 else {
            for offset in 0..<byteCount where byte(at: offset) != other.byte(at: offset) { return false }
            return true
        }
        // The last word may overlap the one before.
        let last = byteCount - 8
        var offset = 0
        while offset < last {
            guard word(at: offset) == other.word(at: offset) else { return false }
            offset += 8
        }
        return word(at: last) == other.word(at: last)
    }
}
