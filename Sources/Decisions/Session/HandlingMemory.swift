// Duplicate suppression for received items (SES-51). The daemon redelivers an item whose verdict it has not received,
// because a process or the connection ended in between. If the handler is running or has returned, the library does not
// run it again and repeats the verdict. The memory ends with the process. The submitter chooses the identifier: the
// same one in another queue is another item.

package import TandemWire

/// The recent items of one app: in hand, or with their verdict.
package struct HandlingMemory<Verdict: Sendable>: ~Copyable, Sendable {
    /// The decision on a delivered item.
    package enum Arrival: Sendable {
        case new
        /// Its handler is still running; the verdict will follow.
        case inHand
        case done(Verdict)
    }

    /// None of them is `new`.
    private var states: [ItemKey: Arrival] = [:]
    private var finished: [ItemKey] = []
    private var oldest = 0
    private let capacity: Int

    /// - Parameter capacity: verdicts that are remembered: more than can be under way at once.
    package init(capacity: Int = 1024) { self.capacity = capacity }

    package mutating func arrived(_ item: ItemKey) -> Arrival {
        if let known = states[item] { return known }
        states[item] = .inHand
        return .new
    }

    /// The handler is done with it for good.
    package mutating func ended(_ item: ItemKey, _ verdict: Verdict) {
        if states.updateValue(.done(verdict), forKey: item) != nil { remember(item) }
    }

    /// The handler failed or has not begun: a redelivered item is new.
    package mutating func forget(_ item: ItemKey) { states[item] = nil }

    private mutating func remember(_ item: ItemKey) {
        if finished.count < capacity { return finished.append(item) }
        states[finished[oldest]] = nil
        finished[oldest] = item
        oldest = (oldest + 1) % capacity
    }
}
