// What a slot knows of a verdict, before a device signs it. The device adds who it is, a counter and the time.

package import TandemBase

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
