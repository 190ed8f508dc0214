// The errors that this side itself finds, each with its code, a stable name, and what to do about it.

import TandemBase
import TandemPropertyList
import TandemSession
import TandemWire

extension SessionError {
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

    /// The daemon refused this application (SES-6).
    init(refused name: RefusalName, _ text: String) {
        let explanation = text.isEmpty ? "the daemon refused the session: \(name.rawValue)" : text
        switch name {
        case .application: self.init(.invalidParameter, name: name.rawValue, reason: explanation)
        case .version:
            self.init(.sessionNotSupported, name: name.rawValue, reason: text.isEmpty ? Self.noCommonVersion : text)
        default: self.init(.genericError, name: name.rawValue, reason: explanation)
        }
    }
}
