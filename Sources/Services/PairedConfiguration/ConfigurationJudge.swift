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

    /// Whether other versions are compared with this one: once all keys were replaced, they start again (CFG-88).
    private func isCounted(_ record: AppliedRecord) -> Bool {
        record.configuration.payload.keySetVersion >= (try? anchor.history())?.markEpoch ?? 0
    }

    /// Whether a configuration with a waived signature shows above the active one.
    func shows(_ waived: AppliedRecord, above active: AppliedRecord?) -> Bool {
        guard let active, isCounted(active) else { return true }
        return waived.configuration.payload.version > active.configuration.payload.version
    }

    /// A new configuration: all steps. nil if it is the active one already.
    func judgeNew(
        _ offer: ConfigurationOffer, active: AppliedRecord?
    ) throws(VerificationFailure) -> AppliedRecord? {
        var context = context(.full, offer.target, offer.device, allowsInvalid: offer.allowsInvalid)
        // Versions are counted for each target (CFG-30): that of another primary says nothing about this one's.
        let history = try? anchor.history()
        let known = active.flatMap { record -> AppliedRecord? in
            record.configuration.payload.target == offer.target && isCounted(record) ? record : nil
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
