// A row's value as bytes: records as their numbered fields, bodies as they are.

extension DeliveryValue {
    /// The value's bytes.
    package var bytes: [UInt8] {
        switch self {
        case .outboundHeader(let header): header.stored
        case .outboundRecord(let record): record.stored
        case .inboundHeader(let header): header.stored
        case .inboundRecord(let record): record.stored
        case .urgentBudget(let budget): budget.stored
        case .sentContext(let context, let body): context.stored(body)
        case .receivedContext(let context, let body): context.stored(body)
        case .payload(let body): body
        }
    }

    /// Reads the value of a row.
    package init(_ key: DeliveryRowKey, bytes: [UInt8]) throws(DeliveryRecordError) {
        switch (key.table, key.ordinal) {
        case (.outboundPayload, _), (.inboundPayload, _): self = .payload(bytes)
        case (.outboundHeader, _): self = .outboundHeader(try OutboundHeader(stored: bytes))
        case (.inboundHeader, _): self = .inboundHeader(try InboundHeader(stored: bytes))
        case (.outboundRecord, let ordinal?):
            self = .outboundRecord(try OutboundRecord(stored: bytes, ordinal: ordinal))
        case (.inboundRecord, let ordinal?): self = .inboundRecord(try InboundRecord(stored: bytes, ordinal: ordinal))
        case (.urgentBudget, _): self = .urgentBudget(try UrgentBudget(stored: bytes))
        case (.sentContext, _): self = try SentContext.read(bytes)
        case (.receivedContext, _): self = try ReceivedContext.read(bytes)
        case (.outboundRecord, nil), (.inboundRecord, nil): throw .key(key.table)
        }
    }
}
