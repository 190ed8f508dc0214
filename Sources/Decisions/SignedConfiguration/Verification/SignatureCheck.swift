// Steps 6 to 8: which of the trusted keys have signed. A signature by an unknown key is ignored whatever its form, a
// bad one does not count, and no key counts twice.

import TandemCrypto

struct SignatureCheck {
    /// The keys with a good signature, revoked ones only where they count.
    private(set) var signers: Set<KeyIdentifier> = []
    /// The threshold is met, but not without keys that have been revoked.
    private(set) var needsRevoked = false
    private(set) var failure: VerificationFailure?

    init(_ envelope: UnverifiedEnvelope, keys: TrustedKeySet, countsRevoked: Bool) {
        let candidates = envelope.signatures.compactMap { signature in
            keys.configurationKey(signature.keyIdentifier).map { (key: $0, signature: signature.bytes) }
        }.filter { countsRevoked || !keys.revoked.contains($0.key.identifier) }
        guard Set(candidates.map(\.key)).count == candidates.count else {
            failure = VerificationFailure(.duplicateKeyIdentifier, "one key is named by two signatures")
            return
        }
        let message = PreAuthenticationEncoding.bytes(type: envelope.payloadType, body: envelope.payload)
        signers = Set(candidates.filter { $0.key.isValid($0.signature, for: message) }.map(\.key.identifier))
        let needed = keys.configuration.threshold
        needsRevoked = signers.count >= needed && signers.subtracting(keys.revoked).count < needed
        if signers.count < needed {
            failure = VerificationFailure(
                .threshold, "good signatures by \(signers.count) trusted keys; \(needed) are needed")
        }
    }
}
