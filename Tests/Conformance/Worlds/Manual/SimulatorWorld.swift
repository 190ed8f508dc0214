// The simulator on a manual clock: both sides of each pair in one relay, no link, and what is durable in memory.

import TandemBase
import TandemDaemon
import TandemFiles
import TandemReactor
import TandemTestSupport
import TandemTransport

final class SimulatorWorld: World {
    let abilities = WorldKind.simulator.abilities
    private let processes: ManualProcesses
    private let directory = TemporaryDirectory()
    private let simulator: Simulator

    init(seed: UInt64, secondaries: Int) throws {
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

    var pairings: [UniqueIdentifier] { simulator.pairings }
    var now: MonotonicTime { processes.clock.now }

    func wait(within limit: Duration, until condition: () throws -> Bool) rethrows -> Bool {
        try processes.wait(within: limit, until: condition)
    }

    func app(at place: Place) throws -> App {
        try processes.app(at: place, daemon: place.fileName)
    }

    func end(_ app: App, _ ending: Ending) { processes.end(app, ending) }

    func connect(to place: Place) throws -> any ByteStream { try processes.connect(to: place.fileName) }

    func stop() {
        processes.endApps()
        // It lets go of its sockets and its files' threads.
        var isStopped = false
        simulator.stop { isStopped = true }
        _ = wait(within: .seconds(10)) { isStopped }
    }
}
