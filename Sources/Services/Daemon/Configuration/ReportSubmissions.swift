// Submissions of owed reports to the queues of their primaries. One report asks a queue that had no room, at the next
// tick or link, and not all at each event: a primary that takes no reports would make each of its items try, and log,
// hundreds of them.

import TandemBase
import TandemDelivery
import TandemReactor
import TandemWire

/// The owed reports on their way into their queues; confined to the loop.
final class ReportSubmissions {
    private enum FullQueue {
        case waiting, due, asked
    }

    private let context: ConfigurationContext
    /// The reports between their submission and the end of their removal, which may wait for a slow disk: each event
    /// before that would otherwise submit and remove them once more.
    private var underWay: Set<UniqueIdentifier> = []
    private var fullQueues: [QueueKey: FullQueue] = [:]

    init(_ context: ConfigurationContext) { self.context = context }

    /// The next submission asks the queues that had no room.
    func becomeDue() { fullQueues = fullQueues.mapValues { $0 == .waiting ? .due : $0 } }

    /// - Parameter remove: called for each report that its queue has taken, or that nobody waits for; returns once the
    ///   removal is stored, or has failed.
    func submit(_ owed: some Sequence<OwedReport>, remove: @escaping (OwedReport) async -> Void) {
        for report in owed where !underWay.contains(report.id) {
            switch fullQueues[report.queue] {
            case nil: break
            case .due: fullQueues[report.queue] = .asked
            case .waiting, .asked: continue
            }
            underWay.insert(report.id)
            let taken = { [self] in
                fullQueues[report.queue] = nil
                context.scheduler.start { [self] in
                    await remove(report)
                    underWay.remove(report.id)
                }
            }
            guard context.device.peer(report.pairing) != nil else {
                taken()
                continue
            }
            let item = OutboundItem(id: report.id, payload: report.envelope)
            context.delivery.submissions.submit(item, to: report.queue) { [self] result in
                if case .failure(let failure) = result { return refused(report, failure) }
                taken()
            }
        }
    }

    /// Writes one line for all that were submitted together.
    private func refused(_ report: OwedReport, _ failure: DeliveryFailure) {
        underWay.remove(report.id)
        guard fullQueues.updateValue(.waiting, forKey: report.queue) != .waiting else { return }
        context.log(
            .error, "report not queued", .text("app", "\(report.application)"), .text("error", failure.description))
    }
}
