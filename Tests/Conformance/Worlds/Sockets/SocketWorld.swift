// Daemons behind real sockets: their apps come through Unix sockets, their links go with TLS over TCP or Unix sockets,
// and a proxy between them makes the network's faults. It waits in real time, so only system tests use it.

import TandemBase
import TandemReactor
import TandemTestSupport
import TandemTransport

/// Daemons and apps on the sockets of one loop, which the case's thread runs.
final class SocketWorld: World {
    let abilities: Set<Ability>
    private(set) var pairings: [UniqueIdentifier] = []
    private let loop: EventLoop
    private let site: Site
    private let proxy: LinkProxy
    private let daemons: any Daemons
    private let draws: Draws
    private var apps: [(app: App, dialer: LoopDialer)] = []

    /// - Parameter daemons: makes those of the site.
    init(
        _ kind: WorldKind, seed: UInt64, secondaries: Int, daemons: (Site, EventLoop) throws -> any Daemons
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

    var now: MonotonicTime { Linux.bootTime }
    var notes: [String] { daemons.notes }

    func wait(within limit: Duration, until condition: () throws -> Bool) rethrows -> Bool {
        try loop.wait(within: limit, until: condition)
    }

    // MARK: faults

    func cutLinks() { proxy.cut() }

    var isLinkAllowed: Bool {
        get { proxy.isOpen }
        set { proxy.isOpen = newValue }
    }

    var streamFaults: FaultPlan? {
        get { proxy.faults }
        set { proxy.faults = newValue }
    }

    var frameFate: FrameFate.Rule? {
        get { daemons.frameFate }
        set { daemons.frameFate = newValue }
    }

    func restart(_ place: Place, _ ending: Ending, meanwhile: (String) throws -> Void) throws {
        try daemons.end(place, ending)
        try meanwhile(site.state(place))
        try daemons.start(place)
    }

    // MARK: apps

    func app(at place: Place) throws -> App {
        let dialer = LoopDialer(to: site.socket(place), on: loop)
        let app = try App(at: place, scheduler: loop, dialer: dialer, draws: draws)
        apps.append((app, dialer))
        return app
    }

    func end(_ app: App, _ ending: Ending) {
        guard let index = apps.firstIndex(where: { $0.app === app }) else { return }
        let dialer = apps.remove(at: index).dialer
        loop.end(app, dialer, ending)
    }

    func connect(to place: Place) throws -> any ByteStream {
        try loop.connect(to: site.socket(place))
    }

    func stop() {
        for entry in apps { end(entry.app, .killed) }
        daemons.endAll()
        proxy.close()
    }
}
