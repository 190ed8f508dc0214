// Why the relay answers a message with `failure` instead of passing it on (SES-13, SES-11), as one closed list: each
// case has one code and one name, so that a caller, a log line and a test cannot disagree about what happened.

package import TandemBase
package import TandemSession
package import TandemWire

/// A failure that the relay itself reports.
package enum RelayFailure: Sendable, Equatable {
    case notPaired
    /// The app is missing on the device that has this role.
    case notInstalled(on: DeviceRole)
    case notReachable(ReachabilityReason)
    case tooLarge(actual: Int, limit: Int)
    case replyTooLarge(actual: Int, limit: Int)
    case duplicateIdentifier
    /// In a broadcast another value lies in the bytes of `pairing`, which differ for each receiver.
    case sharedPairing
    case tooManyRequests
    case slowConsumer
    /// The counterpart, or its device, did not agree to get this kind of message (SES-3).
    case unsupportedKind
    /// The counterpart disconnected with the request open.
    case counterpartGone
    /// The link went down with the request open, after the request may have left.
    case linkLost
    /// The answer that came names another app or pairing than the request.
    case mismatchedAnswer

    /// The error that the caller gets.
    package var error: SessionError {
        SessionError(
            code, name: name?.rawValue ?? reachability?.rawValue, reason: text, actual: size?.actual,
            limit: size?.limit, isRetryable: isRetryable)
    }

    private var code: SessionError.Code {
        switch self {
        case .notPaired: .deviceNotPaired
        case .notInstalled(let role): role == .secondary ? .watchAppNotInstalled : .companionAppNotInstalled
        case .notReachable: .notReachable
        case .tooLarge: .payloadTooLarge
        case .duplicateIdentifier, .sharedPairing: .invalidParameter
        case .tooManyRequests: .genericError
        case .slowConsumer, .linkLost, .unsupportedKind: .deliveryFailed
        case .counterpartGone, .replyTooLarge, .mismatchedAnswer: .messageReplyFailed
        }
    }

    /// nil: the reason of the reachability is the name.
    private var name: ErrorName? {
        switch self {
        case .notPaired: .notPaired
        case .notInstalled: .notInstalled
        case .notReachable: nil
        case .tooLarge: .tooLarge
        case .replyTooLarge: .replyTooLarge
        case .duplicateIdentifier: .duplicateID
        case .sharedPairing: .sharedPairing
        case .tooManyRequests: .tooManyRequests
        case .slowConsumer: .slowConsumer
        case .unsupportedKind: .unsupportedKind
        case .counterpartGone: .counterpartDisconnected
        case .linkLost: .linkLost
        case .mismatchedAnswer: .mismatchedAnswer
        }
    }

    private var reachability: ReachabilityReason? {
        if case .notReachable(let reason) = self { reason } else { nil }
    }

    private var text: String {
        switch self {
        case .notPaired: "this device has no such pairing"
        case .notInstalled(let role): SessionError.notInstalled(on: role)
        case .notReachable(let reason): "the counterpart cannot be reached: \(reason.explanation)"
        case .tooLarge: "the message is larger than a message may be"
        case .replyTooLarge: "the counterpart's reply is larger than a reply may be"
        case .duplicateIdentifier: "a request with this identifier is still open"
        case .sharedPairing: "another value of the envelope shares the bytes of 'pairing'; write it apart"
        case .tooManyRequests: "too many requests wait for replies; wait for some of them"
        case .slowConsumer: "the way to the counterpart is full; it does not read fast enough"
        case .unsupportedKind: "the counterpart does not take this kind of message"
        case .counterpartGone: "the counterpart disconnected before it answered"
        case .linkLost: "the link was lost; whether the message arrived is not known"
        case .mismatchedAnswer: "the answer names another app or pairing than the request"
        }
    }

    private var size: (actual: Int, limit: Int)? {
        switch self {
        case .tooLarge(let actual, let limit), .replyTooLarge(let actual, let limit): (actual, limit)
        case .tooManyRequests: (Limits.openRequests + 1, Limits.openRequests)
        default: nil
        }
    }

    private var isRetryable: Bool {
        switch self {
        case .notReachable, .tooManyRequests, .slowConsumer, .counterpartGone: true
        case .notPaired, .notInstalled, .tooLarge, .replyTooLarge, .duplicateIdentifier, .sharedPairing,
            .unsupportedKind, .linkLost, .mismatchedAnswer:
            false
        }
    }
}
