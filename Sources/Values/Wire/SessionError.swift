// What a caller of the session gets when something cannot be done: WCError's nineteen codes with Apple's numbers and
// names (SES-20), and the facts that WCError leaves out. A code is chosen by the first rule of SES-13 that fails.

public import TandemIdentity

/// An error of a paired session.
public struct SessionError: Error, Sendable, Equatable {
    /// `WCError.Code`, with the same names and numbers.
    public enum Code: Int, Sendable, Hashable, CaseIterable {
        case genericError = 7001
        case sessionNotSupported = 7002
        case sessionMissingDelegate = 7003
        case sessionNotActivated = 7004
        case deviceNotPaired = 7005
        case watchAppNotInstalled = 7006
        case notReachable = 7007
        case invalidParameter = 7008
        case payloadTooLarge = 7009
        case payloadUnsupportedTypes = 7010
        case messageReplyFailed = 7011
        case messageReplyTimedOut = 7012
        case fileAccessDenied = 7013
        case deliveryFailed = 7014
        case insufficientSpace = 7015
        case sessionInactive = 7016
        case transferTimedOut = 7017
        case companionAppNotInstalled = 7018
        case watchOnlyApp = 7019
    }

    public var code: Code
    /// The stable refinement of the code, for programs; for example `unhandled`.
    public var name: String?
    /// What happened and what to do, for people.
    public var reason: String
    /// The size or count that was too large.
    public var actual: Int?
    /// The limit that `actual` exceeds.
    public var limit: Int?
    /// Where in the payload the fault is, for example `a.b[2]`.
    public var keyPath: String?
    /// The other device, by its vendor identifier.
    public var peer: UniqueIdentifier?
    /// The message or item that failed.
    public var messageID: UniqueIdentifier?
    /// True if the same call may succeed later without a change by the caller.
    public var isRetryable: Bool

    public init(
        _ code: Code, name: String? = nil, reason: String, actual: Int? = nil, limit: Int? = nil,
        keyPath: String? = nil, peer: UniqueIdentifier? = nil, messageID: UniqueIdentifier? = nil,
        isRetryable: Bool? = nil
    ) {
        self.code = code
        self.name = name
        self.reason = reason
        self.actual = actual
        self.limit = limit
        self.keyPath = keyPath
        self.peer = peer
        self.messageID = messageID
        self.isRetryable = isRetryable ?? code.isUsuallyRetryable
    }
}

extension SessionError.Code {
    /// Whether a code names a situation that passes by itself.
    public var isUsuallyRetryable: Bool {
        switch self {
        case .sessionNotActivated, .notReachable, .messageReplyTimedOut, .insufficientSpace, .sessionInactive,
            .transferTimedOut:
            true
        default: false
        }
    }
}

extension SessionError: CustomStringConvertible {
    public var description: String {
        var text = "\(code.rawValue) \(code): \(reason)"
        if let name { text += " [\(name)]" }
        if let actual, let limit { text += " (\(actual), limit \(limit))" }
        if let keyPath { text += " at \(keyPath)" }
        return text
    }
}
