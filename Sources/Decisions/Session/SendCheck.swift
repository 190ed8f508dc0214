// The one order in which a send is refused (SES-13). When several reasons apply, the caller must get the same answer
// every time and on every side; so the checks are a table in the order of the text, over facts gathered beforehand.

package import TandemBase

/// Where a session stands, with the numbers of WCSessionActivationState.
public enum ActivationState: Int, Sendable, Hashable, CaseIterable {
    /// Not activated, or no daemon, or between two counterparts of a switch.
    case notActivated = 0
    /// A switch has begun: nothing new may be sent.
    case inactive = 1
    /// Messages may be sent and received.
    case activated = 2
}

/// The first reason why a message must not leave.
package enum SendRefusal: Sendable, Equatable {
    /// The daemon speaks no version that this app speaks (7002).
    case notSupported
    case notActivated
    case inactive
    case notPaired
    /// On a primary the secondary's app is missing (7006), on a secondary the primary's (7018).
    case notInstalled(on: DeviceRole)
    case badArgument(BadArgument)
    /// A value of a type that no property list has, at this key path (7010).
    case unsupportedType(keyPath: String)
    case tooLarge(actual: Int, limit: Int)
    case notReachable(ReachabilityReason)
}

/// What is wrong with an argument of a send (7008); the raw value is the error's name.
package enum BadArgument: String, Sendable {
    /// A top-level key starts with `tandem.` (SES-15).
    case reservedKey = "reserved-key"
    /// The timeout is not between 1 ms and 600 s (LIM-8).
    case timeout
    /// A topic, a key or a kind is not 1 to 128 bytes without NUL (LIM-37).
    case topic
    case supersedeKey = "key"
    case kind
    /// Apps submit nothing on this channel.
    case channel
    /// The time to live of an item is not positive.
    case timeToLive = "remaining"
}

/// The facts about one send.
package struct SendCheck: Sendable, Equatable {
    /// False once the daemon has refused all versions that this app speaks.
    package var isSupported = true
    package var activation: ActivationState
    /// nil: there is no pairing, or none by that identifier.
    package var counterpart: Counterpart?
    package var badArgument: BadArgument?
    /// Where the message holds something that no property list can hold.
    package var unsupportedKeyPath: String?
    package var bodySize: Int
    package var bodyLimit: Int
    /// False for what may wait until the counterpart can be reached.
    package var needsReachability: Bool

    /// What is known of the other side.
    package struct Counterpart: Sendable, Equatable {
        /// This device's role in the pairing.
        package var role: DeviceRole
        package var level: ReachabilityLevel
        package var reason: ReachabilityReason

        package init(role: DeviceRole, level: ReachabilityLevel, reason: ReachabilityReason) {
            self.role = role
            self.level = level
            self.reason = reason
        }
    }

    package init(
        activation: ActivationState, counterpart: Counterpart?, badArgument: BadArgument? = nil,
        unsupportedKeyPath: String? = nil, bodySize: Int, bodyLimit: Int, needsReachability: Bool = true
    ) {
        self.activation = activation
        self.counterpart = counterpart
        self.badArgument = badArgument
        self.unsupportedKeyPath = unsupportedKeyPath
        self.bodySize = bodySize
        self.bodyLimit = bodyLimit
        self.needsReachability = needsReachability
    }

    /// The first reason against sending; nil if the message may leave.
    package var refusal: SendRefusal? {
        if !isSupported { return .notSupported }
        switch activation {
        case .notActivated: return .notActivated
        case .inactive: return .inactive
        case .activated: break
        }
        guard let counterpart else { return .notPaired }
        // Without a link nobody knows what is installed there: that is not a reason, `notReachable` will be.
        if counterpart.reason == .notInstalled { return .notInstalled(on: counterpart.role.counterpart) }
        if let badArgument { return .badArgument(badArgument) }
        if let unsupportedKeyPath { return .unsupportedType(keyPath: unsupportedKeyPath) }
        if bodySize > bodyLimit { return .tooLarge(actual: bodySize, limit: bodyLimit) }
        return counterpart.level == .immediate || !needsReachability ? nil : .notReachable(counterpart.reason)
    }
}
