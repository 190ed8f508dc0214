// Submissions of owed reports to the queues of their primaries. One report asks a queue that had no room, at the next
// tick or link, and not all at each event: a primary that takes no reports would make each of its items try, and log,
// hundreds of them.

import TandemBase
import TandemDelivery
import TandemWire

/// The owed reports on their way into their queues; confined to the loop.
final class ReportSubmissions {
    private enum FullQueue {
        case waiting, due, asked
    }

    private let context: ConfigurationContext
    private var submitting: Set<UniqueIdentifier> = []
    private var fullQueues: [QueueKey: FullQueue] = [:]

    init(_ context: ConfigurationContext) { self.context = context }

    /// The next submission asks the queues that had no room.
    func becomeDue() { fullQueues = fullQueues.mapValues { $0 == .waiting ? .due : $0 } }

    /// - Parameter taken: called for each report that its queue has taken, or that nobody waits for.
    func submit(_ owed: some Sequence<OwedReport>, taken: @escaping (OwedReport) -> Void) {
        for report in owed where !submitting.contains(report.id) {
            switch fullQueues[report.queue] {
            case nil: break
            case .due: fullQueues[report.queue] = .asked
            case .waiting, .asked: continue
            }
            guard context.device.peer(report.pairing) != nil else {
                fullQueues[report.queue] = nil
                taken(report)
                continue
            }
            submitting.insert(report.id)
            let item = OutboundItem(id: report.id, payload: report.envelope)
            context.delivery.submissions.submit(item, to: report.queue) { [self] result in
                submitting.remove(report.id)
                if case .failure(let failure) = result { return refused(report, failure) }
                fullQueues[report.queue] = nil
                taken(report)
            }
        }
    }

    /// Of those that were under way together one line.
    private func refused(_ report: OwedReport, _ failure: DeliveryFailure) {
        guard fullQueues.updateValue(.waiting, forKey: report.queue) != .waiting else { return }
        context.log(
            LogEvent(
                .error, "report not queued", .text("app", "\(report.application)"),
                .text("error", failure.description)))
    }
}
