// Callers that wait for a change of a forwarder's state, and the ordinal of the last one. Counting a
// change and waking the waiters are two calls: the effects of a change may change the state again before anybody is
// woken.

import TandemReactor

/// The waiting callers of one forwarder; confined to its loop.
final class ChangeWaiters {
    private let scheduler: any Scheduler
    private var waiters: [(isDone: () -> Bool, finished: Expectation<Void>)] = []
    /// Grows with every change since the start: lets a caller ask for what came after its last answer.
    private(set) var ordinal: UInt64 = 0

    init(on scheduler: any Scheduler) { self.scheduler = scheduler }

    /// The state has changed.
    func count() { ordinal += 1 }

    /// Wakes those whose wait is over.
    func notify() {
        for waiter in waiters where waiter.isDone() { waiter.finished.fulfil(()) }
    }

    /// Waits until something is so, at most for a time.
    private func wait(atMost wait: Duration, until isDone: @escaping () -> Bool) async {
        guard !isDone() else { return }
        let finished = Expectation<Void>(on: scheduler)
        waiters.append((isDone, finished))
        await finished.value(within: wait)
        waiters.removeAll { $0.finished === finished }
    }

    /// Waits until a condition holds for each element, at most for a time. Each change starts at the first element that
    /// was not done: thousands may become done one after the other.
    func wait<Element>(
        atMost wait: Duration, untilEach elements: [Element], _ isDone: @escaping (Element) -> Bool
    ) async {
        var first = 0
        await self.wait(atMost: wait) {
            while first < elements.count, isDone(elements[first]) { first += 1 }
            guard first == elements.count else { return false }
            // One that was done before may not be any longer.
            first = elements.firstIndex { !isDone($0) } ?? elements.count
            return first == elements.count
        }
    }

    /// Waits for a change after an ordinal, at most for a time.
    func change(after ordinal: UInt64, atMost wait: Duration) async {
        await self.wait(atMost: wait) { [self] in self.ordinal != ordinal }
    }
}
