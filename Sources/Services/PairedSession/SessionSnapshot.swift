// What a host app may look at from any thread: the session's state as it was after the last event. A value, replaced as
// a whole, so that its parts always belong together.

public import TandemIdentity
public import TandemSession

/// Whether a counterpart can be reached, why not, and since when.
public struct ReachabilityStatus: Sendable, Equatable {
    /// How far a message would come now.
    public let level: ReachabilityLevel
    /// `.none` exactly when the level is `.immediate`.
    public let reason: ReachabilityReason
    /// When level and reason last changed; by this machine's wall clock, for people.
    public let since: WallTime

    /// A message would arrive now.
    public var isImmediate: Bool { level == .immediate }
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
    /// What configuration for the secondary's app is targeted at.
    public let target: PairedIdentifier
    /// The counterpart app is installed there.
    public let isInstalled: Bool
    /// The default session is bound to this pairing.
    public let isActive: Bool
    /// Whether the counterpart there can be reached.
    public let reachability: ReachabilityStatus
}

/// Everything at one moment.
struct SessionSnapshot: Sendable, Equatable {
    var activation = ActivationState.notActivated
    var role: DeviceRole?
    var device: UniqueIdentifier?
    var directory: String?
    var pairings: [PairedDevice] = []
    /// By pairing.
    var contexts: [UniqueIdentifier: ContextPair] = [:]
    /// A durable item waits for its first handler.
    var hasContentPending = false
    /// Of the active pairing.
    var reachability: ReachabilityStatus

    /// Level and reason of one pairing, or of the active one.
    func reachability(of pairing: UniqueIdentifier?) -> ReachabilityStatus {
        guard let pairing else { return reachability }
        if let found = pairings.first(where: { $0.pairing == pairing }) { return found.reachability }
        let isConnected = activation != .notActivated
        return ReachabilityStatus(
            level: .unreachable, reason: isConnected ? .notPaired : reachability.reason, since: reachability.since)
    }
}

extension SessionSnapshot {
    /// The machine's state; `wall` and `now` are the same moment on both clocks.
    init(_ machine: ClientSession, now: MonotonicTime, wall: WallTime) {
        func status(_ level: ReachabilityLevel, _ reason: ReachabilityReason, _ since: MonotonicTime)
            -> ReachabilityStatus
        {
            ReachabilityStatus(level: level, reason: reason, since: wall - now.since(since))
        }
        let own = machine.reachability(of: nil)
        reachability = status(own.level, own.reason, own.since)
        (activation, role) = (machine.activation, machine.role)
        (device, directory) = (machine.device, machine.directory)
        let situation = machine.phase == .active ? machine.situation : nil
        pairings = (situation?.pairings ?? []).map { entry in
            PairedDevice(
                pairing: entry.pairing, device: entry.peer, name: entry.name, role: entry.role, target: entry.target,
                isInstalled: entry.isInstalled, isActive: entry.pairing == situation?.active,
                reachability: status(entry.level, entry.reason, entry.since))
        }
    }
}

extension WallTime {
    fileprivate static func - (time: WallTime, duration: Duration) -> WallTime { time + (.zero - duration) }
}
