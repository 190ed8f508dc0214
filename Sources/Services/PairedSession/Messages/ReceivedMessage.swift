// Message from the counterpart, and the one answer that it may get. Every holder of the message may answer it, from any
// thread and at any later time; the first answer counts. Dropping it unanswered is an answer too: the sender learns it
// at once (SES-12) instead of waiting for its deadline.

import Synchronization
public import TandemBase
public import TandemPropertyList
public import TandemWire

/// A message that arrived.
public struct ReceivedMessage: Sendable {
    /// The content of a message.
    public enum Content: Sendable, Equatable {
        /// By `sendMessage`.
        case dictionary(PropertyListDictionary)
        /// By `sendMessageData`.
        case data([UInt8])
    }

    /// The sender's identifier of the message.
    public let id: UniqueIdentifier
    /// The pairing that it came through.
    public let pairing: UniqueIdentifier
    /// The content.
    public let content: Content
    /// Which handler the sender meant; nil if it did not say.
    public let topic: String?
    /// The sender's device, by its vendor identifier; nil if the pairing has just ended.
    public let peer: UniqueIdentifier?
    /// A configuration from this device's own daemon, not from the counterpart: its keys start with `tandem.`. Give the
    /// dictionary to PairedConfiguration's hook and answer with what that returns.
    public let isConfiguration: Bool
    /// How long the sender still waits, counted from the moment at which the receiver is given the message; nil if it
    /// did not say.
    public private(set) var deadline: Duration?
    /// The sender waits for a reply.
    public let wantsReply: Bool
    private let token: ReplyToken

    /// The same message after a wait here.
    func remaining(_ time: Duration) -> ReceivedMessage {
        var message = self
        if deadline != nil { message.deadline = max(time, .zero) }
        return message
    }

    /// The dictionary; nil for data.
    public var dictionary: PropertyListDictionary? {
        if case .dictionary(let value) = content { value } else { nil }
    }

    /// The data; nil for a dictionary.
    public var data: [UInt8]? { if case .data(let value) = content { value } else { nil } }

    /// Answers a dictionary with a dictionary.
    /// - Throws: 7008 for `no-reply-wanted`, `already-answered`, `wrong-kind` (data was sent) and `reserved-key`; 7009
    ///   and 7010 for what no reply can carry. The message stays unanswered then.
    public func reply(_ dictionary: PropertyListDictionary) throws(SessionError) {
        guard case .dictionary = content else { throw about(.wrongKindOfReply(id)) }
        if !isConfiguration, dictionary.hasReservedKey {
            throw about(SessionError(.badArgument(.reservedKey), messageID: id))
        }
        do throws(SessionError) { try answer(with: try OutgoingContent.encode(dictionary, id: id)) } catch {
            throw about(error)
        }
    }

    /// Answers data with data.
    /// - Throws: as ``reply(_:)``.
    public func reply(data: [UInt8]) throws(SessionError) {
        guard case .data = content else { throw about(.wrongKindOfReply(id)) }
        do throws(SessionError) { try answer(with: data) } catch { throw about(error) }
    }

    private func about(_ error: SessionError) -> SessionError { error.about(message: id, peer: peer) }

    /// Tells the sender that handling failed: 7011 `handler-failed` with this text. Nothing if it was answered already.
    public func fail(_ text: String) {
        token.answer(.failure(SessionError(.messageReplyFailed, .handlerFailed, reason: text)))
    }

    /// Tells the sender that the receiver's reply cannot be sent: 7011 `reply-invalid` with the facts of the fault
    /// (SES-28). False if the message was answered already.
    @discardableResult
    package func refuseReply(_ fault: SessionError) -> Bool {
        refuse(
            SessionError(
                .messageReplyFailed, .replyInvalid, reason: fault.reason, actual: fault.actual, limit: fault.limit,
                keyPath: fault.keyPath))
    }

