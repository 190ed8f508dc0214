// What the machines want done, after the commit that it rests on: frames for the peer, items for their handlers, word
// for submitters.

import TandemBase
import TandemDelivery
import TandemWire

extension ItemExchange {
    func run(_ effect: OutboundEffect, of key: QueueKey, _ done: @escaping () -> Void) {
        switch effect {
        case .send(let dispatch): return send(dispatch, of: key, done)
        case .sendGap(let sequence, let reason): send(.gap, sequence, of: key, name: reason.rawValue)
        case .sendSettled(let sequence): send(.settled, sequence, of: key)
        case .stored(let id): delegate?.exchange(self, item: id, storedIn: key)
        case .finished(let id, let outcome, let refusal): ended(id, outcome, refusal, in: key)
        case .released(let id): delegate?.exchange(self, releasedFileOf: id, in: key, .outbound)
        case .setContextAgain: setContextAgain(key)
        case .startEpoch: delegate?.exchange(self, needsEpochOf: key.pairing)
        case .violation: delegate?.exchange(self, violationBy: key.pairing)
        }
        done()
    }

    /// An item has ended. A submitter in this process has heard with that; an application says so itself.
    func ended(_ id: UniqueIdentifier, _ outcome: Outcome, _ refusal: ItemRefusal?, in key: QueueKey) {
        delegate?.exchange(self, item: id, in: key, ended: outcome, refusal)
        if key.channel == .configuration { forget(id, in: key) }
        release(id, of: key.app, in: key.pairing)
    }

    func run(_ effect: InboundEffect, of key: QueueKey, _ done: @escaping () -> Void) {
        switch effect {
        case .acknowledge(let sequence):
            // Not above the ledger's own: an acknowledgement from before a new epoch may still be under way.
            committed[key] = min(max(committed[key] ?? 0, sequence), inbound[key]?.machine.received ?? 0)
            if sequence > 0 { send(.stored, sequence, of: key) }
            full.remove(key)
        case .report(let sequence, let outcome):
            send(.outcome, sequence, of: key, name: outcome.name, code: outcome.code)
        case .hand(let delivery): return hand(delivery, of: key, done)
        case .counted(let ordinals):
            inbound[key]?.perform { ledger in
                ledger.attemptsAreDurable(ordinals)
                return LaneAnswer()
            }
        case .droppedAhead: dropped(.debug, "item dropped, it comes again", key)
        case .droppedFull:
            // Once until there is room again: it comes again and again meanwhile.
            let isNews = full.insert(key).inserted
            dropped(isNews ? .warning : .debug, "no room for an item, it comes again", key)
        case .deadLetter(let ordinal):
            log(
                LogEvent(
                    .error, "item failed too often, kept as a dead letter", .text("pairing", "\(key.pairing)"),
                    .text("app", "\(key.app)"), .integer("ordinal", ordinal)))
        case .released(let id): delegate?.exchange(self, releasedFileOf: id, in: key, .inbound)
        case .contextReceived(let revision, let body): told(key, .received, revision, body)
        case .staleContext(let revision): ignored(revision, of: key)
        }
        done()
    }

    private func ignored(_ revision: UInt64, of key: QueueKey) {
        staleContexts.add()
        log(
            LogEvent(
                .info, "context older than the one received before, ignored", .text("pairing", "\(key.pairing)"),
                .text("app", "\(key.app)"), .integer("revision", revision)))
    }

    private func dropped(_ level: LogLevel, _ message: StaticString, _ key: QueueKey) {
        log(
            LogEvent(
                level, message, .text("pairing", "\(key.pairing)"), .text("app", "\(key.app)"),
                .text("channel", key.channel.rawValue)))
    }

    private func send(
        _ kind: FrameKind, _ sequence: UInt64, of key: QueueKey, name: String? = nil, code: Int64? = nil
    ) {
        let envelope = Envelope(
            kind, app: key.app, pairing: key.pairing, channel: key.channel, sequence: sequence,
            code: code.flatMap { Int(exactly: $0) }, name: name)
        delegate?.exchange(self, send: envelope, over: key.pairing)
    }

    private func send(_ dispatch: OutboundDispatch, of key: QueueKey, _ done: @escaping () -> Void) {
        body(dispatch.payload, dispatch.ordinal, of: key, in: .outboundPayload) { [weak self] body in
            // Without its row the item was withdrawn meanwhile: its gap follows.
            if let self, let body {
                let envelope = Envelope(
                    .item, app: key.app, pairing: key.pairing, id: dispatch.id, channel: key.channel,
                    sequence: dispatch.sequence, age: .milliseconds(dispatch.age),
                    remaining: .milliseconds(dispatch.remaining),
                    attempt: dispatch.attempt, topic: dispatch.topic, revision: dispatch.revision, body: body)
                delegate?.exchange(self, send: envelope, over: key.pairing)
            }
            done()
        }
    }

    private func hand(_ delivery: InboundDelivery, of key: QueueKey, _ done: @escaping () -> Void) {
        body(delivery.payload, delivery.ordinal, of: key, in: .inboundPayload) { [weak self] body in
            if let self, let body {
                let item = ReceivedItem(
                    queue: key, id: delivery.id, ordinal: delivery.ordinal, attempt: delivery.attempt,
                    topic: delivery.topic, revision: delivery.revision, age: delivery.age,
                    remaining: delivery.remaining, payload: body)
                delegate?.exchange(self, received: item)
            } else {
                self?.failed(delivery.ordinal, in: key)
            }
            done()
        }
    }

    /// The body at hand, or the one in the item's row.
    private func body(
        _ known: [UInt8]?, _ ordinal: UInt64, of key: QueueKey, in table: DeliveryTable,
        then done: @escaping ([UInt8]?) -> Void
    ) {
        if let known { return done(known) }
        payload(ordinal, of: key, in: table, then: done)
    }
}
