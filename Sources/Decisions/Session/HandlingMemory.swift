// What became of the items that this process was given (SES-51). The daemon gives an item again when it has not heard
// the verdict, because one of the two or the connection ended in between. An item whose handler still runs, or has
// returned, does not run it a second time: the verdict is said again. Only a process that is gone forgets.

package import TandemIdentity

/// The recent items of one app: in hand, or with their verdict.
package struct HandlingMemory<Verdict: Sendable>: Sendable {
    /// What to do with an item that has come.
    package enum Arrival {
        case new
        /// Its handler is still running; the verdict will follow.
        case inHand
        case done(Verdict)
    }

    private enum State {
        case inHand
        case done(Verdict)
    }

    private var states: [UniqueIdentifier: State] = [:]
    private var finished: [UniqueIdentifier] = []
    private var oldest = 0
    private let capacity: Int

    /// - Parameter capacity: verdicts that are remembered: more than can be under way at once.
    package init(capacity: Int = 1024) { self.capacity = capacity }

    /// An item was delivered.
    package mutating func arrived(_ id: UniqueIdentifier) -> Arrival {
        switch states[id] {
        case nil:
            states[id] = .inHand
            return .new
        case .inHand: return .inHand
        case .done(let verdict): return .done(verdict)
        }
    }

    /// The handler is done with it for good.
    package mutating func ended(_ id: UniqueIdentifier, _ verdict: Verdict) {
        if states.updateValue(.done(verdict), forKey: id) != nil { remember(id) }
    }

    /// The handler failed: given again, the item is new.
    package mutating func failed(_ id: UniqueIdentifier) { states[id] = nil }

    private mutating func remember(_ id: UniqueIdentifier) {
        if finished.count < capacity { return finished.append(id) }
        states[finished[oldest]] = nil
        finished[oldest] = id
        oldest = (oldest + 1) % capacity
    }
}
