// Whole daemons with their stores and TLS on one clock that a case moves. Between two steps of the clock everything has
// come to rest, the stores too, so that one seed gives one run.

import PairedSession
import TandemHostApps
package import TandemIdentity
import TandemLink
import TandemLog
import TandemNode
import TandemPropertyList
import TandemReactor
import TandemTestSupport
package import TandemTransport
import TandemWire

/// Nodes on one manual clock.
package final class ManualWorld: World {
    private struct Daemon {
        let process: ProcessScheduler
        let node: Node
    }

    package let abilities = Set(Ability.allCases)
    package private(set) var pairings: [UniqueIdentifier] = []
    private let clock = ManualScheduler()
    private let network: ManualNetwork
    private let directory = TemporaryDirectory(isInMemory: true)
    private let draws: Draws
    private var daemons: [Place: Daemon] = [:]
    private var apps: [(app: App, process: ProcessScheduler)] = []
    private let places: [Place]
    /// The lines that the daemons logged.
    package private(set) var lines: [String] = []

    package init(seed: UInt64, secondaries: Int = 1) throws {
        network = ManualNetwork(clock)
        draws = Draws(seed: seed)
        places = [.primary] + (0..<secondaries).map { .secondary($0) }
        for place in places { try start(place) }
        for number in 0..<secondaries { try pair(number) }
    }

    package var now: MonotonicTime { clock.now }

    // MARK: faults

    package func cutLinks() { network.cutLinks() }

    package var isLinkAllowed: Bool {
        get { network.isLinkAllowed }
        set { network.isLinkAllowed = newValue }
    }

    package var streamFaults: FaultPlan? {
        get { network.streamFaults }
        set { network.streamFaults = newValue }
    }

    package var frameFate: FrameFate.Rule? {
        get { network.frameFate }
        set { network.frameFate = newValue }
    }

    // MARK: time

    package func wait(within limit: Duration, until condition: () throws -> Bool) rethrows -> Bool {
        let end = clock.now + limit
        settle()
        while try !condition() {
            guard clock.now < end else { return false }
            clock.step(to: end)
            settle()
        }
        return true
    }

    /// Until nothing is left to do now; the stores' words come in the order of the devices.
    private func settle() {
        var hasMore = true
        while hasMore {
            clock.run()
            hasMore = false
            for place in places {
                guard let daemon = daemons[place] else { continue }
                daemon.node.settleStore()
                hasMore = daemon.process.takeMail() || hasMore
            }
        }
    }

    // MARK: daemons

    private func path(_ place: Place) -> String {
        switch place {
        case .primary: directory.path("primary")
        case .secondary(let number): directory.path("secondary-\(number)")
        }
    }

    private func start(_ place: Place) throws {
        let process = ProcessScheduler(clock)
        var options = NodeOptions(
            role: place == .primary ? .primary : .secondary, name: "\(place)", state: path(place),
            local: path(place) + ".sock")
        if place == .primary { options.listen = [.unix(path: directory.path("link"))] }
        let draws = draws
        let node = try Node(
            options, software: "conformance", scheduler: process, network: ManualNodeNetwork(network, process),
            random: { draws.next() },
            log: { [weak self] event in self?.lines.append("\(place): \(event.message) \(event.fields)") })
        daemons[place] = Daemon(process: process, node: node)
        try node.start()
        settle()
    }

    package func restart(_ place: Place, _ ending: Ending) throws {
        guard let daemon = daemons[place] else { throw Violation("\(place) does not run") }
        switch ending {
        case .orderly:
            var isStopped = false
            daemon.node.stop { isStopped = true }
            try demand(wait(within: .seconds(60)) { isStopped }, "\(place) stops in 60 s")
        case .killed:
            network.forget(daemon.process)
            daemon.process.kill()
            daemon.node.abandon()
        }
        network.forget(daemon.process)
        daemons[place] = nil
        try start(place)
    }

    private func ask(_ place: Place, _ command: String, _ body: PropertyListDictionary = [:]) throws -> ControlAnswer {
        var answer: ControlAnswer?
        let caller = PeerCredentials(user: Linux.user, group: Linux.user, process: 1)
        daemons[place]?.node.respond(
            to: ControlRequest(command: command, body: body, caller: caller, isPrivileged: true)
        ) { answer = $0 }
        _ = wait(within: .seconds(60)) { answer != nil }
        guard let answer, answer.code == 0 else { throw Violation("\(place) refuses \(command): \(answer as Any)") }
        return answer
    }

    private func pair(_ number: Int) throws {
        let made = try ask(.primary, "pair")
        let joined = try ask(.secondary(number), "join", ["link": made.body["link"] ?? ""])
        guard let pairing = joined.body["pairing"]?.dataValue.flatMap({ UniqueIdentifier(bytes: $0) }) else {
            throw Violation("a join gives no pairing")
        }
        pairings.append(pairing)
    }

    // MARK: apps

    package func app(_ name: String, at place: Place) throws -> App {
        let process = ProcessScheduler(clock)
        let (network, draws, socket) = (network, draws, path(place) + ".sock")
        let dialer = ManualDialer(process) { network.dialDaemon(socket, process) }
        let settings = try SessionSettings(PairedSessionOptions(application: name), environment: { _ in nil })
        let app = App(
            name, at: place, settings: settings, scheduler: process, dialer: dialer, random: { draws.next() })
        apps.append((app, process))
        return app
    }

    package func end(_ app: App, _ ending: Ending) {
        guard let index = apps.firstIndex(where: { $0.app === app }) else { return }
        let process = apps.remove(at: index).process
        if ending == .orderly {
            app.run { $0.end() }
            settle()
        }
        network.forget(process)
        process.kill()
        settle()
    }

    package func stop() {
        for entry in apps { end(entry.app, .killed) }
        for daemon in daemons.values {
            network.forget(daemon.process)
            daemon.process.kill()
            daemon.node.abandon()
        }
        daemons = [:]
    }
}

/// The draws of a run.
///
/// `@unchecked`: used on the world's thread only.
final class Draws: @unchecked Sendable {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    func next() -> UInt64 { generator.next() }
}
