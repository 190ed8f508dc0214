// The parts of every transition: what is put or removed, and what that means for the indexes and the header.

import TandemBase
import TandemWire

extension InboundLedger {
    /// Runs an event. A transition that changes a row also stores the header, if the rows would not tell its numbers.
    mutating func transition(
        at reading: Reading, _ event: (inout Self, inout InboundTransition) -> Void
    ) -> InboundTransition {
        var transition = InboundTransition()
        event(&self, &transition)
        settle()
        if !transition.changes.isEmpty || owesHeader && header != written { putHeader(at: reading, &transition) }
        return transition
    }

    private mutating func putHeader(at reading: Reading, _ transition: inout InboundTransition) {
        guard owesHeader || header.epoch != written.epoch || clock.strays(from: header.clock, at: reading) else {
            return
        }
        header.clock = clock.mark(at: reading)
        written = header
        owesHeader = false
        transition.changes.append(.put(DeliveryRowKey(.inboundHeader, key), .inboundHeader(header)))
    }

    /// The clock may have been set: expiry goes on from the ledger's time and not from the wall clock's.
    package mutating func noteClock(at reading: Reading) -> InboundTransition {
        var transition = InboundTransition()
        if count > 0, clock.strays(from: header.clock, at: reading) {
            owesHeader = true
            putHeader(at: reading, &transition)
        }
        return transition
    }

    /// Drops what is dead from the front of the indexes.
    mutating func settle() {
        let records = records
        expiry.settle(living: count) { entry in
            records[entry.ordinal].map { $0.phase == .waiting && $0.expiresAt == entry.time } ?? false
        }
        inbox.dropFirst { records[$0]?.isUnfinished != true }
        inbox.compact(living: count) { records[$0]?.isUnfinished == true }
    }

    mutating func put(_ record: InboundRecord, _ transition: inout InboundTransition) {
        if let sequence = records.updateValue(record, forKey: record.ordinal)?.sequence, record.sequence == nil {
            note(gone: sequence)
        }
        let place = DeliveryRowKey(.inboundRecord, key, record.ordinal)
        transition.changes.append(.put(place, .inboundRecord(record)))
    }

    /// No row tells this number any more.
    private mutating func note(gone sequence: UInt64) { if sequence > written.watermark { owesHeader = true } }

    /// Removes a body, and lets the file go that belongs to it.
    func removePayload(of record: InboundRecord, _ transition: inout InboundTransition) {
        if key.channel == .file, let id = record.id { transition.effects.append(.released(id)) }
        transition.changes.append(.remove(DeliveryRowKey(.inboundPayload, key, record.ordinal)))
    }

    /// Removes a record and whatever body it still has.
    mutating func remove(_ record: InboundRecord, _ transition: inout InboundTransition) {
        records[record.ordinal] = nil
        if record.ordinal >= written.nextOrdinal { owesHeader = true }
        if let sequence = record.sequence {
            ordinalBySequence[sequence] = nil
            note(gone: sequence)
        }
        transition.changes.append(.remove(DeliveryRowKey(.inboundRecord, key, record.ordinal)))
        if record.isUnfinished || record.isDeadLetter { removePayload(of: record, &transition) }
    }

    /// Ends an item, and tells the sender if it still counts on an answer. A dead letter keeps its body.
    mutating func finish(_ record: InboundRecord, _ outcome: Outcome, _ transition: inout InboundTransition) {
        if inHand == record.ordinal { inHand = nil }
        count -= 1
        bytes -= record.size
        var ended = record
        ended.phase = .finished(outcome)
        // It was counted for an attempt that nobody will make.
        if counted.take(record.ordinal).isCounted { ended.attempts -= 1 }
        guard let sequence = record.sequence else {
            if ended.isDeadLetter { keep(ended, &transition) } else { remove(record, &transition) }
            return
        }
        transition.effects.append(.report(sequence: sequence, outcome))
        if ended.isDeadLetter { return keep(ended, &transition) }
        removePayload(of: record, &transition)
        put(ended, &transition)
    }

    // MARK: dead letters

    private mutating func keep(_ letter: InboundRecord, _ transition: inout InboundTransition) {
        put(letter, &transition)
        letters.insert(letter.ordinal)
        letterBytes += letter.size
        transition.effects.append(.deadLetter(ordinal: letter.ordinal))
        while letters.count > limits.deadLetters || letterBytes > limits.bytes, let oldest = letters.first,
            let record = records[oldest]
        {
            drop(record, &transition)
        }
    }

    private mutating func drop(_ letter: InboundRecord, _ transition: inout InboundTransition) {
        letters.remove(letter.ordinal)
        letterBytes -= letter.size
        guard letter.sequence != nil else { return remove(letter, &transition) }
        // Its sender has not settled it: the outcome stays, as that of any other item.
        var ended = letter
        ended.attempts = 0
        removePayload(of: letter, &transition)
        put(ended, &transition)
    }

    /// Drops a dead letter and its body; nothing for another number.
    package mutating func dropDeadLetter(_ ordinal: UInt64, at reading: Reading) -> InboundTransition {
        guard let letter = records[ordinal], letter.isDeadLetter else { return InboundTransition() }
        return transition(at: reading) { ledger, transition in ledger.drop(letter, &transition) }
    }

    /// Gives a dead letter to the handler once more, in its place in the order of arrival and without a time to live. How it ends
    /// now is not told to the sender, for whom it has ended; one that its sender has not settled is not given yet.
    package mutating func retryDeadLetter(_ ordinal: UInt64, at reading: Reading) -> InboundTransition {
        guard let letter = records[ordinal], letter.isDeadLetter, letter.sequence == nil else {
            return InboundTransition()
        }
        return transition(at: reading) { ledger, transition in
            var record = letter
            record.attempts = 0
            record.expiresAt = nil
            record.phase = .waiting
            ledger.letters.remove(ordinal)
            ledger.letterBytes -= record.size
            ledger.count += 1
            ledger.bytes += record.size
            ledger.inbox.insert(ordinal)
            ledger.put(record, &transition)
            ledger.handNext(at: reading, &transition)
        }
    }
}
