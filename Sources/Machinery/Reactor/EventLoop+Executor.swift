// The loop as a Swift executor: an actor that names it as its executor runs on its thread, and code on that thread
// enters the actor with `assumeIsolated`, without a hop. The actor must keep the loop alive (executors are unowned),
// and must not outlive its running: a job after the stop has nowhere to run, which is a bug of ours.

extension EventLoop: SerialExecutor {
    package func enqueue(_ job: consuming ExecutorJob) {
        let isTaken = mailbox.post(.executor(UnownedJob(job)))
        precondition(isTaken, "an actor has outlived its event loop")
    }

    package func checkIsolated() { checkThread() }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }
}
