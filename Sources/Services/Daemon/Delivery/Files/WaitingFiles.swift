// Files that wait for their turn to be handed over. An app may give thousands of them, so nothing here looks at all of them
// for one: what is gone is skipped in the order, and dropped from it when it is the greater part.

import TandemBase
import TandemDelivery
import TandemWire

/// Submissions in the order in which they came.
struct WaitingFiles {
    private var order: [FileSubmission] = []
    private var submissions: [FileKey: FileSubmission] = [:]
    private var kept: [ApplicationIdentifier: KeptAmount] = [:]

    /// In no order.
    var all: [FileSubmission] { Array(submissions.values) }

    subscript(key: FileKey) -> FileSubmission? { submissions[key] }

    /// How many of an app wait, and the bytes that describe them.
    func kept(of app: ApplicationIdentifier) -> KeptAmount { kept[app] ?? KeptAmount() }

    mutating func append(_ submission: FileSubmission) {
        order.append(submission)
        submissions[submission.key] = submission
        kept[submission.key.queue.app, default: KeptAmount()].records += 1
        kept[submission.key.queue.app, default: KeptAmount()].bytes += submission.size
    }

    mutating func remove(_ submission: FileSubmission) {
        guard submissions[submission.key] === submission else { return }
        submissions[submission.key] = nil
        let app = submission.key.queue.app
        let before = kept(of: app)
        let rest = KeptAmount(records: before.records - 1, bytes: before.bytes - submission.size)
        kept[app] = rest.records > 0 ? rest : nil
        if order.count > 64, order.count > 2 * submissions.count {
            let submissions = submissions
            order.removeAll { submissions[$0.key] !== $0 }
        }
    }

    /// Takes out the first one whose app may begin.
    mutating func takeFirst(where mayBegin: (ApplicationIdentifier) -> Bool) -> FileSubmission? {
        guard kept.keys.contains(where: mayBegin) else { return nil }
        let first = order.first { submissions[$0.key] === $0 && mayBegin($0.key.queue.app) }
        if let first { remove(first) }
        return first
    }
}
