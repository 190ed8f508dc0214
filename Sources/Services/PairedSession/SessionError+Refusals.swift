// The errors that this side itself finds, each with its code, a stable name, and what to do about it.

import TandemIdentity
import TandemPropertyList
import TandemSession
import TandemWire

extension SessionError {
    /// The error for a message that must not leave (SES-13).
    init(_ refusal: SendRefusal, messageID: UniqueIdentifier) {
        switch refusal {
        case .notSupported: self.init(.sessionNotSupported, name: RefusalName.version.rawValue, reason: Self.noVersion)
        case .notActivated:
            self.init(.sessionNotActivated, reason: "the session is not activated: await activate() first")
        case .inactive: self.init(.sessionInactive, reason: "the session is switching to another device: try again")
        case .notPaired: self.init(.deviceNotPaired, reason: "this device has no such pairing: pair it first")
        case .notInstalled(on: .secondary):
            self.init(.watchAppNotInstalled, reason: "the application was never registered on the secondary")
        case .notInstalled(on: .primary):
            self.init(.companionAppNotInstalled, reason: "the application was never registered on the primary")
        case .badArgument(let argument): self.init(argument)
        case .unsupportedType(let path):
            self.init(
                .payloadUnsupportedTypes, reason: "the message holds something that no property list can hold",
                keyPath: path)
        case .tooLarge(let actual, let limit):
            self.init(.payloadTooLarge, reason: "the message is too large", actual: actual, limit: limit)
        case .notReachable(let reason):
            self.init(.notReachable, name: reason.rawValue, reason: "the counterpart cannot be reached now")
        }
        self.messageID = messageID
    }

    private init(_ argument: BadArgument) {
        switch argument {
        case .reservedKey:
            self.init(
                .invalidParameter, name: argument.rawValue,
                reason: "top-level keys that start with 'tandem.' are reserved: choose another key")
        case .timeout:
            self.init(
                .invalidParameter, name: argument.rawValue, reason: "a timeout is between 1 ms and 600 s")
        case .topic, .supersedeKey, .kind:
            self.init(
                .invalidParameter, name: argument.rawValue,
                reason: "a topic, a key and a kind have 1 to 128 bytes and no NUL", limit: Limits.shortText)
        case .timeToLive:
            self.init(.invalidParameter, name: argument.rawValue, reason: "a time to live is more than nothing")
        }
    }

    /// The error of a request that ended without an answer (SES-23).
    init(_ loss: ClientSession.RequestLoss, messageID: UniqueIdentifier?) {
        switch loss {
        case .daemonLost:
            self.init(
                .deliveryFailed, name: "daemon-lost",
                reason: "the connection to the daemon was lost; whether the message arrived is not known")
        case .switched: self.init(.sessionInactive, name: "switched", reason: "another device became the active one")
        case .unpaired: self.init(.deviceNotPaired, name: "unpaired", reason: "the pairing was removed")
        case .ended: self.init(.sessionNotActivated, name: "ended", reason: "the session was ended")
        }
        self.messageID = messageID
    }

    /// The caller's deadline came first (SES-9).
    static func timedOut(_ id: UniqueIdentifier?) -> SessionError {
        SessionError(.messageReplyTimedOut, reason: "no reply came in time", messageID: id)
    }

    /// The caller's task was cancelled.
    static func cancelled(_ id: UniqueIdentifier?) -> SessionError {
        SessionError(.genericError, name: "cancelled", reason: "the caller gave up", messageID: id)
    }

    /// The daemon does not carry topics (SES-3).
    static func noTopics(_ id: UniqueIdentifier) -> SessionError {
        SessionError(
            .deliveryFailed, name: "unsupported-kind", reason: "the daemon is too old for topics: send without one",
            messageID: id)
    }

    /// The same error with what it is about, where it does not say so itself.
    func about(message: UniqueIdentifier?, peer: UniqueIdentifier?) -> SessionError {
        var error = self
        error.messageID = messageID ?? message
        error.peer = self.peer ?? peer
        return error
    }

    static func tooManyRequests(_ id: UniqueIdentifier) -> SessionError {
        SessionError(
            .genericError, name: "too-many-requests", reason: "too many messages wait for replies",
            limit: Limits.openRequests, messageID: id, isRetryable: true)
    }

    static func tooManySubmissions(_ id: UniqueIdentifier) -> SessionError {
        SessionError(
            .genericError, name: "queue-full", reason: "too many items wait for the daemon",
            limit: Limits.queuedItems, messageID: id, isRetryable: true)
    }

    private static var noVersion: String {
        "this app and its daemon speak no common version of the protocol: update the older one"
    }

    /// The daemon refused this application (SES-6).
    init(refused name: RefusalName, _ text: String) {
        let explanation = text.isEmpty ? "the daemon refused the session: \(name.rawValue)" : text
        switch name {
        case .application: self.init(.invalidParameter, name: name.rawValue, reason: explanation)
        case .version:
            self.init(.sessionNotSupported, name: name.rawValue, reason: text.isEmpty ? Self.noVersion : text)
        default: self.init(.genericError, name: name.rawValue, reason: explanation)
        }
    }
}
