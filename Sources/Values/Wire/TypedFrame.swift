// Frames that are not only forwarded, as values whose required fields are not optional (FRM-10). The receiver of an
// envelope checks once that its sender may send the kind (`FrameKind.mayBeSent(by:)`), switches over the kinds of its
// part, and makes the kind's frame of it:
//
//     case .item: receive(try ItemFrame(envelope))
//
// A frame that is sent is made of its values and written by `frame()`. The rules of FRM-10 for a frame are in its
// fields and in the two members that read and write them, and nowhere else.

package import TandemBase
package import TandemPropertyList

/// The values of a frame of one kind.
package protocol TypedFrame: Sendable {
    /// Reads an envelope of the kind.
    /// - Throws: ``WireError`` for a word that the kind does not have, or a body that does not read. Which keys there
    ///   are was proved when the envelope was read.
    init(_ envelope: borrowing Envelope) throws(WireError)

    /// The frame's envelope.
    var envelope: Envelope { get throws(WireError) }
}

extension TypedFrame {
    /// The frame's bytes.
    package func frame(limit: Int = Limits.frame) throws(WireError) -> Frame { try envelope.frame(limit: limit) }
}

/// A frame of any kind, for code that treats all alike.
extension Envelope: TypedFrame {
    package init(_ envelope: Envelope) { self = envelope }

    package var envelope: Envelope { self }
}

/// Which item a frame is about: its queue and its identifier.
package struct ItemKey: Sendable, Hashable {
    package let queue: QueueKey
    package let id: UniqueIdentifier

    package init(_ queue: QueueKey, _ id: UniqueIdentifier) {
        (self.queue, self.id) = (queue, id)
    }
}

extension Envelope {
    /// An envelope about a message.
    init(_ kind: FrameKind, app: ApplicationIdentifier, pairing: UniqueIdentifier, id: UniqueIdentifier) {
        self.init(kind)
        set(.application(app), of: .app)
        set(.identifier(pairing), of: .pairing)
        set(.identifier(id), of: .id)
    }

    /// An envelope about a queue.
    init(_ kind: FrameKind, _ queue: QueueKey) {
        self.init(kind)
        set(.application(queue.app), of: .app)
        set(.identifier(queue.pairing), of: .pairing)
        set(.channel(queue.channel), of: .channel)
    }

    /// An envelope about an item.
    init(_ kind: FrameKind, _ item: ItemKey) {
        self.init(kind, item.queue)
        set(.identifier(item.id), of: .id)
    }

    /// The queue that a frame is about.
    package func queue() throws(WireError) -> QueueKey {
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
    private let facts: Result<PropertyListDictionary, WireError>

    /// The item that it answers; nil: it answers a message.
    package var item: ItemKey? {
        channel.map { ItemKey(QueueKey(pairing: pairing, app: app, channel: $0), id) }
    }

    /// The code says enough: facts that do not read are none, and no reason to end the link.
    package var body: PropertyListDictionary { (try? facts.get()) ?? [:] }

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
        facts = .success(body)
    }

    /// The same with an error's facts.
    package init(of item: ItemKey, _ error: SessionError) {
        self.init(of: item, code: error.code, name: error.wireName, body: error.failureBody)
    }

    /// The failure that answers a message.
    package init(
        app: ApplicationIdentifier, pairing: UniqueIdentifier, id: UniqueIdentifier, _ error: SessionError
    ) {
        (self.app, self.pairing, self.id) = (app, pairing, id)
        channel = nil
        code = error.code.rawValue
        name = error.wireName
        facts = .success(error.failureBody)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        app = try envelope.required(.app)
        pairing = try envelope.required(.pairing)
        id = try envelope.required(.id)
        channel = try envelope.optional(.channel)
        code = try envelope.required(.code)
        name = try envelope.optional(.name)
        facts = Result { () throws(WireError) in try envelope.dictionaryBody() }
    }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(.failure, app: app, pairing: pairing, id: id)
            (envelope[.channel], envelope[.code], envelope[.name]) = (channel, code, name)
            return try envelope.with(body: body)
        }
    }

    /// The error that it carries. An unknown number becomes ``SessionError/Code/genericError`` with the number in its
    /// text: a caller always gets an error that it can name.
    /// - Throws: ``WireError`` if its facts do not read.
    package func error() throws(WireError) -> SessionError {
        let fields = BodyFields(try facts.get())
        let known = SessionError.Code(rawValue: code)
        let text = try fields.optionalString(BodyKey.text) ?? "the other side gave no text"
        return SessionError(
            known ?? .genericError, name: name, reason: known == nil ? "unknown error \(code): \(text)" : text,
            actual: try fields.optionalInteger(BodyKey.actual).map { Int($0) },
            limit: try fields.optionalInteger(BodyKey.limit).map { Int($0) },
            keyPath: try fields.optionalString(BodyKey.path), messageID: id,
            isRetryable: try fields.optional(BodyKey.retry, "a boolean", \.booleanValue))
    }
}

// MARK: upkeep

/// A `ping`, or the `pong` that answers it with its identifier.
package struct PingFrame: TypedFrame {
    package let kind: FrameKind
    package let id: UniqueIdentifier?
    /// The sender's wall clock, in a ping that tells it to the other device (SES-86).
    package let clock: WallTime?

    /// An extension and no key of the table: a release before passes over it, where it would refuse a key.
    private static let clockWord = "x-clock"

    package init(id: UniqueIdentifier? = nil, clock: WallTime? = nil) {
        (kind, self.id, self.clock) = (.ping, id, clock)
    }

    private init(answering ping: PingFrame) { (kind, id, clock) = (.pong, ping.id, nil) }

    package init(_ envelope: borrowing Envelope) {
        (kind, id) = (envelope.kind, envelope[.id])
        clock = envelope.integer(ofExtension: Self.clockWord).map { WallTime(milliseconds: $0) }
    }

    package var envelope: Envelope {
        var envelope = Envelope(kind)
        envelope[.id] = id
        if let clock { envelope.extensions[Self.clockWord] = .integer(clock.milliseconds) }
        return envelope
    }

    package var answer: PingFrame { PingFrame(answering: self) }
}

/// A `bye`: an end closes the connection.
package struct ByeFrame: TypedFrame {
    /// nil: no reason, or a newer peer's word.
    package let name: ByeName?

    package init(_ name: ByeName? = nil) { self.name = name }

    package init(_ envelope: borrowing Envelope) { name = envelope[.name] }

    package var envelope: Envelope {
        var envelope = Envelope(.bye)
        envelope[.name] = name
        return envelope
    }
}

/// The names of `bye` (SES-18, SES-19, PAR-13).
package enum ByeName: String, EnvelopeWord {
    case stopping
    case replaced
    case unpaired
}

/// A `join` or `joined`, whose body is a dictionary of Pairing.
package struct JoinFrame: TypedFrame {
    private let kind: FrameKind
    package let body: PropertyListDictionary

    package init(_ kind: FrameKind, _ body: PropertyListDictionary) { (self.kind, self.body) = (kind, body) }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        kind = envelope.kind
        body = try envelope.dictionaryBody()
    }

    package var envelope: Envelope { get throws(WireError) { try Envelope(kind).with(body: body) } }
}
