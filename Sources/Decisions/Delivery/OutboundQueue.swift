// The sender's half of durable delivery (DEL): what waits, what is on its way, what the peer has. An item gets its
// sequence when it is first sent, not when it is accepted: until then it can be passed, cancelled or superseded without
// the peer ever hearing of it. It holds every record and no body; it reads no clock and sends nothing.

package import TandemIdentity

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
    let clock: QueueClock
    var records: [UInt64: OutboundRecord] = [:]
    var lanes: [OrdinalQueue] = []
    /// The unfinished items with a sequence.
    var ordinalBySequence: [UInt64: UInt64] = [:]
    var ordinalByID: [UniqueIdentifier: UInt64] = [:]
    var newestBySupersedeKey: [[UInt8]: UInt64] = [:]
    var link: OpenLink?
    /// Unfinished items, and their bytes.
    package internal(set) var count = 0
    package internal(set) var bytes = 0

    /// The queue as its rows tell it; the link is closed.
    package init(
        _ key: QueueKey, header: OutboundHeader, records stored: [OutboundRecord] = [], at reading: Reading,
        limits: DeliveryLimits = DeliveryLimits()
    ) {
        self.key = key
        self.limits = limits
        self.header = header
        clock = QueueClock(resuming: header.clock, at: reading)
        for record in stored { restore(record) }
        rebuildLanes()
    }

    private mutating func restore(_ record: OutboundRecord) {
        records[record.ordinal] = record
        ordinalByID[record.id] = record.ordinal
        // A header older than its records can only come from a commit that failed: numbers are never used twice.
        header.nextOrdinal = max(header.nextOrdinal, record.ordinal &+ 1)
        if let sequence = record.phase.sequence {
            ordinalBySequence[sequence] = record.ordinal
            header.nextSequence = max(header.nextSequence, sequence &+ 1)
        }
        if case .finished = record.phase { return }
        count += 1
        bytes += record.size
        guard let supersedeKey = record.supersedeKey, record.withdrawal == nil else { return }
        newestBySupersedeKey[supersedeKey] = max(newestBySupersedeKey[supersedeKey] ?? 0, record.ordinal)
    }

    /// Puts what waits in order of acceptance, one lane for each precedence.
    mutating func rebuildLanes() {
        let waiting = records.values.filter { $0.phase == .waiting }
        lanes = Precedence.allCases.map { precedence in
            OrdinalQueue(waiting.filter { $0.precedence == precedence }.map(\.ordinal).sorted())
        }
    }

    /// The epoch in which the queue numbers its items.
    package var epoch: UInt64 { header.epoch }

    /// The highest sequence that is durable at the peer in this epoch; 0 if none.
    package var lastStored: UInt64 { header.storedThrough }

    /// The highest sequence ever given to the peer in this epoch; 0 if none.
    package var lastSent: UInt64 { header.nextSequence - 1 }

    /// The item's record; nil if it is unknown or forgotten.
    package func record(of id: UniqueIdentifier) -> OutboundRecord? { ordinalByID[id].flatMap { records[$0] } }

    /// Items that have ended and whose submitters have not been told, in order of acceptance.
    package var unheard: [OutboundRecord] {
        records.values.filter { if case .finished = $0.phase { true } else { false } }.sorted {
            $0.ordinal < $1.ordinal
        }
    }

    /// Age of the oldest unfinished item in milliseconds; nil if there is none.
    package func oldestAge(at reading: Reading) -> Int64? {
        let unfinished = records.values.filter { if case .finished = $0.phase { false } else { true } }
        return unfinished.map(\.acceptedAt).min().map { clock.milliseconds(at: reading.monotonic) - $0 }
    }

    // MARK: parts of every transition

    /// Runs an event; a transition that changes a row also stores the header with the queue's time.
    mutating func transition<Failure: Error>(
        at reading: Reading, _ event: (inout Self, inout OutboundTransition) throws(Failure) -> Void
    ) throws(Failure) -> OutboundTransition {
        var transition = OutboundTransition()
        try event(&self, &transition)
        guard !transition.changes.isEmpty else { return transition }
        header.clock = clock.mark(at: reading)
        transition.changes.append(.put(DeliveryRowKey(.outboundHeader, key), .outboundHeader(header)))
        return transition
    }

    mutating func put(_ record: OutboundRecord, _ transition: inout OutboundTransition) {
        records[record.ordinal] = record
        let place = DeliveryRowKey(.outboundRecord, key, record.ordinal)
        transition.changes.append(.put(place, .outboundRecord(record)))
    }

    func removePayload(of record: OutboundRecord, _ transition: inout OutboundTransition) {
        transition.changes.append(.remove(DeliveryRowKey(.outboundPayload, key, record.ordinal)))
    }

    /// Ends an item. A dead letter keeps its body until it is forgotten.
    mutating func finish(_ record: OutboundRecord, _ outcome: Outcome, _ transition: inout OutboundTransition) {
        var ended = record
        if let sequence = record.phase.sequence { ordinalBySequence[sequence] = nil }
        ended.phase = .finished(outcome)
        count -= 1
        bytes -= record.size
        releaseSupersedeKey(of: record)
        if outcome != .withdrawn(.dead) { removePayload(of: record, &transition) }
        put(ended, &transition)
        transition.effects.append(.finished(record.id, outcome))
    }

    mutating func releaseSupersedeKey(of record: OutboundRecord) {
        guard let supersedeKey = record.supersedeKey, newestBySupersedeKey[supersedeKey] == record.ordinal else {
            return
        }
        newestBySupersedeKey[supersedeKey] = nil
    }
}
