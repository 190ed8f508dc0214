// The stored form of a receiver's header and records: one flat dictionary each, absent fields for what is not there.

import TandemIdentity
package import TandemPropertyList

extension InboundHeader {
    /// The header's stored form.
    package var stored: PropertyListDictionary {
        [
            "epoch": PropertyListValue(epoch), "nextOrdinal": PropertyListValue(nextOrdinal),
            "watermark": PropertyListValue(watermark), "clock": .integer(clock.milliseconds),
            "wall": .integer(clock.wall),
        ]
    }

    /// Reads the stored form, refusing any other.
    package init(stored: PropertyListDictionary) throws(DeliveryRecordError) {
        var fields = RecordFields(stored, of: .inboundHeader)
        self.init(
            epoch: try fields.number("epoch", from: 1), nextOrdinal: try fields.number("nextOrdinal", from: 1),
            watermark: try fields.number("watermark", from: 0), clock: try fields.clock())
        try fields.finish()
    }
}

extension InboundRecord {
    /// The record's stored form; its ordinal is in the row's key.
    package var stored: PropertyListDictionary {
        var fields: PropertyListDictionary = ["size": .integer(Int64(size)), "attempts": .integer(Int64(attempts))]
        fields["id"] = id.map { .data($0.bytes) }
        fields["sequence"] = sequence.map { PropertyListValue($0) }
        fields["expires"] = expiresAt.map { .integer($0) }
        fields["topic"] = topic.map { .string($0) }
        fields["revision"] = revision.map { PropertyListValue($0) }
        fields["accepted"] = acceptedAt.map { .integer($0) }
        switch phase {
        case .waiting: break
        case .handing: fields["handing"] = .boolean(true)
        case .finished(let outcome):
            fields["outcome"] = .string(outcome.name)
            fields["code"] = outcome.code.map { .integer($0) }
        }
        return fields
    }

    /// Reads the stored form, refusing any other.
    package init(stored: PropertyListDictionary, ordinal: UInt64) throws(DeliveryRecordError) {
        var fields = RecordFields(stored, of: .inboundRecord)
        self.init(
            ordinal: ordinal, id: try fields.identifier("id"),
            sequence: try fields.optional("sequence", RecordFields.place),
            size: try fields.count("size"), expiresAt: try fields.optional("expires") { $0.integerValue })
        topic = try fields.optional("topic") { $0.stringValue }
        revision = try fields.optional("revision", RecordFields.place)
        acceptedAt = try fields.optional("accepted") { $0.integerValue }
        attempts = try fields.count("attempts")
        if let outcome = try fields.outcome() {
            phase = .finished(outcome)
        } else if try fields.optional("handing", { $0.booleanValue == true ? true : nil }) != nil {
            phase = .handing
        }
        guard id != nil || phase != .waiting && phase != .handing else {
            throw .missing(.inboundRecord, field: "id")
        }
        try fields.finish()
    }
}
