// Routing head of a frame that may be forwarded (FRM-12), as numbers and ranges in its payload: no String, no slice,
// nothing to retain. It exists only for the shape that the canonical writing has; any other frame, of another kind,
// faulty or merely unusual, is judged by `Envelope(reading:)`, so that faults have one place. `@inlinable` and usable
// from inline: the relay asks for these fields at each frame, and across rooms a call for each would cost more than the
// field.

package import TandemBase

/// The routing part of a `message`, `messageData` or `reply`, or of a `failure` that answers a message, read in place.
@usableFromInline package struct EnvelopeHead: Sendable {
    /// Bytes of the payload.
    @usableFromInline
    struct PayloadRange: Sendable {
        @usableFromInline private(set) var start: UInt32 = 0
        @usableFromInline private(set) var end: UInt32 = 0

        @inlinable var bounds: Range<Int> { Int(start)..<Int(end) }
    }

    package internal(set) var kind = FrameKind.message
    package internal(set) var pairing = UniqueIdentifier(high: 0, low: 0)
    package internal(set) var id = UniqueIdentifier(high: 0, low: 0)
    /// Whether the sender waits for an answer.
    package internal(set) var wantsReply = false
    /// 0: there is none.
    @usableFromInline private(set) var milliseconds: UInt32 = 0
    @usableFromInline private(set) var appRange = PayloadRange()
    /// Ends at 0: there is none.
    @usableFromInline private(set) var bodyRange = PayloadRange()
    private var keys = EnvelopeKeys()
}

extension EnvelopeHead {
    /// Where the application identifier is in the payload. Its characters have not been checked: it is right if it
    /// equals one that is known, and any other is for the full reading.
    @inlinable package var app: Range<Int> { appRange.bounds }

    /// Where the body is in the payload.
    @inlinable package var body: Range<Int>? { bodyRange.end == 0 ? nil : bodyRange.bounds }

    /// Whether the frame has this key, also one whose value routing does not need.
    package func has(_ key: EnvelopeKey) -> Bool { keys.contains(key) }

    /// How long the sender still waits, in milliseconds, within ``Limits/deadline``.
    @inlinable package var deadline: UInt32? { milliseconds == 0 ? nil : milliseconds }
}

// MARK: Reading in place

// FRM-8 to FRM-10 are checked on the walk, except for the characters of the application identifier. Accepted here with
// a right one means accepted by `Envelope(reading:)` with the same fields; nil means that it is asked. Nothing is
// allocated, and a body costs nothing.

extension EnvelopeHead {
    /// Reads the head of a frame; nil if it is not plain, not right, or not of a kind that is forwarded.
    package init?(plain frame: borrowing Frame) {
        guard let head = frame.withPayload({ EnvelopeHead(plain: $0) }) else { return nil }
        self = head
    }

    /// Reads the head of a frame's payload; nil if it is not plain, not right, or not of a kind that is forwarded.
    package init?(plain payload: RawSpan) {
        self.init()
        guard let frame = PlainFrame(payload), let keys = frame.walk(payload, with: &self), kind.row.allows(keys) else {
            return nil
        }
        self.keys = keys
    }
}

extension EnvelopeHead: PlainConsumer {
    /// Takes the values that routing needs. Their keys begin with different letters: a second one of the same letter
    /// needs a further comparison in that letter's case.
    @inline(__always)
    mutating func take(_ key: Int, _ value: Int, before limit: Int, _ payload: RawSpan) -> PlainPair? {
        switch payload.innerByte(at: key + 1) {
        case UInt8(ascii: "a"):
            guard let end = payload.plainWord("app", at: key) else { break }
            return Self.set(&appRange, payload.plainName(at: value, before: limit), (.app, end))
        case UInt8(ascii: "b"):
            guard let end = payload.plainWord("body", at: key) else { break }
            return Self.set(&bodyRange, payload.plainData(at: value, before: limit), (.body, end))
        case UInt8(ascii: "c"):
            // Of the kinds that are forwarded only a failure may have a channel, and then it answers an item (FRM-10).
            // Giving up here saves the walk of durable items, which are most of the frames that are not forwarded.
            if payload.plainWord("channel", at: key) != nil { return nil }
        case UInt8(ascii: "d"):
            guard let end = payload.plainWord("deadline", at: key) else { break }
            return Self.set(&milliseconds, payload.plainDeadline(at: value), (.deadline, end))
        case UInt8(ascii: "i"):
            guard let end = payload.plainWord("id", at: key) else { break }
            return Self.set(&id, payload.plainIdentifier(at: value), (.id, end))
        case UInt8(ascii: "k"):
            guard let end = payload.plainWord("kind", at: key) else { break }
            return Self.set(&kind, payload.plainKind(at: value), (.kind, end))
        case UInt8(ascii: "p"):
            guard let end = payload.plainWord("pairing", at: key) else { break }
            return Self.set(&pairing, payload.plainIdentifier(at: value), (.pairing, end))
        case UInt8(ascii: "r"):
            guard let end = payload.plainWord("reply", at: key) else { break }
            return Self.set(&wantsReply, payload.plainBoolean(at: value), (.reply, end))
        default: break
        }
        return Self.pass(key, value, before: limit, payload)
    }

    @inline(__always)
    private static func set<Field>(
        _ field: inout Field, _ plain: Plain<Field>?, _ key: (EnvelopeKey, end: Int)
    ) -> PlainPair? {
        guard let plain else { return nil }
        field = plain.value
        return (key.0, key.end, plain.end)
    }

    /// Any other key of the table: its value is checked, and routing does not need it.
    @inline(never)
    private static func pass(_ offset: Int, _ value: Int, before limit: Int, _ payload: RawSpan) -> PlainPair? {
        guard let word = EnvelopeKey.plainWords.find(payload, at: offset, from: 0) else { return nil }
        let key = EnvelopeKey(number: word.value)
        guard let end = payload.plainEnd(of: key.type, at: value, before: limit) else { return nil }
        return (key, word.end, end)
    }
}
