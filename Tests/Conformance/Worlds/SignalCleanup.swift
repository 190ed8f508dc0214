// End of the suite's process by a signal: the daemons that it has started and the directories of its worlds go with it.
// A daemon has a session of its own, so a terminal's Ctrl-C does not reach it, and nobody else knows it.

import CTandemTestSupport
import Glibc
import Synchronization
import TandemReactor
import TandemTestSupport

/// The programs that would outlive this process; any thread.
enum SignalCleanup {
    /// Process groups by their leaders, also of those that have ended.
    private static let groups = Mutex<Set<Int32>>([])

    /// Once: from now on SIGTERM and SIGINT end what is left, and then this process.
    private static let watch: Void = {
        let descriptor = tandem_ending_signals()
        guard descriptor >= 0 else { return }
        do {
            try LoopThread(named: "signal-cleanup") {
                var number: UInt8 = 0
                while read(descriptor, &number, 1) != 1 {}
                SignalCleanup.end(by: Int32(number))
            }.detach()
        } catch {
            // Without the thread the signals end this process as before.
            for number in [SIGTERM, SIGINT] { signal(number, SIG_DFL) }
        }
    }()

    static func watchSignals() { _ = watch }

    /// Starts a program; on the loop's thread.
    static func start(
        _ call: ProgramCall, on loop: EventLoop, onEnd: @escaping (Int32) -> Void
    ) throws -> ChildProgram {
        // Under the lock: a signal finds the program here, or keeps it from starting.
        let program = try groups.withLock { groups in
            let program = try ChildProgram(call, loop: loop, onEnd: onEnd)
            groups.insert(program.process)
            return LoopBound(program, to: loop)
        }
        return program.value
    }

    private static func end(by number: Int32) {
        // Both locks are held until the end, so that no case starts or makes anything behind this.
        groups.withLock { groups in
            // The number of a child that nobody has waited for is no other program's.
            let running = groups.filter { waitpid($0, nil, WNOHANG) == 0 }
            for group in running { kill(-group, SIGKILL) }
            for group in running { waitpid(group, nil, 0) }
            TemporaryDirectory.removeAll {
                signal(number, SIG_DFL)
                // Every thread blocks it.
                var mask = sigset_t()
                sigemptyset(&mask)
                sigaddset(&mask, number)
                pthread_sigmask(SIG_UNBLOCK, &mask, nil)
                raise(number)
                _exit(128 + number)
            }
        }
    }
}
