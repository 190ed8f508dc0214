// A row's value as bytes: records as binary property lists in the strict profile, bodies as they are.

import TandemPropertyList

extension DeliveryValue {
    /// The value's bytes.
    package var bytes: [UInt8] {
        guard case .payload(let bytes) = self else { return Self.written(dictionary) }
        return bytes
    }

    private var dictionary: PropertyListDictionary {
        switch self {
        case .outboundHeader(let header): header.stored
        case .outboundRecord(let record): record.stored
        case .inboundHeader(let header): header.stored
        case .inboundRecord(let record): record.stored
        case .urgentBudget(let budget): budget.stored
        case .sentContext(let context, let body): context.stored(body)
        case .receivedContext(let context, let body): context.stored(body)
        case .payload(let body): ["body": .data(body)]
        }
    }

    private static func written(_ dictionary: PropertyListDictionary) -> [UInt8] {
        do {
            return try PropertyListWriter.write(dictionary)
        } catch {
            preconditionFailure("a record is flat and small, and can always be written: \(error)")
        }
    }

    /// Reads the value of a row.
    package init(_ key: DeliveryRowKey, bytes: [UInt8]) throws(DeliveryRecordError) {
        switch key.table {
        case .outboundPayload, .inboundPayload: self = .payload(bytes)
        default: self = try Self.read(key, Self.dictionary(bytes, key.table))
        }
    }

    private static func read(
        _ key: DeliveryRowKey, _ stored: PropertyListDictionary
    ) throws(DeliveryRecordError) -> DeliveryValue {
        switch (key.table, key.ordinal) {
        case (.outboundHeader, _): .outboundHeader(try OutboundHeader(stored: stored))
        case (.inboundHeader, _): .inboundHeader(try InboundHeader(stored: stored))
        case (.outboundRecord, let ordinal?): .outboundRecord(try OutboundRecord(stored: stored, ordinal: ordinal))
        case (.inboundRecord, let ordinal?): .inboundRecord(try InboundRecord(stored: stored, ordinal: ordinal))
        case (.urgentBudget, _): .urgentBudget(try UrgentBudget(stored: stored))
        case (.sentContext, _): try SentContext.read(stored)
        case (.receivedContext, _): try ReceivedContext.read(stored)
        case (.outboundRecord, nil), (.inboundRecord, nil), (.outboundPayload, _), (.inboundPayload, _):
            throw .key(key.table)
        }
    }

    private static func dictionary(
        _ bytes: [UInt8], _ table: DeliveryTable
    ) throws(DeliveryRecordError) -> PropertyListDictionary {
        do { return try PropertyListReader.readDictionary(bytes) } catch { throw .unreadable(table, error) }
    }
}
