// What the handler does: it is there or not, it takes, refuses or fails. An attempt is made durable before the handler
// sees the item, so that a handler that takes its process down is counted too. What its predecessor came to need not be
// durable by then: if that is lost, both are given again, in order and marked.

package import TandemBase
import TandemWire

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
                return ledger.handNext(at: reading, &transition)
            }
            record.phase = .waiting
            ledger.put(record, &transition)
            if let time = record.expiresAt { ledger.expiry.add(record.ordinal, at: time) }
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
            let (isCounted, isDurable, body) = counted.take(record.ordinal)
            if !isCounted {
                if record.attempts >= limits.attempts {
                    finish(record, .withdrawn(.dead), &transition)
                    continue
                }
                record.attempts += 1
            }
            record.phase = .handing
            inHand = record.ordinal
            let payload = body ?? (itemID == id ? payload : nil)
            let hand = InboundEffect.hand(delivery(of: record, itemID, payload: payload, at: reading))
            if isDurable {
                // Its row says all of it: an item that waits with an attempt counted is given again as it is in hand.
                records[record.ordinal] = record
                transition.atOnce.append(hand)
            } else {
                put(record, &transition)
                transition.effects.append(hand)
            }
        }
        countAhead(&transition)
    }

    /// Counts the attempts of items that wait and were never given. One that failed before is counted alone, when it is
    /// its turn: if it takes the process down, no other item's count rises with its own.
    private mutating func countAhead(_ transition: inout InboundTransition) {
        guard hasConsumer, counted.count < limits.countedAhead, count > counted.count else { return }
        var ordinals: [UInt64] = []
        for ordinal in inbox.all.dropFirst(counted.count).prefix(limits.countedAhead) {
            guard var record = records[ordinal], record.phase == .waiting, record.attempts == 0 else { continue }
            record.attempts = 1
            put(record, &transition)
            counted.add(ordinal)
            ordinals.append(ordinal)
            if counted.count == limits.countedAhead { break }
        }
        if !ordinals.isEmpty { transition.effects.append(.counted(ordinals: ordinals)) }
    }

    /// The commit of ``InboundEffect/counted(ordinals:)`` is done.
    package mutating func attemptsAreDurable(_ ordinals: [UInt64]) { counted.becameDurable(ordinals) }

    private func delivery(
        of record: InboundRecord, _ id: UniqueIdentifier, payload: [UInt8]?, at reading: Reading
    ) -> InboundDelivery {
        let now = clock.milliseconds(at: reading.monotonic)
        return InboundDelivery(
            ordinal: record.ordinal, id: id, attempt: record.attempts, topic: record.topic, revision: record.revision,
            age: record.acceptedAt.map { .milliseconds(max(0, now - $0)) },
            remaining: record.expiresAt.map { .milliseconds(max(0, $0 - now)) }, payload: payload)
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
            while let next = ledger.expiry.first, next.time <= now {
                ledger.expiry.removeFirst()
                guard let record = ledger.records[next.ordinal], record.phase == .waiting,
                    record.expiresAt == next.time
                else { continue }
                ledger.finish(record, .withdrawn(.expired), &transition)
            }
            ledger.handNext(at: reading, &transition)
        }
    }

    /// When time has to be told next; nil if nothing depends on it.
    package var nextDeadline: MonotonicTime? {
        let earliest = expiry.first.map { clock.time(of: $0.time) }
        guard let earliest, let pausedUntil else { return earliest ?? pausedUntil }
        return min(earliest, pausedUntil)
    }
}
