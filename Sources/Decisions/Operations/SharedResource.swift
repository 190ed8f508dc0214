// Accounts of a bounded resource that several owners share (LIM-47): connections, waiting bytes, application
// identifiers. The rule is that of dbus-broker's quotas: an owner may use at most its part of what the others leave,
// and the parts become smaller with the number of owners. One owner alone gets half, so that there is always room for
// the next one. `@inlinable`, because the daemon charges a user for each submission: a generic type of another room is
// not specialised there otherwise.

package import TandemBase
import TandemWire

/// Use of one resource by each owner, and how much more each may use.
@usableFromInline package struct SharedResource<Owner: Hashable & Sendable>: ~Copyable, Sendable {
    @usableFromInline package let total: Int
    /// Owners whose part is all that the others leave: root, and the user that the daemon runs as.
    @usableFromInline let privileged: Set<Owner>
    @usableFromInline var amounts: [Owner: Int] = [:]
    @usableFromInline var amountOfAll = 0

    package init(total: Int, privileged: Set<Owner> = []) {
        self.total = total
        self.privileged = privileged
    }

    @inlinable package func used(by owner: Owner) -> Int { amounts[owner] ?? 0 }

    @inlinable package var used: Int { amountOfAll }

    /// The most that an owner may use while the others use what they do.
    @inlinable package func limit(of owner: Owner) -> Int {
        let own = used(by: owner)
        let left = max(0, total - (amountOfAll - own))
        if privileged.contains(owner) { return left }
        let owners = amounts.count + (own == 0 ? 1 : 0)
        return left / (owners + 1)
    }

    /// Whether an owner uses no more than it may.
    @inlinable package func isWithinLimit(_ owner: Owner) -> Bool {
        // Usually the sum of all uses is below the smallest possible limit. Then no owner has to be looked up.
        if amountOfAll <= (total - amountOfAll) / (amounts.count + 2) { return true }
        return used(by: owner) <= limit(of: owner)
    }

    /// Charges an owner, unless that would exceed its limit.
    /// - Returns: whether the owner has been charged.
    @inlinable package mutating func charge(_ amount: Int, to owner: Owner) -> Bool {
        guard used(by: owner) + amount <= limit(of: owner) else { return false }
        record(amount, of: owner)
        return true
    }

    /// Records what an owner uses already, or no longer if it is negative, whatever the limit is.
    @inlinable package mutating func record(_ change: Int, of owner: Owner) {
        let now = Self.add(change, to: &amounts[owner, default: 0])
        precondition(now >= 0, "an owner releases what it was charged, once")
        if now == 0 { amounts[owner] = nil }
        amountOfAll += change
    }

    /// Adds, and returns the sum, so that the owner is hashed once.
    @inlinable static func add(_ change: Int, to amount: inout Int) -> Int {
        amount += change
        return amount
    }

    /// Releases a part or all of what an owner was charged.
    @inlinable package mutating func release(_ amount: Int, of owner: Owner) { record(-amount, of: owner) }
}

/// Room for what waits because a device does not read its link (LIM-49).
package enum LinkRoom {
    /// Bytes that each link may have, however many wait for the others (LIM-49).
    private static var ofEach: Int { 64 * 1024 }

    /// Whether a link takes so many bytes more. With nothing queued it takes any frame.
    /// - Parameters:
    ///   - queued: bytes that wait for this link already.
    ///   - queuedInAll: bytes that wait for links that do not read, this one included.
    package static func admits(_ count: Int, queued: Int, queuedInAll: Int) -> Bool {
        if queued == 0 || queued + count <= ofEach { return true }
        return queued + count <= Limits.queuedBytes && queuedInAll + count <= Limits.queuedBytesOfLinks
    }

    /// Whether so many bytes more may wait in front of the link's queue, where the apps' shares bound them (LIM-62).
    package static func admits(_ count: Int, waiting: Int, queuedInAll: Int) -> Bool {
        waiting + count <= ofEach || queuedInAll + count <= Limits.queuedBytesOfLinks
    }
}

/// Pace of log lines that others can cause (LIM-54): so many in a minute are written, and the others counted.
package struct LogPace: Sendable {
    /// The minute in which the lines are counted (LIM-54).
    package static let interval = Duration.seconds(60)

    private let burst: Int
    private var begin: MonotonicTime?
    private var written = 0
    private var unwritten = 0

    /// - Parameter burst: lines in each interval (LIM-54).
    package init(burst: Int = 1) { self.burst = burst }

    /// Another line could be written.
    /// - Returns: the line, with the number of those before it that were not written; nil if it is not to be, either.
    package mutating func admit(_ event: LogEvent, at now: MonotonicTime) -> LogEvent? {
        if begin.map({ now.since($0) >= Self.interval }) ?? true { (begin, written) = (now, 0) }
        guard written < burst else {
            unwritten += 1
            return nil
        }
        written += 1
        defer { unwritten = 0 }
        guard unwritten > 0 else { return event }
        return LogEvent(event.level, event.message, fields: event.fields + [.integer("unwritten before", unwritten)])
    }

    /// Whether nothing has happened for so long that a new pace would decide the same.
    package func isIdle(at now: MonotonicTime) -> Bool {
        unwritten == 0 && (begin.map { now.since($0) >= Self.interval } ?? true)
    }
}

/// Paces of the log lines about several subjects, such as users or pairings.
package struct LogPaces<Subject: Hashable & Sendable>: Sendable {
    /// Paces that are kept although they may be idle.
    private static var kept: Int { 64 }

    private let burst: Int
    private var paces: [Subject: LogPace] = [:]
    /// With more than these, idle ones are dropped. Twice those that were not at the last time: each line of a thousand
    /// devices that come back at once would otherwise look at all paces.
    private var most = Self.kept

    /// - Parameter burst: lines about each subject in a minute.
    package init(burst: Int) { self.burst = burst }

    /// As ``LogPace/admit(_:at:)``, for one subject.
    package mutating func admit(_ event: LogEvent, of subject: Subject, at now: MonotonicTime) -> LogEvent? {
        if paces.count > most {
            paces = paces.filter { !$0.value.isIdle(at: now) }
            most = max(Self.kept, 2 * paces.count)
        }
        return paces[subject, default: LogPace(burst: burst)].admit(event, at: now)
    }
}

/// Kind of log line and the pairing that it is about, if any.
package struct PeerLogSubject: Hashable, Sendable {
    private let message: String
    private let pairing: LogField.Value?

    fileprivate init(_ event: LogEvent) {
        message = "\(event.message)"
        pairing = event.fields.first { $0.name == "pairing" }?.value
    }
}

extension LogPaces<PeerLogSubject> {
    /// The pace of what happens on links: a link that is made and lost once in a second leaves each line.
    package static var ofLinks: Self { Self(burst: 60) }

    /// Admits a line that a peer may have caused; what only a developer reads, and a failure of this device, always.
    package mutating func admit(_ event: LogEvent, at now: MonotonicTime) -> LogEvent? {
        switch event.level {
        case .info, .warning: admit(event, of: PeerLogSubject(event), at: now)
        case .debug, .error: event
        }
    }
}
