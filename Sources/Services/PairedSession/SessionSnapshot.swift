// Session state as a host app reads it from any thread: a value as it was after the last event, replaced as a whole, so
// that its parts always belong together.

public import TandemBase
public import TandemSession

/// Whether a counterpart can be reached, why not, and since when.
public struct ReachabilityStatus: Sendable, Equatable {
    /// How far a message would come now.
    public let level: ReachabilityLevel
    /// `.none` exactly when the level is `.immediate`.
    public let reason: ReachabilityReason
    /// When level and reason last changed; by this machine's wall clock, for people.
    public let since: WallTime
    /// Grows by the number of changes since the status before: one that was read with 5 and then 8 has changed three
    /// times, and what is read is how it ended.
    public let revision: UInt64

    /// A message would arrive now.
    public var isImmediate: Bool { level == .immediate }
}

extension ReachabilityStatus: CustomStringConvertible {
    /// A line for a log.
    public var description: String { level.rawValue + (reason == .none ? "" : " (\(reason.rawValue))") }
}

/// One pairing of this device as a host app sees it.
public struct PairedDevice: Sendable, Equatable {
    /// Names the pairing on both devices.
    public let pairing: UniqueIdentifier
    /// The other device's vendor identifier.
    public let device: UniqueIdentifier
    /// The other device's name, for people.
    public let name: String
    /// This device's part in the pairing.
    public let role: DeviceRole
    /// The target of configuration for the secondary's app.
    public let target: PairedIdentifier
    /// The counterpart app is installed there.
    public let isInstalled: Bool
    /// The default session is bound to this pairing.
    public let isActive: Bool
    /// Whether the counterpart there can be reached.
    public let reachability: ReachabilityStatus
    /// How far the counterpart's messages would come, as its side says; nil while that is not known.
    public let seenByCounterpart: ReachabilityLevel?
    /// The names that the counterpart app provides (``PairedSessionOptions/provides``), sorted; the last known.
    public let provides: [String]
    /// The counterpart app shows a complication.
    public let hasComplication: Bool
    /// A directory of this app for this pairing alone, deleted when the pairing ends; nil if there is none.
    public let directory: String?
}

/// Everything at one moment.
struct SessionSnapshot: Sendable, Equatable {
    /// Of the default session.
    let standing: SessionStanding
    let role: DeviceRole?
    let device: UniqueIdentifier?
    let directory: String?
    let pairings: [PairedDevice]
    /// By pairing.
    var contexts: [UniqueIdentifier: ContextPair]
    /// A durable item waits for its first handler.
    let hasContentPending: Bool
    /// Of the active pairing.
    let reachability: ReachabilityStatus
    /// Registered with a daemon.
    let isRegistered: Bool
    /// Why the daemon refuses the app for good; nil unless it does.
    let refusal: RefusalName?

    /// Where the default session stands, or one that is bound to a pairing: no switch affects that.
    func standing(of pairing: UniqueIdentifier?) -> SessionStanding {
        var standing = standing
        if pairing != nil { standing.activation = isRegistered ? .activated : .notActivated }
        return standing
    }

    /// Level and reason of one pairing, or of the active one.
    func reachability(of pairing: UniqueIdentifier?) -> ReachabilityStatus {
        guard let pairing else { return reachability }
        if let found = pairings.first(where: { $0.pairing == pairing }) { return found.reachability }
        return ReachabilityStatus(
            level: .unreachable, reason: isRegistered ? .notPaired : reachability.reason, since: reachability.since,
            revision: reachability.revision)
    }
}

