// The file transfers that a session knows: those of this process, and those that a former process left in the daemon.
// Each finishes once.

import Foundation
import Synchronization
import TandemIdentity

/// The files of one session; usable from any thread.
final class FileBook: Sendable {
    private let transfers = Mutex<[WCSessionFileTransfer]>([])

    /// Those that are on their way, in the order in which they were queued.
    var outstanding: [WCSessionFileTransfer] { transfers.withLock { $0 } }

    func add(_ transfer: WCSessionFileTransfer) {
        transfers.withLock { transfers in
            if !transfers.contains(where: { $0.id == transfer.id }) { transfers.append(transfer) }
        }
    }

    /// The transfer, if this is its first end.
    func end(_ id: UniqueIdentifier) -> WCSessionFileTransfer? {
        let transfer = transfers.withLock { transfers in
            transfers.firstIndex { $0.id == id }.map { transfers.remove(at: $0) }
        }
        guard let transfer, transfer.end() else { return nil }
        return transfer
    }
}
