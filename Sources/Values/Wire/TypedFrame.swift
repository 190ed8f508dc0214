// Frames that are not only forwarded, as values without a question mark on what their kind must have (FRM-10): who gets
// an envelope checks once who may send its kind (`FrameKind.mayBeSent(by:)`), switches over the kinds of its part, and
// makes the kind's frame of it:
//
//     case .item: receive(try ItemFrame(envelope))
//
// A frame that is sent is made of its values and written by `frame()`. What FRM-10 says of a frame is in its fields and
// in the two members that read and write them, and nowhere else.

package import TandemBase
package import TandemPropertyList

/// The values of a frame of one kind.
package protocol TypedFrame: Sendable {
    /// Reads an envelope of the kind.
    /// - Throws: ``WireError`` for a word that the kind does not have, or a body that does not read. Which keys there
    ///   are was proved when the envelope was read.
    init(_ envelope: Envelope) throws(WireError)

    /// The frame's envelope.
    var envelope: Envelope { get throws(WireError) }
}

extension TypedFrame {
    /// The frame's bytes.
    package func frame(limit: Int = Limits.frame) throws(WireError) -> Frame { try envelope.frame(limit: limit) }
}

/// Which item a frame is about: its queue and its identifier.
package struct ItemKey: Sendable, Hashable {
    package let queue: QueueKey
    package let id: UniqueIdentifier

    package init(_ queue: QueueKey, _ id: UniqueIdentifier) {
        self.queue = queue
        self.id = id
    }
}

extension Envelope {
    /// An envelope about a queue.
    init(_ kind: FrameKind, _ queue: QueueKey) {
        self.init(kind, app: queue.app, pairing: queue.pairing, channel: queue.channel)
    }

    /// An envelope about an item.
    init(_ kind: FrameKind, _ item: ItemKey) {
        self.init(
            kind, app: item.queue.app, pairing: item.queue.pairing, id: item.id, channel: item.queue.channel)
    }

    /// The queue that a frame is about.
    func queue() throws(WireError) -> QueueKey {
        QueueKey(pairing: try required(.pairing), app: try required(.app), channel: try required(.channel))
    }

    /// The item that a frame is about.
    func item() throws(WireError) -> ItemKey { ItemKey(try queue(), try required(.id)) }
}

// MARK: failure

/// A `failure`: what it answers, and why that cannot be. With a channel it answers an item or a submission, without one
/// a message.
package struct FailureFrame: TypedFrame {
    package let app: ApplicationIdentifier
    package let pairing: UniqueIdentifier
    package let id: UniqueIdentifier
    /// The channel of the item that it answers; nil: it answers a message.
    package let channel: Channel?
    /// A number of SES-20; a newer peer's may be unknown.
    package let code: Int
    package let name: String?
    package let body: PropertyListDictionary

    /// The item that it answers; nil: it answers a message.
    package var item: ItemKey? {
        channel.map { ItemKey(QueueKey(pairing: pairing, app: app, channel: $0), id) }
    }

    /// The failure that answers an item or its submission.
    package init(
        of item: ItemKey, code: SessionError.Code, name: String? = nil, body: PropertyListDictionary = [:]
    ) {
        app = item.queue.app
        pairing = item.queue.pairing
        id = item.id
        channel = item.queue.channel
        self.code = code.rawValue
        self.name = name
        self.body = body
    }

    /// The same with an error's facts.
    package init(of item: ItemKey, _ error: SessionError) {
        self.init(of: item, code: error.code, name: error.name, body: error.failureBody)
    }

    package init(_ envelope: Envelope) throws(WireError) {
        app = try envelope.required(.app)
        pairing = try envelope.required(.pairing)
        id = try envelope.required(.id)
        channel = try envelope.optional(.channel)
        code = try envelope.required(.code)
        name = try envelope.optional(.name)
        // The code says enough: facts that do not read are none, and no reason to end the link.
        body = (try? envelope.dictionaryBody()) ?? [:]
    }

    package var envelope: Envelope {
        get throws(WireError) {
            try Envelope(.failure, app: app, pairing: pairing, id: id, channel: channel, code: code, name: name)
                .with(body: body)
        }
    }
}
