// Real sessions beside a real simulator on one manual clock: what an app sees of several devices, without a process.

import PairedSession
import TandemBase
import TandemDaemon
import TandemFiles
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

/// Connects to one of the simulator's devices without a socket.
final class SimulatorDialer: Dialer {
    private let endpoint: LocalEndpoint
    private let scheduler: ManualScheduler
    private var stream: (any ByteStream)?

    init(_ endpoint: LocalEndpoint, _ scheduler: ManualScheduler) {
        self.endpoint = endpoint
        self.scheduler = scheduler
    }

    func dial(_ completion: @escaping ((any ByteStream)?) -> Void) {
        let (own, other) = InProcessStream.pair(on: scheduler)
        stream = other
        endpoint.accept(other, credentials: PeerCredentials(user: 1000, process: 4711))
        scheduler.schedule(after: .zero) { completion(own) }
    }

    func cancel() {}

    /// The connection breaks.
    func cut() { stream?.close(.closedHere) }
}

/// A primary, its secondaries, and an app's session on each.
final class SimulatedApps {
    let scheduler = ManualScheduler()
    let simulator: Simulator
    let primary: PairedSession
    let secondaries: [PairedSession]
    private let dialers: [SimulatorDialer]

    /// - Parameter files: where files are kept on their way; nil takes none.
    init(
        secondaries count: Int, files: OwnedDirectory? = nil,
        configure: (inout PairedSessionOptions, _ device: Int) -> Void = { _, _ in }
    ) throws {
        let simulator = Simulator(
            scheduler: scheduler, software: "simulator of a test", user: 1000, secondaries: count, files: files)
        self.simulator = simulator
        let scheduler = scheduler
        var dialers: [SimulatorDialer] = []
        func session(_ endpoint: LocalEndpoint, _ device: Int) throws -> PairedSession {
            // Used on the manual scheduler's thread only, as the session is.
            let simulated = SimulatorDialer(endpoint, scheduler)
            dialers.append(simulated)
            nonisolated(unsafe) let dialer: any Dialer = simulated
            var options = PairedSessionOptions(application: "com.example.app")
            configure(&options, device)
            let settings = try SessionSettings(options, environment: { _ in nil })
            return PairedSession(settings, on: scheduler, dialer: dialer)
        }
        primary = try session(simulator.primary, 0)
        var sessions: [PairedSession] = []
        for (index, endpoint) in simulator.secondaries.enumerated() {
            sessions.append(try session(endpoint, index + 1))
        }
        secondaries = sessions
        self.dialers = dialers
    }

    /// A connection breaks: the primary's for 0, else that of a secondary.
    func cut(_ device: Int) { dialers[device].cut() }

    /// The session of a further process of the app on the primary.
    func anotherPrimary() throws -> PairedSession {
        // Used on the manual scheduler's thread only, as the session is.
        nonisolated(unsafe) let dialer: any Dialer = SimulatorDialer(simulator.primary, scheduler)
        let settings = try SessionSettings(
            PairedSessionOptions(application: "com.example.app"), environment: { _ in nil })
        return PairedSession(settings, on: scheduler, dialer: dialer)
    }

    var pairings: [UniqueIdentifier] { simulator.pairings }

    func activateAll() {
        for session in [primary] + secondaries { session.core.run { $0.activate(waiter: 1) { _ in } } }
        scheduler.run()
    }
}
