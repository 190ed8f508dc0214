// What comes from the link: items, gaps, and the sender's word that it has written an outcome down.

import TandemBase
package import TandemWire

extension InboundLedger {
    /// An `item` frame has come.
    /// - Parameter isFull: a wider budget has no room for any new item.
    package mutating func arrived(
        _ item: ArrivedItem, at reading: Reading, isFull: Bool = false
    ) -> InboundTransition {
        guard item.sequence > header.watermark else { return repeated(item.sequence) }
        guard item.sequence == header.watermark + 1 else { return InboundTransition(effects: [.droppedAhead]) }
        guard !isFull, hasRoomForRecord, count < limits.items, item.payload.count <= limits.bytes - bytes else {
            return InboundTransition(effects: [.droppedFull])
        }
        return transition(at: reading) { ledger, transition in
            if ledger.key.channel == .context, !ledger.takeContext(item, &transition) {
                return ledger.close(item.sequence, .superseded, &transition)
            }
            ledger.store(item, at: reading, &transition)
            transition.effects.append(.acknowledge(through: item.sequence))
            let ordinal = ledger.header.nextOrdinal - 1
            ledger.handNext(at: reading, payload: item.payload, of: item.id, &transition)
            ledger.counted.keep(item.payload, of: ordinal)
        }
    }

    /// Outcomes are kept until the sender settles them; one that never does must not fill the store with them.
    var hasRoomForRecord: Bool { records.count < limits.items + limits.unheard }

    /// A sequence that is known: the sender has not heard, so it is told again.
    private func repeated(_ sequence: UInt64) -> InboundTransition {
        var transition = InboundTransition(effects: [.acknowledge(through: header.watermark)])
        if let ordinal = ordinalBySequence[sequence], case .finished(let outcome)? = records[ordinal]?.phase {
            transition.effects.append(.report(sequence: sequence, outcome))
        }
        return transition
    }

    private mutating func store(_ item: ArrivedItem, at reading: Reading, _ transition: inout InboundTransition) {
        let now = clock.milliseconds(at: reading.monotonic)
        let expiresAt = item.remaining.map { QueueClock.sum(now, max(.zero, $0).saturatingMilliseconds) }
        var record = InboundRecord(
            ordinal: header.nextOrdinal, id: item.id, sequence: item.sequence, size: item.payload.count,
            expiresAt: expiresAt)
        record.topic = item.topic
        record.revision = item.revision
        record.acceptedAt = item.age.map { QueueClock.sum(now, -max(.zero, $0).saturatingMilliseconds) }
        advance(to: record)
        if let expiresAt { expiry.add(record.ordinal, at: expiresAt) }
        count += 1
        bytes += record.size
        inbox.append(record.ordinal)
        put(record, &transition)
        let place = DeliveryRowKey(.inboundPayload, key, record.ordinal)
        transition.changes.append(.put(place, .payload(item.payload)))
    }

    private mutating func advance(to record: InboundRecord) {
        header.nextOrdinal += 1
        guard let sequence = record.sequence else { return }
        header.watermark = sequence
        ordinalBySequence[sequence] = record.ordinal
    }

    /// A `gap` frame has come: the item will not come, or is taken back if no handler has it yet.
    /// - Parameter isFull: a wider budget has no room for a further record.
    package mutating func gapArrived(
        _ sequence: UInt64, _ reason: GapReason, at reading: Reading, isFull: Bool = false
    ) -> InboundTransition {
        if sequence == header.watermark + 1 {
            guard !isFull, hasRoomForRecord else { return InboundTransition(effects: [.droppedFull]) }
            return transition(at: reading) { ledger, transition in ledger.close(sequence, reason, &transition) }
        }
        guard sequence <= header.watermark else { return InboundTransition(effects: [.droppedAhead]) }
        guard let record = ordinalBySequence[sequence].flatMap({ records[$0] }), record.phase == .waiting else {
            return repeated(sequence)
        }
        return transition(at: reading) { ledger, transition in
            ledger.finish(record, .withdrawn(reason), &transition)
            ledger.handNext(at: reading, &transition)
        }
    }

    /// Moves the watermark over a number that nothing is kept of but how it ended.
    private mutating func close(
        _ sequence: UInt64, _ reason: GapReason, _ transition: inout InboundTransition
    ) {
        var record = InboundRecord(ordinal: header.nextOrdinal, id: nil, sequence: sequence, size: 0, expiresAt: nil)
        record.phase = .finished(.withdrawn(reason))
        advance(to: record)
        put(record, &transition)
        transition.effects += [.acknowledge(through: sequence), .report(sequence: sequence, .withdrawn(reason))]
    }

    /// Takes a context if it is newer than the one before; what waits of older ones is superseded.
    /// - Returns: false for one that is not, and changes nothing.
    private mutating func takeContext(_ item: ArrivedItem, _ transition: inout InboundTransition) -> Bool {
        let next = ReceivedContext(epoch: header.epoch, revision: item.revision ?? 0)
        guard next.isNewer(than: context) else {
            transition.effects.append(.staleContext(revision: next.revision))
            return false
        }
        for ordinal in Array(inbox.all) {
            guard let older = records[ordinal], older.phase == .waiting else { continue }
            finish(older, .withdrawn(.superseded), &transition)
        }
        context = next
        let place = DeliveryRowKey(.receivedContext, key)
        transition.changes.append(.put(place, .receivedContext(next, body: item.payload)))
        transition.effects.append(.contextReceived(revision: next.revision, body: item.payload))
        return true
    }

    /// A `settled` frame has come: the sender will not ask about this item again.
    package mutating func settled(_ sequence: UInt64, at reading: Reading) -> InboundTransition {
        guard var record = ordinalBySequence[sequence].flatMap({ records[$0] }),
            !record.isUnfinished
        else { return InboundTransition() }
        return transition(at: reading) { ledger, transition in
            guard record.isDeadLetter else { return ledger.remove(record, &transition) }
            ledger.ordinalBySequence[sequence] = nil
            record.sequence = nil
            ledger.put(record, &transition)
        }
    }

    /// The link is ready: what the sender may have missed is told again.
    package func linkOpened() -> InboundTransition {
        var transition = InboundTransition(effects: [.acknowledge(through: header.watermark)])
        for (sequence, ordinal) in ordinalBySequence.sorted(by: { $0.key < $1.key }) {
            guard case .finished(let outcome)? = records[ordinal]?.phase else { continue }
            transition.effects.append(.report(sequence: sequence, outcome))
        }
        return transition
    }

    /// A new epoch of the pairing begins: sequences start from nothing. What was stored goes to its handler all the
    /// same, but its outcome can no longer be told.
    package mutating func startEpoch(_ epoch: UInt64, at reading: Reading) -> InboundTransition {
        guard epoch != header.epoch else { return InboundTransition() }
        return transition(at: reading) { ledger, transition in
            for record in ledger.records.values.sorted(by: { $0.ordinal < $1.ordinal }) where record.sequence != nil {
                if !record.isUnfinished, !record.isDeadLetter {
                    ledger.remove(record, &transition)
                } else {
                    var kept = record
                    kept.sequence = nil
                    ledger.put(kept, &transition)
                }
            }
            ledger.ordinalBySequence = [:]
            ledger.header.epoch = epoch
            ledger.header.watermark = 0
            ledger.owesHeader = true
        }
    }
}
