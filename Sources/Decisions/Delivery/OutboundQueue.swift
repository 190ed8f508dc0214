// The sender's half of durable delivery (DEL): what waits, what is on its way, what the peer has. An item gets its
// sequence when it is first sent, not when it is accepted: until then it can be passed, cancelled or superseded without
// the peer ever hearing of it. It holds every record and no body; it reads no clock and sends nothing. No event looks at
// all records, except those that have to tell something about each.

import TandemBase
package import TandemWire

/// A sender's queue for one (pairing, application, channel).
package struct OutboundQueue: Sendable {
    struct OpenLink: Sendable, Equatable {
        /// When the peer last acknowledged something, or everything was last sent again.
        var lastProgress: MonotonicTime
        /// Nothing is sent before this: the peer refused the head.
        var pausedUntil: MonotonicTime?
    }

    package let key: QueueKey
    let limits: DeliveryLimits
    var header: OutboundHeader
    /// The header as it was last written. It is written again only when the records would not tell its numbers.
    var written: OutboundHeader
    var owesHeader: Bool
    let clock: QueueClock
    var records: [UInt64: OutboundRecord] = [:]
    var lanes: [OrdinalQueue] = []
    /// The unfinished items with a sequence.
    var ordinalBySequence: [UInt64: UInt64] = [:]
    var ordinalByID: [UniqueIdentifier: UInt64] = [:]
    var newestBySupersedeKey: [[UInt8]: UInt64] = [:]
    var currentByKind: [String: UInt64] = [:]
    /// What waits for the end of another item, by that item.
    var awaiting: [UniqueIdentifier: [UInt64]] = [:]
    var expiry = ExpiryIndex()
    /// Items in order of acceptance; ended ones are skipped.
    var acceptance = OrdinalQueue()
    /// Items that ended and whose submitter has not heard, in the order of their ends; heard ones are skipped.
    var ended = OrdinalQueue()
    var endedCount = 0
    /// Dead letters in order of acceptance.
    var letters = OrdinalQueue()
    var letterBytes = 0
    /// Sent items that are being taken back.
    var withdrawing = 0
    var link: OpenLink?
    /// The item for which the peer had no room, and how often it said so; a restart begins with short pauses again.
    var roomless: (ordinal: UInt64, times: Int)?
    /// What is left of the day's urgent items; used by the channel `urgent`.
    package internal(set) var budget: UrgentBudget
    /// What was last set; used by the channel `context`.
    package internal(set) var context: SentContext?
    /// Unfinished items, and their bytes.
    package internal(set) var count = 0
    package internal(set) var bytes = 0

    /// The queue as its rows tell it; the link is closed.
    package init(
        _ key: QueueKey, header: OutboundHeader, records stored: [OutboundRecord] = [],
        budget: UrgentBudget = UrgentBudget(), context: SentContext? = nil, at reading: Reading,
        limits: DeliveryLimits = DeliveryLimits()
    ) {
        self.key = key
        self.limits = limits
        self.header = header
        self.budget = budget
        self.context = context
        written = header
        // A queue that never accepted anything may have no row yet.
        owesHeader = header.nextOrdinal == 1
        clock = QueueClock(resuming: header.clock, at: reading)
        records.reserveCapacity(stored.count)
        ordinalByID.reserveCapacity(stored.count)
        for record in stored { restore(record) }
        rebuildOrder()
        settle()
    }

    private mutating func restore(_ record: OutboundRecord) {
        records[record.ordinal] = record
        ordinalByID[record.id] = record.ordinal
        header.nextOrdinal = max(header.nextOrdinal, record.ordinal &+ 1)
        if let sequence = record.phase.sequence {
            ordinalBySequence[sequence] = record.ordinal
            header.nextSequence = max(header.nextSequence, sequence &+ 1)
            if record.withdrawal != nil { withdrawing += 1 }
        }
        if case .stored(let sequence) = record.phase { header.storedThrough = max(header.storedThrough, sequence) }
        if record.isDeadLetter { letterBytes += record.size }
        guard record.isUnfinished else { return }
        count += 1
        bytes += record.size
        if record.isCurrent, let kind = record.kind { currentByKind[kind] = record.ordinal }
        if record.canExpire { expiry.add(record.ordinal, at: record.expiresAt) }
        if let item = record.after { awaiting[item, default: []].append(record.ordinal) }
        guard let supersedeKey = record.supersedeKey, record.withdrawal == nil else { return }
        newestBySupersedeKey[supersedeKey] = max(newestBySupersedeKey[supersedeKey] ?? 0, record.ordinal)
    }

    /// Puts all that is kept in order into the order of acceptance.
    private mutating func rebuildOrder() {
        for ordinal in records.keys.sorted() {
            guard let record = records[ordinal] else { continue }
            if record.isUnfinished { acceptance.append(ordinal) }
            if !record.isUnfinished, !record.isHeard { ended.append(ordinal) }
            if record.isDeadLetter { letters.append(ordinal) }
        }
        endedCount = ended.count
        rebuildLanes()
    }

    /// Puts what waits in order of acceptance, one lane for each precedence.
    mutating func rebuildLanes() {
        lanes = Precedence.allCases.map { _ in OrdinalQueue() }
        for ordinal in acceptance.all {
            guard let record = records[ordinal], record.phase == .waiting else { continue }
            lanes[Int(record.precedence.rawValue)].append(ordinal)
        }
    }
}
