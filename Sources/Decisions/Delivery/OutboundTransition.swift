// The answer of an outbound queue to an event: changes to commit together, and effects to run after that commit, in
// their order. A transition without changes waits for the commits before it all the same.

package import TandemBase
package import TandemWire

/// An item to be sent now.
package struct OutboundDispatch: Sendable, Equatable {
    package let ordinal: UInt64
    package let sequence: UInt64
    package let id: UniqueIdentifier
    /// Time since the item was accepted, in milliseconds.
    package let age: Int64
    /// Time until it expires, in milliseconds.
    package let remaining: Int64
    /// 1 for the first attempt.
    package let attempt: Int
    package let topic: String?
    package let revision: UInt64?
    /// The body, if it is at hand; otherwise it is in the row (`outboundPayload`, `ordinal`).
    package let payload: [UInt8]?
}

/// What to do once a transition's changes are durable. There is none for an accepted item: its submitter waits for the commit
/// itself, also of a transition without effects.
package enum OutboundEffect: Sendable, Equatable {
    /// An `item` frame for the peer.
    case send(OutboundDispatch)
    /// A `gap` frame: the item of this sequence will not come, or should not be handled any more.
    case sendGap(sequence: UInt64, GapReason)
    /// An `outcomeAck` frame: the outcome is durable here, the peer may forget it.
    case sendOutcomeAck(sequence: UInt64)
    /// The item is durable at the peer.
    case stored(UniqueIdentifier)
    /// The item has ended, with the peer's refusal if that explains it; `forget` once its submitter has acknowledged that.
    case finished(UniqueIdentifier, Outcome, ItemRefusal?)
    /// The item's file is not needed any more (FIL-14).
    case released(UniqueIdentifier)
    /// The context has to be enqueued again: the peer may have lost it with its epoch.
    case setContextAgain
    /// The numbers of this device and its peer contradict each other: a store was restored. Start a new epoch of the pairing.
    case startEpoch
    /// The peer acknowledged what was never sent; the link should be closed.
    case violation
}

/// The answer of an outbound queue to an event.
package struct OutboundTransition: Sendable, Equatable {
    package internal(set) var changes: [DeliveryChange] = []
    package internal(set) var effects: [OutboundEffect] = []

    init(changes: [DeliveryChange] = [], effects: [OutboundEffect] = []) {
        self.changes = changes
        self.effects = effects
    }

    /// Nothing changes and nothing is to be done.
    package init() {}
}

/// The result of taking an item back.
package enum Cancellation: Sendable, Equatable {
    /// It will never be handled.
    case cancelled
    /// It was sent: the peer decides, and `finished` reports its decision.
    case asked
    /// It had ended before.
    case tooLate(Outcome)
    /// No such item.
    case unknown
    /// The store could not write it; the item is as it was.
    case notStored
}

/// The result of setting a context.
package enum ContextUpdate: Sendable, Equatable {
    /// It is a new revision.
    case set(revision: UInt64)
    /// Its bytes equal those of this revision, which stays.
    case unchanged(revision: UInt64)
}
