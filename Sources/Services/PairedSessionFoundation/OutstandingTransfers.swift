// The transfers that a session knows: those of this process, and those that a former process left in the daemon. Each
// finishes once, with its storage on the other device or with an error. A transfer of a former process may have ended
// before this process knew it: the delegate learns that, too.

import Synchronization
import TandemBase

/// A transfer that the delegate knows: Apple has one class for user infos and one for files.
protocol BookedTransfer: AnyObject, Sendable {
    var id: UniqueIdentifier { get }
    var course: TransferCourse { get }
}

/// How far a transfer is; usable from any thread.
final class TransferCourse: Sendable {
    private struct State {
        var isOpen = true
        var isTakenBack = false
    }

    private let state = Mutex(State())
    private let takeBack: @Sendable () -> Void

    /// - Parameter takeBack: asks the daemon to take the item back.
    init(takeBack: @escaping @Sendable () -> Void) { self.takeBack = takeBack }

    /// It has not ended.
    var isOpen: Bool { state.withLock { $0.isOpen } }
    /// The app takes it back, so that it may end otherwise once it is stored.
    var isTakenBack: Bool { state.withLock { $0.isTakenBack } }

    func cancel() {
        let isOpen = state.withLock { state in
            state.isTakenBack = state.isOpen
            return state.isOpen
        }
        if isOpen { takeBack() }
    }

    /// False if it had ended before.
    func end() -> Bool {
        state.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
    }
}

/// The transfers of one kind of one session; usable from any thread.
final class OutstandingTransfers<Transfer: BookedTransfer>: Sendable {
    private struct Contents {
        /// Each with its number: they are listed in the order in which they were queued.
        var transfers: [UniqueIdentifier: (number: UInt64, transfer: Transfer)] = [:]
        var lastNumber: UInt64 = 0
        /// Ends reported to the delegate before the daemon's last report: they are not reported a second time.
        var reported: Set<UniqueIdentifier> = []

        func isNew(_ id: UniqueIdentifier) -> Bool { !reported.contains(id) && transfers[id] == nil }
    }

    private let contents = Mutex(Contents())

    /// Those that are on their way.
    var outstanding: [Transfer] {
        contents.withLock { $0.transfers.values.sorted { $0.number < $1.number }.map(\.transfer) }
    }

    subscript(id: UniqueIdentifier) -> Transfer? { contents.withLock { $0.transfers[id]?.transfer } }

    func isOutstanding(_ id: UniqueIdentifier) -> Bool { self[id] != nil }

    /// Whether it would be added: it is not known, and its end has not been reported.
    func isNew(_ id: UniqueIdentifier) -> Bool { contents.withLock { $0.isNew(id) } }

    /// Adds a transfer that is not known, and whose end has not been reported.
    func add(_ transfer: Transfer) {
        contents.withLock { contents in
            guard contents.isNew(transfer.id) else { return }
            contents.lastNumber += 1
            contents.transfers[transfer.id] = (contents.lastNumber, transfer)
        }
    }

    /// The transfer, if its end has not been reported.
    /// - Parameters:
    ///   - isLast: nothing comes after this; false for one that is stored, which is not the end of one that the app
    ///     takes back.
    ///   - former: makes the transfer of a former process that is not known here.
    func end(_ id: UniqueIdentifier, isLast: Bool, former: () -> Transfer) -> Transfer? {
        let (wasReported, known) = contents.withLock { contents -> (Bool, Transfer?) in
            if !isLast, contents.transfers[id]?.transfer.course.isTakenBack == true { return (true, nil) }
            let wasReported = contents.reported.contains(id)
            if isLast { contents.reported.remove(id) } else { contents.reported.insert(id) }
            return (wasReported, contents.transfers.removeValue(forKey: id)?.transfer)
        }
        guard !wasReported else { return nil }
        let transfer = known ?? former()
        return transfer.course.end() ? transfer : nil
    }
}
