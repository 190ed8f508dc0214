// Waiting for something that another turn of the loop brings, and no longer than a given time.

/// A value that one caller awaits for a limited time; confined to its loop.
package final class Expectation<Value: Sendable> {
    private let scheduler: any Scheduler
    private var value: Value?
    private var waiting: UnsafeContinuation<Void, Never>?
    private var timer: TimerToken?

    package init(on scheduler: any Scheduler) { self.scheduler = scheduler }

    /// The value has come; a second one is ignored.
    package func fulfil(_ value: Value) {
        guard self.value == nil else { return }
        self.value = value
        resume()
    }

    private func resume() {
        if let timer { scheduler.cancel(timer) }
        timer = nil
        waiting?.resume()
        waiting = nil
    }

    /// The value, or nil if it has not come in time; once.
    package func value(within time: Duration) async -> Value? {
        guard value == nil else { return value }
        await withUnsafeContinuation { continuation in
            waiting = continuation
            timer = scheduler.schedule(after: time) { [self] in resume() }
        }
        return value
    }
}
