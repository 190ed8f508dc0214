// What handlers of durable items get.

public import TandemBase
public import TandemPropertyList
import TandemWire

/// What is told of every durable item besides its content.
public struct ItemFacts: Sendable {
    /// The item's identifier, the same on both devices and each time it is given.
    public let id: UniqueIdentifier
    /// The pairing that it came through.
    public let pairing: UniqueIdentifier
    /// 1 for the first time.
    public let attempt: Int
    /// Which handler its sender meant.
    public let topic: String?
    /// Time since its sender's daemon accepted it, as far as the two daemons know.
    public let age: Duration?

    /// A handler may have seen the item before: it failed, or ended before its verdict was durable.
    public var isRedelivery: Bool { attempt > 1 }
}

/// A user info, urgent ones too.
public struct ReceivedUserInfo: Sendable {
    /// Everything but the content.
    public let facts: ItemFacts
    /// What was sent: up to 65,536 bytes encoded.
    public let userInfo: PropertyListDictionary
    /// It came on the urgent channel.
    public let isUrgent: Bool
}

/// An application context.
public struct ReceivedContext: Sendable {
    /// Everything but the content.
    public let facts: ItemFacts
    /// What was sent: up to 262,144 bytes encoded.
    public let context: PropertyListDictionary
    /// Grows with each context of the other device.
    public let revision: UInt64
}

/// An item as it came from the daemon, before a handler was found.
package struct DeliveredItem: Sendable {
    package let facts: ItemFacts
    package let channel: Channel
    package let content: PropertyListDictionary
    package let revision: UInt64?

    var name: ItemName { ItemName(pairing: facts.pairing, channel: channel, id: facts.id) }

    /// - Throws: ``WireError`` for a frame that lacks what `delivery` must have.
    init(_ envelope: Envelope) throws(WireError) {
        guard let id = envelope.id else { throw .missingKey(.id, envelope.kind) }
        guard let pairing = envelope.pairing else { throw .missingKey(.pairing, envelope.kind) }
        guard let channel = envelope.channel else { throw .missingKey(.channel, envelope.kind) }
        facts = ItemFacts(
            id: id, pairing: pairing, attempt: envelope.attempt ?? 1, topic: envelope.topic, age: envelope.age)
        self.channel = channel
        revision = envelope.revision
        content = try envelope.dictionaryBody()
    }
}
