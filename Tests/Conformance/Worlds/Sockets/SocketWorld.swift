// Daemons behind real sockets: their apps come through Unix sockets, their links go with TLS over TCP or Unix sockets,
// and a proxy between them makes the network's faults. It waits in real time, so only system tests use it.

package import TandemBase
package import TandemReactor
package import TandemTestSupport
package import TandemTransport

/// Daemons and apps on the sockets of one loop, which the case's thread runs.
package final class SocketWorld: World {
    package let abilities: Set<Ability>
    package private(set) var pairings: [UniqueIdentifier] = []
    private let loop: EventLoop
    private let site: Site
    private let proxy: LinkProxy
    private let daemons: any Daemons
    private let draws: Draws
    private var apps: [(app: App, dialer: LoopDialer)] = []

    /// - Parameter daemons: makes those of the site.
    package init(
        _ kind: WorldKind, seed: UInt64, secondaries: Int = 1, daemons: (Site, EventLoop) throws -> any Daemons
    ) throws {
        abilities = kind.abilities
        loop = try EventLoop()
        site = Site(overTCP: kind != .unixSockets)
        draws = Draws(seed: seed)
        proxy = try LinkProxy(at: site.dialled, to: site.listening, on: loop)
        self.daemons = try daemons(site, loop)
        do {
            try self.daemons.start(.primary)
            for number in 0..<secondaries {
                try self.daemons.start(.secondary(number))
                pairings.append(try self.daemons.pair(number))
            }
        } catch {
            let notes = self.daemons.notes.joined(separator: "\n")
            stop()
            throw Violation("the daemons do not start: \(error)\n\(notes)")
        }
    }

    package var now: MonotonicTime { Linux.bootTime }
    package var notes: [String] { daemons.notes }

    package func wait(within limit: Duration, until condition: () throws -> Bool) rethrows -> Bool {
        try loop.wait(within: limit, until: condition)
    }

    // MARK: faults

    package func cutLinks() { proxy.cut() }

    package var isLinkAllowed: Bool {
        get { proxy.isOpen }
        set { proxy.isOpen = newValue }
    }

    package var streamFaults: FaultPlan? {
        get { proxy.faults }
        set { proxy.faults = newValue }
    }

    package var frameFate: FrameFate.Rule? {
        get { daemons.frameFate }
        set { daemons.frameFate = newValue }
    }

    package func restart(_ place: Place, _ ending: Ending, meanwhile: (String) throws -> Void) throws {
        try daemons.end(place, ending)
        try meanwhile(site.state(place))
        try daemons.start(place)
    }

    // MARK: apps

    package func app(_ name: String, at place: Place) throws -> App {
        let dialer = LoopDialer(to: site.socket(place), on: loop)
        let app = try App(name, at: place, scheduler: loop, dialer: dialer, draws: draws)
        apps.append((app, dialer))
        return app
    }

    package func end(_ app: App, _ ending: Ending) {
        guard let index = apps.firstIndex(where: { $0.app === app }) else { return }
        let dialer = apps.remove(at: index).dialer
        loop.end(app, dialer, ending)
    }

    package func connect(to place: Place) throws -> any ByteStream {
        var outcome: Result<SocketStream, ConnectError>?
        StreamConnector(to: .unix(path: site.socket(place)), loop: loop) { outcome = $0 }
        _ = loop.wait(within: .seconds(11)) { outcome != nil }
        guard case .success(let stream)? = outcome else {
            throw Violation("\(place)'s daemon does not serve its socket: \(outcome as Any)")
        }
        return stream
    }

    package func stop() {
        for entry in apps { end(entry.app, .killed) }
        daemons.endAll()
        proxy.close()
    }
}
