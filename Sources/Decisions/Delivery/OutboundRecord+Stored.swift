// The stored form of a sender's header and records: absent fields for what is not there.

import TandemBase
import TandemWire

extension OutboundHeader {
    /// The header's stored form.
    var stored: [UInt8] {
        var record = RecordBytes()
        record.add(.epoch, epoch)
        record.add(.nextOrdinal, nextOrdinal)
        record.add(.nextSequence, nextSequence)
        record.add(.storedThrough, storedThrough)
        record.add(.contextEpoch, contextEpoch)
        record.add(clock)
        return record.bytes
    }

    /// Reads the stored form, refusing any other.
    init(stored: [UInt8]) throws(DeliveryRecordError) {
        var fields = try RecordFields(stored, of: .outboundHeader)
        let (epoch, nextOrdinal) = (try fields.number(.epoch, from: 1), try fields.number(.nextOrdinal, from: 1))
        let nextSequence = try fields.number(.nextSequence, from: 1)
        let storedThrough = try fields.number(.storedThrough, from: 0)
        let contextEpoch = try fields.optionalNumber(.contextEpoch)
        self.init(
            epoch: epoch, nextOrdinal: nextOrdinal, nextSequence: nextSequence, storedThrough: storedThrough,
            clock: try fields.clock())
        self.contextEpoch = contextEpoch
        guard storedThrough < nextSequence else { throw .invalid(.outboundHeader, .storedThrough) }
        try fields.finish()
    }
}

extension OutboundRecord {
    /// The record's stored form; its ordinal is in the row's key.
    var stored: [UInt8] {
        var record = RecordBytes()
        record.add(.id, id)
        record.add(.precedence, Int(precedence.rawValue), unless: Int(Precedence.ordinary.rawValue))
        record.add(.size, Int64(size))
        record.add(.accepted, acceptedAt)
        record.add(.expires, expiresAt)
        record.add(.attempts, attempts, unless: 0)
        record.add(.supersedes, supersedeKey)
        record.add(.topic, topic)
        record.add(.revision, revision)
        record.add(.kind, kind)
        record.add(.current, if: isCurrent)
        record.add(.after, after)
        record.add(.failure, refusal?.code)
        record.add(.heard, if: isHeard)
        record.add(.withdrawal, withdrawal?.rawValue)
        switch phase {
        case .waiting: break
        case .sent(let sequence): record.add(.sent, sequence)
        case .stored(let sequence): record.add(.stored, sequence)
        case .finished(let outcome): record.add(outcome)
        }
        record.add(.refusal, refusal?.name)
        return record.bytes
    }

    /// Reads the stored form, refusing any other.
    init(stored: [UInt8], ordinal: UInt64) throws(DeliveryRecordError) {
        var fields = try RecordFields(stored, of: .outboundRecord)
        guard let id = try fields.identifier(.id) else { throw .missing(.outboundRecord, .id) }
        let precedence = try fields.count(.precedence, usually: Int(Precedence.ordinary.rawValue))
        guard let precedence = UInt8(exactly: precedence).flatMap({ Precedence(rawValue: $0) }) else {
            throw .invalid(.outboundRecord, .precedence)
        }
        let (size, acceptedAt) = (try fields.count(.size), try fields.time(.accepted))
        let (expiresAt, attempts) = (try fields.time(.expires), try fields.count(.attempts, usually: 0))
        self.init(
            ordinal: ordinal, id: id, precedence: precedence, supersedeKey: try fields.bytes(.supersedes), size: size,
            acceptedAt: acceptedAt, expiresAt: expiresAt)
        self.attempts = attempts
        topic = try fields.text(.topic)
        revision = try fields.optionalNumber(.revision)
        kind = try fields.text(.kind)
        isCurrent = fields.flag(.current)
        after = try fields.identifier(.after)
        let failure = try fields.integer(.failure)
        isHeard = fields.flag(.heard)
        withdrawal = try fields.word(.withdrawal) { GapReason(rawValue: $0) }
        phase = try Self.phase(in: &fields)
        let name = try fields.text(.refusal)
        refusal = failure.map { ItemRefusal(code: $0, name: name) }
        try fields.finish()
    }

    /// One of three fields tells the phase; two of them are left over and refused.
    private static func phase(in fields: inout RecordFields) throws(DeliveryRecordError) -> OutboundPhase {
        if let sequence = try fields.optionalNumber(.sent) { return .sent(sequence: sequence) }
        if let sequence = try fields.optionalNumber(.stored) { return .stored(sequence: sequence) }
        return try fields.outcome().map { .finished($0) } ?? .waiting
    }
}
