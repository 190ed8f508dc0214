// Signed report of a device on the verdict of a configuration (CFG-50). The primary forwards it and is not trusted with
// its content; any holder of the device's report key can verify it later.

package import TandemBase
package import TandemCrypto
package import TandemPropertyList

/// A report (CFG-50).
package struct ConfigurationReport: Sendable, Hashable {
    package let facts: ReportFacts
    /// The reporting device.
    package let device: UniqueIdentifier
    /// From 1, higher with each report of the device.
    package let counter: UInt64
    /// The device's clock, for people.
    package let time: WallTime

    package init(_ facts: ReportFacts, device: UniqueIdentifier, counter: UInt64, time: WallTime) {
        precondition(counter >= 1, "a report's counter starts at 1")
        self.facts = facts
        self.device = device
        self.counter = counter
        self.time = time
    }

    /// The exact bytes of the signed report.
    package func signed(with key: ReportPrivateKey) -> [UInt8] {
        do {
            let payload = try PropertyListWriter.write(dictionary)
            return try SignedEnvelope.bytes(payload, type: .report, signedWith: [key.key])
        } catch {
            preconditionFailure("a report holds only what a property list can: \(error)")
        }
    }
}

extension ConfigurationReport {
    package var dictionary: PropertyListDictionary {
        var fields: PropertyListDictionary = [
            "typ": "report", "spec": "1.0", "device": .data(device.bytes),
            "pairing": .data(facts.delivery.pairing.bytes), "nonce": .data(facts.delivery.nonce.bytes),
            "app": .string(facts.key.application.description), "role": .string(facts.key.role.rawValue),
            "target": .string(facts.key.target.text), "digest": .data(facts.digest),
            "verdict": .string(facts.verdict.name), "counter": PropertyListValue(counter),
            "time": PropertyListValue(time.seconds),
        ]
        fields["txid"] = facts.transaction.map { .data($0.bytes) }
        fields["ver"] = facts.version.map { PropertyListValue($0) }
        fields["text"] = facts.text.map { .string($0) }
        fields["goodVer"] = facts.good.map { PropertyListValue($0.version) }
        fields["goodDigest"] = facts.good.map { .data($0.digest) }
        return fields
    }
}

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

/// The configuration that is active after a verdict.
package struct GoodConfiguration: Sendable, Hashable {
    package let version: UInt64
    package let digest: [UInt8]

    package init(version: UInt64, digest: [UInt8]) {
        self.version = version
        self.digest = digest
    }
}

/// A verdict with its facts.
package struct ReportFacts: Sendable, Hashable {
    package let delivery: ConfigurationDelivery
    package let key: ConfigurationSlotKey
    /// SHA-256 of the bytes received.
    package let digest: [UInt8]
    /// Only once the payload was verified and read.
    package let transaction: UniqueIdentifier?
    package let version: UInt64?
    package let verdict: Verdict
    /// At most 256 bytes, for people.
    package let text: String?
    package let good: GoodConfiguration?

    package init(
        delivery: ConfigurationDelivery, key: ConfigurationSlotKey, digest: [UInt8], transaction: UniqueIdentifier?,
        version: UInt64?, verdict: Verdict, text: String?, good: GoodConfiguration?
    ) {
        self.delivery = delivery
        self.key = key
        self.digest = digest
        self.transaction = transaction
        self.version = version
        self.verdict = verdict
        self.text = text.flatMap { $0.isEmpty ? nil : Self.cut($0) }
        self.good = good
    }

    /// The longest prefix of whole characters that fits.
    private static func cut(_ text: String) -> String {
        var kept = ""
        for scalar in text.unicodeScalars {
            guard kept.utf8.count + scalar.utf8.count <= ConfigurationLimits.reportText else { break }
            kept.unicodeScalars.append(scalar)
        }
        return kept
    }
}
