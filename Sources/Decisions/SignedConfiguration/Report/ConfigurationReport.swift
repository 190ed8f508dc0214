// A device's signed word on what became of a configuration. The primary forwards and cannot be trusted with the truth
// of it; whoever holds the device's report key can check it long after.

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
