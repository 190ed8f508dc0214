// What the exchange of durable items needs of the daemon around it: the links, the epochs, and whoever takes the items.

package import TandemDelivery
package import TandemIdentity
package import TandemWire

/// A durable item that arrived and waits for its handler.
package struct ReceivedItem: Sendable, Equatable {
    package let queue: QueueKey
    package let id: UniqueIdentifier
    /// Names the item in ``ItemExchange/handled(_:in:)``.
    package let ordinal: UInt64
    /// 1 for the first time; above it the handler may have seen the item before.
    package let attempt: Int
    package let payload: [UInt8]
}

/// Serves an item exchange; on its loop.
package protocol ItemExchangeDelegate: AnyObject {
    /// Sends over the pairing's link; a frame for a pairing without a link is dropped, since opening one repeats it.
    func exchange(_ exchange: ItemExchange, send envelope: Envelope, over pairing: UniqueIdentifier)

    /// An item for its handler. Answer with ``ItemExchange/handled(_:in:)``, now or later.
    func exchange(_ exchange: ItemExchange, received item: ReceivedItem)

    /// An item that this device submitted has ended.
    func exchange(_ exchange: ItemExchange, item id: UniqueIdentifier, in queue: QueueKey, ended outcome: Outcome)

    /// One of the two stores was restored: the pairing needs a new epoch (DEL-10).
    func exchange(_ exchange: ItemExchange, needsEpochOf pairing: UniqueIdentifier)

    /// The peer acknowledged what was never sent (DEL-13).
    func exchange(_ exchange: ItemExchange, violationBy pairing: UniqueIdentifier)
}
