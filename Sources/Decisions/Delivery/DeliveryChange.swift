// What a transition wants made durable, as typed values: the shell turns them into rows of the store and commits them
// together before any effect of the transition runs.

package import TandemWire

/// The kinds of rows that queues keep; the raw value is stable, it is stored.
package enum DeliveryTable: UInt8, Sendable, Hashable, CaseIterable {
    case outboundHeader = 1
    case outboundRecord = 2
    case outboundPayload = 3
    case inboundHeader = 4
    case inboundRecord = 5
    case inboundPayload = 6
    case urgentBudget = 7
    case sentContext = 8
    case receivedContext = 9

    /// Whether a queue has one such row, or one for each item.
    var hasOrdinals: Bool {
        switch self {
        case .outboundRecord, .outboundPayload, .inboundRecord, .inboundPayload: true
        case .outboundHeader, .inboundHeader, .urgentBudget, .sentContext, .receivedContext: false
        }
    }
}

/// The place of one row.
package struct DeliveryRowKey: Sendable, Hashable {
    package let table: DeliveryTable
    package let queue: QueueKey
    /// The item's local number; nil for a row of the whole queue.
    package let ordinal: UInt64?

    package init(_ table: DeliveryTable, _ queue: QueueKey, _ ordinal: UInt64? = nil) {
        precondition(table.hasOrdinals == (ordinal != nil), "a queue's row has no number, an item's has one")
        self.table = table
        self.queue = queue
        self.ordinal = ordinal
    }
}

/// What a row holds. Records are apart in memory, because changes are handed on several times before they are written.
package enum DeliveryValue: Sendable, Equatable {
    indirect case outboundHeader(OutboundHeader)
    indirect case outboundRecord(OutboundRecord)
    indirect case inboundHeader(InboundHeader)
    indirect case inboundRecord(InboundRecord)
    indirect case urgentBudget(UrgentBudget)
    /// With the bytes that were set.
    indirect case sentContext(SentContext, body: [UInt8])
    indirect case receivedContext(ReceivedContext, body: [UInt8])
    /// An item's body, exactly as it was submitted.
    case payload([UInt8])
}

/// One change of a row.
package enum DeliveryChange: Sendable, Equatable {
    case put(DeliveryRowKey, DeliveryValue)
    case remove(DeliveryRowKey)

    /// The row that is changed.
    package var key: DeliveryRowKey {
        switch self {
        case .put(let key, _), .remove(let key): key
        }
    }
}
