// What routing needs of a frame that may be forwarded (FRM-12), as numbers and places in its payload: no String, no
// slice, nothing to retain. It is there only for the shape that the canonical writing has; any other frame, of another
// kind, faulty or merely unusual, is judged by `Envelope(reading:)`, so that faults have one place.
// `@inlinable` and usable from inline: the relay asks for these fields at each frame, and across rooms a call for each
// would cost more than the field.

package import TandemBase

/// The routing part of a `message`, `messageData`, `reply` or `failure`, read in place.
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