extension SessionSnapshot {
    /// The machine's state at this moment.
    /// - Parameter passing: the activation state that a switch passes through.
    init(
        _ machine: borrowing ClientSession, _ now: ClockReading, _ history: inout ReachabilityHistory,
        passing: ActivationState? = nil, contexts: [UniqueIdentifier: ContextPair] = [:],
        hasContentPending: Bool = false
    ) {
        // Pairings are stored: a daemon that restarts ends none. Until it is back each is as reported last (SES-64).
        let state = machine.phase == .idle ? nil : machine.state
        let counted = machine.phase == .active ? state : nil
        reachability = history.status(
            of: nil, machine.reachability(of: nil), counted?.pairing(nil)?.changes, counting: counted?.active,
            now)
        var standing = machine.standing(of: nil)
        if let passing { standing.activation = passing }
        (self.standing, isRegistered, role) = (standing, machine.phase == .active, machine.role)
        (device, directory) = (machine.device, machine.directory)
        (self.contexts, self.hasContentPending) = (contexts, hasContentPending)
        if case .refused(let name) = machine.phase { refusal = name } else { refusal = nil }
        var pairings: [PairedDevice] = []
        for entry in state?.pairings ?? [] {
            let status = history.status(
                of: entry.pairing, machine.reachability(of: entry),
                counted == nil ? nil : entry.changes, counting: entry.pairing, now)
            pairings.append(PairedDevice(entry, isActive: entry.pairing == state?.active, reachability: status))
        }
        self.pairings = pairings
        history.keepOnly(pairings.map(\.pairing))
    }
}

extension PairedDevice {
    fileprivate init(_ entry: PairingState, isActive: Bool, reachability: ReachabilityStatus) {
        self.init(
            pairing: entry.pairing, device: entry.peer, name: entry.name, role: entry.role, target: entry.target,
            isInstalled: entry.isInstalled, isActive: isActive, reachability: reachability,
            seenByCounterpart: entry.seen, provides: entry.features.provides.names,
            hasComplication: entry.features.hasComplication, directory: entry.directory)
    }
}

/// Numbers of reachability changes as a host app sees them (SES-35), for each pairing and, for nil, for the default
/// session. The daemon counts its own; after another daemon start its count begins again, and a switch makes the
/// default session follow another count: here they become one number that only grows.
struct ReachabilityHistory: Sendable {
    private struct Published {
        var status: ReachabilityStatus
        /// The daemon's count at that time, and of which pairing.
        var changes: UInt64?
        var counted: UniqueIdentifier?
    }

    private var published: [UniqueIdentifier?: Published] = [:]

    /// The status to publish; the same value as before unless something has changed.
    mutating func status(
        of pairing: UniqueIdentifier?,
        _ current: (level: ReachabilityLevel, reason: ReachabilityReason, since: MonotonicTime), _ changes: UInt64?,
        counting counted: UniqueIdentifier?, _ now: ClockReading
    ) -> ReachabilityStatus {
        var new = Published(status: Self.status(current, 1, now), changes: changes, counted: counted)
        if let before = published[pairing] {
            let steps = Self.steps(from: before, to: new)
            let revision = before.status.revision &+ steps
            new.status = steps == 0 ? before.status : Self.status(current, revision, now)
        }
        published[pairing] = new
        return new.status
    }

    /// Forgets pairings that are gone.
    mutating func keepOnly(_ pairings: [UniqueIdentifier]) {
        guard published.count > pairings.count + 1 else { return }
        let kept = Set(pairings)
        published = published.filter { entry in entry.key.map(kept.contains) ?? true }
    }

    /// By how many changes they differ; a flap that ended as it began counts, too, if the daemon has counted it.
    private static func steps(from old: Published, to new: Published) -> UInt64 {
        let differs = old.status.level != new.status.level || old.status.reason != new.status.reason
        guard old.counted == new.counted, let before = old.changes, let changes = new.changes, changes > before else {
            return differs ? 1 : 0
        }
        return changes - before
    }

    private static func status(
        _ current: (level: ReachabilityLevel, reason: ReachabilityReason, since: MonotonicTime), _ revision: UInt64,
        _ now: ClockReading
    ) -> ReachabilityStatus {
        let since = now.wall + (.zero - now.monotonic.since(current.since))
        return ReachabilityStatus(level: current.level, reason: current.reason, since: since, revision: revision)
    }
}
