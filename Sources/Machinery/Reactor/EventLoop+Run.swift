// Starting and stopping a loop: on the caller's thread (`run`) or on a thread of its own (`startThread`). A stop lets
// the turn finish and runs the jobs that were accepted, so that no accepted job is lost; whatever drains first
// (listeners, streams) is the business of those who know them, before they call `stop`.

internal import Synchronization

extension EventLoop {
    /// Runs turns on the calling thread until `stop`; then drops all timers and registrations.
    package func run() {
        owner.store(Linux.currentThread, ordering: .relaxed)
        while !isStopping.load(ordering: .acquiring) { turn(mayWait: true) }
        repeat { turn(mayWait: false) } while !mailbox.closeIfEmpty()
        abandon()
    }

    /// Runs what is ready now, in one turn that does not wait; for tests and tools that own the thread.
    package func runOnce() {
        owner.store(Linux.currentThread, ordering: .relaxed)
        turn(mayWait: false)
    }

    /// Runs turns on the calling thread, waiting as needed, until the condition holds.
    package func run(until condition: () -> Bool) {
        owner.store(Linux.currentThread, ordering: .relaxed)
        while !condition() { turn(mayWait: true) }
    }

    /// Runs the loop on a thread of its own.
    package func startThread() throws(SystemError) {
        checkThread()
        // From here on the caller is a stranger, even before the new thread is up.
        owner.store(0, ordering: .relaxed)
        do {
            thread = try LoopThread(named: "tandem-loop") { self.run() }
        } catch {
            owner.store(Linux.currentThread, ordering: .relaxed)
            throw error
        }
    }

    /// Asks the loop to end; from any thread, as often as one likes.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        mailbox.wake()
    }

    /// Waits until the loop's own thread has ended; from the thread that started it.
    package func join() {
        thread?.join()
        thread = nil
    }
}
