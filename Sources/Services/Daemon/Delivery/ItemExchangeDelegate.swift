// What the exchange of durable items needs of the daemon around it: the links, the epochs, and whoever takes the items.

package import TandemBase
package import TandemDelivery
package import TandemWire

/// A durable item that arrived and waits for its handler.
package struct ReceivedItem: Sendable, Equatable {
    package let queue: QueueKey
    package let id: UniqueIdentifier
    /// Names the item in ``ItemExchange/handled(_:in:)``.
    package let ordinal: UInt64
    /// 1 for the first time; above it the handler may have seen the item before.
    package let attempt: Int
    /// Which handler is meant; nil for the usual one.
    package let topic: String?
    /// The revision of a context.
    package let revision: UInt64?
    /// Time since its sender accepted it, and until it expires; nil if the sender did not tell.
    package let age: Duration?
    package let remaining: Duration?
    package let payload: [UInt8]
}

/// Serves an item exchange; on its loop.
package protocol ItemExchangeDelegate: AnyObject {
    /// Sends over the pairing's link; a frame for a pairing without a link is dropped, since opening one repeats it.
    func exchange(_ exchange: ItemExchange, send envelope: Envelope, over pairing: UniqueIdentifier)

    /// An item for its handler. Answer with ``ItemExchange/handled(_:in:)``, ``ItemExchange/rejected(_:code:in:)`` or
    /// ``ItemExchange/failed(_:in:)``, now or later.
    func exchange(_ exchange: ItemExchange, received item: ReceivedItem)

    /// An item that this device submitted is durable at the peer.
    func exchange(_ exchange: ItemExchange, item id: UniqueIdentifier, storedIn queue: QueueKey)

    /// An item that this device submitted has ended, with the peer's refusal if that explains it. Of an
    /// application's channels it is kept until ``ItemExchange/forget(_:in:)``.
    func exchange(
        _ exchange: ItemExchange, item id: UniqueIdentifier, in queue: QueueKey, ended outcome: Outcome,
        _ refusal: ItemRefusal?)

    /// The file of an item is not needed any more: it was stored by the peer, has ended, or was a dead letter that is gone.
    func exchange(
        _ exchange: ItemExchange, releasedFileOf id: UniqueIdentifier, in queue: QueueKey,
        _ direction: DeliveryDirection)

    /// A context has changed, and is durable here.
    func exchange(_ exchange: ItemExchange, changed context: ContextStanding)

    /// One of the two stores was restored: the pairing needs a new epoch (DEL-10).
    func exchange(_ exchange: ItemExchange, needsEpochOf pairing: UniqueIdentifier)

    /// The peer acknowledged what was never sent (DEL-13).
    func exchange(_ exchange: ItemExchange, violationBy pairing: UniqueIdentifier)
}
