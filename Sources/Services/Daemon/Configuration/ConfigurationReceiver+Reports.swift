// The receiving half's signed reports: each is owed from the commit of its verdict on, until the pairing's queue has
// taken it (CFG-50). One that is accepted there twice is dropped by the counter in it.

import TandemBase
import TandemDelivery
import TandemSignedConfiguration
import TandemStore
import TandemWire

extension ConfigurationReceiver {
    /// Gives the owed reports to their queues.
    func submitOwed() {
        for report in committed.state.owed where submitting.insert(report.id).inserted {
            submit(report) { [self] isAccepted in
                submitting.remove(report.id)
                if isAccepted { forget(report) }
            }
        }
    }

    /// Owes the reports of early failures whose minute is over (CFG-52).
    func reportHeldFailures() {
        let now = context.reading
        guard committed.state.gates.values.contains(where: { $0.isHolding }) else { return }
        committed.perform(
            { [self] next in
                (next.oweHeldFailures(signer: context.options.signer, now: now), { [self] in submitOwed() })
            },
            failure: { _ in })
    }

    private func submit(_ report: OwedReport, then completion: @escaping (Bool) -> Void) {
        guard context.delegate?.pairingRecord(report.pairing) != nil else { return completion(true) }
        let queue = QueueKey(pairing: report.pairing, app: report.application, channel: .configuration)
        context.exchange.submissions.submit(OutboundItem(id: report.id, payload: report.envelope), to: queue) { [context] result in
            if case .failure(let error) = result {
                context.log(
                    LogEvent(
                        .error, "report not queued", .text("app", "\(report.application)"),
                        .text("error", error.description)))
            }
            if case .success = result { completion(true) } else { completion(false) }
        }
    }

    private func forget(_ report: OwedReport) {
        committed.perform(
            { next in
                next.owed.removeAll { $0.id == report.id }
                return ([.delete(.owedReport, key: report.id.bytes)], {})
            },
            failure: { _ in })
    }
}
