// A configuration that may be applied here and now: steps 13 to 16 compare a verified statement with this device and
// this moment. Only this type leads to a changed value, once the app's schema takes it (step 18).

import TandemBase

/// A configuration that may be applied on this device now.
package struct ApplicableConfiguration: Sendable {
    package let verified: VerifiedConfiguration
    /// It is active already, or applied without good signatures (CFG-30 a): answered as applied, and nothing changes.
    package let isAlreadyActive: Bool

    /// All steps of the context's profile, from the bytes.
    package init(verifying bytes: [UInt8], in context: VerificationContext) throws(VerificationFailure) {
        try self.init(try VerifiedConfiguration(try UnverifiedEnvelope(bytes), in: context), in: context)
    }

    /// The steps after the verification, in the same context.
    init(_ verified: VerifiedConfiguration, in context: VerificationContext) throws(VerificationFailure) {
        self.verified = verified
        let check = ApplicabilityCheck(payload: verified.payload, context: context)
        let profile = context.profile
        if profile != .forwarding { try check.target() }
        if profile != .load { try check.keySetVersion() }
        isAlreadyActive = profile == .full ? try check.version(of: verified) : false
        // An active configuration is not applied again: its time has been judged (CFG-33).
        if profile != .load, !isAlreadyActive { try check.time() }
    }

    package var payload: ConfigurationPayload { verified.payload }
}

/// Steps 13 to 16, one function each.
private struct ApplicabilityCheck {
    let payload: ConfigurationPayload
    let context: VerificationContext

    /// Step 13.
    func target() throws(VerificationFailure) {
        if let mismatch = payload.mismatch(context.target, context.device) {
            throw failure(.wrongTarget, mismatch)
        }
    }

    /// Step 14.
    func keySetVersion() throws(VerificationFailure) {
        let version = try context.anchor.history().current.version
        guard payload.keySetVersion == version else {
            throw failure(
                .oldKeySet,
                "it was signed under key set \(payload.keySetVersion); version \(version) is in force: sign it again with "
                    + "'tandem sign --keyset'")
        }
    }

    /// Step 15: whether the very same configuration is active already.
    func version(of verified: VerifiedConfiguration) throws(VerificationFailure) -> Bool {
        let history = try context.anchor.history()
        let least = history.minimumVersion(for: payload.target)
        guard payload.version >= least else {
            throw failure(.rollback, "version \(payload.version) is below \(least), the lowest of the key set")
        }
        if verified.waived != nil, verified.statement == context.waivedStatement { return true }
        guard let mark = context.mark, mark.keySetVersion >= history.markEpoch else { return false }
        switch mark.judge(verified) {
        case .newer: return false
        case .alreadyActive: return true
        case .rollback:
            guard mark.floor <= mark.version || mark.floor <= payload.version else {
                throw failure(
                    .rollback,
                    "version \(payload.version) is below \(mark.floor), the floor that an applied one has set")
            }
            let reason = mark.isBurnt ? ", which failed on this device" : ""
            throw failure(.rollback, "version \(payload.version) is not above \(mark.highestRefused)\(reason)")
        case .equivocation:
            throw failure(.equivocation, "version \(payload.version) was applied with other bytes")
        }
    }

    /// Step 16.
    func time() throws(VerificationFailure) {
        guard context.now >= context.clockFloor else {
            throw failure(.clockUnset, "the clock shows \(context.now), before \(context.clockFloor)")
        }
        let now = context.now.seconds
        if let expires = payload.expires, expires <= now {
            throw failure(.expired, "it expired at \(WallTime(seconds: expires)); now is \(context.now)")
        }
        let latest = now.addingReportingOverflow(ConfigurationLimits.clockSkew).partialValue
        let start = max(payload.issued, payload.notBefore ?? 0)
        if start > latest {
            throw failure(.future, "it holds from \(WallTime(seconds: start)); now is \(context.now)")
        }
    }

    private func failure(_ rejection: Rejection, _ detail: String) -> VerificationFailure {
        VerificationFailure(rejection, detail, payload: payload)
    }
}
