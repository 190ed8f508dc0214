// The stored forms of what a queue keeps as a whole beside its header: its budget and its contexts.

extension UrgentBudget {
    /// The budget's stored form.
    var stored: [UInt8] {
        var record = RecordBytes()
        record.add(.used, Int64(used))
        record.add(.start, start)
        return record.bytes
    }

    /// Reads the stored form, refusing any other.
    init(stored: [UInt8]) throws(DeliveryRecordError) {
        var fields = try RecordFields(stored, of: .urgentBudget)
        self.init()
        used = try fields.count(.used)
        start = try fields.integer(.start)
        try fields.finish()
    }
}

extension SentContext {
    func stored(_ body: [UInt8]) -> [UInt8] {
        var record = RecordBytes(capacity: 64 + digest.count + body.count)
        record.add(.revision, revision)
        record.add(.digest, digest)
        record.add(.body, body)
        return record.bytes
    }

    static func read(_ stored: [UInt8]) throws(DeliveryRecordError) -> DeliveryValue {
        var fields = try RecordFields(stored, of: .sentContext)
        let revision = try fields.number(.revision, from: 1)
        guard let digest = try fields.bytes(.digest) else { throw .missing(.sentContext, .digest) }
        guard let body = try fields.bytes(.body) else { throw .missing(.sentContext, .body) }
        try fields.finish()
        return .sentContext(SentContext(revision: revision, digest: digest), body: body)
    }
}

extension ReceivedContext {
    func stored(_ body: [UInt8]) -> [UInt8] {
        var record = RecordBytes(capacity: 64 + body.count)
        record.add(.epoch, epoch)
        record.add(.revision, revision)
        record.add(.body, body)
        return record.bytes
    }

    static func read(_ stored: [UInt8]) throws(DeliveryRecordError) -> DeliveryValue {
        var fields = try RecordFields(stored, of: .receivedContext)
        let context = ReceivedContext(
            epoch: try fields.number(.epoch, from: 1), revision: try fields.number(.revision, from: 1))
        guard let body = try fields.bytes(.body) else { throw .missing(.receivedContext, .body) }
        try fields.finish()
        return .receivedContext(context, body: body)
    }
}
