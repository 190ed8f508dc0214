// The transfers that a session knows: those of this process, and those that a former process left in the daemon. Each
// finishes once, with its storage on the other device or with an error.

import Foundation
import PairedSession
import Synchronization
import TandemIdentity

/// The user infos of one session; usable from any thread.
final class TransferBook: Sendable {
    private struct Contents {
        /// In the order in which they were queued.
        var order: [UniqueIdentifier] = []
        var transfers: [UniqueIdentifier: WCSessionUserInfoTransfer] = [:]
        var remainingUrgent = 0
    }

    private let contents = Mutex(Contents())

    /// Those that are on their way.
    var outstanding: [WCSessionUserInfoTransfer] {
        contents.withLock { contents in contents.order.compactMap { contents.transfers[$0] } }
    }

    /// Adds a transfer; of the urgent ones only the newest is current.
    func add(_ transfer: WCSessionUserInfoTransfer) {
        contents.withLock { contents in
            guard contents.transfers.updateValue(transfer, forKey: transfer.id) == nil else { return }
            contents.order.append(transfer.id)
            guard transfer.isCurrentComplicationInfo else { return }
            for other in contents.transfers.values where other !== transfer { other.setCurrent(false) }
        }
    }

    /// The transfer, if this is its first end.
    func end(_ id: UniqueIdentifier) -> WCSessionUserInfoTransfer? {
        let transfer = contents.withLock { contents in
            contents.order.removeAll { $0 == id }
            return contents.transfers.removeValue(forKey: id)
        }
        guard let transfer, transfer.end() else { return nil }
        return transfer
    }

    /// What is left of the budget of urgent items.
    var remainingUrgent: Int {
        get { contents.withLock { $0.remainingUrgent } }
        set { contents.withLock { $0.remainingUrgent = newValue } }
    }
}
