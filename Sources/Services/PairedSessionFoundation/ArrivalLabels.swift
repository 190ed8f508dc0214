// What waits for the delegate, and the label of what it is being given. Apple's callbacks do not say from which device
// something came; after a switch an app has to know.

import Synchronization
import TandemBase

/// The label of the running callback and the number of those to come; usable from any thread.
final class ArrivalLabels: Sendable {
    private struct State {
        var current: UniqueIdentifier?
        var pending = 0
    }

    private let state = Mutex(State())

    var current: UniqueIdentifier? { state.withLock { $0.current } }

    var pending: Int { state.withLock { $0.pending } }

    func set(_ pairing: UniqueIdentifier?) { state.withLock { $0.current = pairing } }

    func change(by change: Int) { state.withLock { $0.pending += change } }
}
