// What the files and rows of the active and the staged configuration have in common: the exact bytes, and the facts
// they are to be verified against again. The payload is read from the bytes when a record is made, so that a record
// never says something else than the bytes it holds.

package import TandemBase
import TandemCrypto
import TandemPropertyList

/// A record that cannot be read, or whose facts are not those of its bytes.
package struct ConfigurationRecordError: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    static func damaged(_ error: FieldError) -> Self {
        Self(description: "the record is damaged: \(error.description)")
    }
}

/// A configuration's bytes with the facts recorded beside them (CFG-36).
package struct ConfigurationRecord: Sendable, Equatable {
    package let key: ConfigurationSlotKey
    /// This device's vendor identifier.
    package let device: UniqueIdentifier
    /// The exact bytes.
    package let envelope: [UInt8]
    /// SHA-256 of ``envelope``.
    package let digest: [UInt8]
    /// Read from ``envelope``; verified before it was recorded, and again before it is used.
    package let payload: ConfigurationPayload

    /// The record of bytes that have been verified for the slot.
    package init(
        key: ConfigurationSlotKey, device: UniqueIdentifier, envelope: [UInt8]
    ) throws(ConfigurationRecordError) {
        self.key = key
        self.device = device
        self.envelope = envelope
        digest = SHA256.digest(envelope)
        payload = try Self.payload(of: envelope)
    }

    private static func payload(of envelope: [UInt8]) throws(ConfigurationRecordError) -> ConfigurationPayload {
        guard let unverified = try? UnverifiedEnvelope(envelope),
            let fields = try? PropertyListReader.readDictionary(unverified.payload),
            let payload = try? ConfigurationPayload(fields)
        else { throw ConfigurationRecordError(description: "the recorded envelope cannot be read") }
        return payload
    }

    package var version: UInt64 { payload.version }
    package var transaction: UniqueIdentifier { payload.transaction }
}
