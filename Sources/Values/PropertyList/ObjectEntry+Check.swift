// The content of scalars (FRM-6 f, g, i) and whether a string may be a key (FRM-6 j). Nothing is decoded here: one
// sweep over the bytes finds what is not ASCII and what is NUL, eight bytes at a time.

private let eachByte: UInt64 = 0x0101_0101_0101_0101
private let eachHighBit: UInt64 = 0x8080_8080_8080_8080

extension ObjectScan {
    /// Checks an ASCII string, and whether it is fit to be a key.
    @inline(__always)
    mutating func ascii(_ entry: inout ObjectEntry, _ bytes: RawSpan) -> Bool {
        let (content, count) = (entry.content, entry.count)
        // Bytes behind the end count as 1, which is neither NUL nor beyond ASCII. The trailer is behind it all.
        let first = bytes.word(at: content)
        let rest = UInt64.max >> UInt64(truncatingIfNeeded: 8 &* count)
        var union = first & ~rest | eachByte & rest
        // In ASCII, subtracting 1 from each byte sets a high bit only from a NUL on.
        var borrows = union &- eachByte
        var offset = content &+ 8
        if count > 64 { offset = sweep(from: offset, to: content &+ count, &union, &borrows, bytes) }
        while offset < content &+ count {
            // The last word overlaps the one before.
            let word = bytes.word(at: min(offset, content &+ count &- 8))
            // In Swift `|` and `&-` bind alike.
            (union, borrows) = (union | word, borrows | (word &- eachByte))
            offset &+= 8
        }
        guard union & eachHighBit == 0 else { return refuse(.invalidASCII) }
        let isFit = borrows & eachHighBit == 0 && 1...PropertyListLimits.maximumKeyLength ~= count
        (entry.isFit, entry.start) = (isFit, isFit ? first & ~rest : 0)
        return true
    }

    /// Long text, 32 bytes at a time.
    /// - Returns: where fewer are left.
    private func sweep(
        from start: Int, to end: Int, _ union: inout UInt64, _ borrows: inout UInt64, _ bytes: RawSpan
    ) -> Int {
        var (unions, lacks) = (SIMD4<UInt64>(repeating: union), SIMD4<UInt64>(repeating: borrows))
        var offset = start
        while end - offset >= 32 {
            let block = bytes.block(at: offset)
            unions |= block
            lacks |= block &- SIMD4(repeating: eachByte)
            offset += 32
        }
        (union, borrows) = (unions[0] | unions[1] | unions[2] | unions[3], lacks[0] | lacks[1] | lacks[2] | lacks[3])
        return offset
    }
}

extension ObjectEntry {
    /// What is wrong with the content of a scalar other than ASCII; finds out whether UTF-16 is fit to be a key.
    @inline(__always)
    mutating func contentFault(in bytes: RawSpan) -> PropertyListError.Reason? {
        if kind.rawValue <= ObjectKind.integer.rawValue {
            return count != 16 || bytes.word(at: content) == 0 ? nil : .integerOutOfRange
        }
        return switch kind {
        case .real: realValue(in: bytes).isFinite ? nil : .notFinite
        case .date: dateFault(in: bytes)
        case .utf16: utf16Fault(in: bytes)
        default: nil
        }
    }

    @inline(__always)
    private func dateFault(in bytes: RawSpan) -> PropertyListError.Reason? {
        // A second within the range there is nothing to round.
        if abs(realValue(in: bytes)) < 63_113_903_999 { return nil }
        guard realValue(in: bytes).isFinite else { return .notFinite }
        return date(in: bytes) == nil ? .dateOutOfRange : nil
    }

    /// Surrogates come in pairs, high before low; some character is not ASCII.
    private mutating func utf16Fault(in bytes: RawSpan) -> PropertyListError.Reason? {
        var union: UInt16 = 0
        var (expectsLow, hasNull) = (false, false)
        for offset in stride(from: content, to: content + 2 * count, by: 2) {
            let unit = bytes.codeUnit(at: offset)
            union |= unit
            if unit == 0 { hasNull = true }
            guard UTF16.isTrailSurrogate(unit) == expectsLow else { return .invalidUTF16 }
            expectsLow = UTF16.isLeadSurrogate(unit)
        }
        guard !expectsLow else { return .invalidUTF16 }
        guard union >= 0x80 else { return .needlessUTF16 }
        isFit =
            !hasNull && count <= PropertyListLimits.maximumKeyLength
            && utf8Length(in: bytes) <= PropertyListLimits.maximumKeyLength
        return nil
    }

    /// What keeps an object that is not fit to be a key from being one.
    func keyFault(in bytes: RawSpan) -> PropertyListError.Reason {
        guard kind == .ascii || kind == .utf16 else { return .keyNotString }
        let length = utf8Length(in: bytes)
        return (1...PropertyListLimits.maximumKeyLength).contains(length) ? .keyContainsNull : .invalidKeyLength(length)
    }
}
