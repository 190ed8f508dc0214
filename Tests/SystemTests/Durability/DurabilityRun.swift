// One run: an app on the hub submits numbered items, one after the other, while a second task kills daemons and the
// receiving app by plan and starts them again at once. The submitter stays a window ahead of the receiver, so that
// deaths meet queues that are neither empty nor all there is.

import Foundation
import PairedSession
import TandemPropertyList
import TandemTestSupport
import Testing

/// Confines everything that both tasks use.
actor DurabilityRun {
    /// How far the submitter may be ahead of the receiver.
    private static let window: Int64 = 100
    /// More than any recovery takes on a busy machine; reached only by an error.
    private static let patience = Duration.seconds(90)

    private let plan: DeathPlan
    private let devices: TwoDevices
    private let inbox: ReceivingProcesses
    private var app: PairedSession
    private var record = DeliveryRecord()
    /// Why submissions were not accepted, and how often.
    private(set) var refusals: [String: Int] = [:]
    private(set) var kills: [DeathPlan.Victim: Int] = [:]
    /// Deaths of bystanders so far.
    private var struck = 0

    init(_ plan: DeathPlan) async throws {
        self.plan = plan
        devices = try await TwoDevices(paired: true)
        inbox = try ReceivingProcesses(devices.workspace)
        app = try Self.session(devices.workspace)
        try await untilReachable()
    }

    /// Waits until the session is activated and the receiving app can be reached at once.
    private func untilReachable() async throws {
        try await app.activate(timeout: Self.patience)
        let isReachable = try await holds(within: Self.patience) { app.reachability.isImmediate }
        try #require(isReachable, "\(app.reachability): \(devices.hub.errors)\(devices.kiosk.errors)")
    }

    private static func session(_ workspace: Workspace) throws -> PairedSession {
        try PairedSession(PairedSessionOptions(application: TwoDevices.app, socketPath: workspace["hub.sock"]))
    }

    /// Returns what was seen, when all has come to rest.
    func run() async throws -> DeliveryRecord {
        async let deaths: Void = killBystanders()
        try await submitAll()
        try await deaths
        try await submitLast()
        record.deliveries = try await inbox.end()
        await app.end()
        return record
    }

    // MARK: submitting

    private func submitAll() async throws {
        for number in 0..<plan.items {
            let mayGo = try await holds(within: Self.patience) {
                inbox.hasReached(number - Self.window) && hasStruck(before: number - Self.window)
            }
            try #require(
                mayGo,
                "nothing arrives after \(inbox.highest), \(struck) killed: \(devices.hub.errors)\(devices.kiosk.errors)"
            )
            record.submitted = number + 1
            if let death = plan.submitters[number] {
                try await submit(number, until: death)
            } else if await isAccepted(number, of: app) {
                record.accepted.insert(number)
            } else {
                try await untilReachable()
            }
        }
    }

    /// Whether all bystanders are dead whose items are before this one. A death after the last item meets no traffic.
    private func hasStruck(before number: Int64) -> Bool {
        struck == plan.bystanders.count || plan.bystanders[struck].item >= number
    }

    private func isAccepted(_ number: Int64, of app: PairedSession) async -> Bool {
        do { try await app.transferUserInfo(["n": .integer(number)]) } catch {
            refusals["\(error.name ?? "\(error.code)")", default: 0] += 1
            return false
        }
        return true
    }

    /// Submits an item with somebody who dies over it.
    private func submit(_ number: Int64, until death: DeathPlan.Death) async throws {
        let isHeard =
            try await death.victim == .session
            ? submitEnding(number, after: death.delay) : submitKilling(number, after: death.delay)
        if isHeard { record.accepted.insert(number) }
        kills[death.victim, default: 0] += 1
    }

    private func submitEnding(_ number: Int64, after delay: Duration) async throws -> Bool {
        let dying = app
        async let isAccepted = isAccepted(number, of: dying)
        try await Task.sleep(for: delay)
        await dying.end()
        let isHeard = await isAccepted
        app = try Self.session(devices.workspace)
        try await app.activate(timeout: Self.patience)
        return isHeard
    }

    private func submitKilling(_ number: Int64, after delay: Duration) async throws -> Bool {
        let dying = try devices.start("hub", "send", "--app", TwoDevices.app, "--queue", "{\"n\":\(number)}")
        try await Task.sleep(for: delay)
        dying.signal(SIGKILL)
        return try await dying.ending().output.contains("accepted")
    }

    /// One more item, after whose end nothing of before can be on its way.
    private func submitLast() async throws {
        let number = record.submitted
        record.submitted += 1
        try await app.activate(timeout: Self.patience)
        let transfer = try await app.transferUserInfo(["n": .integer(number)])
        record.accepted.insert(number)
        let isThere = try await holds(within: Self.patience) {
            !(transfer.state == .accepted || transfer.state == .stored)
        }
        #expect(isThere && transfer.state == .finished(.handled), "the last item is \(transfer.state)")
    }

    // MARK: killing

    private func killBystanders() async throws {
        for death in plan.bystanders {
            // No limit of its own: the submitter has one, and its error cancels this task.
            while record.submitted <= death.item { try await Task.sleep(for: .milliseconds(1)) }
            try await Task.sleep(for: death.delay)
            switch death.victim {
            case .hub:
                try await Self.kill(devices.hub)
                try await devices.restartHub()
            case .kiosk:
                try await Self.kill(devices.kiosk)
                try await devices.restartKiosk()
            case .receiver, .session, .sender: try await inbox.replace()
            }
            struck += 1
            kills[death.victim, default: 0] += 1
        }
    }

    private static func kill(_ daemon: Program) async throws {
        try #require(daemon.isRunning, "it ended by itself: \(daemon.errors)")
        try await daemon.end(by: SIGKILL)
    }
}

