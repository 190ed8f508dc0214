// Queue headers: what a machine stores of itself as a whole, a mark of its clock included, and when it must. Most
// numbers follow from the records' rows. A header is written when those rows would not restore it, as after each
// acknowledgement that a sender's queue receives (Decisions/0039), or when the wall clock was set (DEL-26).

package import TandemBase
import TandemWire

/// The stored state of an outbound queue as a whole.
package struct OutboundHeader: Sendable, Equatable {
    fileprivate(set) var epoch: UInt64
    fileprivate(set) var nextOrdinal: UInt64 = 1
    /// The sequence of the next item to be sent for the first time.
    fileprivate(set) var nextSequence: UInt64 = 1
    /// Every sequence up to this one is durable at the peer, as an item or a gap.
    fileprivate(set) var storedThrough: UInt64 = 0
    /// The epoch in which the last context was enqueued; nil if there is none, or if it ended unhandled.
    fileprivate(set) var contextEpoch: UInt64?
    var clock: QueueClock.Mark

    package init(epoch: UInt64, at reading: ClockReading) {
        self.epoch = epoch
        clock = QueueClock.Mark(milliseconds: 0, wall: reading.wall.milliseconds)
    }
}

/// The stored state of an inbound ledger as a whole.
package struct InboundHeader: Sendable, Equatable {
    fileprivate(set) var epoch: UInt64
    fileprivate(set) var nextOrdinal: UInt64 = 1
    /// Every sequence up to this one has been stored, or is a gap.
    fileprivate(set) var watermark: UInt64 = 0
    var clock: QueueClock.Mark

    package init(epoch: UInt64, at reading: ClockReading) {
        self.epoch = epoch
        clock = QueueClock.Mark(milliseconds: 0, wall: reading.wall.milliseconds)
    }
}

protocol QueueHeader: Sendable, Equatable {
    var epoch: UInt64 { get }
    var nextOrdinal: UInt64 { get }
    var clock: QueueClock.Mark { get set }

    /// Whether a value differs that no record's row restores.
    func isUnrecorded(since written: Self) -> Bool
    func row(of queue: QueueKey) -> DeliveryChange
}

extension OutboundHeader: QueueHeader {
    func isUnrecorded(since written: Self) -> Bool {
        epoch != written.epoch || contextEpoch != written.contextEpoch
    }

    func row(of queue: QueueKey) -> DeliveryChange {
        .put(DeliveryRowKey(.outboundHeader, queue), .outboundHeader(self))
    }
}

extension InboundHeader: QueueHeader {
    func isUnrecorded(since written: Self) -> Bool { epoch != written.epoch }

    func row(of queue: QueueKey) -> DeliveryChange { .put(DeliveryRowKey(.inboundHeader, queue), .inboundHeader(self)) }
}

/// A machine's header and clock in memory, and whether the header's row is out of date.
struct HeaderJournal<Header: QueueHeader>: Sendable {
    private(set) var header: Header
    private var written: Header
    /// The rows of the records do not restore the header: it goes into the next commit.
    private var isOwed: Bool
    private(set) var clock: QueueClock

    init(_ header: Header, at reading: ClockReading) {
        self.header = header
        written = header
        // A queue that has accepted nothing may have no row yet.
        isOwed = header.nextOrdinal == 1
        clock = QueueClock(resuming: header.clock, at: reading)
    }

    var epoch: UInt64 { header.epoch }

    /// The row of this record goes.
    mutating func recordRemoved(_ ordinal: UInt64) { if ordinal >= written.nextOrdinal { isOwed = true } }
}

extension HeaderJournal<OutboundHeader> {
    /// The highest sequence sent in this epoch; 0 if none.
    var lastSent: UInt64 { header.nextSequence - 1 }

    mutating func restore(_ budget: UrgentBudget) { if let start = budget.start { clock.raise(to: start) } }

    /// Raises the numbers to those of a stored record.
    mutating func restore(_ record: OutboundRecord) {
        header.nextOrdinal = max(header.nextOrdinal, record.ordinal &+ 1)
        clock.raise(to: record.acceptedAt)
        if let sequence = record.phase.sequence { header.nextSequence = max(header.nextSequence, sequence &+ 1) }
        if case .stored(let sequence) = record.phase { header.storedThrough = max(header.storedThrough, sequence) }
    }

    mutating func takeOrdinal() -> UInt64 {
        defer { header.nextOrdinal += 1 }
        return header.nextOrdinal
    }

    mutating func takeSequence() -> UInt64 {
        defer { header.nextSequence += 1 }
        return header.nextSequence
    }

    /// The peer has stored all up to this sequence: only the header says so.
    mutating func acknowledge(through sequence: UInt64) {
        header.storedThrough = sequence
        isOwed = true
    }

