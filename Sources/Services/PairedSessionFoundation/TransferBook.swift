// The transfers that a session knows: those of this process, and those that a former process left in the daemon. Each
// finishes once, with its storage on the other device or with an error. What a former process sent may have ended
// before anybody here asked for it: that is told, too.

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
        /// Stored, told to the delegate, and not ended: their end is not told a second time.
        var told: Set<UniqueIdentifier> = []
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
            guard !contents.told.contains(transfer.id) else { return }
            guard contents.transfers.updateValue(transfer, forKey: transfer.id) == nil else { return }
            contents.order.append(transfer.id)
            guard transfer.isCurrentComplicationInfo else { return }
            for other in contents.transfers.values where other !== transfer { other.setCurrent(false) }
        }
    }

    /// The transfer, if its end has not been told.
    /// - Parameters:
    ///   - isLast: nothing comes after this; false for one that is stored.
    ///   - former: makes the transfer of a former process that nobody here knows.
    func end(
        _ id: UniqueIdentifier, isLast: Bool, former: () -> WCSessionUserInfoTransfer
    ) -> WCSessionUserInfoTransfer? {
        let (wasTold, known) = contents.withLock { contents in
            let wasTold = contents.told.contains(id)
            if isLast { contents.told.remove(id) } else { contents.told.insert(id) }
            contents.order.removeAll { $0 == id }
            return (wasTold, contents.transfers.removeValue(forKey: id))
        }
        guard !wasTold else { return nil }
        let transfer = known ?? former()
        return transfer.end() ? transfer : nil
    }

    /// What is left of the budget of urgent items.
    var remainingUrgent: Int {
        get { contents.withLock { $0.remainingUrgent } }
        set { contents.withLock { $0.remainingUrgent = newValue } }
    }
}
