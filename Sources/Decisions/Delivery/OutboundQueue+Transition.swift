// The parts of every transition: what is put or removed, and what that means for the indexes and the header.

import TandemBase
import TandemWire

extension OutboundQueue {
    /// Runs an event. A transition that changes a row also stores the header, if the rows would not tell its numbers.
    mutating func transition<Failure: Error>(
        at reading: Reading, _ event: (inout Self, inout OutboundTransition) throws(Failure) -> Void
    ) throws(Failure) -> OutboundTransition {
        var transition = OutboundTransition()
        try event(&self, &transition)
        settle()
        if !transition.changes.isEmpty || owesHeader && header != written { putHeader(at: reading, &transition) }
        return transition
    }

    private mutating func putHeader(at reading: Reading, _ transition: inout OutboundTransition) {
        let isOwed = owesHeader || header.epoch != written.epoch || header.contextEpoch != written.contextEpoch
        guard isOwed || clock.strays(from: header.clock, at: reading) else { return }
        header.clock = clock.mark(at: reading)
        written = header
        owesHeader = false
        transition.changes.append(.put(DeliveryRowKey(.outboundHeader, key), .outboundHeader(header)))
    }

    /// The clock may have been set: expiry goes on from the queue's time and not from the wall clock's.
    package mutating func noteClock(at reading: Reading) -> OutboundTransition {
        var transition = OutboundTransition()
        if count > 0 || budget.start != nil, clock.strays(from: header.clock, at: reading) {
            owesHeader = true
            putHeader(at: reading, &transition)
        }
        return transition
    }

    /// Drops what is dead from the front of the indexes.
    mutating func settle() {
        let records = records
        expiry.settle(living: count) { entry in
            records[entry.ordinal].map { $0.canExpire && $0.expiresAt == entry.time } ?? false
        }
        acceptance.dropFirst { records[$0]?.isUnfinished != true }
        acceptance.compact(living: count) { records[$0]?.isUnfinished == true }
        let isUnheard = { (ordinal: UInt64) in records[ordinal].map { !$0.isUnfinished && !$0.isHeard } ?? false }
        ended.dropFirst { !isUnheard($0) }
        ended.compact(living: endedCount, where: isUnheard)
    }

    mutating func put(_ record: OutboundRecord, _ transition: inout OutboundTransition) {
        if let before = records.updateValue(record, forKey: record.ordinal) { note(before, became: record.phase) }
        let place = DeliveryRowKey(.outboundRecord, key, record.ordinal)
        transition.changes.append(.put(place, .outboundRecord(record)))
    }

    /// Removes an ended item and whatever body it still has.
    mutating func remove(_ record: OutboundRecord, _ transition: inout OutboundTransition) {
        if record.ordinal >= written.nextOrdinal { owesHeader = true }
        records[record.ordinal] = nil
        ordinalByID[record.id] = nil
        transition.changes.append(.remove(DeliveryRowKey(.outboundRecord, key, record.ordinal)))
        if record.isDeadLetter { removePayload(of: record, &transition) }
    }

    /// The row told a number that its next form does not tell.
    private mutating func note(_ before: OutboundRecord, became phase: OutboundPhase) {
        guard let sequence = before.phase.sequence else { return }
        if phase.sequence == nil, sequence >= written.nextSequence { owesHeader = true }
        guard case .stored = before.phase, phase.sequence == nil else { return }
        if sequence > written.storedThrough { owesHeader = true }
    }

    /// Removes a body, and lets the file go that belongs to it.
    func removePayload(of record: OutboundRecord, _ transition: inout OutboundTransition) {
        if key.channel == .file { transition.effects.append(.released(record.id)) }
        transition.changes.append(.remove(DeliveryRowKey(.outboundPayload, key, record.ordinal)))
    }

    /// Ends an item. A dead letter keeps its body; one whose submitter knows its end from before says nothing more.
    mutating func finish(_ record: OutboundRecord, _ outcome: Outcome, _ transition: inout OutboundTransition) {
        var ended = record
        if let sequence = record.phase.sequence {
            ordinalBySequence[sequence] = nil
            if record.withdrawal != nil { withdrawing -= 1 }
        }
        ended.phase = .finished(outcome)
        // One that the peer took after all failed there for another reason.
        if record.withdrawal != .dead { ended.refusal = nil }
        count -= 1
        bytes -= record.size
        releaseKeys(of: record)
        noteContext(record, outcome)
        if !ended.isDeadLetter { removePayload(of: record, &transition) }
        put(ended, &transition)
        if ended.isDeadLetter { keepLetter(ended, &transition) }
        guard !record.isHeard else {
            if !ended.isDeadLetter { remove(ended, &transition) }
            return
        }
        transition.effects.append(.finished(record.id, outcome, ended.endingRefusal))
        keepUnheard(ended.ordinal, &transition)
    }

    private mutating func noteContext(_ record: OutboundRecord, _ outcome: Outcome) {
        guard let revision = record.revision, revision == context?.revision else { return }
        // The same bytes again are a change then; what an epoch lost is set again without being asked.
        if outcome != .handled, outcome != .withdrawn(.lost) { header.contextEpoch = nil }
    }

    mutating func releaseKeys(of record: OutboundRecord) {
        if let supersedeKey = record.supersedeKey, newestBySupersedeKey[supersedeKey] == record.ordinal {
            newestBySupersedeKey[supersedeKey] = nil
        }
        if let kind = record.kind, currentByKind[kind] == record.ordinal { currentByKind[kind] = nil }
        guard let item = record.after else { return }
        awaiting[item]?.removeAll { $0 == record.ordinal }
        if awaiting[item]?.isEmpty == true { awaiting[item] = nil }
    }
}
