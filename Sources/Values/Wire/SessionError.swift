// Errors of the session's calls: WCError's nineteen codes with Apple's numbers and names (SES-20), and the facts that
// WCError leaves out. A code is chosen by the first rule of SES-13 that fails.

public import TandemBase
import TandemPropertyList

/// An error of a paired session.
public struct SessionError: Error, Sendable, Equatable {
    /// `WCError.Code`, with the same names and numbers.
    public enum Code: Int, Sendable, Hashable, CaseIterable {
        /// Anything that no other code says; ``SessionError/name`` does, for example `cancelled` or `queue-full`.
        case genericError = 7001
        /// The device cannot have a session. Never on Linux; kept for Apple's numbers.
        case sessionNotSupported = 7002
        /// A call by Apple's names before a delegate was set.
        case sessionMissingDelegate = 7003
        /// The session is not activated, has lost its daemon, or was ended.
        case sessionNotActivated = 7004
        /// There is no such pairing.
        case deviceNotPaired = 7005
        /// On a primary: the app was never registered on the secondary.
        case watchAppNotInstalled = 7006
        /// The counterpart cannot take a message now; ``SessionError/name`` is the reason. Interactive messages only.
        case notReachable = 7007
        /// An argument that can never be right; ``SessionError/name`` says which.
        case invalidParameter = 7008
        /// Over the channel's limit; `actual` and `limit` are bytes.
        case payloadTooLarge = 7009
        /// A value that no property list can hold, at `keyPath`.
        case payloadUnsupportedTypes = 7010
        /// The counterpart has the message, and its reply could not be given.
        case messageReplyFailed = 7011
        /// No reply came by the caller's deadline.
        case messageReplyTimedOut = 7012
        /// The file cannot be read.
        case fileAccessDenied = 7013
        /// Not delivered, for a reason that lies on the way or with the receiver.
        case deliveryFailed = 7014
        /// A disk is full: this device's at once, the other device's later.
        case insufficientSpace = 7015
        /// The session is switching to another device.
        case sessionInactive = 7016
        /// A durable item's time to live is over.
        case transferTimedOut = 7017
        /// On a secondary: the app was never registered on the primary.
        case companionAppNotInstalled = 7018
        /// There is no counterpart to install. Never here, where every app may be on both devices.
        case watchOnlyApp = 7019
    }

    /// The kind of failure, with Apple's number.
    public let code: Code
    /// The stable refinement of the code, for programs; for example `unhandled`.
    public package(set) var name: String?
    /// The cause and the remedy, for people. Whole and as it came: for `handler-failed` it is a text of the
    /// counterpart's app. ``description`` is safe to print.
    public package(set) var reason: String
    /// The size or count that was too large.
    public let actual: Int?
    /// The limit that `actual` exceeds.
    public let limit: Int?
    /// Where in the payload the fault is, for example `a.b[2]`.
    public let keyPath: String?
    /// The other device, by its vendor identifier.
    public package(set) var peer: UniqueIdentifier?
    /// The message or item that failed.
    public package(set) var messageID: UniqueIdentifier?
    /// True if the same call may succeed later without a change by the caller.
    public let isRetryable: Bool

    /// An error; if it is not given, `isRetryable` is the code's usual answer, and false for the name `ended`.
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
        // An ended session is over for good, in contrast to others that are not activated.
        self.isRetryable = isRetryable ?? (code.isUsuallyRetryable && name != ErrorName.ended.rawValue)
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
    /// All of it on one line: control characters are escaped, and a text of the counterpart is cut at 128 bytes.
    public var description: String {
        var text = "\(code.rawValue) \(code): \(shownReason)"
        if let name { text += " [\(Self.peerText(name))]" }
        if let shownSizes { text += " (\(shownSizes))" }
        if let shownKeyPath { text += " at \(shownKeyPath)" }
        return text
    }

    /// The reason on one line, cut (LIM-13) if a counterpart has answered.
    package var shownReason: String {
        let isOfPeer = name.flatMap(ErrorName.init(word:))?.isOfCounterpart ?? false
        return isOfPeer ? Self.peerText(reason) : OutsideText.line(reason)
    }

    /// The size or count that was too large, and the limit.
    package var shownSizes: String? {
        guard let actual, let limit else { return nil }
        return "\(actual), limit \(limit)"
    }

    /// The key path on one line, cut (LIM-13).
    package var shownKeyPath: String? { keyPath.map(Self.peerText) }

    private static func peerText(_ text: String) -> String { OutsideText.line(text, atMost: Limits.peerText) }
}

extension SessionError {
    /// The name in the `failure` that carries this error: none that is too long for a frame (LIM-155), which an app may
    /// have chosen.
    var wireName: String? { name.flatMap { $0.utf8.count <= Limits.envelopeText ? $0 : nil } }

    /// The body of the `failure` that carries this error; peer and message are known from the envelope.
    var failureBody: PropertyListDictionary {
        PropertyListDictionary(present: [
            BodyKey.text: .string(reason.cutForFrame), BodyKey.retry: .boolean(isRetryable),
            BodyKey.actual: actual.map { PropertyListValue($0) }, BodyKey.limit: limit.map { PropertyListValue($0) },
            BodyKey.path: keyPath.map { .string($0.cutForFrame) },
        ])
    }
}

