// The right to answer one message, shared by everyone who was given it. It is used exactly once: by the first answer,
// or by its end, when the last holder lets it go.

import Synchronization
import TandemWire

/// What the sender of a message gets.
package enum MessageAnswer: Sendable {
    /// The reply's body.
    case reply([UInt8])
    case failure(SessionError)
}

/// One message's answer; usable from any thread.
package final class ReplyToken: Sendable {
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
    private let send: @Sendable (MessageAnswer) -> Void

    init(wantsReply: Bool, topic: String? = nil, send: @escaping @Sendable (MessageAnswer) -> Void) {
        self.wantsReply = wantsReply
        self.topic = topic
        self.send = send
    }

    /// Uses the token; false if it was used before.
    @discardableResult
    package func answer(_ answer: MessageAnswer) -> Bool {
        let isFirst = state.withLock { state in
            defer { state = .answered }
            return state != .answered
        }
        if isFirst { send(answer) }
        return isFirst
    }

    /// From now on, letting go is a dropped reply and no longer an unhandled message.
    package func claim() {
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
                        .messageReplyFailed, name: "reply-dropped", reason: "the receiver let the message go unanswered"
                    )))
        }
    }
}

extension SessionError {
    /// No handler takes the message (SES-12).
    package static var unhandled: SessionError { unhandled(nil) }

    /// No handler takes a message or an item of this topic.
    package static func unhandled(_ topic: String?) -> SessionError {
        let reason = topic.map { "the counterpart has no handler for the topic '\($0)'" }
        return SessionError(
            .deliveryFailed, name: "unhandled", reason: reason ?? "the counterpart has no handler for this",
            keyPath: topic)
    }
}
