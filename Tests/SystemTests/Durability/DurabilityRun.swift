// One run: an app on the hub submits numbered items, one after the other, while a second task kills daemons and the
// receiving app by plan and starts them again at once. The submitter stays a window ahead of the receiver, so that
// deaths meet queues that are neither empty nor all there is.

import Foundation
import PairedSession
import TandemPropertyList
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

    init(_ plan: DeathPlan) async throws {
        self.plan = plan
        devices = try await TwoDevices()
        try await devices.pair()
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
            let mayGo = try await holds(within: Self.patience) { inbox.hasReached(number - Self.window) }
            try #require(mayGo, "nothing arrives after \(inbox.highest): \(devices.hub.errors)\(devices.kiosk.errors)")
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
            kills[death.victim, default: 0] += 1
        }
    }

    private static func kill(_ daemon: Program) async throws {
        try #require(daemon.isRunning, "it ended by itself: \(daemon.errors)")
        daemon.signal(SIGKILL)
        _ = try await daemon.ending()
    }
}
