// The answer of an inbound ledger to an event: changes to commit together, and effects to run after that commit, in
// their order. A transition without changes waits for the commits before it all the same: an acknowledgement must not
// pass the commit that it rests on.

package import TandemBase
package import TandemWire

/// What to do once a transition's changes are durable. Frames are dropped while there is no link: `linkOpened` repeats
/// them.
package enum InboundEffect: Sendable, Equatable {
    /// A `stored` frame.
    case acknowledge(through: UInt64)
    /// An `outcome` frame.
    case report(sequence: UInt64, Outcome)
    /// Deliver the item to its handler.
    case deliver(ReceivedItem)
    /// The same for an item without its payload, which is in its row (`inboundPayload`, `ordinal`).
    case deliverStored(ReceivedItem)
    /// The item came before its predecessors and was dropped; it will come again.
    case droppedAhead
    /// The ledger is full and the item was dropped without an answer; it will come again.
    case droppedFull
    /// The item's file is not needed any more, unless another item has its identifier (FIL-14).
    case released(UniqueIdentifier)
    /// The item failed too often and waits for an operator.
    case deadLetter(ordinal: UInt64)
    /// The attempts that were counted ahead for these are durable; the ledger has to be notified. They are named one by one: an item
    /// is counted ahead once, so that this is true even of a ledger that was restored meanwhile.
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
    /// Effects that rest on commits that are done, and wait for none: an item for its handler, whose attempt is counted.
    package internal(set) var atOnce: [InboundEffect] = []

    init(changes: [DeliveryChange] = [], effects: [InboundEffect] = []) {
        self.changes = changes
        self.effects = effects
    }
}
