// The one order in which a send is refused (SES-13), and the error that the caller gets. When several reasons apply,
// the caller must get the same answer every time, from the library and from the daemon. So the checks stand in the
// order of the clause, over facts gathered beforehand.

package import TandemBase
package import TandemWire

/// Where a session stands, with the numbers of WCSessionActivationState.
public enum ActivationState: Int, Sendable, Hashable, CaseIterable {
    /// Not activated, or no daemon, or between two counterparts of a switch.
    case notActivated = 0
    /// A switch has begun: nothing new may be sent.
    case inactive = 1
    /// Messages may be sent and received.
    case activated = 2
}

/// A session's own part in whether anything can be sent.
package struct SessionStanding: Sendable, Hashable {
    package var activation: ActivationState
    /// The session has lost its daemon, and activates again by itself.
    package let isComingBack: Bool
    /// False once the daemon has refused all versions that this app speaks.
    package let isSupported: Bool

    package init(_ activation: ActivationState, isComingBack: Bool = false, isSupported: Bool = true) {
        self.activation = activation
        self.isComingBack = isComingBack
        self.isSupported = isSupported
    }

    /// The reason against sending anything; nil if there is none.
    package var refusal: SendRefusal? {
        if !isSupported { return .notSupported }
        switch activation {
        case .notActivated: return isComingBack ? .daemonAway : .notActivated
        case .inactive: return .inactive
        case .activated: return nil
        }
    }
}

/// The first reason why a message must not leave.
package enum SendRefusal: Sendable, Equatable {
    /// The daemon speaks no version that this app speaks (7002).
    case notSupported
    case notActivated
    /// The same while the session has lost its daemon and activates again by itself.
    case daemonAway
    case inactive
    /// The default session has no pairing to talk through (7005).
    case notPaired
    /// The pairing that the caller names does not exist (7005).
    case noSuchPairing
    /// On a primary the secondary's app is missing (7006), on a secondary the primary's (7018).
    case notInstalled(on: DeviceRole)
    case badArgument(BadArgument)
    /// Something that no property list can hold (7010).
    case unsupported(UnsupportedContent)
    case tooLarge(actual: Int, limit: Int)
    case notReachable(ReachabilityReason)
}

extension SendRefusal {
    /// No pairing to send through. `named` is the one that the caller names; nil if it means the active one.
    package static func withoutPairing(_ named: UniqueIdentifier?) -> SendRefusal {
        named == nil ? .notPaired : .noSuchPairing
    }
}

/// The kinds of content in the words of an error.
package enum ContentKind: String, Sendable {
    case message, context, userInfo = "user info", metadata, settings, reply
}

/// Something in a content that no property list can hold: what, and where (7010).
package struct UnsupportedContent: Sendable, Equatable {
    package var kind: ContentKind
    /// The thing that is there, to follow "the message holds".
    private let fault: String
    /// Where; nil: the content's own dictionary.
    package var keyPath: String?

    package init(_ kind: ContentKind, holds fault: String, keyPath: String?) {
        self.kind = kind
        self.fault = fault
        self.keyPath = keyPath
    }

    fileprivate var reason: String { "the \(kind.rawValue) \(kind == .settings ? "hold" : "holds") \(fault)" }
}

/// A fault in an argument of a send (7008).
package enum BadArgument: Sendable {
    /// A top-level key starts with `tandem.` (SES-15).
    case reservedKey
    /// The timeout is not between 1 ms and 600 s (LIM-8).
    case timeout
    /// A topic, a key or a kind is not 1 to 128 bytes without NUL (LIM-37).
    case topic
    case supersedeKey
    case kind
    /// The body is no dictionary of the strict profile (FRM-6).
    case body
    /// Apps submit nothing on this channel.
    case channel
    /// The time to live of an item is not positive.
    case timeToLive
}

