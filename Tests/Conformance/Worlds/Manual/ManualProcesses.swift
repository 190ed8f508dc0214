// The processes of a world on a manual clock: daemons, the simulator, apps. Between two steps of the clock everything
// has come to rest, also what threads of stores and files do, so that one seed gives one run.

import PairedSession
import TandemBase
import TandemDaemon
import TandemReactor
import TandemTestSupport
import TandemTransport

/// All processes of a world and the time that they share.
final class ManualProcesses {
    private struct Resident {
        let process: ProcessScheduler
        let waitForThreads: () -> Void
    }

    let clock = ManualScheduler()
    let network: ManualNetwork
    let draws: Draws
    /// In the order of their starts, which is that in which their threads' words come.
    private var residents: [Resident] = []
    private var apps: [(app: App, process: ProcessScheduler)] = []

    init(seed: UInt64) {
        network = ManualNetwork(clock)
        draws = Draws(seed: seed)
    }

    /// - Parameter waitForThreads: returns when the process's own threads have nothing to do.
    func add(_ process: ProcessScheduler, waitForThreads: @escaping () -> Void) {
        residents.append(Resident(process: process, waitForThreads: waitForThreads))
    }

    /// The process is gone, with its connections and all that it has scheduled.
    func end(_ process: ProcessScheduler) {
        network.forget(process)
        process.kill()
        residents.removeAll { $0.process === process }
    }

    // MARK: time

    /// Moves the clock from event to event until the condition holds.
    func wait(within limit: Duration, until condition: () throws -> Bool) rethrows -> Bool {
        let end = clock.now + limit
        settle()
        while try !condition() {
            guard clock.now < end else { return false }
            clock.step(to: end)
            settle()
        }
        return true
    }

    /// Until nothing is left to do now.
    func settle() {
        var hasMore = true
        while hasMore {
            clock.run()
            hasMore = false
            for resident in residents {
                resident.waitForThreads()
                hasMore = resident.process.takeMail() || hasMore
            }
        }
    }

    // MARK: apps

    /// An app that finds its daemon at the path.
    func app(at place: Place, daemon path: String) throws -> App {
        let process = ProcessScheduler(clock)
        let dialer = ManualDialer(process) { [network] in network.dialDaemon(path, process) }
        let app = try App(at: place, scheduler: process, dialer: dialer, draws: draws)
        add(process) { app.waitForThreads() }
        apps.append((app, process))
        return app
    }

    /// A connection of a process without an app to the daemon at the path.
    func connect(to path: String) throws -> any ByteStream {
        guard let stream = network.dialDaemon(path, ProcessScheduler(clock)) else {
            throw Violation("no daemon serves \(path)")
        }
        return stream
    }

    func end(_ app: App, _ ending: Ending) {
        guard let index = apps.firstIndex(where: { $0.app === app }) else { return }
        if ending == .orderly {
            app.run { $0.end() }
            settle()
        }
        end(apps.remove(at: index).process)
        settle()
    }

    func endApps() { for entry in apps { end(entry.app, .killed) } }
}
