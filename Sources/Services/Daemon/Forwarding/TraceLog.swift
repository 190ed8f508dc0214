// What this device saw of messages and durable items on their way (CTL-20), for an operator who asks. Durable items are
// always noted: they are few, and each costs a commit anyway. Messages are noted only while somebody follows them.

package import TandemOperations
package import TandemReactor

/// The history of a daemon; confined to its loop.
package final class TraceLog {
    private let scheduler: any Scheduler
    package private(set) var ring = TraceRing()
    /// Told at each event: those who wait for one.
    package var onEvent: (() -> Void)?

    package init(_ scheduler: any Scheduler) { self.scheduler = scheduler }

    /// Notes an event at this moment.
    package func note(_ event: TraceEvent) {
        ring.append(event, at: scheduler.now, wall: scheduler.wallNow)
        onEvent?()
    }
}
