// What an outbound queue answers to an event: changes to commit together, and effects to run after that commit, in
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

/// What to do once a transition's changes are durable. That an item was accepted is none: whoever submitted it waits for the
/// commit itself, also of a transition without effects.
package enum OutboundEffect: Sendable, Equatable {
    /// An `item` frame for the peer.
    case send(OutboundDispatch)
    /// A `gap` frame: the item of this sequence will not come, or should not be handled any more.
    case sendGap(sequence: UInt64, GapReason)
    /// A `settled` frame: the outcome is durable here, the peer may forget it.
    case sendSettled(sequence: UInt64)
    /// The submitter may be told that the item is durable at the peer.
    case stored(UniqueIdentifier)
    /// The submitter may be told how the item ended, with the peer's refusal if that explains it; `forget` once it has
    /// heard.
    case finished(UniqueIdentifier, Outcome, ItemRefusal?)
    /// The item's file is not needed any more (FIL-14).
    case released(UniqueIdentifier)
    /// The context has to be given to the queue again: the peer may have lost it with its epoch.
    case setContextAgain
    /// This device's and its peer's numbers contradict each other: one was restored. Begin a new epoch of the pairing.
    case startEpoch
    /// The peer acknowledged what was never sent; the link should be closed.
    case violation
}

/// The answer of an outbound queue to an event.
package struct OutboundTransition: Sendable, Equatable {
    package internal(set) var changes: [DeliveryChange] = []
    package internal(set) var effects: [OutboundEffect] = []

    init(changes: [DeliveryChange] = [], effects: [OutboundEffect]) {
        self.changes = changes
        self.effects = effects
    }

    /// Nothing changes and nothing is to be done.
    package init() {}
}
