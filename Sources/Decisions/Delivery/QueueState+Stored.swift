// The stored forms of what a queue keeps as a whole beside its header: its budget and its contexts.

package import TandemPropertyList

extension UrgentBudget {
    /// The budget's stored form.
    package var stored: PropertyListDictionary {
        var fields: PropertyListDictionary = ["used": .integer(Int64(used))]
        fields["start"] = start.map { .integer($0) }
        return fields
    }

    /// Reads the stored form, refusing any other.
    package init(stored: PropertyListDictionary) throws(DeliveryRecordError) {
        var fields = RecordFields(stored, of: .urgentBudget)
        self.init()
        used = try fields.count("used")
        start = try fields.optional("start") { $0.integerValue }
        try fields.finish()
    }
}

extension SentContext {
    func stored(_ body: [UInt8]) -> PropertyListDictionary {
        ["revision": PropertyListValue(revision), "digest": .data(digest), "body": .data(body)]
    }

    static func read(_ stored: PropertyListDictionary) throws(DeliveryRecordError) -> DeliveryValue {
        var fields = RecordFields(stored, of: .sentContext)
        let context = SentContext(
            revision: try fields.number("revision", from: 1), digest: try fields.required("digest") { $0.dataValue })
        let body = try fields.required("body") { $0.dataValue }
        try fields.finish()
        return .sentContext(context, body: body)
    }
}

extension ReceivedContext {
    func stored(_ body: [UInt8]) -> PropertyListDictionary {
        ["epoch": PropertyListValue(epoch), "revision": PropertyListValue(revision), "body": .data(body)]
    }

    static func read(_ stored: PropertyListDictionary) throws(DeliveryRecordError) -> DeliveryValue {
        var fields = RecordFields(stored, of: .receivedContext)
        let context = ReceivedContext(
            epoch: try fields.number("epoch", from: 1), revision: try fields.number("revision", from: 1))
        let body = try fields.required("body") { $0.dataValue }
        try fields.finish()
        return .receivedContext(context, body: body)
    }
}
