// A verified configuration that waits for its app, with everything the library needs to judge it without the daemon,
// and what the daemon needs to report on it.

package import TandemBase
package import TandemPropertyList

/// A staged configuration: a row, and `staged.plist` in the app's directory.
package struct StagedConfiguration: Sendable, Equatable {
    package let record: ConfigurationRecord
    package let staged: WallTime
    /// Versions up to this one are refused; nil if there is no mark.
    package let mark: UInt64?
    /// The daemon's half of CFG-22.
    package let allowsInvalid: Bool
    /// The daemon found no good signatures, and allowed it.
    package let isWaived: Bool
    /// How it came; nil if it was given to this daemon directly.
    package let delivery: ConfigurationDelivery?

    package init(
        _ record: ConfigurationRecord, staged: WallTime, mark: UInt64?, allowsInvalid: Bool,
        isWaived: Bool = false, delivery: ConfigurationDelivery?
    ) {
        self.record = record
        self.staged = staged
        self.mark = mark
        self.allowsInvalid = allowsInvalid
        self.isWaived = isWaived
        self.delivery = delivery
    }
}

extension StagedConfiguration {
    /// The file's and the row's fields (CFG-36).
    package var dictionary: PropertyListDictionary {
        var fields = record.dictionary
        fields["staged"] = .integer(staged.milliseconds)
        fields["mark"] = mark.map { PropertyListValue($0) }
        fields["allowsInvalid"] = .boolean(allowsInvalid)
        fields["waived"] = .boolean(isWaived)
        fields["pairing"] = delivery.map { .data($0.pairing.bytes) }
        fields["nonce"] = delivery.map { .data($0.nonce.bytes) }
        return fields
    }

    package init(_ dictionary: PropertyListDictionary) throws(ConfigurationRecordError) {
        var fields = FieldReader(dictionary)
        record = try ConfigurationRecord(&fields)
        do {
            staged = WallTime(milliseconds: try fields.required("staged", "an integer") { $0.integerValue })
            mark = try fields.optional("mark", "an integer from 0") { $0.unsignedValue }
            allowsInvalid = try fields.required("allowsInvalid", "a boolean") { $0.booleanValue }
            isWaived = try fields.required("waived", "a boolean") { $0.booleanValue }
            delivery = try Self.delivery(&fields)
            try fields.refuseUnknownFields()
        } catch {
            throw .damaged(error)
        }
    }

    private static func delivery(_ fields: inout FieldReader) throws(FieldError) -> ConfigurationDelivery? {
        let pairing = try fields.optional("pairing", "16 bytes of data") { $0.identifierValue }
        let nonce = try fields.optional("nonce", "16 bytes of data") { $0.identifierValue }
        switch (pairing, nonce) {
        case (let pairing?, let nonce?): return ConfigurationDelivery(pairing: pairing, nonce: nonce)
        case (nil, nil): return nil
        default: throw FieldError(field: "nonce", problem: "and 'pairing' belong together")
        }
    }
}
