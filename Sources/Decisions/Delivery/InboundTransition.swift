// What an inbound ledger answers to an event: changes to commit together, and effects to run after that commit, in
// their order. A transition without changes waits for the commits before it all the same: an acknowledgement must not
// pass the commit that it rests on.

package import TandemBase
package import TandemWire

/// An item as it came from the link.
package struct ArrivedItem: Sendable, Equatable {
    package let sequence: UInt64
    package let id: UniqueIdentifier
    package let payload: [UInt8]
    /// Time until it expires; nil if the sender told none.
    package var remaining: Duration?
    /// Time since its sender accepted it; nil if it did not tell.
    package var age: Duration?
    package var topic: String?
    /// The revision of a context.
    package var revision: UInt64?

    package init(
        sequence: UInt64, id: UniqueIdentifier, payload: [UInt8], remaining: Duration? = nil, age: Duration? = nil,
        topic: String? = nil, revision: UInt64? = nil
    ) {
        self.sequence = sequence
        self.id = id
        self.payload = payload
        self.remaining = remaining
        self.age = age
        self.topic = topic
        self.revision = revision
    }
}

/// An item for the handler. Answer with `handled`, `rejected` or `failed` and its ordinal.
package struct InboundDelivery: Sendable, Equatable {
    package let ordinal: UInt64
    package let id: UniqueIdentifier
    /// 1 for the first attempt; above it the handler may have seen the item before.
    package let attempt: Int
    package let topic: String?
    package let revision: UInt64?
    /// Time since its sender accepted it, and until it expires; nil if the sender did not tell.
    package let age: Duration?
    package let remaining: Duration?
    /// The body, if it is at hand; otherwise it is in the row (`inboundPayload`, `ordinal`).
    package let payload: [UInt8]?

    package var isRedelivery: Bool { attempt > 1 }
}

/// What to do once a transition's changes are durable. Frames are dropped while there is no link: `linkOpened` repeats
/// them.
package enum InboundEffect: Sendable, Equatable {
    /// A `stored` frame.
    case acknowledge(through: UInt64)
    /// An `outcome` frame.
    case report(sequence: UInt64, Outcome)
    /// Give the item to the handler.
    case hand(InboundDelivery)
    /// The item came before its predecessors and was dropped; it will come again.
    case droppedAhead
    /// The ledger is full and the item was dropped without an answer; it will come again.
    case droppedFull
    /// The item's file is not needed any more, unless another item has its identifier (FIL-14).
    case released(UniqueIdentifier)
    /// The item failed too often and waits for an operator.
    case deadLetter(ordinal: UInt64)
    /// The attempts that were counted ahead for these are durable; to be given back to the ledger. They are named one by
    /// one: an item is counted ahead once, so that this is true even of a ledger that was read back meanwhile.
    case counted(ordinals: [UInt64])
    /// A newer context is durable.
    case contextReceived(revision: UInt64, body: [UInt8])
    /// A context came that is not newer than the one received before; it changed nothing.
    case staleContext(revision: UInt64)
}

/// The answer of an inbound ledger to an event.
package struct InboundTransition: Sendable, Equatable {
    package internal(set) var changes: [DeliveryChange] = []
    package internal(set) var effects: [InboundEffect] = []
    /// What rests on commits that are done, and waits for none: an item for its handler, whose attempt is counted.
    package internal(set) var atOnce: [InboundEffect] = []
}
