// From verified bytes to what is handed to the app. A newer version takes the place of one that waits, and the older
// one is reported as superseded; bytes with a waived signature never push out good ones.

import TandemBase

extension ConfigurationSlot {
    /// CFG-32, and the last sentence of CFG-22.
    func checkWaiting(_ verified: VerifiedConfiguration) throws(VerificationFailure) {
        guard let staged, staged.record.digest != verified.digest else { return }
        let payload = verified.payload
        if let waived = verified.waived, !staged.isWaived {
            throw VerificationFailure(waived, "one with good signatures is waiting", payload: payload)
        }
        if verified.waived == nil, staged.isWaived { return }
        if payload.version < staged.record.version {
            throw VerificationFailure(.rollback, "version \(staged.record.version) is waiting", payload: payload)
        }
        if payload.version == staged.record.version {
            throw VerificationFailure(
                .equivocation, "version \(payload.version) is waiting with other bytes", payload: payload)
        }
    }

    mutating func stage(
        _ verified: VerifiedConfiguration, by delivery: ConfigurationDelivery?, in context: VerificationContext,
        _ transition: inout ApplyTransition
    ) throws(VerificationFailure) {
        let isHanded = phase == .handed && staged?.record.digest == verified.digest
        let record = try record(of: verified.bytes)
        replaceStaged(record, isWaived: verified.waived != nil, by: delivery, in: context, &transition)
        if isHanded { return }
        phase = .waitingForApplication
        if isApplicationConnected {
            handOver(&transition)
        } else {
            conclude(.waitingForApplication, of: verified, by: delivery, &transition)
        }
    }

    /// CFG-33: what only lacks a clock is kept, if nothing better waits.
    mutating func stageForClock(
        _ envelope: [UInt8], after failure: VerificationFailure, by delivery: ConfigurationDelivery?,
        in context: VerificationContext, _ transition: inout ApplyTransition
    ) {
        guard failure.rejection == .clockUnset, let version = failure.payload?.version else { return }
        if let staged, staged.record.version >= version { return }
        guard let record = try? record(of: envelope) else { return }
        // Whether the signature was waived is found again when the clock is right; until then the lower rank is
        // assumed.
        replaceStaged(record, isWaived: context.allowsInvalidSignatures, by: delivery, in: context, &transition)
        phase = .waitingForClock
    }

    mutating func handOver(_ transition: inout ApplyTransition) {
        guard let staged else { return }
        phase = .handed
        transition.add(.handOver(HandOver(staged)))
    }

    private mutating func replaceStaged(
        _ record: ConfigurationRecord, isWaived: Bool, by delivery: ConfigurationDelivery?,
        in context: VerificationContext, _ transition: inout ApplyTransition
    ) {
        if let older = staged, older.record.digest != record.digest, let delivery = older.delivery {
            transition.add(.report(report(.superseded, of: older.record, by: delivery)))
        }
        let newer = StagedConfiguration(
            record, staged: context.now, mark: mark?.highestRefused,
            allowsInvalid: context.allowsInvalidSignatures, isWaived: isWaived, delivery: delivery)
        staged = newer
        transition.add(.staged(newer))
    }

    private func record(of envelope: [UInt8]) throws(VerificationFailure) -> ConfigurationRecord {
        do {
            return try ConfigurationRecord(key: key, device: device, envelope: envelope)
        } catch {
            throw VerificationFailure(.malformed, error.description)
        }
    }
}
