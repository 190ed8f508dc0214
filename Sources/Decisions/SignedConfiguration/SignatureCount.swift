// Counting of signatures (steps 6 to 8 of CFG-20): the keys of one role with a good signature. A signature by an
// unknown key is ignored whatever its form, a bad one does not count, and no key counts twice. The load profile looks
// at more keys, so that an accepted configuration stays accepted. It refuses no duplicate, and neither does a statement
// about keys: verifiers differ in the keys that they know as revoked, and so in the duplicates that they would see.

import TandemCrypto

/// The keys of one role that have signed an envelope.
struct SignatureCount {
    /// The keys with a good signature, revoked ones only where they count.
    private(set) var signers: Set<KeyIdentifier> = []
    /// The threshold is met, but not without keys that have been revoked.
    private(set) var needsRevoked = false
    private(set) var failure: VerificationFailure?

    /// - Parameters:
    ///   - signatures: those of the envelope's statement, as far as they have been verified.
    ///   - keys: the trusted keys, those of the role among them.
    ///   - revoked: keys that do not count; they do if `countsRevoked`, and the result says so.
    ///   - refusesDuplicates: whether a second signature that names a key is a failure, good or not.
    init(
        _ envelope: UnverifiedEnvelope, _ signatures: inout VerifiedSignatures, role: KeyRole,
        keys: [KeyIdentifier: PublicKey], revoked: Set<KeyIdentifier>, countsRevoked: Bool = false,
        refusesDuplicates: Bool = false
    ) {
        let candidates = envelope.signatures.compactMap { signature -> (key: PublicKey, signature: [UInt8])? in
            guard let identifier = KeyIdentifier(bytes: signature.keyIdentifier),
                role.keyIdentifiers.contains(identifier), countsRevoked || !revoked.contains(identifier),
                let key = keys[identifier]
            else { return nil }
            return (key, signature.bytes)
        }
        guard !refusesDuplicates || candidates.count < 2 || Set(candidates.map(\.key)).count == candidates.count else {
            failure = VerificationFailure(.duplicateKeyIdentifier, "one key is named by two signatures")
            return
        }
        for (key, signature) in candidates where signatures.isGood(signature, by: key) {
            signers.insert(key.identifier)
        }
        needsRevoked = signers.count >= role.threshold && signers.subtracting(revoked).count < role.threshold
        if signers.count < role.threshold {
            let namesRevoked = envelope.signatures.contains { signature in
                KeyIdentifier(bytes: signature.keyIdentifier).map(revoked.contains) ?? false
            }
            let hint = namesRevoked && !countsRevoked ? "; it is signed by a revoked key, which does not count" : ""
            failure = VerificationFailure(
                .threshold,
                "valid signatures by trusted keys: \(signers.count) of \(role.threshold) needed\(hint)")
        }
    }

    /// - Parameter isComplete: false if more signatures may follow, so that too few are no fault.
    /// - Throws: what is wrong with the signatures.
    func check(isComplete: Bool = true) throws(VerificationFailure) {
        if let failure, isComplete || failure.rejection != .threshold { throw failure }
    }
}
