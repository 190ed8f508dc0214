// A configuration with good (or knowingly waived) signatures, for this application and role: steps 5 to 12. The payload
// is parsed from the very bytes that were verified. There is no other initialiser.

package import TandemCrypto
import TandemPropertyList

package struct VerifiedConfiguration: Sendable {
    /// The exact bytes of the envelope.
    package let bytes: [UInt8]
    /// SHA-256 of ``bytes``.
    package let digest: [UInt8]
    /// SHA-256 of what is signed: the same in every envelope around it (CFG-30).
    package let statement: [UInt8]
    package let payload: ConfigurationPayload
    /// The trusted keys with a good signature.
    package let signers: Set<KeyIdentifier>
    /// The waived rejection (CFG-22); nil for good signatures.
    package let waived: Rejection?
    /// Enough signatures only with those of revoked keys (load profile, CFG-23).
    package let isSignerRevoked: Bool

    /// Steps 5 to 12 of CFG-20.
    package init(_ envelope: UnverifiedEnvelope, in context: VerificationContext) throws(VerificationFailure) {
        let (history, keys) = try Self.keys(for: envelope, in: context)
        let isLoad = context.profile == .load
        let signed = envelope.statement
        var signatures = VerifiedSignatures(over: signed)
        let count = SignatureCount(
            envelope, &signatures, role: keys.configuration, keys: keys.keys, revoked: history.revoked,
            countsRevoked: isLoad, refusesDuplicates: !isLoad)
        if let failure = count.failure, !context.allowsInvalidSignatures { throw failure }
        try envelope.checkIsConfiguration()
        bytes = envelope.bytes
        digest = envelope.digest
        statement = signed.digest
        signers = count.signers
        waived = count.failure?.rejection
        isSignerRevoked = count.needsRevoked
        payload = try Self.payload(envelope.payload, in: context)
        guard !isSignerRevoked || signers.subtracting(history.withdrawn).count >= keys.configuration.threshold else {
            throw VerificationFailure(.signerRevoked, "a revocation withdrew what its key signed", payload: payload)
        }
    }

    /// Step 5: the set in force. The load profile takes the set that the payload names, as far as the history knows it
    /// (CFG-89): like a key identifier, that number is an index and proves nothing.
    private static func keys(
        for envelope: UnverifiedEnvelope, in context: VerificationContext
    ) throws(VerificationFailure) -> (KeySetHistory, TrustedKeySet) {
        let history = try context.anchor.history()
        try history.check(context.subject)
        guard context.profile == .load else { return (history, try history.keySet(at: context.now)) }
        let named = envelope.claimedFields?["keyset"]?.positiveValue
        return (history, named.flatMap { history[$0] } ?? history.current)
    }

    private static func payload(
        _ bytes: [UInt8], in context: VerificationContext
    ) throws(VerificationFailure) -> ConfigurationPayload {
        let fields = try PropertyListDictionary(reading: bytes, else: .payloadMalformed)
        let payload: ConfigurationPayload
        do {
            payload = try ConfigurationPayload(fields)
        } catch {
            throw VerificationFailure(.payloadMalformed, error.description)
        }
        // The first part of step 11: a configuration, of a version that is understood.
        try StatementForm.check(
            type: fields["typ"]?.stringValue ?? "", specification: payload.specification, critical: payload.critical,
            expected: "config", known: ConfigurationPayload.knownFields, of: payload)
        try context.subject.check(payload.subject, of: payload)
        return payload
    }
}
