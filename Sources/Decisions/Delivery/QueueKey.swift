// Which queue: everything durable between two devices is ordered within one (pairing, application, channel) and in
// nothing larger. The epoch is in the queue's header, because it changes while the queue stays.

package import TandemBase
package import TandemWire

/// One direction of one durable channel of an application in a pairing.
package struct QueueKey: Sendable, Hashable {
    package let pairing: UniqueIdentifier
    package let app: ApplicationIdentifier
    package let channel: Channel

    package init(pairing: UniqueIdentifier, app: ApplicationIdentifier, channel: Channel) {
        self.pairing = pairing
        self.app = app
        self.channel = channel
    }
}
