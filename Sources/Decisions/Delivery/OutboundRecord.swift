// What a sender keeps of each item, apart from its body: enough to go on after a restart at any point.

package import TandemIdentity

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
    package let expiresAt: Int64
    /// Attempts that the peer refused.
    package internal(set) var attempts = 0
    package internal(set) var phase = OutboundPhase.waiting
    /// Why the item is being taken back, once it was sent; the peer's answer is awaited.
    package internal(set) var withdrawal: GapReason?
}

/// What a sender keeps of a queue as a whole.
package struct OutboundHeader: Sendable, Equatable {
    package internal(set) var epoch: UInt64
    package internal(set) var nextOrdinal: UInt64 = 1
    /// The sequence of the next item to be sent for the first time.
    package internal(set) var nextSequence: UInt64 = 1
    /// Every sequence up to this one is durable at the peer, as an item or a gap.
    package internal(set) var storedThrough: UInt64 = 0
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
