// Who gets a message that arrived. Receivers may come late: until the first one is there, messages wait, in order and
// bounded. A message goes to the receivers of its pairing if there are any, else to those of the default session; where
// there are receivers but none for its kind, the sender learns that at once (SES-12).

import TandemIdentity
import TandemWire

/// The receivers of one host app; confined to the session's scheduler.
struct Inbox {
    /// What a receiver takes.
    enum Kind: Sendable {
        case dictionary
        case data
        case any
    }

    private struct Receiver {
        let number: UInt64
        let pairing: UniqueIdentifier?
        let kind: Kind
        let take: (ReceivedMessage) -> Void
        /// The session is over: nothing will come any more.
        let ended: () -> Void
    }

    /// Messages that wait for the first receiver: an app registers its handlers within its first moments.
    static var capacity: Int { 256 }

    private var receivers: [Receiver] = []
    private var waiting: [ReceivedMessage] = []
    private var nextNumber: UInt64 = 0

    /// Hands a message to its receivers, or keeps it; answers it with a failure where neither is possible.
    mutating func arrived(_ message: ReceivedMessage) {
        guard !receivers.isEmpty else {
            guard waiting.count < Self.capacity else { return message.refuseFull() }
            return waiting.append(message)
        }
        deliver(message)
    }

    /// Adds a receiver and hands it what waited; returns its number.
    mutating func add(
        pairing: UniqueIdentifier?, kind: Kind, take: @escaping (ReceivedMessage) -> Void,
        ended: @escaping () -> Void = {}
    ) -> UInt64 {
        nextNumber += 1
        receivers.append(Receiver(number: nextNumber, pairing: pairing, kind: kind, take: take, ended: ended))
        let messages = waiting
        waiting = []
        for message in messages { deliver(message) }
        return nextNumber
    }

    mutating func remove(_ number: UInt64) { receivers.removeAll { $0.number == number } }

    /// Lets everything go; unanswered messages answer themselves.
    mutating func removeAll() {
        let leaving = receivers
        receivers = []
        waiting = []
        for receiver in leaving { receiver.ended() }
    }

    /// The connection is lost: requests cannot be answered any more, and their senders have been told.
    mutating func forgetRequests() { waiting.removeAll { $0.wantsReply } }

    private func deliver(_ message: ReceivedMessage) {
        let bound = receivers.filter { $0.pairing == message.pairing }
        let candidates = bound.isEmpty ? receivers.filter { $0.pairing == nil } : bound
        for receiver in candidates where receiver.kind.takes(message.content) { receiver.take(message) }
    }
}

extension Inbox.Kind {
    fileprivate func takes(_ content: ReceivedMessage.Content) -> Bool {
        switch (self, content) {
        case (.any, _), (.dictionary, .dictionary), (.data, .data): true
        case (.dictionary, .data), (.data, .dictionary): false
        }
    }
}

extension ReceivedMessage {
    /// The receiver's queue is full (bounded memory): the sender may try again later.
    func refuseFull() {
        token.answer(
            .failure(
                SessionError(
                    .deliveryFailed, name: "inbox-full", reason: "the counterpart has too many unread messages",
                    limit: Inbox.capacity, isRetryable: true)))
    }
}
