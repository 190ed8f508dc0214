// A configuration whose signatures are good (or knowingly waived) and whose payload is one for this application and
// role: steps 5 to 12. The payload was parsed from the very bytes that were verified. It has no other initialiser.

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
    /// What was waived (CFG-22); nil for good signatures.
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
