// One step of a message or a durable item on its way through a daemon (CTL-20): what, when, and of which queue, never
// what it carries.

package import TandemBase
package import TandemWire

/// A step that a daemon saw.
package struct TraceEvent: Sendable, Equatable {
    /// What happened, as a stable word.
    package enum Step: String, Sendable, CaseIterable {
        /// Durable here: the sender's app was told so.
        case accepted
        /// Given to the link.
        case sent
        /// Came over the link.
        case arrived
        /// Durable at the receiver: on its side when it acknowledges, on the sender's when that is heard.
        case stored
        /// Given to the app.
        case delivered
        /// The app's handler has returned.
        case handled
        /// The app's reply was passed on.
        case answered
        /// It ended, as `detail` says.
        case ended
        /// It got no further, as `detail` says.
        case failed
        /// Both sides know that it ended.
        case settled
    }

    /// Nil for steps of a queue whose frames name a sequence only.
    package var id: UniqueIdentifier?
    package var step: Step
    package var pairing: UniqueIdentifier
    package var app: ApplicationIdentifier?
    /// Nil for messages.
    package var channel: Channel?
    /// The item's place in its queue, or for `stored` the highest that is meant.
    package var sequence: UInt64?
    /// Whether the item goes from this device to the peer.
    package var isOutbound: Bool
    /// An outcome, or the name of a failure.
    package var detail: String?

    package init(
        _ step: Step, id: UniqueIdentifier? = nil, pairing: UniqueIdentifier, app: ApplicationIdentifier? = nil,
        channel: Channel? = nil, sequence: UInt64? = nil, isOutbound: Bool, detail: String? = nil
    ) {
        self.id = id
        self.step = step
        self.pairing = pairing
        self.app = app
        self.channel = channel
        self.sequence = sequence
        self.isOutbound = isOutbound
        self.detail = detail
    }
}
