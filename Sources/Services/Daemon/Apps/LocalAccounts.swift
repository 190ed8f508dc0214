// Accounts of the users of local sockets (SES-58 to SES-60): their connections to each device, and over all sockets of
// the process the bytes that wait because their apps do not read, their unfinished frames, the lists that are made for
// them, their work that waits for its turn, and the warnings that they cause. Each user gets a part of what the others
// leave (LIM-47), so that one user's apps cannot keep out another user's, nor the operator.

import TandemBase
import TandemOperations
import TandemReactor
import TandemTransport
import TandemWire

/// Seats of the connections to one device's local sockets; confined to its loop.
final class LocalSeats {
    /// The kind of seat that a connection occupies.
    enum Seat: UInt8 {
        /// None: it gets a refusal.
        case none
        case shared
        /// One of the reserve of root and the daemon's user, for control requests only.
        case reserved
    }

    /// Connections for control requests beyond all others (LIM-5): `tandem status` gets an answer where all are taken.
    static var reserve: Int { 16 }

    private let privileged: Set<UInt32>
    private var seats: SharedResource<UInt32>
    private var reserved = 0

    /// - Parameter connections: shared seats of all users (LIM-5).
    init(connections: Int, privileged: Set<UInt32>) {
        self.privileged = privileged
        seats = SharedResource(total: connections, privileged: privileged)
    }

    /// Takes a seat for a user's new connection.
    /// - Parameter cedes: gives up another connection's seat of the reserve; false if each of them has a request open.
    func take(for user: UInt32, cedes: () -> Bool) -> Seat {
        if seats.charge(1, to: user) { return .shared }
        guard privileged.contains(user) else { return .none }
        if reserved == Self.reserve { return cedes() ? .reserved : .none }
        reserved += 1
        return .reserved
    }

    /// A connection is gone.
    func release(_ seat: Seat, of user: UInt32) {
        switch seat {
        case .none: break
        case .shared: seats.release(1, of: user)
        case .reserved: reserved -= 1
        }
    }

    /// Why a connection of a user has no shared seat.
    func refusal(of user: UInt32) -> Refusal {
        let (limit, open) = (seats.limit(of: user), seats.used(by: user))
        return Refusal(
            .tooManyConnections, "user \(user) has \(open) connections open and may have \(limit) of \(seats.total)")
    }
}

/// Each user's share of a process; confined to the loop of its local endpoints.
final class LocalAccounts {
    /// Lists of outstanding items in the making for all users (LIM-50): each holds up to 320 KiB.
    private static var pages: Int { 64 }
    /// Bytes of submissions that wait for the disk, of all users (LIM-65): three quarters of what the store's queue
    /// takes; the rest is for what peers send.
    private static var submissionBytes: Int { 12 << 20 }
    /// Reads of the store at work for one user (LIM-77): others' reads stand behind these at most.
    private static var reads: Int { 4 }
    /// Warnings about one user's connections in a minute (LIM-54).
    private static var warnings: Int { 20 }

    private let scheduler: any Scheduler
    private let sink: LogHandler
    private var waiting = SharedResource<UInt32>(total: Limits.queuedBytesOfApps)
    private var begun = SharedResource<UInt32>(total: Limits.begunBytesOfApps)
    private var pages = SharedResource<UInt32>(total: LocalAccounts.pages)
    private var reads = JobTurns<UInt32, () -> Void>(limit: LocalAccounts.reads)
    // Unchecked, because nothing is called while they are touched; each item uses them.
    @exclusivity(unchecked) private var submissions = SharedResource<UInt32>(total: LocalAccounts.submissionBytes)
    /// Connections that are not read until less of their users' submissions waits for the disk.
    @exclusivity(unchecked) private var held: [UInt32: [RelayPort]] = [:]
    /// Control commands, and what apps have the daemon judge (SES-93).
    let work: LoopWork
    private var queues: [UInt32: (account: QueueAccount, connections: Int)] = [:]
    private var warningPaces = LogPaces<UInt32>(burst: LocalAccounts.warnings)
    private var infoPaces = LogPaces<UInt32>(burst: Limits.applications)

