// A user info on its way, as Apple names it. The object is one of this process; the item outlives both.

public import Foundation
import PairedSession
import Synchronization
import TandemBase
import TandemWire

/// A user info that was queued by ``WCSession/transferUserInfo(_:)`` or
/// ``WCSession/transferCurrentComplicationUserInfo(_:)``.
///
/// `@unchecked`: `userInfo` is never changed, and its values are property-list values, which nobody changes; the rest
/// is under the mutex `state`.
public final class WCSessionUserInfoTransfer: NSObject, BookedTransfer, @unchecked Sendable {
    private struct State {
        var isCurrent = false
        var isTransferring = true
    }

    /// What was queued. Empty for an item of a former process that the other device has stored: its content is gone
    /// from this one. Such an item may finish a second time, once in each process.
    public let userInfo: [String: Any]
    let id: UniqueIdentifier
    private let state: Mutex<State>
    private let session: @Sendable () -> PairedSession?

    init(
        id: UniqueIdentifier, userInfo: [String: Any], isCurrent: Bool,
        session: @escaping @Sendable () -> PairedSession?
    ) {
        self.id = id
        self.userInfo = userInfo
        self.session = session
        state = Mutex(State(isCurrent: isCurrent))
    }

    /// The newest of the items for the complication.
    public var isCurrentComplicationInfo: Bool { state.withLock { $0.isCurrent } }

    /// Neither stored on the other device, nor failed, nor cancelled.
    public var isTransferring: Bool { state.withLock { $0.isTransferring } }

    /// Takes the item back if no handler on the other device has it; `session(_:didFinish:error:)` tells how it ended.
    public func cancel() {
        guard isTransferring, let session = session() else { return }
        let id = id
        session.handle.run { core in
            for channel in [Channel.userInfo, .urgent] { core.cancelTransfer(id, on: channel) }
        }
    }

    func setCurrent(_ isCurrent: Bool) { state.withLock { $0.isCurrent = isCurrent } }

    func end() -> Bool {
        state.withLock { state in
            defer { state.isTransferring = false }
            return state.isTransferring
        }
    }
}