/// The numbers of a run, and its deaths.
struct DeathPlan: Sendable {
    enum Victim: CaseIterable {
        /// The daemons of the primary and of the secondary.
        case hub, kiosk
        /// The app that receives, a process.
        case receiver
        /// A process that submits one item.
        case sender
        /// The session of this process, which submits most items. It is ended while it submits, in order, and not
        /// killed: who is killed is in a process of its own.
        case session
    }

    struct Death {
        let victim: Victim
        /// The item that is about to be submitted.
        let item: Int64
        /// How long the victim lives on then.
        let delay: Duration
    }

    let items: Int64
    let seed: UInt64
    /// Of those who do not submit, in the order of their items.
    let bystanders: [Death]
    /// Of those who submit an item, by the item.
    let submitters: [Int64: Death]

    init(items: Int64, kills: Int, seed: UInt64) {
        (self.items, self.seed) = (items, seed)
        var random = SeededGenerator(seed: seed)
        // All items are different, or a submitter would have to die twice.
        let places = (1..<items).shuffled(using: &random).prefix(kills).sorted()
        // Everybody's turn comes equally often; the order is the seed's.
        let victims = places.indices.map { Victim.allCases[$0 % Victim.allCases.count] }.shuffled(using: &random)
        let deaths = zip(places, victims).map { place, victim in
            let latest = Self.longestDelay(of: victim)
            return Death(victim: victim, item: place, delay: .microseconds(Int.random(in: 0...latest, using: &random)))
        }
        let submitting = deaths.filter { $0.victim == .session || $0.victim == .sender }
        submitters = Dictionary(submitting.map { ($0.item, $0) }, uniquingKeysWith: { first, _ in first })
        bystanders = deaths.filter { $0.victim != .session && $0.victim != .sender }
    }

    /// In microseconds: about as long as there is something to interrupt.
    private static func longestDelay(of victim: Victim) -> Int {
        switch victim {
        case .session: 3000  // one commit
        case .sender: 150_000  // the start of a process, and one commit
        case .hub, .kiosk, .receiver: 20_000  // some items
        }
    }
}

