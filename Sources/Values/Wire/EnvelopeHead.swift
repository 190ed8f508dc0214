// What routing needs of an envelope, as numbers and places in the frame's payload: no String, no slice, nothing to
// retain, small enough to be handed on in registers and on the stack. It is there only for frames in the plain shape that
// writers make; any other frame, faulty or merely unusual, is judged by `Envelope(reading:)`, so that faults have one
// place.

package import TandemIdentity

/// The routing part of an envelope, read in place.
package struct EnvelopeHead: Sendable {
    /// Bytes of the payload.
    struct Place: Equatable {
        var start: UInt32 = 0
        var end: UInt32 = 0

        var range: Range<Int> { Int(start)..<Int(end) }
    }

    /// The fields; those that are not `present` mean nothing.
    struct Fields {
        var kind = FrameKind.ping
        var channel = Channel.configuration
        var reply = false
        var deadline: UInt32 = 0
        var pairing = UniqueIdentifier(high: 0, low: 0)
        var id = UniqueIdentifier(high: 0, low: 0)
        var sequence: Int64 = 0
        var age: Int64 = 0
        var remaining: Int64 = 0
        var attempt: Int64 = 0
        var app = Place()
        var body = Place()
    }

    /// All keys that the envelope has, also those that are no field here.
    var present = EnvelopeKeys()
    var fields = Fields()

    private func field<Value>(_ key: EnvelopeKeys, _ value: Value) -> Value? {
        present.isSuperset(of: key) ? value : nil
    }
}

extension EnvelopeHead {
    package var kind: FrameKind { fields.kind }
    package var pairing: UniqueIdentifier? { field(.pairing, fields.pairing) }
    package var id: UniqueIdentifier? { field(.id, fields.id) }
    package var channel: Channel? { field(.channel, fields.channel) }
    /// Position of a durable item; from 1.
    package var sequence: UInt64? { field(.sequence, UInt64(clamping: fields.sequence)) }
    package var reply: Bool? { field(.reply, fields.reply) }
    /// How long the sender still waits, in milliseconds, within ``Limits/deadline``.
    package var deadline: UInt32? { field(.deadline, fields.deadline) }
    /// Milliseconds since acceptance in the sender's daemon; from 0.
    package var age: Int64? { field(.age, fields.age) }
    /// Milliseconds until a durable item expires; from 0.
    package var remaining: Int64? { field(.remaining, fields.remaining) }
    /// Delivery attempt; from 1.
    package var attempt: Int? { field(.attempt, Int(fields.attempt)) }
    /// Where the application identifier's characters are in the payload; they have been checked.
    package var app: Range<Int>? { field(.app, fields.app.range) }
    /// Where the body is in the payload.
    package var body: Range<Int>? { field(.body, fields.body.range) }

    /// Whether the sender waits for an answer.
    package var wantsReply: Bool { present.isSuperset(of: .reply) && fields.reply }
}
