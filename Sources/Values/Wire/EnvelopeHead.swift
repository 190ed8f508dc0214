// Routing head of a frame that may be forwarded (FRM-12), as numbers and places in its payload: no String, no slice,
// nothing to retain. It exists only for the shape that the canonical writing has; any other frame, of another kind,
// faulty or merely unusual, is judged by `Envelope(reading:)`, so that faults have one place. `@inlinable` and usable
// from inline: the relay asks for these fields at each frame, and across rooms a call for each would cost more than the
// field.

package import TandemBase

/// The routing part of a `message`, `messageData` or `reply`, or of a `failure` that answers a message, read in place.
@usableFromInline package struct EnvelopeHead: Sendable {
    /// Bytes of the payload.
    @usableFromInline
    struct Place: Sendable {
        @usableFromInline var start: UInt32 = 0
        @usableFromInline var end: UInt32 = 0

        @inlinable var range: Range<Int> { Int(start)..<Int(end) }
    }

    package internal(set) var kind = FrameKind.message
    package internal(set) var pairing = UniqueIdentifier(high: 0, low: 0)
    package internal(set) var id = UniqueIdentifier(high: 0, low: 0)
    /// Whether the sender waits for an answer.
    package internal(set) var wantsReply = false
    /// 0: there is none.
    @usableFromInline var milliseconds: UInt32 = 0
    @usableFromInline var appPlace = Place()
    /// Ends at 0: there is none.
    @usableFromInline var bodyPlace = Place()
    /// Ends at 0: there is none.
    @usableFromInline var topicPlace = Place()
}

extension EnvelopeHead {
    /// Where the application identifier's characters are in the payload; they have been checked.
    @inlinable package var app: Range<Int> { appPlace.range }

    /// Where the body is in the payload.
    @inlinable package var body: Range<Int>? { bodyPlace.end == 0 ? nil : bodyPlace.range }

    /// Whether it names a handler's topic.
    @inlinable package var hasTopic: Bool { topicPlace.end != 0 }

    /// How long the sender still waits, in milliseconds, within ``Limits/deadline``.
    @inlinable package var deadline: UInt32? { milliseconds == 0 ? nil : milliseconds }
}

// MARK: Reading in place

// FRM-8 to FRM-10 are checked on the walk. Accepted here means accepted by `Envelope(reading:)` with the same fields;
// nil means that it is asked. Nothing is allocated, and a body costs nothing.

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
    }
}

extension EnvelopeHead: PlainConsumer {
    /// The keys that a forwarded frame may have begin with different letters: a second one of a letter needs a choice
    /// in the letter's case.
    @inline(__always)
    mutating func take(_ key: Int, _ value: Int, before limit: Int, _ payload: RawSpan) -> PlainPair? {
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

    @inline(__always)
    private static func set<Field>(
        _ field: inout Field, _ plain: Plain<Field>?, _ keyEnd: Int?, _ key: EnvelopeKey
    ) -> PlainPair? {
        guard let plain, let keyEnd else { return nil }
        field = plain.value
        return (key, keyEnd, plain.end)
    }

    /// A field that is checked, and that routing does not need.
    @inline(__always)
    private static func pass<Field>(_ plain: Plain<Field>?, _ keyEnd: Int?, _ key: EnvelopeKey) -> PlainPair? {
        guard let plain, let keyEnd else { return nil }
        return (key, keyEnd, plain.end)
    }
}
