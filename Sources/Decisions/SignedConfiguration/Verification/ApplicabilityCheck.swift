// The steps that compare a good statement with this place and this moment. Each is one function with one name or two.

import TandemBase

struct ApplicabilityCheck {
    let payload: ConfigurationPayload
    let context: VerificationContext

    /// Step 13.
    func target() throws(VerificationFailure) {
        guard let target = context.target, payload.target == target else {
            throw failure(.wrongTarget, "it is for '\(payload.target.text)', not for this device's paired identifier")
        }
        if let only = payload.only {
            guard let device = context.device, only.contains(device) else {
                throw failure(.wrongTarget, "it is for other secondaries of this target only")
            }
        }
    }

    /// Step 14.
    func keySetVersion() throws(VerificationFailure) {
        let version = try context.anchor.keySet().version
        guard payload.keySetVersion == version else {
            throw failure(
                .oldKeySet, "it was signed under key set \(payload.keySetVersion); version \(version) is in force")
        }
    }

    /// Step 15: whether the very same configuration is active already.
    func version(digest: [UInt8]) throws(VerificationFailure) -> Bool {
        guard let mark = context.mark else { return false }
        switch mark.judge(version: payload.version, digest: digest) {
        case .newer: return false
        case .alreadyActive: return true
        case .rollback:
            throw failure(.rollback, "version \(payload.version) is not above \(mark.highestRefused)")
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

    /// Step 18.
    func schema() throws(VerificationFailure) {
        guard let check = context.schema else { return }
        if let problem = check(payload.values, Set(payload.optional ?? [])) { throw failure(.schema, problem) }
    }

    private func failure(_ rejection: Rejection, _ detail: String) -> VerificationFailure {
        VerificationFailure(rejection, detail, payload: payload)
    }
}
