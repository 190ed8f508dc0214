// The forwarding path between host apps and device links: it checks who may send what to whom, and passes on the very
// bytes that came. It stores nothing, opens no body and reads no file; what must be durable is not its business. One
// relay serves one loop, and everything here happens on it.

package import TandemBase
package import TandemReactor
package import TandemSession
import TandemWire

/// The relay of one device, or of the simulator's on one loop.
package final class Relay {
    package let scheduler: any Scheduler
    package weak var delegate: (any RelayDelegate)?
    let sides: PerRole<Side>
    let log: LogHandler
    let counts: RelayCounts
    // Unchecked, because nothing that these call comes back here: each frame touches them several times.
    @exclusivity(unchecked) var ledger: RequestLedger
    var broadcasts = BroadcastLedger(capacity: Limits.rememberedDeliveries)
    /// Broadcasts of this turn that have not left yet. Unchecked, because it is taken out before it is sent.
    @exclusivity(unchecked) var batch = BroadcastBatch()
    /// Everyone that an answer may have to go to: by the party's number in the ledger for each frame, and by the
    /// connection's for the rest.
    ///
    /// Unchecked, because nothing is called while it is touched.
    @exclusivity(unchecked) private var parties: [RelayPort?] = []
    private(set) var ports = ConnectionTable<RelayPort>()
    /// Every app that was ever installed, by its number in the ledger.
    private var apps: [ApplicationIdentifier] = []
    private var appNumbers: [ApplicationIdentifier: ApplicationNumber] = [:]
    var changes = RelayChanges()
    var isSweepScheduled = false
    /// Stopping: nothing new is passed on, what is open may be answered (SES-18). Unchecked, because it is one byte.
    @exclusivity(unchecked) package private(set) var isStopping = false
    /// Set only while somebody traces messages: otherwise a frame costs one look at this. Unchecked, because it is one
    /// word.
    @exclusivity(unchecked) package var trace: TraceLog?
    private var whenIdle: (() -> Void)?
    private var stopTimer: TimerToken?
    private var lastNumber: UInt64 = 0

    /// - Parameter devices: this device's vendor identifier, twice; the simulator's primary's and first secondary's.
    package init(
        scheduler: any Scheduler, devices: PerRole<UniqueIdentifier>, counters: Counters = Counters(),
        log: @escaping LogHandler = { _ in }
    ) {
        self.scheduler = scheduler
        sides = PerRole(
            primary: Side(role: .primary, device: devices.primary),
            secondary: Side(role: .secondary, device: devices.secondary))
        counts = RelayCounts(counters)
        self.log = log
        var generator = SystemRandomNumberGenerator()
        ledger = RequestLedger(capacity: Limits.openRequests, seed: HashSeed(using: &generator))
    }

    /// This device's side of a role.
    package func side(_ role: DeviceRole) -> Side { sides[role] }

    /// The side of one more device, for the simulator.
    package func makeSide(role: DeviceRole, device: UniqueIdentifier) -> Side { Side(role: role, device: device) }

    /// A number for a new endpoint.
    package func nextNumber() -> ConnectionNumber {
        lastNumber += 1
        return ConnectionNumber(lastNumber)
    }

    /// The port of a party; nil for one that has left.
    func port(_ party: RequestParty) -> RelayPort? { parties[party.index] }

    /// Keeps a port under both its numbers.
    func keep(_ port: RelayPort) {
        ports.insert(port)
        if port.party.index == parties.count { parties.append(port) } else { parties[port.party.index] = port }
    }

    /// Removes a port; what it should have answered is returned, oldest first.
    func remove(_ port: RelayPort) -> [OpenRequest] {
        ports.remove(port.number)
        parties[port.party.index] = nil
        return ledger.left(port.party)
    }

    func app(_ number: ApplicationNumber) -> ApplicationIdentifier { apps[number.index] }

    /// The number of an app, on whichever side it is.
    func number(of app: ApplicationIdentifier) -> ApplicationNumber {
        if let number = appNumbers[app] { return number }
        let number = ApplicationNumber(apps.count)
        apps.append(app)
        appNumbers[app] = number
        return number
    }

    /// The requests that still wait for an answer.
    package var openRequestCount: Int { ledger.waitingCount }

    /// Passes nothing new on from here on (SES-18); calls back once: when no request is open any more, at once if none
    /// is, or when the time is over.
    package func stop(within time: Duration = .seconds(5), whenIdle: @escaping () -> Void) {
        sendBroadcasts()
        isStopping = true
        self.whenIdle = whenIdle
        stopTimer = scheduler.schedule(after: time) { [weak self] in self?.becomeIdle() }
        checkIdle()
    }

    func checkIdle() {
        if isStopping, ledger.waitingCount == 0 { becomeIdle() }
    }

    private func becomeIdle() {
        guard let whenIdle else { return }
        self.whenIdle = nil
        if let stopTimer { scheduler.cancel(stopTimer) }
        whenIdle()
    }
}

/// The relay's counters, looked up once.
struct RelayCounts {
    let forwarded: Counter
    let answered: Counter
    let failed: Counter
    let stray: Counter
    let shed: Counter
    let expired: Counter

    init(_ counters: Counters) {
        forwarded = counters.counter("relay.forwarded")
        answered = counters.counter("relay.answered")
        failed = counters.counter("relay.failed")
        stray = counters.counter("relay.stray")
        shed = counters.counter("relay.shed")
        expired = counters.counter("relay.expired")
    }
}
