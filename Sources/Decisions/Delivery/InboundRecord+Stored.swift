// The stored form of a receiver's header and records: absent fields for what is not there.

import TandemBase

extension InboundHeader {
    /// The header's stored form.
    var stored: [UInt8] {
        var record = RecordBytes()
        record.add(.epoch, epoch)
        record.add(.nextOrdinal, nextOrdinal)
        record.add(.watermark, watermark)
        record.add(clock)
        return record.bytes
    }

    /// Reads the stored form, refusing any other.
    init(stored: [UInt8]) throws(DeliveryRecordError) {
        var fields = try RecordFields(stored, of: .inboundHeader)
        self.init(
            epoch: try fields.number(.epoch, from: 1), nextOrdinal: try fields.number(.nextOrdinal, from: 1),
            watermark: try fields.number(.watermark, from: 0), clock: try fields.clock())
        try fields.finish()
    }
}

extension InboundRecord {
    /// The record's stored form; its ordinal is in the row's key.
    var stored: [UInt8] {
        var record = RecordBytes()
        record.add(.id, id)
        record.add(.sequence, sequence)
        record.add(.size, Int64(size))
        record.add(.accepted, acceptedAt)
        record.add(.expires, expiresAt)
        record.add(.attempts, attempts, unless: 0)
        record.add(.topic, topic)
        record.add(.revision, revision)
        switch phase {
        case .waiting: break
        case .handing: record.add(.handing, if: true)
        case .finished(let outcome): record.add(outcome)
        }
        return record.bytes
    }

    /// Reads the stored form, refusing any other.
    init(stored: [UInt8], ordinal: UInt64) throws(DeliveryRecordError) {
        var fields = try RecordFields(stored, of: .inboundRecord)
        let (id, sequence) = (try fields.identifier(.id), try fields.optionalNumber(.sequence))
        let (size, acceptedAt) = (try fields.count(.size), try fields.integer(.accepted))
        self.init(ordinal: ordinal, id: id, sequence: sequence, size: size, expiresAt: try fields.integer(.expires))
        self.acceptedAt = acceptedAt
        attempts = try fields.count(.attempts, usually: 0)
        topic = try fields.text(.topic)
        revision = try fields.optionalNumber(.revision)
        if fields.flag(.handing) {
            phase = .handing
        } else if let outcome = try fields.outcome() {
            phase = .finished(outcome)
        }
        guard id != nil || phase != .waiting && phase != .handing else { throw .missing(.inboundRecord, .id) }
        try fields.finish()
    }
}
