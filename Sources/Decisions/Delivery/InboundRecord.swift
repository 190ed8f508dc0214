// What a receiver keeps of each item, apart from its body: until its handler has returned, and then until the sender
// has written down how it ended.

package import TandemBase
package import TandemWire

/// Where a received item stands.
package enum InboundPhase: Sendable, Equatable {
    /// Durable here, waiting for its turn.
    case waiting
    /// Given to the handler, which has not returned.
    case handing
    /// Ended; the sender has perhaps not heard.
    case finished(Outcome)
}

/// An item of an inbound ledger without its body.
package struct InboundRecord: Sendable, Equatable {
    /// The order of arrival; local to this ledger and never used again.
    package let ordinal: UInt64
    /// Nil for a gap: its item never came.
    package let id: UniqueIdentifier?
    /// The sender's number in the current epoch; nil once an epoch has passed over it or the sender has settled it.
    package internal(set) var sequence: UInt64?
    /// Bytes of the body.
    package let size: Int
    /// In the ledger's time; nil if its sender told none.
    package internal(set) var expiresAt: Int64?
    /// Which handler is meant; nil for the usual one.
    package internal(set) var topic: String?
    /// The revision of a context.
    package internal(set) var revision: UInt64?
    /// When its sender accepted it, in the ledger's time, which may be before the ledger began; nil if it told no age.
    package internal(set) var acceptedAt: Int64?
    /// Times it was given to the handler.
    package internal(set) var attempts = 0
    package internal(set) var phase = InboundPhase.waiting

    init(ordinal: UInt64, id: UniqueIdentifier?, sequence: UInt64?, size: Int, expiresAt: Int64?) {
        self.ordinal = ordinal
        self.id = id
        self.sequence = sequence
        self.size = size
        self.expiresAt = expiresAt
    }

    /// Whether how it ends is still open.
    package var isUnfinished: Bool { if case .finished = phase { false } else { true } }

    /// Whether it failed here and waits, with its body, for an operator. A gap that its sender calls dead was never handed over.
    package var isDeadLetter: Bool { phase == .finished(.withdrawn(.dead)) && attempts > 0 }
}

/// What a receiver keeps of a ledger as a whole.
package struct InboundHeader: Sendable, Equatable {
    package internal(set) var epoch: UInt64
    package internal(set) var nextOrdinal: UInt64 = 1
    /// Every sequence up to this one has been stored, or is a gap.
    package internal(set) var watermark: UInt64 = 0
    var clock: QueueClock.Mark

    /// The header of a new ledger.
    package init(epoch: UInt64, at reading: Reading) {
        self.epoch = epoch
        clock = QueueClock.Mark(milliseconds: 0, wall: reading.wall.milliseconds)
    }

    init(epoch: UInt64, nextOrdinal: UInt64, watermark: UInt64, clock: QueueClock.Mark) {
        self.epoch = epoch
        self.nextOrdinal = nextOrdinal
        self.watermark = watermark
        self.clock = clock
    }
}
