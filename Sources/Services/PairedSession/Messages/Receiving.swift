// Receiving: by handlers, which answer by what they return, or by an async sequence, whose reader answers when it
// likes. Both may be used at once and several times; every receiver of a kind sees every message of it, and the first
// answer counts. Each receiver gets its messages in the order they arrived, one after the other.

package import TandemBase
public import TandemPropertyList
import TandemWire

extension PairedSession {
    /// Handles dictionary messages: what the handler returns is the reply, nil means that the message is another
    /// receiver's. If no receiver takes a message, its sender gets 7014 `unhandled`; if the handler throws, 7011
    /// `handler-failed` with the description of the error as its reason, which leaves this device; if the reply cannot
    /// be sent, 7011 `reply-invalid` with what is wrong with it. For a message without reply the result is ignored: it
    /// is handled once a handler has returned. One message is handled after the other, so long work belongs into a task
    /// that keeps the message and answers later.
    /// - Parameters:
    ///   - topic: takes messages of this topic alone; nil: those without a topic, and those whose topic nobody else
    ///     takes.
    ///   - handler: returns the reply, or nil for a message of another receiver.
    /// - Returns: ends the handling when cancelled; the handling continues if the caller drops it.
    @discardableResult
    public func handleMessages(
        topic: String? = nil, _ handler: @escaping @Sendable (ReceivedMessage) async throws -> PropertyListDictionary?
    ) -> MessageSubscription {
        subscribe(.dictionary, topic, handler) { (message, reply) throws(SessionError) in try message.reply(reply) }
    }

    /// Handles data messages; otherwise as ``handleMessages(topic:_:)``.
    @discardableResult
    public func handleMessageData(
        topic: String? = nil, _ handler: @escaping @Sendable (ReceivedMessage) async throws -> [UInt8]?
    ) -> MessageSubscription {
        subscribe(.data, topic, handler) { (message, reply) throws(SessionError) in try message.reply(data: reply) }
    }

    /// All messages, dictionaries and data, from the first use of the sequence on. The reader answers those that want a
    /// reply; letting one go unanswered is 7011 `reply-dropped` for its sender. Up to 256 messages wait for the reader;
    /// the senders of further ones get 7014 `inbox-full`. Ends with the session.
    public var messages: ReceivedMessages { ReceivedMessages(session: self) }

    private func subscribe<Reply>(
        _ kind: MessageInbox.Kind, _ topic: String?,
        _ handler: @escaping @Sendable (ReceivedMessage) async throws -> Reply?,
        answer: @escaping @Sendable (ReceivedMessage, Reply) throws(SessionError) -> Void
    ) -> MessageSubscription {
        let (messages, subscription) = receive(kind, topic: topic, claims: false)
        let handling = Task {
            for await message in messages {
                let reply: Reply?
                do { reply = try await handler(message) } catch {
                    message.fail(String(describing: error))
                    continue
                }
                guard message.wantsReply else {
                    message.claim()
                    continue
                }
                guard let reply else { continue }
                do throws(SessionError) { try answer(message, reply) } catch { message.refuseReply(error) }
            }
        }
        subscription.handled(by: handling)
        return subscription
    }

    /// A stream of the messages of a kind. The subscription ends it.
    func receive(
        _ kind: MessageInbox.Kind, topic: String? = nil, claims: Bool
    ) -> (AsyncStream<ReceivedMessage>, MessageSubscription) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ReceivedMessage.self, bufferingPolicy: .bufferingOldest(ReceivedMessage.waitingAtMost))
        let subscription = MessageSubscription(
            core, close: { continuation.finish() }, remove: { core, number in core.messages.remove(number) })
        let interest = MessageInbox.Interest(pairing: pairing, kind: kind, topic: topic)
        core.run { core in
            let take: (ReceivedMessage) -> Void = { message in
                if claims { message.claim() }
                if case .dropped(let refused) = continuation.yield(message) { refused.refuseFull() }
            }
            let number = core.addReceiver(interest, take: take) { continuation.finish() }
            if let number { subscription.began(number) } else { continuation.finish() }
        }
        return (stream, subscription)
    }
}

extension SessionActor {
    /// Adds a receiver of all messages, called on the scheduler, in order; it decides later what becomes of each.
    package func receive(
        pairing: UniqueIdentifier? = nil, topic: String? = nil, _ take: @escaping (ReceivedMessage) -> Void
    ) { _ = addReceiver(MessageInbox.Interest(pairing: pairing, topic: topic), take: take, ended: {}) }

    /// Adds a receiver of messages; its number, or nil if the session has ended.
    fileprivate func addReceiver(
        _ interest: MessageInbox.Interest, take: @escaping (ReceivedMessage) -> Void, ended: @escaping () -> Void
    ) -> UInt64? {
        guard !hasEnded else { return nil }
        if messages.hasNoReceiver { messages.starts() }
        if messages.hasNoReceiver, items.hasNoHandler { items.starts() }
        return messages.add(interest, take: take, ended: ended)
    }
}

/// The messages of a session as an async sequence; each iteration is a receiver of its own.
public struct ReceivedMessages: AsyncSequence, Sendable {
    public typealias Element = ReceivedMessage
    public typealias Failure = Never

    let session: PairedSession

    public func makeAsyncIterator() -> Iterator {
        let (stream, subscription) = session.receive(.any, claims: true)
        return Iterator(messages: stream.makeAsyncIterator(), reception: Reception(subscription))
    }

    /// A receiver of its own; letting it go ends the receiving.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var messages: AsyncStream<ReceivedMessage>.Iterator
        let reception: Reception

        public mutating func next() async -> ReceivedMessage? { await next(isolation: #isolation) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> ReceivedMessage? {
            await messages.next(isolation: actor)
        }
    }

    /// Ends the reception with the iteration.
    final class Reception: Sendable {
        private let subscription: MessageSubscription

        init(_ subscription: MessageSubscription) { self.subscription = subscription }

        deinit { subscription.cancel() }
    }
}
