// The simulator on a manual clock: both sides of each pair in one relay, no link, and what is durable in memory.

package import TandemBase
import TandemDaemon
import TandemFiles
import TandemReactor
import TandemTestSupport
package import TandemTransport

/// The simulator and its apps.
package final class SimulatorWorld: World {
    package let abilities = WorldKind.simulator.abilities
    private let processes: ManualProcesses
    private let directory = TemporaryDirectory()
    private let simulator: Simulator

    package init(seed: UInt64, secondaries: Int = 1) throws {
        processes = ManualProcesses(seed: seed)
        let process = ProcessScheduler(processes.clock)
        let simulator = Simulator(
            scheduler: process, software: "conformance", user: Linux.user, secondaries: secondaries,
            files: try OwnedDirectory(path: directory.path))
        self.simulator = simulator
        processes.add(process) { simulator.waitForDisk() }
        processes.network.listen(.unix(path: Place.primary.fileName), process, simulator.primary)
        for (number, endpoint) in simulator.secondaries.enumerated() {
            processes.network.listen(.unix(path: Place.secondary(number).fileName), process, endpoint)
        }
    }

    package var pairings: [UniqueIdentifier] { simulator.pairings }
    package var now: MonotonicTime { processes.clock.now }

    package func wait(within limit: Duration, until condition: () throws -> Bool) rethrows -> Bool {
        try processes.wait(within: limit, until: condition)
    }

    package func app(_ name: String, at place: Place) throws -> App {
        try processes.app(name, at: place, daemon: place.fileName)
    }

    package func end(_ app: App, _ ending: Ending) { processes.end(app, ending) }

    package func connect(to place: Place) throws -> any ByteStream { try processes.connect(to: place.fileName) }

    package func stop() {
        processes.endApps()
        // It lets go of its sockets and its files' threads.
        var isStopped = false
        simulator.stop { isStopped = true }
        _ = wait(within: .seconds(10)) { isStopped }
    }
}
