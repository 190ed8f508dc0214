// One pass over a plain payload, along the keys and along the values at the same time, each object where the one before
// ended and where the offset table says. That proves the rules of FRM-6 for this shape (contiguous, every object
// referenced, no container but the root), and FRM-8 to FRM-10 are checked on the way. Accepted here means accepted by
// `Envelope(reading:)` with the same fields; nil means that it is asked. Nothing is allocated, and a body costs
// nothing.

import TandemBase

extension EnvelopeHead {
    /// Reads the head of a frame; nil if it is not plain, not right, or not of a kind that is forwarded.
    package init?(plain frame: borrowing Frame) {
        guard let head = frame.withPayload({ EnvelopeHead(plain: $0) }) else { return nil }
        self = head
    }

    /// Reads the head of a frame's payload; nil if it is not plain, not right, or not of a kind that is forwarded.
    package init?(plain payload: RawSpan) {
        self.init()
        guard let frame = PlainFrame(payload), let keys = readPairs(frame, payload) else { return nil }
        // A key that is there twice is one in the set.
        guard keys.rawValue.nonzeroBitCount == frame.pairs, keys.isSuperset(of: kind.requiredKeys),
            keys.isSubset(of: kind.allowedKeys)
        else { return nil }
    }

    /// Takes all values.
    /// - Returns: their keys; nil if something is not plain or not right.
    @inline(__always)
    private mutating func readPairs(_ frame: PlainFrame, _ payload: RawSpan) -> EnvelopeKeys? {
        var keys = EnvelopeKeys()
        var (keyEntry, valueEntry) = (frame.entry(of: 1), frame.entry(of: 1 + frame.pairs))
        // Where the table says that the values begin; the walk proves that the keys end there.
        let firstValue = frame.offset(at: valueEntry, in: payload)
        var (key, value) = (frame.firstKey, firstValue)
        for _ in 0..<frame.pairs {
            // Below the table, what is read of a word, a number or an identifier cannot run past the payload.
            guard key < value, value < frame.tableStart, frame.offset(at: keyEntry, in: payload) == key,
                frame.offset(at: valueEntry, in: payload) == value
            else { return nil }
            guard let taken = take(key, value, before: frame.tableStart, payload) else { return nil }
            keys.formUnion(taken.key)
            (key, value) = (taken.keyEnd, taken.end)
            (keyEntry, valueEntry) = (keyEntry &+ frame.offsetSize, valueEntry &+ frame.offsetSize)
        }
        return key == firstValue && value == frame.tableStart ? keys : nil
    }

    /// Takes a pair. The keys that a forwarded frame may have begin with different letters.
    @inline(__always)
    private mutating func take(_ key: Int, _ value: Int, before limit: Int, _ payload: RawSpan) -> Taken? {
        switch payload.innerByte(at: key + 1) {
        case UInt8(ascii: "a"):
            Self.set(
                &appPlace, payload.plainApplication(at: value, before: limit), payload.plainWord("app", at: key), .app)
        case UInt8(ascii: "b"):
            Self.set(&bodyPlace, payload.plainData(at: value, before: limit), payload.plainWord("body", at: key), .body)
        case UInt8(ascii: "c"):
            Self.pass(payload.plainInteger(at: value), payload.plainWord("code", at: key), .code)
        case UInt8(ascii: "d"):
            Self.set(&milliseconds, payload.plainDeadline(at: value), payload.plainWord("deadline", at: key), .deadline)
        case UInt8(ascii: "i"):
            Self.set(&id, payload.plainIdentifier(at: value), payload.plainWord("id", at: key), .id)
        case UInt8(ascii: "k"):
            Self.set(&kind, payload.plainKind(at: value), payload.plainWord("kind", at: key), .kind)
        case UInt8(ascii: "n"):
            Self.pass(payload.plainText(at: value, before: limit), payload.plainWord("name", at: key), .name)
        case UInt8(ascii: "p"):
            Self.set(&pairing, payload.plainIdentifier(at: value), payload.plainWord("pairing", at: key), .pairing)
        case UInt8(ascii: "r"):
            Self.set(&wantsReply, payload.plainBoolean(at: value), payload.plainWord("reply", at: key), .reply)
        case UInt8(ascii: "s"):
            Self.pass(payload.plainZero(at: value), payload.plainWord("sealing", at: key), .sealing)
        case UInt8(ascii: "t"):
            Self.set(
                &topicPlace, payload.plainTopic(at: value, before: limit), payload.plainWord("topic", at: key), .topic)
        default: nil
        }
    }

    /// A key whose value is plain and right, and where both end.
    private typealias Taken = (key: EnvelopeKeys, keyEnd: Int, end: Int)

    @inline(__always)
    private static func set<Field>(
        _ field: inout Field, _ plain: Plain<Field>?, _ keyEnd: Int?, _ key: EnvelopeKeys
    ) -> Taken? {
        guard let plain, let keyEnd else { return nil }
        field = plain.value
        return (key, keyEnd, plain.end)
    }

    /// What is checked and needed by nobody here.
    @inline(__always)
    private static func pass<Field>(_ plain: Plain<Field>?, _ keyEnd: Int?, _ key: EnvelopeKeys) -> Taken? {
        guard let plain, let keyEnd else { return nil }
        return (key, keyEnd, plain.end)
    }
}
