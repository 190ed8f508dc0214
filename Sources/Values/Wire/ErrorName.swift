// The names that refine the code of an error (SES-20, SES-27, SES-28, SES-37) and the keys of the bodies of frames, each
// word once.

package import TandemBase

/// The stable refinement of an error's code; its raw value is the `name` of a `failure`.
package enum ErrorName: String, EnvelopeWord {
    // What a daemon answers (SES-27).
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

    // What the receiving app's library answers (SES-28).
    case unhandled
    case inboxFull = "inbox-full"
    case reservedKey = "reserved-key"
    case handlerFailed = "handler-failed"
    case replyDropped = "reply-dropped"
    case replyInvalid = "reply-invalid"
    case notActive = "not-active"

    // What a library says of its own (SES-37).
    case daemonLost = "daemon-lost"
    case switched, unpaired, ended
    case noDaemon = "no-daemon"
    case eventLoop = "event-loop"
    case endUnknown = "end-unknown"
    case rejected, expired, superseded
    case version, timeout, topic, key, remaining, application, identifier, provides, socket
    case noReplyWanted = "no-reply-wanted"
    case alreadyAnswered = "already-answered"
    case wrongKind = "wrong-kind"
    case fileMissing = "file-missing"
    case notAFile = "not-a-file"
    case fileExists = "file-exists"
    case fileAccess = "file-access"
    case sourceChanged = "source-changed"
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
    package static let size = "size"
    package static let state = "state"
    package static let text = "text"
    package static let topic = "topic"
    package static let unknown = "unknown"
}
