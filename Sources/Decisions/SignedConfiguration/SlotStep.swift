// Answer of one slot to one event, with what the event has ended: bytes that waited for the app, and deliveries that
// waited for their last verdict.

/// The step of a slot from one state to the next.
package struct SlotStep: Sendable {
    package let key: ConfigurationSlotKey
    package let transition: ApplyTransition
    /// The end of the bytes that had waited for the app; nil if they still wait, or none did.
    package let ended: (digest: [UInt8], verdict: ApplyTransition)?
    /// The deliveries whose last verdict was outstanding before the event, or is taken back by it.
    package let awaiting: Set<ConfigurationDelivery>

    package init(_ transition: ApplyTransition, from before: ConfigurationSlot, to slot: ConfigurationSlot) {
        (key, self.transition, awaiting) = (slot.key, transition, transition.recalled.union(before.awaiting))
        ended = (before.staged?.record.digest).flatMap { digest in
            guard slot.staged?.record.digest != digest else { return nil }
            // The verdict of the event is about the bytes that have taken the place, if there are any.
            let isReplaced = transition.changes.contains { change in
                switch change {
                case .staged(let other?), .counted(let other): other.record.digest != digest
                default: false
                }
            }
            return (digest, isReplaced || transition.verdict == nil ? .superseded : transition)
        }
    }
}
