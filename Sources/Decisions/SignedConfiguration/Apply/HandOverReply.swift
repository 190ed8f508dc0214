// The library's verdict on what it was handed, as the daemon reads it.

package import TandemBase
import TandemCrypto
package import TandemPropertyList

/// The app's answer to a hand-over.
package struct HandOverReply: Sendable, Equatable {
    package let verdict: Verdict
    /// SHA-256 of the bytes that were judged.
    package let digest: [UInt8]
    package let transaction: UniqueIdentifier?
    package let version: UInt64?
    /// What is wrong, for people.
    package let text: String?

    /// The answer that these bytes are applied.
    package init(applied configuration: VerifiedConfiguration) {
        verdict = .applied
        digest = configuration.digest
        transaction = configuration.payload.transaction
        version = configuration.payload.version
        text = nil
    }

    /// The answer that these bytes were rejected.
    package init(_ failure: VerificationFailure, of envelope: [UInt8]) {
        verdict = .rejected(failure.rejection)
        digest = SHA256.digest(envelope)
        transaction = failure.payload?.transaction
        version = failure.payload?.version
        text = failure.detail
    }

    /// The body of the reply.
    package var message: PropertyListDictionary {
        var fields: PropertyListDictionary = [
            "tandem.verdict": .string(verdict.name), "tandem.digest": .data(digest),
        ]
        fields["tandem.txid"] = transaction.map { .data($0.bytes) }
        fields["tandem.version"] = version.map { PropertyListValue($0) }
        fields["tandem.text"] = text.map { .string($0) }
        return fields
    }

    /// Reads a reply; nil for one of another form, or one that could not follow from a hand-over: then it is as if
    /// there were none.
    package init?(_ message: PropertyListDictionary) {
        guard let name = message["tandem.verdict"]?.stringValue, let verdict = Verdict(name: name),
            let digest = message["tandem.digest"]?.digestValue
        else { return nil }
        switch verdict {
        case .applied, .rejected: self.verdict = verdict
        case .waitingForApplication, .superseded: return nil
        }
        self.digest = digest
        transaction = message["tandem.txid"]?.identifierValue
        version = message["tandem.version"]?.unsignedValue
        text = message["tandem.text"]?.stringValue
    }
}
