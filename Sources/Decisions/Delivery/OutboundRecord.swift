// What a sender keeps of each item, apart from its body: enough to go on after a restart at any point.

package import TandemBase
package import TandemWire

/// Which items go first. Key sets and revocations pass configurations, and each other never.
package enum Precedence: UInt8, Sendable, Hashable, CaseIterable {
    case first = 0
    case ordinary = 1
}

/// Where an item stands on its way.
package enum OutboundPhase: Sendable, Equatable {
    /// Durable here, never sent: the sender alone decides about it.
    case waiting
    /// Given this place in the numbering and sent at least once.
    case sent(sequence: UInt64)
    /// Durable at the peer.
    case stored(sequence: UInt64)
    /// Ended; kept until its submitter has heard.
    case finished(Outcome)

    var sequence: UInt64? {
        switch self {
        case .sent(let sequence), .stored(let sequence): sequence
        case .waiting, .finished: nil
        }
    }
}

/// An item of an outbound queue without its body.
package struct OutboundRecord: Sendable, Equatable {
    /// The order of acceptance; local to this queue and never used again.
    package let ordinal: UInt64
    /// The item's identifier, for its submitter and for tracing.
    package let id: UniqueIdentifier
    package let precedence: Precedence
    /// Items with equal keys supersede each other; nil for one that is never superseded.
    package let supersedeKey: [UInt8]?
    /// Bytes of the body.
    package let size: Int
    /// In the queue's time.
    package let acceptedAt: Int64
    package internal(set) var expiresAt: Int64
    /// Which handler of the peer's application is meant; nil for the usual one.
    package internal(set) var topic: String?
    /// The revision of a context.
    package internal(set) var revision: UInt64?
    /// What an urgent item is about; of each kind one is the current one.
    package internal(set) var kind: String?
    package internal(set) var isCurrent = false
    /// The item that has to end before this one is sent, while it has not.
    package internal(set) var after: UniqueIdentifier?
    /// Attempts that the peer refused, and its last refusal.
    package internal(set) var attempts = 0
    package internal(set) var refusal: ItemRefusal?
    package internal(set) var phase = OutboundPhase.waiting
    /// Why the item is being taken back, once it was sent; the peer's answer is awaited.
    package internal(set) var withdrawal: GapReason?
    /// Whether the submitter knows how it ended: what is left is a dead letter, or one that is tried once more.
    package internal(set) var isHeard = false

    init(ordinal: UInt64, _ item: OutboundItem, acceptedAt: Int64, expiresAt: Int64) {
        self.init(
            ordinal: ordinal, id: item.id, precedence: item.precedence, supersedeKey: item.supersedeKey,
            size: item.payload.count, acceptedAt: acceptedAt, expiresAt: expiresAt)
        topic = item.topic
        revision = item.revision
        kind = item.kind
        after = item.after
    }

    init(
        ordinal: UInt64, id: UniqueIdentifier, precedence: Precedence, supersedeKey: [UInt8]?, size: Int,
        acceptedAt: Int64, expiresAt: Int64
    ) {
        self.ordinal = ordinal
        self.id = id
        self.precedence = precedence
        self.supersedeKey = supersedeKey
        self.size = size
        self.acceptedAt = acceptedAt
        self.expiresAt = expiresAt
    }

    /// Whether how it ends is still open.
    package var isUnfinished: Bool { if case .finished = phase { false } else { true } }

    /// Whether its time to live still counts: it has not ended and is not being taken back.
    var canExpire: Bool { isUnfinished && withdrawal == nil }

    /// Whether it failed here and still has its body: one that failed at the peer is a dead letter there.
    package var isDeadLetter: Bool { phase == .finished(.withdrawn(.dead)) && withdrawal == .dead }

    /// What explains the item's end, if its sender gave it up: the peer's last refusal.
    package var endingRefusal: ItemRefusal? { phase == .finished(.withdrawn(.dead)) ? refusal : nil }
}

/// What a sender keeps of a queue as a whole.
package struct OutboundHeader: Sendable, Equatable {
    package internal(set) var epoch: UInt64
    package internal(set) var nextOrdinal: UInt64 = 1
    /// The sequence of the next item to be sent for the first time.
    package internal(set) var nextSequence: UInt64 = 1
    /// Every sequence up to this one is durable at the peer, as an item or a gap.
    package internal(set) var storedThrough: UInt64 = 0
    /// The epoch in which the last context was given to the queue; nil if there is none, or if it ended unhandled.
    package internal(set) var contextEpoch: UInt64?
    var clock: QueueClock.Mark

    /// The header of a new queue.
    package init(epoch: UInt64, at reading: Reading) {
        self.epoch = epoch
        clock = QueueClock.Mark(milliseconds: 0, wall: reading.wall.milliseconds)
    }

    init(epoch: UInt64, nextOrdinal: UInt64, nextSequence: UInt64, storedThrough: UInt64, clock: QueueClock.Mark) {
        self.epoch = epoch
        self.nextOrdinal = nextOrdinal
        self.nextSequence = nextSequence
        self.storedThrough = storedThrough
        self.clock = clock
    }
}
