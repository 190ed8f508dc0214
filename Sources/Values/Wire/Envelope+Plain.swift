// The whole envelope of a plain payload, read in one pass as EnvelopeHead's: each object where the one before ended and
// where the offset table says. The frames of durable items come this way; what is refused or unusual here is read, and
// its fault named, by `Envelope(payload:)`. Only the body and texts are copied.

import TandemBase

extension Envelope {
    /// Reads a frame's payload; nil if it is not plain or not right.
    package init?(plain payload: RawSpan) {
        self.init(.message)
        guard let frame = PlainFrame(payload), let keys = readPairs(frame, payload) else { return nil }
        // A key that is there twice is one in the set; `kind` is among those that are required.
        guard keys.rawValue.nonzeroBitCount == frame.pairs, keys.isSuperset(of: kind.requiredKeys),
            keys.isSubset(of: kind.allowedKeys)
        else { return nil }
    }

    private mutating func readPairs(_ frame: PlainFrame, _ payload: RawSpan) -> EnvelopeKeys? {
        var keys = EnvelopeKeys()
        let limit = frame.tableStart
        let firstValue = frame.offset(at: frame.entry(of: 1 + frame.pairs), in: payload)
        var (key, value) = (frame.firstKey, firstValue)
        for pair in 0..<frame.pairs {
            // Below the table, what is read of a word, a number or an identifier cannot run past the payload.
            guard key < value, value < limit, frame.offset(at: frame.entry(of: 1 + pair), in: payload) == key,
                frame.offset(at: frame.entry(of: 1 + pair + frame.pairs), in: payload) == value,
                let (word, keyEnd) = payload.plainKey(at: key),
                let valueEnd = take(word, at: value, before: limit, payload)
            else { return nil }
            keys.insert(word)
            (key, value) = (keyEnd, valueEnd)
        }
        return key == firstValue && value == limit ? keys : nil
    }

    /// Takes the value of a key.
    /// - Returns: where it ends; nil if it is not plain or not right.
    private mutating func take(_ key: EnvelopeKey, at offset: Int, before limit: Int, _ payload: RawSpan) -> Int? {
        switch key {
        case .kind: takeKind(at: offset, before: limit, payload)
        case .app: Self.set(&app, payload.plainAppName(at: offset, before: limit))
        case .pairing: Self.set(&pairing, payload.plainIdentifier(at: offset))
        case .id: Self.set(&id, payload.plainIdentifier(at: offset))
        case .after: Self.set(&after, payload.plainIdentifier(at: offset))
        case .channel: Self.set(&channel, payload.plainWord(at: offset, before: limit) { Channel(rawValue: $0) })
        case .sequence: Self.set(&sequence, payload.plainNumber(at: offset, from: 1) { UInt64($0) })
        case .revision: Self.set(&revision, payload.plainNumber(at: offset, from: 1) { UInt64($0) })
        case .offset: Self.set(&self.offset, payload.plainNumber(at: offset, from: 0) { UInt64($0) })
        case .reply: Self.set(&reply, payload.plainBoolean(at: offset))
        case .deadline:
            Self.set(&deadline, payload.plainDeadline(at: offset).map { (.milliseconds($0.value), $0.end) })
        case .age: Self.set(&age, payload.plainNumber(at: offset, from: 0) { .milliseconds($0) })
        case .remaining: Self.set(&remaining, payload.plainNumber(at: offset, from: 0) { .milliseconds($0) })
        case .attempt: Self.set(&attempt, payload.plainNumber(at: offset, from: 1) { Int($0) })
        case .code: Self.set(&code, payload.plainInteger(at: offset).map { (Int($0.value), $0.end) })
        case .name: Self.set(&name, payload.plainWord(at: offset, before: limit) { $0 })
        case .command: Self.set(&command, payload.plainWord(at: offset, before: limit) { $0 })
        case .topic: Self.set(&topic, payload.plainShortText(at: offset, before: limit))
        case .key: Self.set(&self.key, payload.plainShortText(at: offset, before: limit))
        case .body: Self.set(&body, payload.plainBytes(at: offset, before: limit))
        case .sealing: payload.plainZero(at: offset)?.end
        // Of version 1 no frame has one.
        case .nonce: nil
        }
    }

    private mutating func takeKind(at offset: Int, before limit: Int, _ payload: RawSpan) -> Int? {
        guard let plain = payload.plainWord(at: offset, before: limit, { FrameKind(rawValue: $0) }) else { return nil }
        kind = plain.value
        return plain.end
    }

    @inline(__always)
    private static func set<Field>(_ field: inout Field?, _ plain: Plain<Field>?) -> Int? {
        guard let plain else { return nil }
        field = plain.value
        return plain.end
    }
}
