// The receiver's half of durable delivery (DEL): a watermark under which every sequence is known, the items whose
// handler has not returned, and the outcomes that the sender has not settled. Items are stored in sequence only: what
// comes too early is dropped and comes again, so that there is never more than one open place. One item at a time is
// with the handler, in order; a failing one blocks for a few attempts and then becomes a dead letter.

import TandemBase
package import TandemWire

/// A receiver's ledger for one (pairing, application, channel).
package struct InboundLedger: Sendable {
    package let key: QueueKey
    let limits: DeliveryLimits
    var header: InboundHeader
    /// The header as it was last written. It is written again only when the records would not tell its numbers.
    var written: InboundHeader
    var owesHeader: Bool
    let clock: QueueClock
    var records: [UInt64: InboundRecord] = [:]
    var ordinalBySequence: [UInt64: UInt64] = [:]
    /// Ordinals in the order in which they go to the handler; ended ones are skipped.
    var inbox = OrdinalQueue()
    var expiry = ExpiryIndex()
    /// Dead letters in order of arrival.
    var letters = OrdinalQueue()
    var letterBytes = 0
    var hasConsumer = false
    /// The item that the handler has.
    var inHand: UInt64?
    /// Those behind it whose attempt is counted already.
    var counted = CountedAttempts()
    /// The head failed: it is not given again before this.
    var pausedUntil: MonotonicTime?
    /// The latest context received; used by the channel `context`.
    package internal(set) var context: ReceivedContext?
    /// Items whose handler has not returned, and their bytes.
    package internal(set) var count = 0
    package internal(set) var bytes = 0

    /// The ledger as its rows tell it; there is no link and no consumer yet.
    package init(
        _ key: QueueKey, header: InboundHeader, records stored: [InboundRecord] = [],
        context: ReceivedContext? = nil, at reading: Reading, limits: DeliveryLimits = DeliveryLimits()
    ) {
        self.key = key
        self.limits = limits
        self.header = header
        self.context = context
        written = header
        // A ledger that never stored anything may have no row yet.
        owesHeader = header.nextOrdinal == 1
        clock = QueueClock(resuming: header.clock, at: reading)
        records.reserveCapacity(stored.count)
        for record in stored.sorted(by: { $0.ordinal < $1.ordinal }) { restore(record) }
        settle()
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
        if record.isDeadLetter {
            letters.append(record.ordinal)
            letterBytes += record.size
        }
        guard record.phase == .waiting else { return }
        inbox.append(record.ordinal)
        if let time = record.expiresAt { expiry.add(record.ordinal, at: time) }
        count += 1
        bytes += record.size
    }

    /// The epoch whose numbers the ledger knows.
    package var epoch: UInt64 { header.epoch }

    /// The highest sequence stored in order: what hello tells the peer. Only what is committed may be told.
    package var received: UInt64 { header.watermark }

    /// The items that failed too often, in order of arrival.
    package var deadLetters: [InboundRecord] { letters.all.compactMap { records[$0] } }
}
