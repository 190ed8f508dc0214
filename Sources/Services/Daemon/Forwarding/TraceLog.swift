// Trace of what this device saw, as the forwarder and durable delivery note it.

package import TandemOperations
package import TandemReactor

/// Trace of the messages and durable items that this device saw (CTL-20), for an operator who asks; confined to its
/// loop. Durable items are always noted: they are few, and each costs a commit anyway. Messages are noted only while
/// somebody follows them.
package final class TraceLog {
    private let scheduler: any Scheduler
    // Unchecked, because nothing is called while they are touched; each item uses them.
    @exclusivity(unchecked) package private(set) var ring = TraceRing()
    /// Called at each event; nil while nobody waits for one.
    @exclusivity(unchecked) package var onEvent: (() -> Void)?

    package init(_ scheduler: any Scheduler) { self.scheduler = scheduler }

    /// Notes an event at this moment.
    package func note(_ event: TraceEvent) {
        ring.append(event, at: scheduler.now, wall: scheduler.wallNow)
        onEvent?()
    }
}
