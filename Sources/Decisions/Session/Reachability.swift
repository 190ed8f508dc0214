// Reachability of a counterpart: level, reason and the time of the last change (SES-7). A reason is always given,
// because "unreachable" alone helps no person. The level follows from known facts; nothing is predicted.

package import TandemBase

/// How far a message would come now.
public enum ReachabilityLevel: String, Sendable, Hashable, CaseIterable {
    /// No link to the other device.
    case unreachable
    /// The devices are linked; the counterpart app is not connected there.
    case background
    /// The counterpart app is connected.
    case immediate
}

/// Why the level is not `immediate`.
public enum ReachabilityReason: String, Sendable, Hashable, CaseIterable {
    /// The level is `immediate`.
    case none
    /// The other device is not connected.
    case noLink = "no-link"
    /// The other device was connected and has fallen silent.
    case noHeartbeat = "no-heartbeat"
    /// The pairing has not been confirmed by both devices yet.
    case pending
    /// The app was never registered on the other device.
    case notInstalled = "not-installed"
    /// The app is installed there and not running, or receives no messages.
    case counterpartAbsent = "counterpart-absent"
    /// The two daemons have no protocol version in common.
    case version
    /// The other device's daemon is shutting down.
    case stopping
    /// The host app has no daemon to talk to; known on its own side only, never on the wire.
    case noDaemon = "no-daemon"
    /// The device has no pairing at all; likewise.
    case notPaired = "not-paired"

    /// The reason in a clause, for the message of a failure.
    package var explanation: String {
        switch self {
        case .none: "its state has just changed"
        case .noLink: "the other device is not connected"
        case .noHeartbeat: "the other device has fallen silent"
        case .pending: "the other device has not confirmed the pairing yet"
        case .notInstalled: "the app was never registered on the other device"
        case .counterpartAbsent: "the app does not run on the other device, or receives no messages"
        case .version: "the two daemons have no protocol version in common"
        case .stopping: "the other device's daemon was stopped"
        case .noDaemon: "this device's daemon is away"
        case .notPaired: "this device has no pairing"
        }
    }
}

/// Level and reason of one counterpart, and the time of their last change.
package struct Reachability: Sendable, Equatable {
    /// The known facts about the path to one counterpart app.
    package struct Facts: Sendable, Equatable {
        package enum Link: Sendable, Equatable {
            case up
            /// With `.noLink`, `.noHeartbeat`, `.version` or `.stopping`.
            case down(ReachabilityReason)
        }

        package let link: Link
        package let isPending: Bool
        package let isInstalled: Bool
        package let isConnected: Bool

        package init(
            link: Link = .down(.noLink), isPending: Bool = false, isInstalled: Bool = false, isConnected: Bool = false
        ) {
            self.link = link
            self.isPending = isPending
            self.isInstalled = isInstalled
            self.isConnected = isConnected
        }
    }

    package private(set) var level: ReachabilityLevel
    package private(set) var reason: ReachabilityReason
    package private(set) var since: MonotonicTime
    /// How often level or reason has changed: a reader that was away sees how much it missed.
    package private(set) var changes: UInt64 = 0

    package init(facts: Facts = Facts(), now: MonotonicTime) {
        (level, reason) = Self.judge(facts)
        since = now
    }

    /// Judges new facts; true if level or reason changed, and `since` then is `now`.
    package mutating func update(_ facts: Facts, now: MonotonicTime) -> Bool {
        let (newLevel, newReason) = Self.judge(facts)
        guard newLevel != level || newReason != reason else { return false }
        (level, reason, since) = (newLevel, newReason, now)
        changes &+= 1
        return true
    }

    package static func judge(_ facts: Facts) -> (ReachabilityLevel, ReachabilityReason) {
        if facts.isPending { return (.unreachable, .pending) }
        if case .down(let reason) = facts.link { return (.unreachable, reason) }
        guard facts.isInstalled else { return (.background, .notInstalled) }
        return facts.isConnected ? (.immediate, .none) : (.background, .counterpartAbsent)
    }
}
