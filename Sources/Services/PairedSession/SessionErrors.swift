// Errors that this side itself finds, each with its code, a stable name, and what to do about it.

import TandemBase
import TandemFiles
import TandemReactor
import TandemSession
import TandemWire

extension SessionError {
    /// The error of a request that ended without an answer (SES-23).
    /// - Parameter failure: why one of the ends refused the connection, if that is how it ended.
    init(_ loss: ClientSession.RequestLoss, because failure: String? = nil, messageID: UniqueIdentifier?) {
        switch loss {
        case .daemonLost:
            let cause = failure.map { " (\($0))" } ?? ""
            self.init(
                .deliveryFailed, .daemonLost,
                reason: "the connection to the daemon was lost\(cause); whether the message arrived is not known")
        case .switched: self.init(.sessionInactive, .switched, reason: "another device became the active one")
        case .unpaired: self.init(.deviceNotPaired, .unpaired, reason: "the pairing was removed")
        case .ended: self.init(.sessionNotActivated, .ended, reason: "the session was ended")
        }
        self.messageID = messageID
    }

    /// The caller's deadline came first (SES-9).
    static func timedOut(_ id: UniqueIdentifier?) -> SessionError {
        SessionError(.messageReplyTimedOut, reason: "no reply came in time", messageID: id)
    }

    /// A message without reply has waited beyond its deadline for the daemon to read (SES-9).
    static func neverRead(_ id: UniqueIdentifier) -> SessionError {
        SessionError(.messageReplyTimedOut, reason: "the daemon did not read it in time", messageID: id)
    }

    /// The caller's task was cancelled.
    static func cancelled(_ id: UniqueIdentifier?) -> SessionError {
        SessionError(.genericError, .cancelled, reason: "the caller gave up", messageID: id)
    }

    /// The daemon does not carry this kind of message (SES-3).
    static func noSuchMessages(_ id: UniqueIdentifier) -> SessionError {
        SessionError(
            .deliveryFailed, .unsupportedKind, reason: "the daemon does not take this kind of message", messageID: id)
    }

    /// The daemon does not carry topics (SES-3).
    static func noTopics(_ id: UniqueIdentifier) -> SessionError {
        SessionError(
            .deliveryFailed, .unsupportedKind, reason: "the daemon is too old for topics: send without one",
            messageID: id)
    }

    /// The same error with what it is about, where it does not say so itself.
    func about(message: UniqueIdentifier?, peer: UniqueIdentifier?) -> SessionError {
        var error = self
        error.messageID = messageID ?? message
        error.peer = self.peer ?? peer
        return error
    }

    /// - Parameter id: of the message; nil for a question to the daemon, whose identifier no caller knows.
    static func tooManyRequests(_ id: UniqueIdentifier?) -> SessionError {
        SessionError(
            .genericError, .tooManyRequests, reason: "too many messages wait",
            limit: Limits.openRequests, messageID: id, isRetryable: true)
    }

    static func tooManySubmissions(
        _ id: UniqueIdentifier, ofBytes: Bool, actual: Int, limit: Int
    ) -> SessionError {
        let reason = ofBytes ? "too many bytes of one queue wait for the daemon" : "too many items wait for the daemon"
        return SessionError(
            .genericError, .queueFull, reason: reason, actual: actual, limit: limit, messageID: id, isRetryable: true)
    }

    /// No transfer follows items of this channel.
    static func notATransfer(_ id: UniqueIdentifier) -> SessionError {
        SessionError(
            .invalidParameter, .channel, reason: "items of this channel are not transferred", messageID: id)
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

    static var installedTooLate: SessionError {
        SessionError(
            .invalidParameter, .configuration,
            reason: "the session was asked to activate already: install the configuration before its first activate()")
    }

    static var hasConfiguration: SessionError {
        SessionError(
            .invalidParameter, .configuration,
            reason:
                "the session has another configuration already, and takes only one: declare these properties in that one"
        )
    }

    package static var installedElsewhere: SessionError {
        SessionError(
            .invalidParameter, .configuration,
            reason: "the configuration is installed already, and one goes on one session: make another instance, or "
                + "end that session first")
    }

    /// - Parameters:
    ///   - failure: why the last attempt found none.
    ///   - ending: why one of the ends refused the last connection to one.
    static func noDaemon(_ failure: String?, ended ending: String?) -> SessionError {
        if failure == nil, let ending {
            return SessionError(
                .sessionNotActivated, .noDaemon, reason: "no daemon accepted the session in time: \(ending)")
        }
        let cause = failure.map { " (\($0))" } ?? ""
        return SessionError(
            .sessionNotActivated, .noDaemon, reason: "no daemon answered in time; is it running?\(cause)")
    }

    // MARK: what arrived

    static var malformedMessage: SessionError {
        SessionError(
            .deliveryFailed, .malformed, reason: "the body is not a property list of the strict profile")
    }

    /// A message that has no frame: this library should have refused its content.
    static func notWritten(_ error: WireError, messageID: UniqueIdentifier?) -> SessionError {
        SessionError(
            .genericError, name: error.refusalName.rawValue, reason: "the message cannot be written: \(error)",
            messageID: messageID)
    }

    static var reservedKey: SessionError {
        SessionError(
            .deliveryFailed, .reservedKey, reason: "top-level keys that start with 'tandem.' are reserved")
    }

    static var malformedItem: SessionError {
        SessionError(.deliveryFailed, .malformed, reason: "the item is not a dictionary that may be shown")
    }

    /// No handler takes the message (SES-12).
    package static var unhandled: SessionError { unhandled(nil) }

    /// No handler takes a message or an item of this topic.
    package static func unhandled(_ topic: String?) -> SessionError {
        let reason = topic.map { "the counterpart has no handler for the topic '\($0)'" }
        return SessionError(
            .deliveryFailed, .unhandled, reason: reason ?? "the counterpart has no handler for this",
            keyPath: topic)
    }

    // MARK: items and files

    /// How an accepted item ended is not known.
    static func endUnknown(_ id: UniqueIdentifier) -> SessionError {
        SessionError(
            .genericError, .endUnknown,
            reason:
                "the item has ended, but its outcome is no longer known: another connection of this app acknowledged it, "
                + "or too many outcomes were not acknowledged", messageID: id)
    }

    /// The error for a fault of this app's file.
    init(_ error: FileError, messageID: UniqueIdentifier?) {
        switch error {
        case .full: self.init(.insufficientSpace, .insufficientSpace, reason: "\(error)")
        case .missing: self.init(.fileAccessDenied, .fileMissing, reason: "\(error)")
        case .notARegularFile, .symbolicLink, .notADirectory, .sizeUnknown:
            self.init(.fileAccessDenied, .notAFile, reason: "\(error)")
        case .system(_, let failure) where failure.name == "EEXIST":
            self.init(.fileAccessDenied, .fileExists, reason: "\(error)")
        default: self.init(.fileAccessDenied, .fileAccess, reason: "\(error)")
        }
        self.messageID = messageID
    }

    static func sourceChanged(_ path: String, _ id: UniqueIdentifier) -> SessionError {
        SessionError(
            .fileAccessDenied, .sourceChanged,
            reason: "\(path) was changed or removed before it was sent; send it again",
            messageID: id, isRetryable: true)
    }
}
