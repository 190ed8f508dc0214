// The receiver's half of durable delivery (DEL): a watermark under which every sequence is known, the items whose
// handler has not returned, and the outcomes that the sender has not settled. Items are stored in sequence only: what
// comes too early is dropped and comes again, so that there is never more than one open place. One item at a time is
// with the handler, in order; a failing one blocks for a few attempts and then becomes a dead letter.

import TandemIdentity

/// A receiver's ledger for one (pairing, application, channel).
package struct InboundLedger: Sendable {
    package let key: QueueKey
    let limits: DeliveryLimits
    var header: InboundHeader
    let clock: QueueClock
    var records: [UInt64: InboundRecord] = [:]
    var ordinalBySequence: [UInt64: UInt64] = [:]
    /// Ordinals in the order in which they go to the handler; ended ones are skipped.
    var inbox = OrdinalQueue()
    var hasConsumer = false
    /// The item that the handler has.
    var inHand: UInt64?
    /// The head failed: it is not given again before this.
    var pausedUntil: MonotonicTime?
    /// Items whose handler has not returned, and their bytes.
    package internal(set) var count = 0
    package internal(set) var bytes = 0

    /// The ledger as its rows tell it; there is no link and no consumer yet.
    package init(
        _ key: QueueKey, header: InboundHeader, records stored: [InboundRecord] = [], at reading: Reading,
        limits: DeliveryLimits = DeliveryLimits()
    ) {
        self.key = key
        self.limits = limits
        self.header = header
        clock = QueueClock(resuming: header.clock, at: reading)
        for record in stored.sorted(by: { $0.ordinal < $1.ordinal }) { restore(record) }
    }

    private mutating func restore(_ stored: InboundRecord) {
        var record = stored
        header.nextOrdinal = max(header.nextOrdinal, record.ordinal &+ 1)
        if let sequence = record.sequence {
            ordinalBySequence[sequence] = record.ordinal
            header.watermark = max(header.watermark, sequence)
        }
        // The handler that had it is gone; whether it did its work nobody knows, so it is given again, as a redelivery.
        if record.phase == .handing { record.phase = .waiting }
        records[record.ordinal] = record
        guard record.phase == .waiting else { return }
        inbox.append(record.ordinal)
        count += 1
        bytes += record.size
    }

    /// The epoch whose numbers the ledger knows.
    package var epoch: UInt64 { header.epoch }

    /// The highest sequence stored in order: what hello tells the peer. Only what is committed may be told.
    package var received: UInt64 { header.watermark }

    /// The items that failed too often, in order of arrival.
    package var deadLetters: [InboundRecord] {
        records.values.filter { $0.phase == .finished(.withdrawn(.dead)) && isKept($0) }
            .sorted { $0.ordinal < $1.ordinal }
    }

    /// A gap of the sender's has no body; a dead letter of ours does.
    private func isKept(_ record: InboundRecord) -> Bool { record.attempts > 0 }

    // MARK: parts of every transition

    /// Runs an event; a transition that changes a row also stores the header with the ledger's time.
    mutating func transition(
        at reading: Reading, _ event: (inout Self, inout InboundTransition) -> Void
    ) -> InboundTransition {
        var transition = InboundTransition()
        event(&self, &transition)
        guard !transition.changes.isEmpty else { return transition }
        header.clock = clock.mark(at: reading)
        transition.changes.append(.put(DeliveryRowKey(.inboundHeader, key), .inboundHeader(header)))
        return transition
    }

    mutating func put(_ record: InboundRecord, _ transition: inout InboundTransition) {
        records[record.ordinal] = record
        let place = DeliveryRowKey(.inboundRecord, key, record.ordinal)
        transition.changes.append(.put(place, .inboundRecord(record)))
    }

    func removePayload(of ordinal: UInt64, _ transition: inout InboundTransition) {
        transition.changes.append(.remove(DeliveryRowKey(.inboundPayload, key, ordinal)))
    }

    /// Removes a record and whatever body it still has.
    mutating func remove(_ record: InboundRecord, _ transition: inout InboundTransition) {
        records[record.ordinal] = nil
        if let sequence = record.sequence { ordinalBySequence[sequence] = nil }
        transition.changes.append(.remove(DeliveryRowKey(.inboundRecord, key, record.ordinal)))
        removePayload(of: record.ordinal, &transition)
    }

    /// Ends an item, and tells the sender if it still counts on an answer. A dead letter keeps its body.
    mutating func finish(_ record: InboundRecord, _ outcome: Outcome, _ transition: inout InboundTransition) {
        if inHand == record.ordinal { inHand = nil }
        count -= 1
        bytes -= record.size
        var ended = record
        ended.phase = .finished(outcome)
        let isDeadLetter = outcome == .withdrawn(.dead) && record.attempts > 0
        guard let sequence = record.sequence else {
            if isDeadLetter { put(ended, &transition) } else { remove(record, &transition) }
            return
        }
        if !isDeadLetter { removePayload(of: record.ordinal, &transition) }
        put(ended, &transition)
        transition.effects.append(.report(sequence: sequence, outcome))
    }
}
