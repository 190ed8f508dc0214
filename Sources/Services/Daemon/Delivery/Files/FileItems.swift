// What files need of the durable channels, and no more: the exchange of items keeps them, and a test can stand in.

package import TandemBase
import TandemDelivery
package import TandemWire

/// The items of the channel `file`, whose bytes a ``FileExchange`` moves; on its loop.
package protocol FileItems: AnyObject {
    /// Whether this item would be stored now, and not dropped or answered as a repetition (DEL-3).
    func wouldStore(_ item: Envelope, in queue: QueueKey) -> Bool

    /// Takes the frame of an item whose file is complete, or of a gap.
    /// - Returns: false for a frame that does not read.
    func receive(_ envelope: Envelope) -> Bool

    /// Whether an item of this identifier was accepted before.
    func hasAccepted(_ id: UniqueIdentifier, in queue: QueueKey) -> Bool

    /// Whether an item of this identifier was sent, is not stored by the peer, and is not being taken back.
    func isUnderWay(_ id: UniqueIdentifier, in queue: QueueKey) -> Bool

    /// The file of an item that was sent cannot be read.
    func fileIsUnreadable(_ id: UniqueIdentifier, in queue: QueueKey)

    /// Tells the received items whose files must stay, once everything that has happened so far is durable; nil if it
    /// could not be made so.
    func keptFiles(of queue: QueueKey, then done: @escaping (Set<UniqueIdentifier>?) -> Void)
}

/// Somebody of this device who hands over a file: a host app's connection.
package protocol FileSource: AnyObject {
    /// Sends a frame to the app; nothing after its end.
    func tell(_ envelope: Envelope)
}

/// What an exchange of files needs of the daemon around it; on its loop.
package protocol FileExchangeDelegate: AnyObject {
    /// Sends over the pairing's link; dropped without one.
    func files(_ files: FileExchange, send envelope: Envelope, over pairing: UniqueIdentifier)

    /// Sends to the app that receives for this identifier; dropped if it is not connected.
    func files(_ files: FileExchange, tell envelope: Envelope, to app: ApplicationIdentifier)

    /// An item whose file had come is with the durable channels now.
    func files(_ files: FileExchange, completed app: ApplicationIdentifier)

    /// The app's own directory, and its user if that is not the daemon's.
    func files(_ files: FileExchange, inboxOf app: ApplicationIdentifier) -> FileInbox?
}