    /// - Parameter operators: root and the daemon's user.
    init(scheduler: any Scheduler, operators: Set<UInt32>, log: @escaping LogHandler) {
        self.scheduler = scheduler
        work = LoopWork(on: scheduler, operators: operators)
        sink = log
    }

    // MARK: waiting bytes

    var waitingBytes: Int { waiting.used }

    /// A user has one more connection; returns the account of the bytes that wait for it. ``closed(of:)`` follows.
    func opened(of user: UInt32) -> QueueAccount {
        var queue = queues[user] ?? (account(of: user), 0)
        queue.connections += 1
        queues[user] = queue
        return queue.account
    }

    /// A connection of a user is gone.
    func closed(of user: UInt32) {
        guard let count = queues[user]?.connections else { return }
        if count > 1 { queues[user]?.connections = count - 1 } else { queues[user] = nil }
        if queues.isEmpty { work.removeAll() }
    }

    private func account(of user: UInt32) -> QueueAccount {
        QueueAccount(
            record: { [weak self] in self?.recordWaiting($0, of: user) ?? true },
            recordBegun: { [weak self] in self?.recordBegun($0, of: user) ?? true })
    }

    private func recordWaiting(_ change: Int, of user: UInt32) -> Bool {
        waiting.record(change, of: user)
        if change < 0 || waiting.isWithinLimit(user) { return true }
        log(
            LogEvent(
                .warning, "a user's apps do not read what waits for them; the fullest connection is closed",
                .integer("uid", user), .integer("bytes", waiting.used(by: user)),
                .integer("limit", waiting.limit(of: user))), of: user)
        return false
    }

    private func recordBegun(_ change: Int, of user: UInt32) -> Bool {
        begun.record(change, of: user)
        return change < 0 || begun.isWithinLimit(user)
    }

    // MARK: lists

    /// Whether one more list of outstanding items may be made for a user; ``endPage(of:)`` follows.
    func beginPage(of user: UInt32) -> Bool { pages.charge(1, to: user) }

    func endPage(of user: UInt32) { pages.release(1, of: user) }

    /// Turns of a user's reads of the store (SES-69).
    func readTurns(of user: UInt32) -> ReadTurns {
        ReadTurns(
            begin: { [weak self] read in self?.reads.add(read, of: user)?() },
            end: { [weak self] in
                guard let self, let next = reads.ended(of: user) else { return }
                // Not from within the one that has ended: some end at once.
                scheduler.atEndOfTurn(next)
            })
    }

    // MARK: submissions

    /// A user's submission waits for the disk; ``endSubmission(of:_:)`` follows. With too many of them the relay does
    /// not read the connection.
    func beginSubmission(of user: UInt32, _ bytes: Int, from port: RelayPort?) {
        submissions.record(bytes, of: user)
        guard let port, !submissions.isWithinLimit(user), held[user]?.contains(where: { $0 === port }) != true else {
            return
        }
        held[user, default: []].append(port)
        port.pauseReading()
    }

    func endSubmission(of user: UInt32, _ bytes: Int) {
        submissions.release(bytes, of: user)
        guard !held.isEmpty, submissions.used(by: user) <= submissions.limit(of: user) / 2 else { return }
        for port in held.removeValue(forKey: user) ?? [] { port.resumeReading() }
    }

    // MARK: log

    /// Logs an event that a user has caused; only so many in a minute (LIM-54). Of info events as many pass as a user
    /// may have applications.
    func log(_ event: LogEvent, of user: UInt32) {
        let line: LogEvent? =
            switch event.level {
            case .debug: event
            case .info: infoPaces.admit(event, of: user, at: scheduler.now)
            case .warning, .error: warningPaces.admit(event, of: user, at: scheduler.now)
            }
        if let line { sink(line) }
    }
}