    /// From now on, letting the message go is a dropped reply (7011) and no longer an unhandled message (7014).
    package func claim() { token.claim() }

    /// Answers with a failure; false if the message was answered already.
    @discardableResult
    package func refuse(_ error: SessionError) -> Bool { token.answer(.failure(error)) }

    private func answer(with body: [UInt8]) throws(SessionError) {
        guard wantsReply else {
            throw SessionError(
                .invalidParameter, .noReplyWanted, reason: "the sender waits for no reply", messageID: id)
        }
        guard body.count <= Limits.messageBody else {
            throw SessionError(.tooLarge(actual: body.count, limit: Limits.messageBody), messageID: id)
        }
        guard token.answer(.success(body)) else {
            throw SessionError(
                .invalidParameter, .alreadyAnswered, reason: "this message was answered already", messageID: id)
        }
    }
}

extension ReceivedMessage {
    /// Reads a message of the wire; nil if it is answered with a failure instead.
    init?(_ frame: MessageFrame, peer: UniqueIdentifier?, _ token: ReplyToken) {
        isConfiguration = frame.kind == .configuration
        if frame.kind == .messageData {
            content = .data(Array(frame.body))
        } else {
            guard let dictionary = try? PropertyListReader.readDictionary(frame.body) else {
                token.answer(.failure(.malformedMessage))
                return nil
            }
            guard isConfiguration || !dictionary.hasReservedKey else {
                token.answer(.failure(.reservedKey))
                return nil
            }
            content = .dictionary(dictionary)
        }
        (id, pairing, self.peer, self.token) = (frame.id, frame.pairing, peer, token)
        (topic, deadline, wantsReply) = (frame.topic, frame.deadline, frame.wantsReply)
    }
}

/// The right to answer one message, shared by everyone who got it; usable from any thread. It is used exactly once: by
/// the first answer, or when the last holder drops it.
final class ReplyToken: Sendable {
    private enum State {
        /// Nobody has taken the message as its own yet.
        case offered
        /// Somebody reads messages and decides later.
        case claimed
        case answered
    }

    private let state = Mutex(State.offered)
    private let wantsReply: Bool
    private let topic: String?
    private let send: @Sendable (Result<[UInt8], SessionError>) -> Void

    /// - Parameter send: sends the answer: the reply's body, or a failure.
    init(
        wantsReply: Bool, topic: String?, send: @escaping @Sendable (Result<[UInt8], SessionError>) -> Void
    ) {
        self.wantsReply = wantsReply
        self.topic = topic
        self.send = send
    }

    /// Uses the token; false if it was used before.
    @discardableResult
    func answer(_ answer: Result<[UInt8], SessionError>) -> Bool {
        let isFirst = state.withLock { state in
            defer { state = .answered }
            return state != .answered
        }
        if isFirst { send(answer) }
        return isFirst
    }

    /// From now on, letting go is a dropped reply and no longer an unhandled message.
    func claim() {
        state.withLock { if $0 == .offered { $0 = .claimed } }
    }

    deinit {
        switch state.withLock({ $0 }) {
        case .answered: return
        case .offered: send(.failure(.unhandled(topic)))
        case .claimed:
            guard wantsReply else { return }
            send(
                .failure(
                    SessionError(
                        .messageReplyFailed, .replyDropped, reason: "the receiver let the message go unanswered"
                    )))
        }
    }
}

extension SessionError {
    fileprivate static func wrongKindOfReply(_ id: UniqueIdentifier) -> SessionError {
        SessionError(
            .invalidParameter, .wrongKind, reason: "data is answered with data, a dictionary with a dictionary",
            messageID: id)
    }
}

extension PropertyListDictionary {
    /// A top-level key is reserved (SES-15).
    var hasReservedKey: Bool { keys.contains(where: \.isReservedKey) }
}

extension String {
    /// The key is reserved at the top level of a message (SES-15).
    var isReservedKey: Bool { utf8.starts(with: "tandem.".utf8) }
}
