// Messages by Apple's names: dictionaries of Any and Data, with closures for what comes back.

public import Foundation
import PairedSession
import TandemBase
import TandemPropertyList
import TandemSession
import TandemWire

extension WCSession {
    /// Sends a dictionary of property-list values. Of both handlers exactly one is called; without a reply handler the
    /// error handler at most once. Handlers are called on the callback queue. The reply belongs to its handler alone,
    /// which may move it to another actor or resume a continuation with it.
    public func sendMessage(
        _ message: [String: Any], replyHandler: (@Sendable (sending [String: Any]) -> Void)?,
        errorHandler: (@Sendable (any Error) -> Void)? = nil
    ) {
        send(OutgoingContent(foundation: message), wantsReply: replyHandler != nil, errorHandler) { body in
            guard let replyHandler else { return }
            replyHandler(try PropertyListDictionary(reply: body).foundationValue)
        }
    }

    /// Sends bytes; otherwise as ``sendMessage(_:replyHandler:errorHandler:)``.
    public func sendMessageData(
        _ data: Data, replyHandler: (@Sendable (Data) -> Void)?, errorHandler: (@Sendable (any Error) -> Void)? = nil
    ) {
        send(OutgoingContent(data: Array(data)), wantsReply: replyHandler != nil, errorHandler) { body in
            replyHandler?(Data(body))
        }
    }

    /// `deliver` gets the reply's bytes on the callback queue; what it throws goes to the error handler.
    private func send(
        _ content: OutgoingContent, wantsReply: Bool, _ errorHandler: (@Sendable (any Error) -> Void)?,
        _ deliver: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        let callbacks = callbacks
        let session: PairedSession
        do throws(WCError) { session = try ready() } catch {
            return callbacks.async { errorHandler?(error) }
        }
        let finish: @Sendable (Result<[UInt8], SessionError>) -> Void = { result in
            callbacks.async {
                do { try deliver(result.get()) } catch { errorHandler?(WCError(error)) }
            }
        }
        session.core.run { core in
            if wantsReply {
                core.request(content, reply: finish)
            } else {
                core.note(content, given: finish) { finish(.failure($0)) }
            }
        }
    }

    /// The session, if something may be sent or queued.
    func ready() throws(WCError) -> PairedSession {
        guard let session = pairedSession, delegate != nil, activationState == .activated else {
            throw WCError(unreadyError)
        }
        return session
    }

    private var unreadyError: SessionError {
        if pairedSession?.isSupported == false { return SessionError(SendRefusal.notSupported, messageID: nil) }
        if delegate == nil { return SessionError(.sessionMissingDelegate, reason: "set the delegate first") }
        if activationState == .inactive { return SessionError(SendRefusal.inactive, messageID: nil) }
        return loss
            ?? SessionError(.sessionNotActivated, reason: "call activate() and wait for its callback first")
    }

    // MARK: receiving

    /// Hands a message to the delegate method for its kind; a method that the delegate lacks reports itself.
    func arrived(_ message: ReceivedMessage) {
        // Without a delegate its sender learns at once that nobody handles it.
        tellArrival(from: message.pairing) { session, delegate in
            UnhandledReport.reset()
            Self.deliver(message, session, delegate)
            if UnhandledReport.isSet { message.refuse(.unhandled) }
        }
    }

    private static func deliver(_ message: ReceivedMessage, _ session: WCSession, _ delegate: any WCSessionDelegate) {
        message.claim()
        switch (message.content, message.wantsReply) {
        case (.dictionary(let values), true):
            delegate.session(session, didReceiveMessage: values.foundationValue) { reply in answer(message, reply) }
        case (.dictionary(let values), false):
            delegate.session(session, didReceiveMessage: values.foundationValue)
        case (.data(let bytes), true):
            delegate.session(session, didReceiveMessageData: Data(bytes)) { reply in
                report(message) { () throws(SessionError) in try message.reply(data: Array(reply)) }
            }
        case (.data(let bytes), false): delegate.session(session, didReceiveMessageData: Data(bytes))
        }
    }

    private static func answer(_ message: ReceivedMessage, _ reply: [String: Any]) {
        report(message) { () throws(SessionError) in
            try message.reply(PropertyListDictionary(foundation: reply, of: .reply))
        }
    }

    /// Apple's reply handlers cannot fail, so a reply that cannot be sent becomes the sender's error (7011). Behind
    /// another answer it is not sent, and the process says so.
    private static func report(_ message: ReceivedMessage, _ reply: () throws(SessionError) -> Void) {
        do {
            try reply()
        } catch {
            guard !message.refuseReply(error) else { return }
            PairedLog.write(LogEvent(.error, "a reply was not sent", .text("reason", "\(error)")))
        }
    }
}

extension PropertyListDictionary {
    /// - Throws: 7010 for a value that cannot be sent.
    init(foundation values: [String: Any], of kind: ContentKind) throws(SessionError) {
        do throws(FoundationValueError) { try self.init(foundation: values) } catch {
            throw SessionError(.unsupported(error.content(kind)), messageID: nil)
        }
    }
}

extension OutgoingContent {
    init(foundation message: [String: Any]) {
        do throws(FoundationValueError) { self.init(try PropertyListDictionary(foundation: message)) } catch {
            self.init(error.content(.message), keys: Array(message.keys))
        }
    }
}
