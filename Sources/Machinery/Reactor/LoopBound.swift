// Carries a value that is confined to a loop through code that runs elsewhere, such as the completion of a store's
// thread: it can travel anywhere and be opened only at home.

/// A value of a scheduler's thread in a Sendable envelope.
///
/// `@unchecked`: `value` is only reached on the scheduler's thread, which each access checks.
package struct LoopBound<Value>: @unchecked Sendable {
    private let scheduler: any Scheduler
    private let confined: Value

    /// Seals the value; on the scheduler's thread.
    package init(_ value: Value, to scheduler: any Scheduler) {
        precondition(scheduler.isCurrent, "sealed on another thread than the scheduler's")
        self.scheduler = scheduler
        confined = value
    }

    /// The value; on the scheduler's thread only.
    package var value: Value {
        precondition(scheduler.isCurrent, "opened on another thread than the scheduler's")
        return confined
    }
}
