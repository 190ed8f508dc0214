// The frames of durable items between two daemons (Delivery, Files) as values.

/// An `item`: one durable item on its way (DEL-2).
package struct ItemFrame: TypedFrame {
    package let item: ItemKey
    package let sequence: UInt64
    package let age: Duration?
    package let remaining: Duration?
    package let attempt: Int?
    package let topic: String?
    /// A context has one (DEL-19).
    package let revision: UInt64?
    package let body: ArraySlice<UInt8>

    package init(
        _ item: ItemKey, sequence: UInt64, age: Duration? = nil, remaining: Duration? = nil, attempt: Int? = nil,
        topic: String? = nil, revision: UInt64? = nil, body: ArraySlice<UInt8>
    ) {
        (self.item, self.sequence, self.age, self.remaining) = (item, sequence, age, remaining)
        (self.attempt, self.topic, self.revision, self.body) = (attempt, topic, revision, body)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        item = try envelope.item()
        sequence = try envelope.required(.sequence)
        age = try envelope.optional(.age)
        remaining = try envelope.optional(.remaining)
        attempt = try envelope.optional(.attempt)
        topic = try envelope.optional(.topic)
        revision = try envelope.optional(.revision)
        body = try envelope.requiredBody()
        if item.queue.channel.properties.isLatestWins, revision == nil { throw .missingKey(.revision, .item) }
    }

    package var envelope: Envelope {
        var envelope = Envelope(.item, item)
        (envelope[.sequence], envelope[.age], envelope[.remaining], envelope[.attempt]) = (
            sequence, age, remaining, attempt
        )
        (envelope[.topic], envelope[.revision]) = (topic, revision)
        envelope.body = body
        return envelope
    }
}

/// A `gap`: an item that will not come (DEL-6).
package struct GapFrame: TypedFrame {
    package let queue: QueueKey
    package let sequence: UInt64
    package let reason: GapReason

    package init(_ queue: QueueKey, sequence: UInt64, _ reason: GapReason) {
        (self.queue, self.sequence, self.reason) = (queue, sequence, reason)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        queue = try envelope.queue()
        sequence = try envelope.required(.sequence)
        reason = try envelope.required(.name)
    }

    package var envelope: Envelope {
        var envelope = Envelope(.gap, queue)
        (envelope[.sequence], envelope[.name]) = (sequence, reason)
        return envelope
    }
}

/// A `stored`, the receiver's watermark (DEL-4), or an `outcomeAck`, the sender's acknowledgement of an outcome
/// (DEL-7).
package struct PositionFrame: TypedFrame {
    private let kind: FrameKind
    package let queue: QueueKey
    package let sequence: UInt64

    private init(_ kind: FrameKind, _ queue: QueueKey, _ sequence: UInt64) {
        (self.kind, self.queue, self.sequence) = (kind, queue, sequence)
    }

    package static func stored(_ queue: QueueKey, through sequence: UInt64) -> PositionFrame {
        PositionFrame(.stored, queue, sequence)
    }

    package static func outcomeAck(_ queue: QueueKey, of sequence: UInt64) -> PositionFrame {
        PositionFrame(.outcomeAck, queue, sequence)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        kind = envelope.kind
        queue = try envelope.queue()
        sequence = try envelope.required(.sequence)
    }

    package var envelope: Envelope {
        var envelope = Envelope(kind, queue)
        envelope[.sequence] = sequence
        return envelope
    }
}

/// An `outcome`: how an item ended at its receiver (DEL-5).
package struct OutcomeFrame: TypedFrame {
    package let queue: QueueKey
    package let sequence: UInt64
    package let outcome: Outcome

    package init(_ queue: QueueKey, sequence: UInt64, _ outcome: Outcome) {
        (self.queue, self.sequence, self.outcome) = (queue, sequence, outcome)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        queue = try envelope.queue()
        sequence = try envelope.required(.sequence)
        guard let outcome = Outcome(name: try envelope.required(.name), code: try envelope.optional(.code)) else {
            throw .invalidValue(key: EnvelopeKey.name.rawValue, expected: "an outcome")
        }
        self.outcome = outcome
    }

    package var envelope: Envelope {
        var envelope = Envelope(.outcome, queue)
        (envelope[.sequence], envelope[.name], envelope[.code]) = (sequence, outcome.name, outcome.code)
        return envelope
    }
}

/// A `chunk`: a part of a file, from an app to its daemon or over a link (FIL-3, FIL-7).
package struct ChunkFrame: TypedFrame {
    package let item: ItemKey
    /// The first byte; it fits Int64, as every integer on the wire.
    package let offset: Int64
    package let body: ArraySlice<UInt8>

    package init(of item: ItemKey, at offset: Int64, _ body: ArraySlice<UInt8>) {
        (self.item, self.offset, self.body) = (item, offset, body)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        item = try envelope.item()
        offset = try envelope.required(.offset)
        body = try envelope.requiredBody()
    }

    package var envelope: Envelope {
        var envelope = Envelope(.chunk, item)
        envelope[.offset] = offset
        envelope.body = body
        return envelope
    }
}

/// The receiver of a file asks for its bytes from an offset on (FIL-6).
package struct FetchFrame: TypedFrame {
    package enum Word: String, EnvelopeWord {
        /// The bytes before the offset count as not sent.
        case restart
    }

    package let item: ItemKey
    package let offset: Int64
    package let isRestart: Bool

    package init(of item: ItemKey, from offset: Int64, isRestart: Bool = false) {
        (self.item, self.offset, self.isRestart) = (item, offset, isRestart)
    }

    package init(_ envelope: borrowing Envelope) throws(WireError) {
        item = try envelope.item()
        offset = try envelope.required(.offset)
        let word: Word? = try envelope.optional(.name)
        isRestart = word == .restart
    }

    package var envelope: Envelope {
        var envelope = Envelope(.fetch, item)
        envelope[.offset] = offset
        envelope[.name] = isRestart ? Word.restart : nil
        return envelope
    }
}
