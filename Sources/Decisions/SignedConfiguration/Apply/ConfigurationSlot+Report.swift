// The facts of a report, as the slot knows them after the event: what was judged, the verdict, and the last good state.

import TandemBase
import TandemCrypto

extension ConfigurationSlot {
    func report(
        _ verdict: Verdict, of record: ConfigurationRecord, by delivery: ConfigurationDelivery, text: String? = nil
    ) -> ReportFacts {
        ReportFacts(
            delivery: delivery, key: key, digest: record.digest, transaction: record.transaction,
            version: record.version, verdict: verdict, text: text, good: good)
    }

    func conclude(
        _ verdict: Verdict, of verified: VerifiedConfiguration, by delivery: ConfigurationDelivery?,
        _ transition: inout ApplyTransition
    ) {
        transition.conclude(verdict)
        guard let delivery else { return }
        let facts = ReportFacts(
            delivery: delivery, key: key, digest: verified.digest, transaction: verified.payload.transaction,
            version: verified.payload.version, verdict: verdict, text: nil, good: good)
        transition.add(.report(facts))
    }

    func conclude(
        _ failure: VerificationFailure, of envelope: [UInt8], by delivery: ConfigurationDelivery?,
        _ transition: inout ApplyTransition
    ) {
        transition.conclude(.rejected(failure.rejection), failure.detail)
        guard let delivery else { return }
        let facts = ReportFacts(
            delivery: delivery, key: key, digest: SHA256.digest(envelope), transaction: failure.payload?.transaction,
            version: failure.payload?.version, verdict: .rejected(failure.rejection), text: failure.detail, good: good)
        transition.add(.report(facts))
    }

    private var good: GoodConfiguration? {
        active.map { GoodConfiguration(version: $0.record.version, digest: $0.record.digest) }
    }
}
