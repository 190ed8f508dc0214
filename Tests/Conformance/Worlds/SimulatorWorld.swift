// The simulator on a manual clock: both sides of each pair in one relay, no link and no store.

import PairedSession
import TandemHostApps
package import TandemIdentity
import TandemReactor
import TandemTransport

/// The simulator and its apps.
package final class SimulatorWorld: World {
    package let abilities: Set<Ability> = [.manualTime, .killApps]
    private let clock = ManualScheduler()
    private let simulator: Simulator
    private let draws: Draws
    private var processes: [ObjectIdentifier: (process: ProcessScheduler, streams: Streams)] = [:]

    /// The connections of one app.
    private final class Streams {
        var all: [InProcessStream] = []
    }

    package init(seed: UInt64, secondaries: Int = 1) {
        draws = Draws(seed: seed)
        simulator = Simulator(
            scheduler: clock, software: "conformance", user: Linux.user, secondaries: secondaries)
    }

    package var pairings: [UniqueIdentifier] { simulator.pairings }
    package var now: MonotonicTime { clock.now }

    package func wait(within limit: Duration, until condition: () throws -> Bool) rethrows -> Bool {
        let end = clock.now + limit
        clock.run()
        while try !condition() {
            guard clock.now < end else { return false }
            clock.step(to: end)
        }
        return true
    }

    private func endpoint(_ place: Place) -> LocalEndpoint {
        switch place {
        case .primary: simulator.primary
        case .secondary(let number): simulator.secondaries[number]
        }
    }

    package func app(_ name: String, at place: Place) throws -> App {
        let (process, streams, draws) = (ProcessScheduler(clock), Streams(), draws)
        let (endpoint, clock) = (endpoint(place), clock)
        let dialer = ManualDialer(process) {
            let (ours, theirs) = InProcessStream.pair(on: clock)
            endpoint.accept(theirs, credentials: PeerCredentials(user: Linux.user, group: Linux.user, process: 1))
            streams.all.append(ours)
            return ours
        }
        let settings = try SessionSettings(PairedSessionOptions(application: name), environment: { _ in nil })
        let app = App(
            name, at: place, settings: settings, scheduler: process, dialer: dialer, random: { draws.next() })
        processes[ObjectIdentifier(app)] = (process, streams)
        return app
    }

    package func end(_ app: App, _ ending: Ending) {
        guard let entry = processes.removeValue(forKey: ObjectIdentifier(app)) else { return }
        if ending == .orderly {
            app.run { $0.end() }
            clock.run()
        }
        for stream in entry.streams.all {
            stream.delegate = nil
            stream.close(.closedHere)
        }
        entry.process.kill()
        clock.run()
    }

    package func stop() { processes = [:] }
}
