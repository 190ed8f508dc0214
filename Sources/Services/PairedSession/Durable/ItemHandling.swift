// Handlers of durable items. A handler that returns has handled its item for good; one that throws gets it again after
// a pause that grows, and after five attempts the item is a dead letter for an operator. One item of a queue is handled
// after the other.

import Synchronization
import TandemWire

extension PairedSession {
    /// Handles user infos, urgent ones too. With several handlers for an item it is handled when all have returned.
    /// WCSession's `didReceiveUserInfo` (SES-51, SES-53).
    /// Items wait until the first handler for their channel is there, and until the app has started: one second from
    /// its activation and from its first handler. After that, an item that none of the app's handlers takes is refused
    /// for good: 7014 `unhandled` for its sender.
    /// - Parameters:
    ///   - topic: only items of this topic; nil: what no topic's handler takes.
    ///   - handler: returning has handled the item; throwing gets it again after a pause; throwing an
    ///     ``ItemRejection`` refuses it for good.
    /// - Returns: ends the handling when cancelled; the handling continues if the caller drops it.
    @discardableResult
    public func handleUserInfo(
        topic: String? = nil, _ handler: @escaping @Sendable (ReceivedUserInfo) async throws -> Void
    ) -> MessageSubscription {
        handle(.userInfo, topic) { item in
            try await handler(
                ReceivedUserInfo(facts: item.facts, userInfo: item.content, isUrgent: item.channel == .urgent))
        }
    }

    /// Handles application contexts, each newer than the one before; ones in between may never be seen.
    /// WCSession's `didReceiveApplicationContext` (SES-51).
    @discardableResult
    public func handleApplicationContext(
        _ handler: @escaping @Sendable (ReceivedContext) async throws -> Void
    ) -> MessageSubscription {
        handle(.context, nil) { item in
            try await handler(
                ReceivedContext(facts: item.facts, context: item.content, revision: item.revision ?? 0))
        }
    }

    /// One consumer for each handler: items are handled in the order of their arrival.
    func handle(
        _ content: ItemContent, _ topic: String?, _ handler: @escaping @Sendable (DeliveredItem) async throws -> Void
    ) -> MessageSubscription {
        let (stream, continuation) = AsyncStream.makeStream(of: (DeliveredItem, HandlingToken).self)
        let subscription = MessageSubscription(
            core, close: { continuation.finish() }, remove: { core, number in core.items.remove(number) })
        let isOver = SessionEnd()
        core.run { [pairing] core in
            // Not bounded here: the daemon sends one item of a queue at a time.
            let number = core.handleItems(content.channels, pairing: pairing, topic: topic) {
                continuation.yield(($0, $1))
            } ended: {
                isOver.happened()
                continuation.finish()
            }
            if let number { subscription.began(number) } else { continuation.finish() }
        }
        subscription.handled(
            by: Task {
                // An item that a session's end finds here has no verdict, and comes to the app's next session.
                for await (item, token) in stream where !isOver.hasHappened { await Self.run(handler, item, token) }
            })
        return subscription
    }

    private static func run(
        _ handler: @Sendable (DeliveredItem) async throws -> Void, _ item: DeliveredItem, _ token: HandlingToken
    ) async {
        do {
            try await handler(item)
            token.returned()
        } catch let rejection as ItemRejection {
            token.threw(.rejected(rejection.error))
        } catch {
            token.threw(.failed(String(describing: error)))
        }
    }
}

/// Whether a session is over; usable from any thread.
private final class SessionEnd: Sendable {
    private let isOver = Atomic(false)

    var hasHappened: Bool { isOver.load(ordering: .acquiring) }

    func happened() { isOver.store(true, ordering: .releasing) }
}
