// A row's value as bytes: records as binary property lists in the strict profile, bodies as they are.

import TandemPropertyList

extension DeliveryValue {
    /// The value's bytes.
    package var bytes: [UInt8] {
        let dictionary: PropertyListDictionary
        switch self {
        case .payload(let bytes): return bytes
        case .outboundHeader(let header): dictionary = header.stored
        case .outboundRecord(let record): dictionary = record.stored
        case .inboundHeader(let header): dictionary = header.stored
        case .inboundRecord(let record): dictionary = record.stored
        }
        do {
            return try PropertyListWriter.write(dictionary)
        } catch {
            preconditionFailure("a record is flat and small, and can always be written: \(error)")
        }
    }

    /// Reads the value of a row.
    package init(_ key: DeliveryRowKey, bytes: [UInt8]) throws(DeliveryRecordError) {
        switch (key.table, key.ordinal) {
        case (.outboundHeader, _):
            self = .outboundHeader(try OutboundHeader(stored: Self.dictionary(bytes, key.table)))
        case (.inboundHeader, _): self = .inboundHeader(try InboundHeader(stored: Self.dictionary(bytes, key.table)))
        case (.outboundRecord, let ordinal?):
            self = .outboundRecord(try OutboundRecord(stored: Self.dictionary(bytes, key.table), ordinal: ordinal))
        case (.inboundRecord, let ordinal?):
            self = .inboundRecord(try InboundRecord(stored: Self.dictionary(bytes, key.table), ordinal: ordinal))
        case (.outboundPayload, _), (.inboundPayload, _): self = .payload(bytes)
        case (.outboundRecord, nil), (.inboundRecord, nil): throw .key(key.table)
        }
    }

    private static func dictionary(
        _ bytes: [UInt8], _ table: DeliveryTable
    ) throws(DeliveryRecordError) -> PropertyListDictionary {
        do { return try PropertyListReader.readDictionary(bytes) } catch { throw .unreadable(table, error) }
    }
}
