// A configuration that may be applied here and now: the right target, key set, version and time, and values that the
// app takes (steps 13 to 18). Only this type leads to a changed value. It has no other initialiser.

import TandemBase

/// A configuration that may be applied on this device now.
package struct ApplicableConfiguration: Sendable {
    package let verified: VerifiedConfiguration
    /// It is active already (CFG-30 a): answered as applied, and nothing changes.
    package let isAlreadyActive: Bool

    /// Steps 13 to 18 of CFG-20, those that the context's profile has.
    package init(_ verified: VerifiedConfiguration, in context: VerificationContext) throws(VerificationFailure) {
        let check = ApplicabilityCheck(payload: verified.payload, context: context)
        let profile = context.profile
        if profile.checksTarget { try check.target() }
        if profile.checksKeySetVersion { try check.keySetVersion() }
        isAlreadyActive = profile.checksVersion ? try check.version(digest: verified.digest) : false
        self.verified = verified
        // What is active already is not a new apply: its time has been judged (CFG-33).
        if isAlreadyActive { return }
        if profile.checksTime { try check.time() }
        if profile.checksSchema { try check.schema() }
    }

    /// All steps of the context's profile, from the bytes.
    package init(verifying bytes: [UInt8], in context: VerificationContext) throws(VerificationFailure) {
        let envelope = try UnverifiedEnvelope(bytes)
        try self.init(try VerifiedConfiguration(envelope, in: context), in: context)
    }

    package var payload: ConfigurationPayload { verified.payload }
}
