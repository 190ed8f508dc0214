// What the whole envelope of a plain payload has beyond its head: every key, and values that are copied out.

import TandemBase

extension RawSpan {
    /// A key of the envelope.
    @inline(__always)
    func plainKey(at offset: Int) -> Plain<EnvelopeKey>? {
        switch innerByte(at: offset + 1) {
        case UInt8(ascii: "a"):
            match("app", .app, offset) ?? match("attempt", .attempt, offset) ?? match("age", .age, offset)
                ?? match("after", .after, offset)
        case UInt8(ascii: "b"): match("body", .body, offset)
        case UInt8(ascii: "c"):
            match("channel", .channel, offset) ?? match("code", .code, offset) ?? match("command", .command, offset)
        case UInt8(ascii: "d"): match("deadline", .deadline, offset)
        case UInt8(ascii: "i"): match("id", .id, offset)
        case UInt8(ascii: "k"): match("kind", .kind, offset) ?? match("key", .key, offset)
        case UInt8(ascii: "n"): match("name", .name, offset)
        case UInt8(ascii: "o"): match("offset", .offset, offset)
        case UInt8(ascii: "p"): match("pairing", .pairing, offset)
        case UInt8(ascii: "r"):
            match("remaining", .remaining, offset) ?? match("revision", .revision, offset)
                ?? match("reply", .reply, offset)
        case UInt8(ascii: "s"): match("sequence", .sequence, offset) ?? match("sealing", .sealing, offset)
        case UInt8(ascii: "t"): match("topic", .topic, offset)
        default: nil
        }
    }

    @inline(__always)
    private func match(_ word: StaticString, _ key: EnvelopeKey, _ offset: Int) -> Plain<EnvelopeKey>? {
        plainWord(word, at: offset).map { (key, $0) }
    }

    /// An integer from `least`.
    @inline(__always)
    func plainNumber<Value>(at offset: Int, from least: Int64, _ value: (Int64) -> Value) -> Plain<Value>? {
        guard let (number, end) = plainInteger(at: offset), number >= least else { return nil }
        return (value(number), end)
    }

    /// Short ASCII text that stands for something.
    @inline(__always)
    func plainWord<Value>(at offset: Int, before limit: Int, _ value: (String) -> Value?) -> Plain<Value>? {
        guard let (place, end) = plainText(at: offset, before: limit), let found = value(asciiText(place.range))
        else { return nil }
        return (found, end)
    }

    @inline(__always)
    func plainShortText(at offset: Int, before limit: Int) -> Plain<String>? {
        plainTopic(at: offset, before: limit).map { (asciiText($0.value.range), $0.end) }
    }

    @inline(__always)
    func plainAppName(at offset: Int, before limit: Int) -> Plain<ApplicationIdentifier>? {
        guard let (place, end) = plainApplication(at: offset, before: limit),
            let app = try? ApplicationIdentifier(asciiText(place.range))
        else { return nil }
        return (app, end)
    }

    @inline(__always)
    func plainBytes(at offset: Int, before limit: Int) -> Plain<ArraySlice<UInt8>>? {
        plainData(at: offset, before: limit).map { (copy($0.value.range)[...], $0.end) }
    }
}
