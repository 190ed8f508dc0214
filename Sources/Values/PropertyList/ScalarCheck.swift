// The content of scalars (FRM-6 f, g, i) and what makes a string fit to be a key (FRM-6 j). Nothing is decoded here:
// the checks run over the bytes and allocate nothing.

extension ObjectHeader {
    /// Checks a scalar's content; containers pass.
    func checkContent(in bytes: ByteView) throws(PropertyListError.Reason) {
        switch kind {
        case .boolean, .data, .array, .dictionary: break
        case .integer:
            guard count < 16 || bytes.bigEndian(at: content, size: 8) == 0 else { throw .integerOutOfRange }
        case .real:
            guard realValue(in: bytes).isFinite else { throw .notFinite }
        case .date:
            let seconds = realValue(in: bytes)
            guard seconds.isFinite else { throw .notFinite }
            guard PropertyListDate(secondsSinceReferenceDate: seconds) != nil else { throw .dateOutOfRange }
        case .ascii: try checkASCII(in: bytes)
        case .utf16: try checkUTF16(in: bytes)
        }
    }

    /// The number of a real or date.
    func realValue(in bytes: ByteView) -> Double {
        let pattern = bytes.bigEndian(at: content, size: count)
        return count == 4 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: pattern))) : Double(bitPattern: pattern)
    }

    private func checkASCII(in bytes: ByteView) throws(PropertyListError.Reason) {
        var union: UInt8 = 0
        for index in content..<end { union |= bytes[index] }
        guard union < 0x80 else { throw .invalidASCII }
    }

    /// Surrogates come in pairs, high before low; some character is not ASCII.
    private func checkUTF16(in bytes: ByteView) throws(PropertyListError.Reason) {
        var union: UInt16 = 0
        var expectsLow = false
        for offset in stride(from: content, to: end, by: 2) {
            let unit = bytes.codeUnit(at: offset)
            union |= unit
            guard UTF16.isTrailSurrogate(unit) == expectsLow else { throw .invalidUTF16 }
            expectsLow = UTF16.isLeadSurrogate(unit)
        }
        guard !expectsLow else { throw .invalidUTF16 }
        guard union >= 0x80 else { throw .needlessUTF16 }
    }

    /// What keeps this object from being a dictionary key; nil if nothing does.
    func keyFault(in bytes: ByteView) -> PropertyListError.Reason? {
        let (length, hasNull): (Int, Bool)
        switch kind {
        case .ascii: (length, hasNull) = (count, (content..<end).contains { bytes[$0] == 0 })
        case .utf16: (length, hasNull) = utf8Length(in: bytes)
        default: return .keyNotString
        }
        guard (1...PropertyListLimits.maximumKeyLength).contains(length) else { return .invalidKeyLength(length) }
        return hasNull ? .keyContainsNull : nil
    }

    private func utf8Length(in bytes: ByteView) -> (Int, Bool) {
        var length = 0
        var hasNull = false
        for offset in stride(from: content, to: end, by: 2) {
            switch bytes.codeUnit(at: offset) {
            case 0: (length, hasNull) = (length + 1, true)
            case ..<0x80: length += 1
            case ..<0x800, 0xD800...0xDFFF: length += 2
            default: length += 3
            }
        }
        return (length, hasNull)
    }
}
