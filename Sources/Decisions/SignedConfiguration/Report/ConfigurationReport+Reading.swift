// Reading a report's payload: every field known, nothing else in it.

import TandemBase
package import TandemPropertyList

extension ConfigurationReport {
    /// - Throws: ``PayloadError`` naming the field.
    package init(_ dictionary: PropertyListDictionary) throws(PayloadError) {
        do {
            var fields = FieldReader(dictionary)
            _ = try fields.required("typ", "'report'") { $0.stringValue == "report" ? true : nil }
            _ = try fields.required("spec", "'1.0'") { $0.stringValue == "1.0" ? true : nil }
            device = try fields.required("device", "16 bytes of data") { $0.identifierValue }
            counter = try fields.required("counter", "an integer from 1") { $0.positiveValue }
            time = WallTime(seconds: try fields.required("time", "seconds since 1970") { $0.unsignedValue })
            facts = try Self.facts(&fields)
            try fields.refuseUnknownFields()
        } catch {
            throw PayloadError(detail: error.description)
        }
    }

    private static func facts(_ fields: inout FieldReader) throws(FieldError) -> ReportFacts {
        ReportFacts(
            delivery: ConfigurationDelivery(
                pairing: try fields.required("pairing", "16 bytes of data") { $0.identifierValue },
                nonce: try fields.required("nonce", "16 bytes of data") { $0.identifierValue }),
            key: ConfigurationSlotKey(
                application: try fields.required("app", "an application identifier") { $0.applicationValue },
                role: try fields.required("role", "a role") { $0.roleValue },
                target: try fields.required("target", "a paired identifier") { $0.targetValue }),
            digest: try fields.required("digest", "32 bytes of data") { $0.digestValue },
            transaction: try fields.optional("txid", "16 bytes of data") { $0.identifierValue },
            version: try fields.optional("ver", "an integer from 1") { $0.positiveValue },
            verdict: try fields.required("verdict", "a verdict") { $0.stringValue.flatMap { Verdict(name: $0) } },
            text: try fields.optional("text", "at most 256 bytes of text", Self.text),
            good: try good(&fields))
    }

    private static func good(_ fields: inout FieldReader) throws(FieldError) -> GoodConfiguration? {
        let version = try fields.optional("goodVer", "an integer from 1") { $0.positiveValue }
        let digest = try fields.optional("goodDigest", "32 bytes of data") { $0.digestValue }
        guard (version == nil) == (digest == nil) else {
            throw FieldError(field: "goodDigest", problem: "and 'goodVer' belong together")
        }
        return version.flatMap { version in digest.map { GoodConfiguration(version: version, digest: $0) } }
    }

    private static func text(_ value: PropertyListValue) -> String? {
        value.stringValue.flatMap { $0.utf8.count <= ConfigurationLimits.reportText ? $0 : nil }
    }
}
