// The frames of durable items between a host app and its daemon (Session SES-48 to SES-52) as values.

package import TandemBase
import TandemPropertyList

/// A `submit`: an item for the counterpart (SES-48).
package struct SubmitFrame: TypedFrame {
    package enum Word: String, EnvelopeWord {
        /// A context becomes a new revision even with the bytes of the last one.
        case always
    }

    /// The kind of an urgent item that names none.
    package static let mainKind = "main"

    package let item: ItemKey
    package let topic: String?
    /// The supersede key: a newer item with the same key replaces this one.
    package let key: String?
    package let after: UniqueIdentifier?
    package let remaining: Duration?
    /// As the channel says: the kind of an urgent item, or a ``Word`` for a context.
    package let name: String?
    package let body: ArraySlice<UInt8>

    package var urgentKind: String { name ?? Self.mainKind }
    package var isAlwaysNew: Bool { name == Word.always.rawValue }

    package init(
        _ item: ItemKey, topic: String? = nil, key: String? = nil, after: UniqueIdentifier? = nil,
        remaining: Duration? = nil, name: String? = nil, body: ArraySlice<UInt8>
    ) {
        (self.item, self.topic, self.key, self.after) = (item, topic, key, after)
        (self.remaining, self.name, self.body) = (remaining, name, body)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        item = try envelope.item()
        topic = try envelope.optional(.topic)
        key = try envelope.optional(.key)
        after = try envelope.optional(.after)
        remaining = try envelope.optional(.remaining)
        name = try envelope.optional(.name)
        body = try envelope.requiredBody()
    }

    package var envelope: Envelope {
        var envelope = Envelope(.submit, item)
        (envelope[.topic], envelope[.key], envelope[.after], envelope[.remaining]) = (topic, key, after, remaining)
        envelope[.name] = name
        envelope.body = body
        return envelope
    }
}

/// An `accepted`: an item is durable here (SES-49).
package struct AcceptedFrame: TypedFrame {
    package enum Note: String, EnvelopeWord {
        /// The context's bytes are those of the last one, which stands.
        case unchanged
        /// The day's urgent items are spent: it waits behind all user info.
        case demoted
    }

    package let item: ItemKey
    package let note: Note?
    /// A context's.
    package let revision: UInt64?

    package init(_ item: ItemKey, note: Note? = nil, revision: UInt64? = nil) {
        (self.item, self.note, self.revision) = (item, note, revision)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        item = try envelope.item()
        // A newer daemon's word says no less than that the item is accepted.
        note = envelope[.name]
        revision = try envelope.optional(.revision)
    }

    package var envelope: Envelope {
        var envelope = Envelope(.accepted, item)
        (envelope[.name], envelope[.revision]) = (note, revision)
        return envelope
    }
}

/// A `progress`: how far an item or its file has come (SES-50, FIL-3, FIL-10).
package struct ProgressFrame: TypedFrame {
    package enum Step: Sendable, Equatable {
        /// Durable at the counterpart's device.
        case stored
        /// The daemon has so many bytes of a file that the app hands over; 0 begins.
        case taking(offset: Int64)
        /// The receiver has written so many bytes of a file; its app gets the file's description.
        case transferred(offset: Int64, IncomingFile?)
        /// A newer daemon's word, or a body that does not read.
        case unknown(String)
    }

    /// A file that is on its way to the app.
    package struct IncomingFile: Sendable, Equatable {
        package let name: String
        package let size: Int64

        package init(name: String, size: Int64) {
            (self.name, self.size) = (name, size)
        }
    }

    private enum Word: String, EnvelopeWord { case stored, taking, transferred }

    package let item: ItemKey
    package let step: Step

    package init(_ item: ItemKey, _ step: Step) {
        (self.item, self.step) = (item, step)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        item = try envelope.item()
        let (name, offset): (String, Int64?) = (try envelope.required(.name), try envelope.optional(.offset))
        switch Word(word: name) {
        case .stored: step = .stored
        case .taking:
            guard let offset else { throw .missingKey(.offset, .progress) }
            step = .taking(offset: offset)
        case .transferred:
            guard let offset else { throw .missingKey(.offset, .progress) }
            // Progress is for display: a file that does not read is no reason to end the connection (FIL-10).
            guard let file = try? Self.file(envelope) else {
                step = envelope.body == nil ? .transferred(offset: offset, nil) : .unknown(name)
                return
            }
            step = .transferred(offset: offset, file)
        case nil: step = .unknown(name)
        }
    }

    private static func file(_ envelope: Envelope) throws(WireError) -> IncomingFile {
        let fields = BodyFields(try envelope.dictionaryBody())
        return IncomingFile(name: try fields.string(BodyKey.name), size: try fields.integer(BodyKey.size))
    }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(.progress, item)
            switch step {
            case .stored: envelope[.name] = Word.stored
            case .taking(let offset): (envelope[.name], envelope[.offset]) = (Word.taking, offset)
            case .transferred(let offset, let file):
                (envelope[.name], envelope[.offset]) = (Word.transferred, offset)
                if let file {
                    return try envelope.with(
                        body: [BodyKey.name: .string(file.name), BodyKey.size: .integer(file.size)])
                }
            case .unknown(let name): envelope[.name] = name
            }
            return envelope
        }
    }
}

