// The library's own verification, from the compiled anchor: all steps again, whatever the daemon found. The result
// has typed values that the schema takes; nothing else ever enters the signed layer.

import TandemBase
import TandemSettings
import TandemSignedConfiguration

struct ConfigurationJudge {
    let home: SignedHome
    let anchor: ConfigurationAnchor
    /// The app's half of the decision about invalid signatures.
    let allowsInvalidSignatures: Bool
    let schema: SettingsSchema
    let now: WallTime
    let uptime: MonotonicTime

    /// A new configuration: all steps. nil if it is the active one already.
    func judgeNew(
        _ offer: ConfigurationOffer, active: AppliedRecord?
    ) throws(VerificationFailure) -> AppliedRecord? {
        var context = context(.full, offer.target, offer.device, allowsInvalid: offer.allowsInvalid)
        // Versions are counted for each target (CFG-30): that of another primary says nothing about this one's.
        let history = try? anchor.history()
        let known = active.flatMap { record -> AppliedRecord? in
            let payload = record.configuration.payload
            // And for the keys that count: after all of them were replaced, versions start again (CFG-88).
            return payload.target == offer.target && payload.keySetVersion >= history?.markEpoch ?? 0 ? record : nil
        }
        context.mark = AppliedRecord.mark(handedOver: offer.mark, active: known, under: history?.current.version ?? 0)
        context.waivedStatement = active.flatMap { $0.isWaived ? $0.configuration.statement : nil }
        if let active { context.clockFloor = max(context.clockFloor, active.clockFloor) }
        let applicable = try ApplicableConfiguration(verifying: offer.envelope, in: context)
        return applicable.isAlreadyActive ? nil : try record(applicable.verified, applied: now)
    }

    /// A configuration that was applied before: the load profile.
    func judgeApplied(_ file: ActiveConfiguration) throws(VerificationFailure) -> AppliedRecord {
        let context = context(.load, file.record.key.target, file.record.device, allowsInvalid: file.isWaived)
        let applicable = try ApplicableConfiguration(verifying: file.record.envelope, in: context)
        return try record(applicable.verified, applied: file.applied)
    }

    /// - Parameter allowsInvalid: the daemon's half of the decision about invalid signatures.
    private func context(
        _ profile: VerificationProfile, _ target: PairedIdentifier, _ device: UniqueIdentifier, allowsInvalid: Bool
    ) -> VerificationContext {
        VerificationContext(
            profile: profile, application: home.application, role: home.role, anchor: anchor, target: target,
            device: device, now: now, allowsInvalidSignatures: allowsInvalidSignatures && allowsInvalid)
    }

    /// Step 18, which is also what makes the typed values.
    private func record(
        _ verified: VerifiedConfiguration, applied: WallTime
    ) throws(VerificationFailure) -> AppliedRecord {
        do {
            let payload = try schema.payload(verified.payload.values, optional: verified.payload.optional ?? [])
            return AppliedRecord(verified, payload, applied: applied, now: uptime)
        } catch {
            throw VerificationFailure(.schema, error.description, payload: verified.payload)
        }
    }
}
