// A configuration with good (or knowingly waived) signatures, for this application and role: steps 5 to 12. The payload
// is parsed from the very bytes that were verified. There is no other initialiser.

import TandemBase
package import TandemCrypto
import TandemPropertyList

/// A configuration with good signatures, for this application and role.
package struct VerifiedConfiguration: Sendable {
    /// The exact bytes of the envelope.
    package let bytes: [UInt8]
    /// SHA-256 of ``bytes``.
    package let digest: [UInt8]
    package let payload: ConfigurationPayload
    /// The trusted keys with a good signature.
    package let signers: Set<KeyIdentifier>
    /// The waived rejection (CFG-22); nil for good signatures.
    package let waived: Rejection?
    /// Enough signatures only with those of revoked keys (load profile, CFG-23).
    package let isSignerRevoked: Bool

    /// Steps 5 to 12 of CFG-20.
    package init(_ envelope: UnverifiedEnvelope, in context: VerificationContext) throws(VerificationFailure) {
        let keys = try context.anchor.keySet()
        let outcome = SignatureCheck(envelope, keys: keys, countsRevoked: context.profile.countsRevoked)
        if let failure = outcome.failure, !context.allowsInvalidSignatures { throw failure }
        guard envelope.payloadType == SignedPayloadType.configuration.rawValue else {
            throw VerificationFailure(.wrongType, "the payload type is not that of a configuration")
        }
        bytes = envelope.bytes
        digest = envelope.digest
        signers = outcome.signers
        waived = outcome.failure?.rejection
        isSignerRevoked = outcome.needsRevoked
        payload = try Self.payload(envelope.payload, in: context)
    }

    private static func payload(
        _ bytes: [UInt8], in context: VerificationContext
    ) throws(VerificationFailure) -> ConfigurationPayload {
        let fields = try dictionary(bytes)
        let payload: ConfigurationPayload
        do {
            payload = try ConfigurationPayload(fields)
        } catch {
            throw VerificationFailure(.payloadMalformed, error.detail)
        }
        try payload.checkKind(type: fields["typ"]?.stringValue)
        try payload.checkAddressee(context)
        return payload
    }

    private static func dictionary(_ bytes: [UInt8]) throws(VerificationFailure) -> PropertyListDictionary {
        do {
            return try PropertyListReader.readDictionary(bytes)
        } catch {
            throw VerificationFailure(.payloadMalformed, error.description)
        }
    }
}

extension ConfigurationPayload {
    /// The first part of step 11: a configuration, of a version that is understood.
    fileprivate func checkKind(type: String?) throws(VerificationFailure) {
        guard type == "config" else {
            throw VerificationFailure(.wrongType, "'typ' is not 'config'", payload: self)
        }
        let minor = specification.hasPrefix("1.") ? specification.dropFirst(2) : ""
        guard !minor.isEmpty, minor.utf8.count <= 3, minor.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw VerificationFailure(.wrongType, "'spec' is not 1.n; this verifier is too old", payload: self)
        }
        if let field = critical?.first(where: { !Self.knownFields.contains($0) }) {
            throw VerificationFailure(
                .critical, "'crit' names \(OutsideText.quoted(field)), which this verifier does not know", payload: self
            )
        }
    }

    /// The rest of step 11, and step 12.
    fileprivate func checkAddressee(_ context: VerificationContext) throws(VerificationFailure) {
        guard role == context.role else {
            throw VerificationFailure(.wrongRole, "it is for the \(role.rawValue)'s app", payload: self)
        }
        guard application == context.application else {
            throw VerificationFailure(.wrongApplication, "it is for '\(application)'", payload: self)
        }
    }
}

/// Steps 6 to 8: the trusted keys with a good signature. A signature by an unknown key is ignored whatever its form, a
/// bad one does not count, and no key counts twice.
private struct SignatureCheck {
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
