// One device with its apps: its durable delivery over rows whose store a test can hold up or fill, and in place of a
// peer the test itself.

import Synchronization
import TandemBase
import TandemDaemon
import TandemDelivery
import TandemFiles
import TandemPropertyList
import TandemStore
import TandemTestSupport
import TandemWire
import Testing

/// Rows in memory behind a disk that can be full, or slow.
final class UnwillingStore: RowBackend {
    private struct State {
        var isFull = false
        var isBusy = false
        var isBroken = false
        var hasReserve = false
        var damagedSpace: RowSpace?
        var unreadSpace: RowSpace?
        var holdsCommits = false
        var holdsFetches = false
        var commits = 0
        var held: [@Sendable () -> Void] = []
    }

    let path = "disk"
    let memory = MemoryStore()
    private let state = Mutex(State())

    var isFull: Bool {
        get { state.withLock { $0.isFull } }
        set { state.withLock { $0.isFull = newValue } }
    }

    /// A sync has failed: nobody knows what is on the disk, and the store takes nothing more.
    var isBroken: Bool {
        get { state.withLock { $0.isBroken } }
        set { state.withLock { $0.isBroken = newValue } }
    }

    private var broken: StoreError { .poisoned(path: path, cause: "disk I/O error") }

    /// The store's queue has no room.
    var isBusy: Bool {
        get { state.withLock { $0.isBusy } }
        set { state.withLock { $0.isBusy = newValue } }
    }

    /// Whether a full disk still takes the commits that make room.
    var hasReserve: Bool {
        get { state.withLock { $0.hasReserve } }
        set { state.withLock { $0.hasReserve = newValue } }
    }

    /// Rows of this space are not those that were written.
    func damage(_ space: RowSpace?) { state.withLock { $0.damagedSpace = space } }

    /// Reading rows of this space fails at the disk.
    func failReads(of space: RowSpace?) { state.withLock { $0.unreadSpace = space } }

    func findRoom(completion: @escaping @Sendable (Bool) -> Void) { completion(!isFull) }

    /// Commits that were asked for, to the disk or in vain.
    var commits: Int { state.withLock { $0.commits } }

    /// The jobs that the disk has held up.
    var heldCount: Int { state.withLock { $0.held.count } }

    func hold(commits: Bool = false, fetches: Bool = false) {
        state.withLock { ($0.holdsCommits, $0.holdsFetches) = (commits, fetches) }
    }

    /// The disk does the first of what it has held up.
    func doOne() {
        let job = state.withLock { $0.held.isEmpty ? nil : $0.held.removeFirst() }
        job?()
    }

    /// The disk goes on with what it has held up.
    func goOn() {
        hold()
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for job in held { job() }
    }

    func commit(
        _ changes: [RowChange], room: CommitRoom, completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        let isHeld = state.withLock { state in
            state.commits += 1
            if state.holdsCommits { state.held.append { self.write(changes, room, completion) } }
            return state.holdsCommits
        }
        if !isHeld { write(changes, room, completion) }
    }

    private func write(
        _ changes: [RowChange], _ room: CommitRoom,
        _ completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        if isBroken { return completion(.failure(broken)) }
        if isBusy { return completion(.failure(.overloaded(path: path, limit: 1))) }
        if isFull, !changes.isEmpty, room == .ordinary || !hasReserve {
            return completion(.failure(.full(path: path)))
        }
        memory.commit(changes, completion: completion)
    }

    func fetch(_ range: RowRange, completion: @escaping @Sendable (Result<[Row], StoreError>) -> Void) {
        let isHeld = state.withLock { state in
            if state.holdsFetches { state.held.append { self.memory.fetch(range, completion: completion) } }
            return state.holdsFetches
        }
        if isBroken { return completion(.failure(broken)) }
        if state.withLock({ $0.damagedSpace }) == range.space {
            return completion(.failure(.corruptRow(path: path, space: range.space.rawValue, key: range.lower)))
        }
        if state.withLock({ $0.unreadSpace }) == range.space {
            return completion(.failure(.unavailable(path: path, detail: "disk I/O error")))
        }
        if !isHeld { memory.fetch(range, completion: completion) }
    }
}

/// The primary of a simulation, with a link to the test.
final class OneDevice {
    let simulation = Simulation()
    let store = UnwillingStore()
    let log = LogLines()
    let delivery: DurableDelivery
    let channels: AppDelivery
    let queue: QueueKey
    /// The envelopes sent over the link.
    private(set) var sent: [Envelope] = []
    /// Bytes that wait in the link's own queue.
    var queuedBytes = 0

    /// - Parameter directory: where the files of its apps are; nil takes none.
    init(
        limits: @escaping (Channel) -> DeliveryLimits = DeliveryLimits.standard,
        filesIn directory: OwnedDirectory? = nil
    ) throws {
        let (scheduler, pairing) = (simulation.scheduler, simulation.pairing)
        queue = try simulation.queue()
        let files = directory.map { [log] in
            FileDelivery(in: $0, scheduler: scheduler, inbox: { _ in nil }, log: log.append)
        }
        delivery = DurableDelivery(
            store: LoopStore(store, on: scheduler), files: files, scheduler: scheduler, limits: limits, log: log.append)
        channels = AppDelivery(delivery: delivery, endpoint: simulation.simulator.primary)
        simulation.simulator.primary.items = channels
        files?.connect(notify: { [unowned channels] in channels.notify($0, $1, $2) })
        delivery.connect(
            send: { [unowned self] envelope, _ in sent.append(envelope) },
            queuedBytes: { [unowned self] _ in queuedBytes }, onEvent: { [unowned self] in take($0) })
        delivery.setPairing(pairing, epoch: 1)
        delivery.linkOpened(pairing, received: [])
        // The counterpart is installed.
        try simulation.app(.secondary).disconnect()
        simulation.scheduler.run()
    }

    deinit { delivery.files?.close() }

    func run() { simulation.scheduler.run() }

    /// Runs, and lets the disk of the files finish.
    func settle() {
        for _ in 0..<8 {
            run()
            delivery.files?.waitForDisk()
        }
        run()
    }

    func submit(_ id: UniqueIdentifier = .random(), from app: Client) throws {
        try app.send(
            Envelope(.submit, app: queue.app, pairing: queue.pairing, id: id, channel: queue.channel)
                .with(body: ["n": 1]))
    }

    /// The peer has stored and handled these.
    func handled(_ sequences: ClosedRange<UInt64>) {
        #expect(
            delivery.receive(
                Envelope(
                    .stored, app: queue.app, pairing: queue.pairing, channel: queue.channel,
                    sequence: sequences.upperBound)))
        for sequence in sequences {
            let outcome = Envelope(
                .outcome, app: queue.app, pairing: queue.pairing, channel: queue.channel, sequence: sequence,
                name: "handled")
            #expect(delivery.receive(outcome))
        }
        run()
    }

    /// As many of so many items as the window lets out, until all are handled.
    func handleAll(_ count: Int) throws {
        var done: UInt64 = 0
        while done < count {
            let sent = sent.filter { $0.kind == .item }.compactMap(\.sequence).max() ?? 0
            try #require(sent > done)
            handled(done + 1...sent)
            done = sent
        }
    }

    private func take(_ event: DeliveryEvent) {
        switch event {
        case .needsEpoch: Issue.record("the link of a test contradicts nothing")
        case .violation, .stalled: Issue.record("the peer of a test keeps to the rules")
        default: channels.take(event)
        }
    }
}