/// A `delivery`: an item for its handler (SES-51).
package struct DeliveryFrame: TypedFrame {
    package let item: ItemKey
    package let attempt: Int
    package let topic: String?
    package let age: Duration?
    package let remaining: Duration?
    /// A context's.
    package let revision: UInt64?
    package let body: ArraySlice<UInt8>

    package init(
        _ item: ItemKey, attempt: Int, topic: String? = nil, age: Duration? = nil, remaining: Duration? = nil,
        revision: UInt64? = nil, body: ArraySlice<UInt8>
    ) {
        (self.item, self.attempt, self.topic, self.age) = (item, attempt, topic, age)
        (self.remaining, self.revision, self.body) = (remaining, revision, body)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        item = try envelope.item()
        attempt = try envelope.required(.attempt)
        topic = try envelope.optional(.topic)
        age = try envelope.optional(.age)
        remaining = try envelope.optional(.remaining)
        revision = try envelope.optional(.revision)
        body = try envelope.requiredBody()
    }

    package var envelope: Envelope {
        var envelope = Envelope(.delivery, item)
        (envelope[.attempt], envelope[.topic], envelope[.age], envelope[.remaining]) = (attempt, topic, age, remaining)
        envelope[.revision] = revision
        envelope.body = body
        return envelope
    }
}

/// A `verdict`: what a handler made of an item (SES-51).
package struct VerdictFrame: TypedFrame {
    package enum Verdict: Sendable, Equatable {
        case handled
        /// It comes again after a pause.
        case failed(text: String)
        /// It never comes again; the sender learns the code.
        case rejected(code: Int, text: String)
        /// No handler has begun with it, and none will while its pairing is not the active one (SES-88).
        case later
    }

    private enum Word: String, EnvelopeWord { case handled, failed, rejected, later }

    package let item: ItemKey
    package let verdict: Verdict

    package init(_ item: ItemKey, _ verdict: Verdict) {
        (self.item, self.verdict) = (item, verdict)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        item = try envelope.item()
        let (word, code): (Word, Int?) = (try envelope.required(.name), try envelope.optional(.code))
        // For people only: one that is no text says nothing.
        let text = (try? envelope.dictionaryBody())?[BodyKey.text]?.stringValue ?? ""
        switch (word, code) {
        case (.handled, nil): verdict = .handled
        case (.failed, nil): verdict = .failed(text: text)
        case (.rejected, let code?): verdict = .rejected(code: code, text: text)
        case (.later, nil): verdict = .later
        default: throw .invalidValue(key: EnvelopeKey.code.rawValue, expected: "there for a rejection, and only there")
        }
    }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(.verdict, item)
            switch verdict {
            case .handled:
                envelope[.name] = Word.handled
                return envelope
            case .failed(let text):
                envelope[.name] = Word.failed
                return try envelope.with(body: [BodyKey.text: .string(text.cutForFrame)])
            case .rejected(let code, let text):
                (envelope[.name], envelope[.code]) = (Word.rejected, code)
                return try envelope.with(body: [BodyKey.text: .string(text.cutForFrame)])
            case .later:
                envelope[.name] = Word.later
                return envelope
            }
        }
    }
}

/// A `finished`: how an item of the app ended (SES-50).
package struct FinishedFrame: TypedFrame {
    package let item: ItemKey
    /// The word of an ``Outcome``, or a newer daemon's.
    package let name: String
    /// nil: a newer daemon's word, or a rejection without its code.
    package var outcome: Outcome? {
        name == Outcome.rejectedWord ? code.map { .rejected(code: Int64($0)) } : Outcome(name: name, code: nil)
    }
    package let code: Int?
    /// The name of the other device's last refusal (DEL-25).
    package let refusal: String?

    package init(_ item: ItemKey, _ outcome: Outcome, code: Int64? = nil, refusal: String? = nil) {
        self.item = item
        name = outcome.name
        self.code = (outcome.code ?? code).flatMap { Int(exactly: $0) }
        self.refusal = refusal
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        item = try envelope.item()
        name = try envelope.required(.name)
        code = try envelope.optional(.code)
        // How it ended is known without a body that reads.
        refusal = (try? envelope.dictionaryBody())?[BodyKey.refusal]?.stringValue
    }

    package var envelope: Envelope {
        get throws(WireError) {
            var envelope = Envelope(.finished, item)
            (envelope[.name], envelope[.code]) = (name, code)
            guard let refusal else { return envelope }
            return try envelope.with(body: [BodyKey.refusal: .string(refusal)])
        }
    }
}

/// The app's acknowledgement of a `finished` (SES-50).
package struct FinishedAckFrame: TypedFrame {
    package let item: ItemKey

    package init(_ item: ItemKey) { self.item = item }

    package init(_ envelope: borrowing Envelope) throws(WireError) { item = try envelope.item() }

    package var envelope: Envelope { Envelope(.finishedAck, item) }
}

/// A `context`: the context that an app last sent or received (SES-52).
package struct ContextFrame: TypedFrame {
    package enum Direction: String, EnvelopeWord { case sent, received }

    package let app: ApplicationIdentifier
    package let pairing: UniqueIdentifier
    /// nil: a newer daemon's word.
    package let direction: Direction?
    package let revision: UInt64
    package let body: ArraySlice<UInt8>

    package init(
        app: ApplicationIdentifier, pairing: UniqueIdentifier, _ direction: Direction, revision: UInt64,
        body: ArraySlice<UInt8>
    ) {
        (self.app, self.pairing, self.direction, self.revision) = (app, pairing, direction, revision)
        self.body = body
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        app = try envelope.required(.app)
        pairing = try envelope.required(.pairing)
        direction = envelope[.name]
        revision = try envelope.required(.revision)
        body = try envelope.requiredBody()
    }

    package var envelope: Envelope {
        var envelope = Envelope(.context)
        (envelope[.app], envelope[.pairing], envelope[.name], envelope[.revision]) = (app, pairing, direction, revision)
        envelope.body = body
        return envelope
    }
}