extension String {
    /// As much of a text about an error as a frame carries (LIM-148), in whole scalars. An app chooses the text, and a
    /// frame that it does not fit would never leave.
    var cutForFrame: String { cut(toBytes: Limits.errorText) }

    /// As many whole scalars as have at most so many bytes.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(unicodeScalars[..<end])
    }
}

// The names that refine the code of an error (SES-20, SES-27, SES-28, SES-37) and the keys of the bodies of frames,
// each word once.

/// The stable refinement of an error's code; its raw value is the `name` of a `failure`.
package enum ErrorName: String, EnvelopeWord {
    // Names that a daemon answers with (SES-27).
    case notPaired = "not-paired"
    case notInstalled = "not-installed"
    case duplicateID = "duplicate-id"
    case channel, kind
    case queueFull = "queue-full"
    case store
    case insufficientSpace = "insufficient-space"
    case malformed
    case fileError = "file-error"
    case digestMismatch = "digest-mismatch"
    case takenOver = "taken-over"
    case cancelled
    case sharedPairing = "shared-pairing"
    case tooLarge = "too-large"
    case tooManyRequests = "too-many-requests"
    case draining
    case unsupportedKind = "unsupported-kind"
    case slowConsumer = "slow-consumer"
    case linkLost = "link-lost"
    case counterpartDisconnected = "counterpart-disconnected"
    case replyTooLarge = "reply-too-large"
    case mismatchedAnswer = "mismatched-answer"

    // Names that the receiving app's library answers with (SES-28, SES-31).
    case unhandled
    case inboxFull = "inbox-full"
    case reservedKey = "reserved-key"
    case handlerFailed = "handler-failed"
    case replyDropped = "reply-dropped"
    case replyInvalid = "reply-invalid"
    case notActive = "not-active"

    // Names that a library reports by itself (SES-37).
    case daemonLost = "daemon-lost"
    case switched, unpaired, ended
    case noDaemon = "no-daemon"
    case eventLoop = "event-loop"
    case endUnknown = "end-unknown"
    case rejected, expired, superseded
    case version, timeout, topic, key, remaining, application, identifier, provides, socket, configuration
    case noReplyWanted = "no-reply-wanted"
    case alreadyAnswered = "already-answered"
    case wrongKind = "wrong-kind"
    case fileMissing = "file-missing"
    case notAFile = "not-a-file"
    case fileExists = "file-exists"
    case fileAccess = "file-access"
    case sourceChanged = "source-changed"
}

extension ErrorName {
    /// The receiving app's library answers with it (SES-28, SES-31): the text beside it is a counterpart's.
    fileprivate var isOfCounterpart: Bool {
        switch self {
        case .unhandled, .inboxFull, .malformed, .reservedKey, .handlerFailed, .replyDropped, .replyInvalid,
            .notActive:
            true
        case .notPaired, .notInstalled, .duplicateID, .channel, .kind, .queueFull, .store, .insufficientSpace,
            .fileError, .digestMismatch, .takenOver, .cancelled, .sharedPairing, .tooLarge, .tooManyRequests,
            .draining, .unsupportedKind, .slowConsumer, .linkLost, .counterpartDisconnected, .replyTooLarge,
            .mismatchedAnswer, .daemonLost, .switched, .unpaired, .ended, .noDaemon, .eventLoop, .endUnknown,
            .rejected, .expired, .superseded, .version, .timeout, .topic, .key, .remaining, .application,
            .identifier, .provides, .socket, .configuration, .noReplyWanted, .alreadyAnswered, .wrongKind,
            .fileMissing, .notAFile, .fileExists, .fileAccess, .sourceChanged:
            false
        }
    }
}

extension SessionError {
    /// An error with one of the known names.
    package init(
        _ code: SessionError.Code, _ name: ErrorName, reason: String, actual: Int? = nil, limit: Int? = nil,
        keyPath: String? = nil,
        peer: UniqueIdentifier? = nil, messageID: UniqueIdentifier? = nil, isRetryable: Bool? = nil
    ) {
        self.init(
            code, name: name.rawValue, reason: reason, actual: actual, limit: limit, keyPath: keyPath, peer: peer,
            messageID: messageID, isRetryable: isRetryable)
    }

    /// Whether the error has this name.
    package func isNamed(_ name: ErrorName) -> Bool { self.name == name.rawValue }
}

/// The keys of the bodies of failures, items and their questions; those of registrations, states and control commands
/// stand with the types that read and write them.
package enum BodyKey {
    package static let actual = "actual"
    package static let after = "after"
    package static let body = "body"
    package static let code = "code"
    package static let current = "current"
    package static let digest = "digest"
    package static let envelope = "envelope"
    package static let id = "id"
    package static let item = "item"
    package static let items = "items"
    package static let kind = "kind"
    package static let limit = "limit"
    package static let metadata = "metadata"
    package static let more = "more"
    package static let name = "name"
    package static let outcome = "outcome"
    package static let path = "path"
    package static let refusal = "refusal"
    package static let remaining = "remaining"
    package static let resets = "resets"
    package static let retry = "retry"
    package static let schema = "schema"
    package static let size = "size"
    package static let state = "state"
    package static let text = "text"
    package static let topic = "topic"
    package static let unknown = "unknown"
    package static let verdict = "verdict"
}
