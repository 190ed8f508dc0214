// What the handler does: it is there or not, it takes, refuses or fails. An attempt is made durable before the handler
// sees the item, so that a handler that takes its process down is counted too.

package import TandemIdentity

extension InboundLedger {
    /// A handler is there and takes one item at a time.
    package mutating func consumerArrived(at reading: Reading) -> InboundTransition {
        hasConsumer = true
        return transition(at: reading) { ledger, transition in ledger.handNext(at: reading, &transition) }
    }

    /// The handler is gone. What it had counts as a failed attempt, because it may be the reason.
    package mutating func consumerLeft(at reading: Reading) -> InboundTransition {
        hasConsumer = false
        guard let ordinal = inHand else { return InboundTransition() }
        return failed(ordinal, at: reading)
    }

    /// The handler took the item.
    package mutating func handled(_ ordinal: UInt64, at reading: Reading) -> InboundTransition {
        ended(ordinal, .handled, at: reading)
    }

    /// The handler refused the item for good.
    package mutating func rejected(_ ordinal: UInt64, code: Int64, at reading: Reading) -> InboundTransition {
        ended(ordinal, .rejected(code: code), at: reading)
    }

    private mutating func ended(_ ordinal: UInt64, _ outcome: Outcome, at reading: Reading) -> InboundTransition {
        guard inHand == ordinal, let record = records[ordinal] else { return InboundTransition() }
        return transition(at: reading) { ledger, transition in
            ledger.finish(record, outcome, &transition)
            ledger.handNext(at: reading, &transition)
        }
    }

    /// The handler failed: the item is given again after a pause, or becomes a dead letter.
    package mutating func failed(_ ordinal: UInt64, at reading: Reading) -> InboundTransition {
        guard inHand == ordinal, var record = records[ordinal] else { return InboundTransition() }
        inHand = nil
        return transition(at: reading) { ledger, transition in
            guard record.attempts < ledger.limits.attempts else {
                ledger.finish(record, .withdrawn(.dead), &transition)
                transition.effects.append(.deadLetter(ordinal: record.ordinal))
                return ledger.handNext(at: reading, &transition)
            }
            record.phase = .waiting
            ledger.put(record, &transition)
            ledger.pausedUntil = reading.monotonic + ledger.limits.pause(afterAttempts: record.attempts)
        }
    }

    /// Gives the head to the handler, if there is one and it is free. An item that failed too often before a restart
    /// is not given again.
    mutating func handNext(
        at reading: Reading, payload: [UInt8]? = nil, of id: UniqueIdentifier? = nil,
        _ transition: inout InboundTransition
    ) {
        while hasConsumer, inHand == nil, pausedUntil == nil, var record = nextWaiting(), let itemID = record.id {
            if record.attempts >= limits.attempts {
                finish(record, .withdrawn(.dead), &transition)
                transition.effects.append(.deadLetter(ordinal: record.ordinal))
                continue
            }
            record.attempts += 1
            record.phase = .handing
            inHand = record.ordinal
            put(record, &transition)
            transition.effects.append(
                .hand(
                    InboundDelivery(
                        ordinal: record.ordinal, id: itemID, attempt: record.attempts,
                        payload: itemID == id ? payload : nil)))
        }
    }

    private mutating func nextWaiting() -> InboundRecord? {
        while let ordinal = inbox.first {
            if let record = records[ordinal], record.phase == .waiting { return record }
            inbox.removeFirst()
        }
        return nil
    }

    /// Time has passed; call it at ``nextDeadline`` or at any other time.
    package mutating func timeAdvanced(at reading: Reading) -> InboundTransition {
        let now = clock.milliseconds(at: reading.monotonic)
        if let end = pausedUntil, end <= reading.monotonic { pausedUntil = nil }
        return transition(at: reading) { ledger, transition in
            let expired = ledger.records.values.filter {
                $0.phase == .waiting && $0.expiresAt.map { $0 <= now } ?? false
            }
            for record in expired.sorted(by: { $0.ordinal < $1.ordinal }) {
                ledger.finish(record, .withdrawn(.expired), &transition)
            }
            ledger.handNext(at: reading, &transition)
        }
    }

    /// When time has to be told next; nil if nothing depends on it.
    package var nextDeadline: MonotonicTime? {
        let expiring = records.values.filter { $0.phase == .waiting }.compactMap(\.expiresAt).min()
        return [pausedUntil, expiring.map { clock.time(of: $0) }].compactMap { $0 }.min()
    }

    // MARK: dead letters

    /// Gives a dead letter to the handler once more, behind what waits. How it ends now is not told to the sender,
    /// for whom it has ended.
    package mutating func retryDeadLetter(_ ordinal: UInt64, at reading: Reading) -> InboundTransition {
        guard let letter = deadLetters.first(where: { $0.ordinal == ordinal }), letter.sequence == nil else {
            return InboundTransition()
        }
        return transition(at: reading) { ledger, transition in
            var record = letter
            record.attempts = 0
            record.phase = .waiting
            ledger.count += 1
            ledger.bytes += record.size
            ledger.inbox.append(ordinal)
            ledger.put(record, &transition)
            ledger.handNext(at: reading, &transition)
        }
    }

    /// Drops a dead letter and its body. One that the sender has not settled yet stays until then.
    package mutating func dropDeadLetter(_ ordinal: UInt64, at reading: Reading) -> InboundTransition {
        guard let letter = deadLetters.first(where: { $0.ordinal == ordinal }), letter.sequence == nil else {
            return InboundTransition()
        }
        return transition(at: reading) { ledger, transition in ledger.remove(letter, &transition) }
    }
}
