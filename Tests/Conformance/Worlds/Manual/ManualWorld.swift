// Whole daemons with their stores and TLS on one clock that a case moves, and every fault that there is.

import TandemBase
import TandemDaemon
import TandemReactor
import TandemTestSupport
import TandemTransport

/// Nodes on one manual clock.
final class ManualWorld: World {
    private struct Daemon {
        let process: ProcessScheduler
        let node: Node
    }

    let abilities = WorldKind.manual.abilities
    private(set) var pairings: [UniqueIdentifier] = []
    private(set) var notes: [String] = []
    private let processes: ManualProcesses
    private let directory = TemporaryDirectory()
    private var daemons: [Place: Daemon] = [:]

    init(seed: UInt64, secondaries: Int) throws {
        processes = ManualProcesses(seed: seed)
        let primary = try start(.primary)
        for number in 0..<secondaries { pairings.append(try pair(primary, start(.secondary(number)))) }
    }

    var now: MonotonicTime { processes.clock.now }

    func wait(within limit: Duration, until condition: () throws -> Bool) rethrows -> Bool {
        try processes.wait(within: limit, until: condition)
    }

    // MARK: faults

    func cutLinks() { processes.network.cutLinks() }

    var isLinkAllowed: Bool {
        get { processes.network.isLinkAllowed }
        set { processes.network.isLinkAllowed = newValue }
    }

    var streamFaults: FaultPlan? {
        get { processes.network.streamFaults }
        set { processes.network.streamFaults = newValue }
    }

    var frameFate: FrameFate.Rule? {
        get { processes.network.frameFate }
        set { processes.network.frameFate = newValue }
    }

    /// Of connections of apps that are made from now on.
    var appDelay: ClosedRange<Duration> {
        get { processes.network.appDelay }
        set { processes.network.appDelay = newValue }
    }

    // MARK: daemons

    private func socket(_ place: Place) -> String { directory.path(place.fileName + ".sock") }
    private func state(_ place: Place) -> String { directory.path(place.fileName) }

    @discardableResult
    private func start(_ place: Place) throws -> Node {
        let process = ProcessScheduler(processes.clock)
        var options = NodeOptions(
            role: place == .primary ? .primary : .secondary, name: "\(place)", state: state(place),
            local: socket(place))
        if place == .primary { options.listen = [.unix(path: directory.path("link"))] }
        let draws = processes.draws
        let node = try Node(
            options, software: "conformance", scheduler: process,
            network: ManualNodeNetwork(processes.network, process), random: { draws.next() },
            log: { [weak self] event in self?.notes.append("\(place): \(event.message) \(event.fields)") })
        daemons[place] = Daemon(process: process, node: node)
        processes.add(process) { node.settleStore() }
        try node.start()
        processes.settle()
        return node
    }

    func restart(_ place: Place, _ ending: Ending, meanwhile: (String) throws -> Void) throws {
        guard let daemon = daemons.removeValue(forKey: place) else { throw Violation("\(place) does not run") }
        if ending == .orderly { try stop(daemon.node) }
        processes.end(daemon.process)
        daemon.node.abandon()
        try meanwhile(state(place))
        try start(place)
    }

    // MARK: apps

    func app(at place: Place) throws -> App {
        try processes.app(at: place, daemon: socket(place))
    }

    func end(_ app: App, _ ending: Ending) { processes.end(app, ending) }

    func connect(to place: Place) throws -> any ByteStream { try processes.connect(to: socket(place)) }

    func stop() {
        processes.endApps()
        for daemon in daemons.values {
            processes.end(daemon.process)
            daemon.node.abandon()
        }
        daemons = [:]
    }
}
