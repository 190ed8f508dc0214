// A plain scalar as the value of an envelope key, with the types and ranges of FRM-8; nil for anything else. The same
// rules as EnvelopeValue's, without the words for what is wrong.

import TandemIdentity

extension PlainScalar {
    @inline(__always)
    func boolean(in payload: RawSpan) -> Bool? { kind == .boolean ? payload.byte(at: content) == 0x09 : nil }

    @inline(__always)
    func integer(from least: Int64, to most: Int64 = .max, in payload: RawSpan) -> Int64? {
        guard kind == .integer else { return nil }
        // Eight bytes are signed, fewer are not (FRM-6 f): the shift leaves those positive.
        let value = Int64(bitPattern: payload.number(at: content, size: count))
        return value >= least && value <= most ? value : nil
    }

    @inline(__always)
    func identifier(in payload: RawSpan) -> UniqueIdentifier? {
        guard kind == .data, count == 16 else { return nil }
        return UniqueIdentifier(high: payload.word(at: content), low: payload.word(at: content + 8))
    }

    @inline(__always)
    func word(in payload: RawSpan) -> PackedWord? {
        kind == .ascii ? payload.packedWord(at: content, count: count) : nil
    }

    @inline(__always)
    func deadline(in payload: RawSpan) -> UInt32? {
        integer(from: 1, to: Limits.deadlineMilliseconds, in: payload).map { UInt32(truncatingIfNeeded: $0) }
    }

    /// The place of an application identifier's characters.
    @inline(__always)
    func application(in payload: RawSpan) -> EnvelopeHead.Place? {
        guard kind == .ascii, 1...ApplicationIdentifier.maximumLength ~= count,
            payload.byte(at: content) != UInt8(ascii: ".")
        else { return nil }
        guard range.allSatisfy({ Self.isApplicationCharacter(payload.byte(at: $0)) }) else { return nil }
        return place
    }

    /// Text of at most 256 ASCII characters: names and commands have no more.
    @inline(__always)
    func isText(in payload: RawSpan) -> Bool {
        guard kind == .ascii, count <= 256 else { return false }
        return range.allSatisfy { payload.byte(at: $0) < 0x80 }
    }

    /// Whether a byte may stand in an application identifier (FRM-8): `-`, `.`, digits; letters and `_`. One bit each.
    @inline(__always)
    private static func isApplicationCharacter(_ byte: UInt8) -> Bool {
        let bits: UInt64 = byte < 64 ? 0x03FF_6000_0000_0000 : 0x07FF_FFFE_87FF_FFFE
        return byte < 128 && bits >> UInt64(byte & 63) & 1 == 1
    }
}
