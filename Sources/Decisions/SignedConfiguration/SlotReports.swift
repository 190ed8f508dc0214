// Reports of a configuration slot: facts about a verdict for the sender of each delivery that it answers (CFG-50). A
// configuration that came through no pairing has none.

import TandemCrypto

extension ConfigurationSlot {
    func report(
        _ verdict: Verdict, of configuration: some RecordedConfiguration, by deliveries: ConfigurationDeliveries,
        text: String? = nil, isOnTrial: Bool? = nil, _ transition: inout ApplyTransition
    ) {
        let record = configuration.record
        for (delivery, digest) in deliveries.answers(of: record.digest) {
            let facts = ReportFacts(
                delivery: delivery, key: key, digest: digest, transaction: record.transaction,
                version: record.version, verdict: verdict, text: text, good: good, isWaived: configuration.isWaived,
                isOnTrial: isOnTrial)
            transition.add(.report(facts))
        }
    }

    /// Concludes the event with a refusal of the bytes, and adds the reports about it.
    func conclude(
        _ failure: VerificationFailure, of envelope: [UInt8], by deliveries: ConfigurationDeliveries,
        in context: VerificationContext, _ transition: inout ApplyTransition
    ) {
        // A sender delivers again once there is a key (CFG-74); for an operator here it is a rejection, and so is a key
        // that was refused.
        let isWaiting = failure.rejection == .noKey && context.anchor == .none && !deliveries.isEmpty
        let verdict: Verdict = isWaiting ? .waitingForKey : .rejected(failure.rejection)
        transition.conclude(verdict, failure.detail)
        for (delivery, digest) in deliveries.answers(of: SHA256.digest(envelope)) {
            let facts = ReportFacts(
                delivery: delivery, key: key, digest: digest,
                transaction: failure.payload?.transaction, version: failure.payload?.version, verdict: verdict,
                text: failure.detail, good: good)
            transition.add(.report(facts))
        }
    }

    /// Concludes the event with the end of a configuration whose invalid signature this daemon no longer allows
    /// (CFG-22): the rejection is the one that was waived.
    func conclude(
        _ waived: ConfigurationRecord, by deliveries: ConfigurationDeliveries, in context: VerificationContext,
        _ transition: inout ApplyTransition
    ) {
        var allowing = completed(context)
        allowing.allowsInvalidSignatures = true
        let envelope = try? UnverifiedEnvelope(waived.envelope)
        let verified = envelope.flatMap { try? VerifiedConfiguration($0, in: allowing) }
        let failure = VerificationFailure(
            verified?.waived ?? .threshold,
            "version \(waived.version) has an invalid signature, which this daemon no longer allows",
            payload: waived.payload)
        conclude(failure, of: waived.envelope, by: deliveries, in: context, &transition)
    }

    /// The deliveries whose last verdict is outstanding: those of what waits and of what is on trial.
    package var awaiting: [ConfigurationDelivery] {
        (staged?.deliveries.all ?? []) + (trial?.deliveries.all ?? [])
    }

    /// The active configuration, for reports.
    package var good: GoodConfiguration? {
        active.map { GoodConfiguration(version: $0.record.version, digest: $0.record.digest) }
    }
}
