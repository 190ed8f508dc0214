// That a caller's task was cancelled, readable on the loop. The cancellation may come before the caller's own action
// reaches the loop, and would find nothing to end there; so it leaves this mark first, and the action looks at it.

import Synchronization

/// Set by a cancellation handler before it submits anything; never unset.
final class CancellationMark: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() { flag.store(true, ordering: .releasing) }
}
