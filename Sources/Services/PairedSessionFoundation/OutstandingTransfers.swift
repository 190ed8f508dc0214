// The transfers that a session knows: those of this process, and those that a former process left in the daemon. Each
// finishes once, with its storage on the other device or with an error. A transfer of a former process may have ended
// before this process knew it: the delegate learns that, too.

import Synchronization
import TandemBase

/// A transfer that the delegate knows: Apple has one class for user infos and one for files.
protocol BookedTransfer: AnyObject, Sendable {
    var id: UniqueIdentifier { get }
    /// False if it had ended before.
    func end() -> Bool
}

/// The transfers of one kind of one session; usable from any thread.
final class OutstandingTransfers<Transfer: BookedTransfer>: Sendable {
    private struct Contents {
        /// In the order in which they were queued.
        var order: [UniqueIdentifier] = []
        var transfers: [UniqueIdentifier: Transfer] = [:]
        /// Ends reported to the delegate before the daemon's last report: they are not reported a second time.
        var reported: Set<UniqueIdentifier> = []
    }

    private let contents = Mutex(Contents())

    /// Those that are on their way.
    var outstanding: [Transfer] {
        contents.withLock { contents in contents.order.compactMap { contents.transfers[$0] } }
    }

    /// Adds a transfer that is not known, and whose end has not been reported.
    /// - Parameter others: called with each that was there before.
    func add(_ transfer: Transfer, others: (Transfer) -> Void = { _ in }) {
        contents.withLock { contents in
            guard !contents.reported.contains(transfer.id), contents.transfers[transfer.id] == nil else { return }
            contents.transfers.values.forEach(others)
            contents.transfers[transfer.id] = transfer
            contents.order.append(transfer.id)
        }
    }

    /// The transfer, if its end has not been reported.
    /// - Parameters:
    ///   - isLast: nothing comes after this; false for one that is stored.
    ///   - former: makes the transfer of a former process that is not known here.
    func end(_ id: UniqueIdentifier, isLast: Bool, former: () -> Transfer) -> Transfer? {
        let (wasReported, known) = contents.withLock { contents in
            let wasReported = contents.reported.contains(id)
            if isLast { contents.reported.remove(id) } else { contents.reported.insert(id) }
            contents.order.removeAll { $0 == id }
            return (wasReported, contents.transfers.removeValue(forKey: id))
        }
        guard !wasReported else { return nil }
        let transfer = known ?? former()
        return transfer.end() ? transfer : nil
    }
}
