// Accounts of the users of one local socket (SES-58 to SES-60): their connections, the bytes that wait because their
// apps do not read, their unfinished frames, the lists that are made for them, and the warnings that they cause. Each
// user gets a part of what the others leave (LIM-47), so that one user's apps cannot keep out another user's, nor the
// operator.

import TandemBase
import TandemOperations
import TandemReactor
import TandemTransport
import TandemWire

/// Each user's share of a local endpoint; confined to its loop.
final class LocalAccounts {
    /// The kind of place that a connection occupies.
    enum Place: UInt8 {
        /// None: it gets a refusal.
        case none
        case shared
        /// One of the reserve of root and the daemon's user, for control requests only.
        case reserved
    }

    /// Connections for control requests beyond all others (LIM-5): `tandem status` gets an answer on a full socket.
    static var reserve: Int { 16 }
    /// Lists of outstanding items in the making for all users (LIM-50): each holds up to 320 KiB.
    private static var pages: Int { 64 }
    /// Warnings about one user's connections in a minute (LIM-54).
    private static var warnings: Int { 20 }

    private let privileged: Set<UInt32>
    private let scheduler: any Scheduler
    private let sink: LogHandler
    private var places: SharedResource<UInt32>
    private var reserved = 0
    private var waiting = SharedResource<UInt32>(total: Limits.queuedBytesOfApps)
    private var begun = SharedResource<UInt32>(total: Limits.begunBytesOfApps)
    private var pages = SharedResource<UInt32>(total: LocalAccounts.pages)
    private var queues: [UInt32: QueueAccount] = [:]
    private var paces: [UInt32: LogPace] = [:]

    /// - Parameter connections: shared places of all users (LIM-5).
    init(connections: Int, privileged: Set<UInt32>, scheduler: any Scheduler, log: @escaping LogHandler) {
        self.privileged = privileged
        self.scheduler = scheduler
        sink = log
        places = SharedResource(total: connections, privileged: privileged)
    }

    // MARK: connections

    /// Takes a place for a user's new connection.
    func takePlace(for user: UInt32) -> Place {
        if places.charge(1, to: user) { return .shared }
        guard privileged.contains(user), reserved < Self.reserve else { return .none }
        reserved += 1
        return .reserved
    }

    /// A connection is gone.
    func release(_ place: Place, of user: UInt32) {
        switch place {
        case .none: break
        case .shared: places.release(1, of: user)
        case .reserved: reserved -= 1
        }
        if places.used(by: user) == 0 { queues[user] = nil }
    }

    /// Why a connection of a user has no shared place.
    func refusal(of user: UInt32) -> Refusal {
        let (limit, open) = (places.limit(of: user), places.used(by: user))
        return Refusal(
            .tooManyConnections, "user \(user) has \(open) connections open and may have \(limit) of \(places.total)")
    }

    // MARK: waiting bytes

    var waitingBytes: Int { waiting.used }

    /// The account of the bytes that wait for a user's connections.
    func queue(of user: UInt32) -> QueueAccount {
        if let queue = queues[user] { return queue }
        let queue = QueueAccount(
            record: { [weak self] in self?.recordWaiting($0, of: user) ?? true },
            recordBegun: { [weak self] in self?.recordBegun($0, of: user) ?? true })
        queues[user] = queue
        return queue
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

    // MARK: warnings

    /// Logs an event that a user has caused; of warnings only so many in a minute.
    func log(_ event: LogEvent, of user: UInt32) {
        guard event.level >= .warning else { return sink(event) }
        let now = scheduler.now
        if paces.count > Self.pacesKept { paces = paces.filter { !$0.value.isIdle(at: now) } }
        if let line = paces[user, default: LogPace(burst: Self.warnings)].admit(event, at: now) { sink(line) }
    }

    /// Paces that are kept although they may be idle.
    private static var pacesKept: Int { 64 }
}