/// Records of the sending app, and of the receiving app.
struct DeliveryRecord {
    /// A line of the receiving app.
    struct Delivery: Equatable {
        let number: Int64
        let id: String
        let attempt: Int

        var isRedelivery: Bool { attempt > 1 }
    }

    /// The numbers 0, 1, 2 ... have been submitted, in this order, each at most once.
    var submitted: Int64 = 0
    /// The submissions whose acceptance was heard. Of the others nobody knows whether they are to arrive.
    var accepted: Set<Int64> = []
    /// In the order in which they came.
    var deliveries: [Delivery] = []

    /// Every breach in words; empty if the promise was kept.
    var breaches: [String] {
        var breaches: [String] = []
        var firsts: [Int64: Delivery] = [:]
        var latest: Delivery?
        for delivery in deliveries {
            if let first = firsts[delivery.number] {
                breaches += Self.breaches(repeating: first, with: delivery)
                continue
            }
            firsts[delivery.number] = delivery
            if let latest, latest.number > delivery.number { breaches.append("after \(latest): \(delivery)") }
            latest = delivery
        }
        let strangers = firsts.keys.filter { !(0..<submitted).contains($0) }.sorted()
        breaches += strangers.map { "never submitted: \($0)" }
        breaches += accepted.subtracting(firsts.keys).sorted().map { "accepted and lost: \($0)" }
        return breaches
    }

    /// Breaches of a repeated delivery: it must be the same item, and marked as repeated.
    private static func breaches(repeating first: Delivery, with delivery: Delivery) -> [String] {
        if first.id != delivery.id { return ["two items: \(first) and \(delivery)"] }
        return delivery.isRedelivery ? [] : ["again, not marked: \(delivery)"]
    }
}

extension DeliveryRecord.Delivery {
    /// Reads a line of `tandem receive`; nil for one that is no numbered user info.
    init?(line: Substring) {
        guard let number = line.firstMatch(of: /"n":([0-9]+)/).flatMap({ Int64($0.1) }),
            let attempt = line.firstMatch(of: /"attempt":([0-9]+)/).flatMap({ Int($0.1) }),
            let id = line.firstMatch(of: /"id":"([0-9A-F-]{36})"/)
        else { return nil }
        self.init(number: number, id: String(id.1), attempt: attempt)
    }
}

/// One `tandem receive` after another on the kiosk.
final class ReceivingProcesses {
    private let workspace: Workspace
    private var current: Program
    private var starts = 0
    private var former: [DeliveryRecord.Delivery] = []
    /// As far as known; -1 before the first.
    private(set) var highest: Int64 = -1

    init(_ workspace: Workspace) throws {
        self.workspace = workspace
        current = try Self.start(0, workspace)
    }

    /// Whether an item with this number or a higher one has come.
    func hasReached(_ number: Int64) -> Bool {
        // Read only for news: the submitter asks before each item.
        if highest < number {
            // Numbers rise, so the last line is enough.
            let last = current.output.split(separator: "\n").last.flatMap(DeliveryRecord.Delivery.init(line:))
            highest = max(highest, last?.number ?? -1)
        }
        return highest >= number
    }

    /// Kills the process and starts the next.
    func replace() async throws {
        try await kill()
        starts += 1
        current = try Self.start(starts, workspace)
    }

    /// Kills the last one; returns all that was written, in its order.
    func end() async throws -> [DeliveryRecord.Delivery] {
        try await kill()
        return former
    }

    private func kill() async throws {
        try #require(current.isRunning, "it ended by itself: \(current.errors)")
        current.signal(SIGKILL)
        let lines = try await current.ending().output.split(separator: "\n")
        former += lines.compactMap(DeliveryRecord.Delivery.init(line:))
    }

    private static func start(_ number: Int, _ workspace: Workspace) throws -> Program {
        let arguments = ["receive", "--app", TwoDevices.app, "--device", workspace["kiosk.sock"]]
        return try Program("tandem", arguments, named: "receiver-\(number)", in: workspace)
    }
}