/// The facts about one send.
package struct SendCheck: Sendable, Equatable {
    package var standing: SessionStanding
    /// nil: there is no pairing, or none by that identifier.
    package var counterpart: Counterpart?
    /// The pairing that the caller names; nil: the active one is meant.
    package var namedPairing: UniqueIdentifier?
    package var badArgument: BadArgument?
    package var unsupported: UnsupportedContent?
    package var bodySize: Int
    package let bodyLimit: Int
    /// False for what may wait until the counterpart can be reached.
    package let needsReachability: Bool

    /// The known facts about the counterpart.
    package struct Counterpart: Sendable, Equatable {
        /// This device's role in the pairing.
        package let role: DeviceRole
        package let level: ReachabilityLevel
        package let reason: ReachabilityReason

        package init(role: DeviceRole, level: ReachabilityLevel, reason: ReachabilityReason) {
            self.role = role
            self.level = level
            self.reason = reason
        }
    }

    package init(
        _ standing: SessionStanding, counterpart: Counterpart?,
        namedPairing: UniqueIdentifier? = nil, badArgument: BadArgument? = nil,
        unsupported: UnsupportedContent? = nil, bodySize: Int, bodyLimit: Int, needsReachability: Bool = true
    ) {
        self.standing = standing
        self.counterpart = counterpart
        self.namedPairing = namedPairing
        self.badArgument = badArgument
        self.unsupported = unsupported
        self.bodySize = bodySize
        self.bodyLimit = bodyLimit
        self.needsReachability = needsReachability
    }

    /// The first reason against sending; nil if the message may leave.
    package var refusal: SendRefusal? {
        if let refusal = standing.refusal { return refusal }
        guard let counterpart else { return .withoutPairing(namedPairing) }
        // Without a link the installed apps are unknown: then `notReachable` is the reason.
        if counterpart.reason == .notInstalled { return .notInstalled(on: counterpart.role.counterpart) }
        if let badArgument { return .badArgument(badArgument) }
        if let unsupported { return .unsupported(unsupported) }
        if bodySize > bodyLimit { return .tooLarge(actual: bodySize, limit: bodyLimit) }
        return counterpart.level == .immediate || !needsReachability ? nil : .notReachable(counterpart.reason)
    }
}

extension SessionError {
    /// The error for a message that must not leave (SES-13).
    package init(_ refusal: SendRefusal, messageID: UniqueIdentifier?) {
        switch refusal {
        case .notSupported:
            self.init(.sessionNotSupported, .version, reason: Self.noCommonVersion)
        case .notActivated:
            self.init(.sessionNotActivated, reason: "the session is not activated: await activate() first")
        case .daemonAway:
            self.init(
                .sessionNotActivated, .noDaemon,
                reason: "this device's daemon is away: the session activates again by itself once it is back")
        case .inactive: self.init(.sessionInactive, reason: "the session is switching to another device: try again")
        case .notPaired:
            self.init(
                .deviceNotPaired, .notPaired,
                reason: "no paired device is chosen: pair one, or choose one of several with 'tandem switch'")
        case .noSuchPairing:
            self.init(
                .deviceNotPaired, .notPaired,
                reason: "this device has no such pairing: it was removed, or the identifier is of another device's")
        case .notInstalled(let device):
            self.init(
                device == .secondary ? .watchAppNotInstalled : .companionAppNotInstalled, .notInstalled,
                reason: Self.notInstalled(on: device))
        case .badArgument(let argument): self.init(argument)
        case .unsupported(let content):
            self.init(.payloadUnsupportedTypes, reason: content.reason, keyPath: content.keyPath)
        case .tooLarge(let actual, let limit):
            self.init(
                .payloadTooLarge, .tooLarge, reason: "the content is too large", actual: actual, limit: limit)
        case .notReachable(let reason):
            self.init(
                .notReachable, name: reason.rawValue, reason: "the counterpart cannot be reached: \(reason.explanation)"
            )
        }
        self.messageID = messageID
    }

    private init(_ argument: BadArgument) {
        let shortText = "a topic, a key and a kind have 1 to 128 bytes and no NUL"
        let (name, reason, limit): (ErrorName, String, Int?) =
            switch argument {
            case .reservedKey:
                (.reservedKey, "top-level keys that start with 'tandem.' are reserved: choose another key", nil)
            case .timeout: (.timeout, "a timeout is between 1 ms and 600 s", nil)
            case .topic: (.topic, shortText, Limits.shortText)
            case .supersedeKey: (.key, shortText, Limits.shortText)
            case .kind: (.kind, shortText, Limits.shortText)
            case .body: (.malformed, "the body is not a dictionary of a binary property list", nil)
            case .channel: (.channel, "apps submit nothing on this channel", nil)
            case .timeToLive: (.remaining, "a time to live is more than nothing", nil)
            }
        self.init(.invalidParameter, name, reason: reason, limit: limit)
    }

    /// The reason of 7006 and 7018.
    package static func notInstalled(on device: DeviceRole) -> String {
        "the app is not installed on the \(device.rawValue): start it there once, with the same application identifier"
    }

    package static var noCommonVersion: String {
        "this app and its daemon speak no common version of the protocol: update the older one"
    }
}
