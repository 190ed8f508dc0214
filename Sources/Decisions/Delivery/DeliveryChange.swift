// What a transition wants made durable, as typed values: the shell turns them into rows of the store and commits them
// together before any effect of the transition runs.

/// The kinds of rows that queues keep; the raw value is stable, it is stored.
package enum DeliveryTable: UInt8, Sendable, Hashable, CaseIterable {
    case outboundHeader = 1
    case outboundRecord = 2
    case outboundPayload = 3
    case inboundHeader = 4
    case inboundRecord = 5
    case inboundPayload = 6

    /// Whether a queue has one such row, or one for each item.
    var hasOrdinals: Bool { self != .outboundHeader && self != .inboundHeader }
}

/// The place of one row.
package struct DeliveryRowKey: Sendable, Hashable {
    package let table: DeliveryTable
    package let queue: QueueKey
    /// The item's local number; nil for a header.
    package let ordinal: UInt64?

    package init(_ table: DeliveryTable, _ queue: QueueKey, _ ordinal: UInt64? = nil) {
        precondition(table.hasOrdinals == (ordinal != nil), "a header has no number, an item has one")
        self.table = table
        self.queue = queue
        self.ordinal = ordinal
    }
}

/// What a row holds.
package enum DeliveryValue: Sendable, Equatable {
    case outboundHeader(OutboundHeader)
    case outboundRecord(OutboundRecord)
    case inboundHeader(InboundHeader)
    case inboundRecord(InboundRecord)
    /// An item's body, exactly as it was submitted.
    case payload([UInt8])
}

/// One change of a row.
package enum DeliveryChange: Sendable, Equatable {
    case put(DeliveryRowKey, DeliveryValue)
    case remove(DeliveryRowKey)
}
