// The stored form of a sender's header and records: one flat dictionary each, absent fields for what is not there.

import TandemIdentity
package import TandemPropertyList

extension OutboundHeader {
    /// The header's stored form.
    package var stored: PropertyListDictionary {
        var fields: PropertyListDictionary = [
            "epoch": PropertyListValue(epoch), "nextOrdinal": PropertyListValue(nextOrdinal),
            "nextSequence": PropertyListValue(nextSequence), "storedThrough": PropertyListValue(storedThrough),
            "clock": .integer(clock.milliseconds), "wall": .integer(clock.wall),
        ]
        fields["contextEpoch"] = contextEpoch.map { PropertyListValue($0) }
        return fields
    }

    /// Reads the stored form, refusing any other.
    package init(stored: PropertyListDictionary) throws(DeliveryRecordError) {
        var fields = RecordFields(stored, of: .outboundHeader)
        self.init(
            epoch: try fields.number("epoch", from: 1), nextOrdinal: try fields.number("nextOrdinal", from: 1),
            nextSequence: try fields.number("nextSequence", from: 1),
            storedThrough: try fields.number("storedThrough", from: 0), clock: try fields.clock())
        contextEpoch = try fields.optional("contextEpoch", RecordFields.place)
        guard storedThrough < nextSequence else { throw .invalid(.outboundHeader, field: "storedThrough") }
        try fields.finish()
    }
}

extension OutboundRecord {
    /// The record's stored form; its ordinal is in the row's key.
    package var stored: PropertyListDictionary {
        var fields: PropertyListDictionary = [
            "id": .data(id.bytes), "precedence": .integer(Int64(precedence.rawValue)), "size": .integer(Int64(size)),
            "accepted": .integer(acceptedAt), "expires": .integer(expiresAt), "attempts": .integer(Int64(attempts)),
        ]
        fields["supersedes"] = supersedeKey.map { .data($0) }
        fields["topic"] = topic.map { .string($0) }
        fields["revision"] = revision.map { PropertyListValue($0) }
        fields["kind"] = kind.map { .string($0) }
        if isCurrent { fields["current"] = .boolean(true) }
        fields["after"] = after.map { .data($0.bytes) }
        fields["failure"] = failure.map { .integer($0) }
        if isHeard { fields["heard"] = .boolean(true) }
        fields["withdrawal"] = withdrawal.map { .string($0.rawValue) }
        switch phase {
        case .waiting: break
        case .sent(let sequence): fields["sent"] = PropertyListValue(sequence)
        case .stored(let sequence): fields["stored"] = PropertyListValue(sequence)
        case .finished(let outcome):
            fields["outcome"] = .string(outcome.name)
            fields["code"] = outcome.code.map { .integer($0) }
        }
        return fields
    }

    /// Reads the stored form, refusing any other.
    package init(stored: PropertyListDictionary, ordinal: UInt64) throws(DeliveryRecordError) {
        var fields = RecordFields(stored, of: .outboundRecord)
        guard let id = try fields.identifier("id") else { throw .missing(.outboundRecord, field: "id") }
        self.init(
            ordinal: ordinal, id: id,
            precedence: try fields.required("precedence") {
                $0.unsignedValue.flatMap { UInt8(exactly: $0) }.flatMap { Precedence(rawValue: $0) }
            },
            supersedeKey: try fields.optional("supersedes") { $0.dataValue }, size: try fields.count("size"),
            acceptedAt: try fields.time("accepted"), expiresAt: try fields.time("expires"))
        topic = try fields.optional("topic") { $0.stringValue }
        revision = try fields.optional("revision", RecordFields.place)
        kind = try fields.optional("kind") { $0.stringValue }
        isCurrent = try fields.flag("current")
        after = try fields.identifier("after")
        failure = try fields.optional("failure") { $0.integerValue }
        isHeard = try fields.flag("heard")
        attempts = try fields.count("attempts")
        withdrawal = try fields.optional("withdrawal") { $0.stringValue.flatMap { GapReason(rawValue: $0) } }
        phase = try Self.phase(in: &fields)
        try fields.finish()
    }

    /// One of three fields tells the phase; two of them are left over and refused.
    private static func phase(in fields: inout RecordFields) throws(DeliveryRecordError) -> OutboundPhase {
        if let outcome = try fields.outcome() { return .finished(outcome) }
        if let sequence = try fields.optional("sent", RecordFields.place) { return .sent(sequence: sequence) }
        if let sequence = try fields.optional("stored", RecordFields.place) { return .stored(sequence: sequence) }
        return .waiting
    }
}
