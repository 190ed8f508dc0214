// The fields that all records share, read strictly: a record whose facts differ from its bytes is damaged.

import TandemBase
import TandemPropertyList

extension ConfigurationRecord {
    var dictionary: PropertyListDictionary {
        [
            "v": 1, "envelope": .data(envelope), "app": .string(key.application.description),
            "role": .string(key.role.rawValue), "target": .string(key.target.text), "device": .data(device.bytes),
            "keyset": PropertyListValue(payload.keySetVersion), "version": PropertyListValue(version),
            "txid": .data(transaction.bytes), "digest": .data(digest),
        ]
    }

    init(_ fields: inout FieldReader) throws(ConfigurationRecordError) {
        let parts: (key: ConfigurationSlotKey, device: UniqueIdentifier, envelope: [UInt8])
        do { parts = try Self.parts(&fields) } catch { throw .damaged(error) }
        try self.init(key: parts.key, device: parts.device, envelope: parts.envelope)
        do { try checkFacts(&fields) } catch { throw .damaged(error) }
    }

    private static func parts(
        _ fields: inout FieldReader
    ) throws(FieldError) -> (key: ConfigurationSlotKey, device: UniqueIdentifier, envelope: [UInt8]) {
        _ = try fields.required("v", "1") { $0.integerValue == 1 ? 1 : nil }
        let key = ConfigurationSlotKey(
            application: try fields.required("app", "an application identifier") { $0.applicationValue },
            role: try fields.required("role", "a role") { $0.roleValue },
            target: try fields.required("target", "a paired identifier") { $0.targetValue })
        let device = try fields.required("device", "16 bytes of data") { $0.identifierValue }
        return (key, device, try fields.required("envelope", "data") { $0.dataValue })
    }

    private func checkFacts(_ fields: inout FieldReader) throws(FieldError) {
        let keySet = try fields.required("keyset", "an integer from 1") { $0.positiveValue }
        let version = try fields.required("version", "an integer from 1") { $0.positiveValue }
        let transaction = try fields.required("txid", "16 bytes of data") { $0.identifierValue }
        let digest = try fields.required("digest", "32 bytes of data") { $0.digestValue }
        guard keySet == payload.keySetVersion, version == self.version, transaction == self.transaction,
            digest == self.digest
        else { throw FieldError(field: "digest", problem: "and the facts beside it are not those of the envelope") }
    }
}