    /// A record's row changes: it may have been the only one to restore a sequence.
    mutating func recordChanged(from before: OutboundPhase, to phase: OutboundPhase) {
        guard let sequence = before.sequence, phase.sequence == nil else { return }
        if sequence >= written.nextSequence { isOwed = true }
        // A store of version 1 has this in its records, and not in the header.
        if case .stored = before, sequence > written.storedThrough { isOwed = true }
    }

    mutating func contextWasSet() { header.contextEpoch = header.epoch }

    mutating func contextEndedUnhandled() { header.contextEpoch = nil }

    /// Sequences start again from 1.
    mutating func startEpoch(_ epoch: UInt64, isContextWaiting: Bool) {
        header.epoch = epoch
        header.nextSequence = 1
        header.storedThrough = 0
        if isContextWaiting { header.contextEpoch = epoch }
        // Also if the queue is empty.
        isOwed = true
    }
}

extension HeaderJournal<InboundHeader> {
    /// Raises the numbers to those of a stored record.
    mutating func restore(_ record: InboundRecord) {
        header.nextOrdinal = max(header.nextOrdinal, record.ordinal &+ 1)
        if let acceptedAt = record.acceptedAt { clock.raise(to: acceptedAt) }
        if let sequence = record.sequence { header.watermark = max(header.watermark, sequence) }
    }

    /// Numbers a new record.
    /// - Parameter sequence: becomes the watermark.
    mutating func takeOrdinal(for sequence: UInt64) -> UInt64 {
        header.watermark = sequence
        defer { header.nextOrdinal += 1 }
        return header.nextOrdinal
    }

    /// No row has this sequence any longer.
    mutating func sequenceRemoved(_ sequence: UInt64) { if sequence > written.watermark { isOwed = true } }

    /// Sequences start again from 1.
    mutating func startEpoch(_ epoch: UInt64) {
        header.epoch = epoch
        header.watermark = 0
        isOwed = true
    }
}

// MARK: writing

extension HeaderJournal {
    /// Adds the header's row to a transition that changes rows, if those would not restore the header.
    mutating func complete(_ changes: inout [DeliveryChange], of queue: QueueKey, at reading: ClockReading) {
        guard !changes.isEmpty || isOwed && header != written else { return }
        guard isOwed || header.isUnrecorded(since: written) || clock.strays(from: header.clock, at: reading) else {
            return
        }
        changes.append(write(of: queue, at: reading))
    }

    /// The header's row, unless its mark is of this second and the wall clock was not set since.
    mutating func noteClock(of queue: QueueKey, at reading: ClockReading) -> [DeliveryChange] {
        guard clock.hasPassed(header.clock, at: reading) || clock.strays(from: header.clock, at: reading) else {
            return []
        }
        return [write(of: queue, at: reading)]
    }

    private mutating func write(of queue: QueueKey, at reading: ClockReading) -> DeliveryChange {
        header.clock = clock.mark(at: reading)
        written = header
        isOwed = false
        return header.row(of: queue)
    }
}

// MARK: stored form

extension OutboundHeader {
    var stored: [UInt8] {
        var record = RecordWriter()
        record.add(epoch: epoch)
        record.add(.nextOrdinal, nextOrdinal)
        record.add(.nextSequence, nextSequence)
        record.add(.storedThrough, storedThrough)
        record.add(epoch: contextEpoch, as: .contextEpoch)
        record.add(clock)
        return record.bytes
    }

    init(stored: [UInt8]) throws(DeliveryRecordError) {
        var fields = try RecordReader(stored, of: .outboundHeader)
        epoch = try fields.epoch()
        nextOrdinal = try fields.counter(.nextOrdinal, from: 1)
        nextSequence = try fields.counter(.nextSequence, from: 1)
        storedThrough = try fields.counter(.storedThrough, from: 0)
        contextEpoch = try fields.optionalEpoch(.contextEpoch)
        clock = try fields.clock()
        guard storedThrough < nextSequence else { throw .invalid(.outboundHeader, .storedThrough) }
        try fields.finish()
    }
}

extension InboundHeader {
    var stored: [UInt8] {
        var record = RecordWriter()
        record.add(epoch: epoch)
        record.add(.nextOrdinal, nextOrdinal)
        record.add(.watermark, watermark)
        record.add(clock)
        return record.bytes
    }

    init(stored: [UInt8]) throws(DeliveryRecordError) {
        var fields = try RecordReader(stored, of: .inboundHeader)
        epoch = try fields.epoch()
        nextOrdinal = try fields.counter(.nextOrdinal, from: 1)
        watermark = try fields.counter(.watermark, from: 0)
        clock = try fields.clock()
        try fields.finish()
    }
}
