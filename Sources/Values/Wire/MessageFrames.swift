// Messages, their answers and registrations as values, for the ends of their way: what is only forwarded is passed on
// by its ``EnvelopeHead``.

package import TandemBase
package import TandemPropertyList

/// A `message`, a `messageData` or a `configuration`, for the app that it is for, or a `reply`; a `failure` that
/// answers a message is a ``FailureFrame`` without a channel.
package struct MessageFrame: TypedFrame {
    package let kind: FrameKind
    package let app: ApplicationIdentifier
    package let pairing: UniqueIdentifier
    package let id: UniqueIdentifier
    private let reply: Bool?
    package let deadline: Duration?
    package let topic: String?
    package let body: ArraySlice<UInt8>

    package init(
        _ kind: FrameKind, app: ApplicationIdentifier, pairing: UniqueIdentifier, id: UniqueIdentifier,
        reply: Bool? = nil, deadline: Duration? = nil, topic: String? = nil, body: ArraySlice<UInt8>
    ) {
        (self.kind, self.app, self.pairing, self.id) = (kind, app, pairing, id)
        (self.reply, self.deadline, self.topic, self.body) = (reply, deadline, topic, body)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        kind = envelope.kind
        app = try envelope.required(.app)
        pairing = try envelope.required(.pairing)
        id = try envelope.required(.id)
        reply = try envelope.optional(.reply)
        deadline = try envelope.optional(.deadline)
        topic = try envelope.optional(.topic)
        body = try envelope.requiredBody()
    }

    /// Whether the sender waits for an answer.
    package var wantsReply: Bool { reply ?? false }

    package var envelope: Envelope {
        var envelope = Envelope(kind, app: app, pairing: pairing, id: id)
        (envelope[.reply], envelope[.deadline], envelope[.topic]) = (reply, deadline, topic)
        envelope.body = body
        return envelope
    }
}

/// A `register`, `registered`, `state` or `application`: what is said of an application, as a dictionary.
package struct ApplicationFrame: TypedFrame {
    package let kind: FrameKind
    package let app: ApplicationIdentifier
    package let body: PropertyListDictionary

    package init(_ kind: FrameKind, _ app: ApplicationIdentifier, _ body: PropertyListDictionary) {
        (self.kind, self.app, self.body) = (kind, app, body)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        kind = envelope.kind
        app = try envelope.required(.app)
        body = try envelope.dictionaryBody()
    }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(kind)
            envelope[.app] = app
            return try envelope.with(body: body)
        }
    }
}
