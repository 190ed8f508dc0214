// The answer of a queue or ledger to an event: changes to commit together, and effects to run after that commit, in
// their order. A transition without changes waits for the commits before it all the same: an acknowledgement must not
// pass the commit that it rests on.

package import TandemBase
package import TandemWire

/// The answer of a queue or ledger to an event.
package struct DeliveryTransition<Effect: DeliveryEffect>: Sendable, Equatable {
    package internal(set) var changes: [DeliveryChange] = []
    /// Run once the changes are durable.
    package internal(set) var effects: [Effect] = []
    /// Effects that rest on what is durable, and wait for no commit: an item for its handler, whose attempt is counted;
    /// the report that the peer has stored an item.
    package internal(set) var atOnce: [Effect] = []
    /// No caller awaits the effects, and everything that a crash takes back comes again: the commit may wait for others
    /// (LIM-75).
    package internal(set) var mayWait = false
    /// The submitted item was accepted before, under the same identifier (DEL-33). Nothing changes.
    package private(set) var isDuplicate = false
    /// The dead letter that was to be tried again is dropped: another context applies (DEL-24).
    package internal(set) var dropsOutdated = false
    /// The row of a new item: later changes of the same event go into it.
    private var fresh: FreshRow?

    private struct FreshRow: Sendable, Equatable {
        let ordinal: UInt64
        /// The body if it is short; nil for a long one, which has a separate row.
        let body: [UInt8]?
        /// Its index among the changes.
        let index: Int
    }

    init(changes: [DeliveryChange] = [], effects: [Effect] = []) {
        self.changes = changes
        self.effects = effects
    }

    /// Nothing changes and nothing is to be done.
    package init() {}

    /// The answer to an item that is submitted again.
    static var duplicate: Self {
        var transition = Self()
        transition.isDuplicate = true
        return transition
    }

    // MARK: rows

    /// Writes the row of an item that is new, and a long body's.
    mutating func add<Record: QueueRecord>(_ record: Record, of queue: QueueKey, _ body: [UInt8]) {
        let short = record.sharesRow ? body : nil
        fresh = FreshRow(ordinal: record.ordinal, body: short, index: changes.count)
        let key = DeliveryRowKey(Record.itemTable, queue, record.ordinal)
        changes.append(.put(key, record.value(with: short)))
        if short == nil {
            changes.append(.put(DeliveryRowKey(Record.payloadTable, queue, record.ordinal), .payload(body)))
        }
    }

    /// Writes a record's row; that of a new item once more.
    mutating func put<Record: QueueRecord>(_ record: Record, of queue: QueueKey) {
        if let fresh, fresh.ordinal == record.ordinal {
            changes[fresh.index] = .put(changes[fresh.index].key, record.value(with: fresh.body))
        } else {
            changes.append(.put(DeliveryRowKey(Record.recordTable, queue, record.ordinal), record.value))
        }
    }

    /// Removes a record's row, and the item's row and body if they are still there.
    mutating func remove<Record: QueueRecord>(_ record: Record, of queue: QueueKey) {
        changes.append(.remove(DeliveryRowKey(Record.recordTable, queue, record.ordinal)))
        if record.isUnfinished || record.isDeadLetter { removeItem(of: record, in: queue) }
    }

    /// Removes an item's row and its body, and releases its file.
    mutating func removeItem<Record: QueueRecord>(of record: Record, in queue: QueueKey) {
        removeLongBody(of: record, in: queue)
        removeItemRow(of: record, in: queue)
    }

    /// Releases an item's file, and removes the row of a long body. A short one goes with the item's row.
    mutating func removeLongBody<Record: QueueRecord>(of record: Record, in queue: QueueKey) {
        if queue.channel.properties.hasFile, let id = record.itemID { effects.append(.released(id)) }
        guard !record.sharesRow else { return }
        changes.append(.remove(DeliveryRowKey(Record.payloadTable, queue, record.ordinal)))
    }

    /// Removes the row in which an item was accepted or arrived, and a short body with it. A later form of the record
    /// is in the table of records.
    mutating func removeItemRow<Record: QueueRecord>(of record: Record, in queue: QueueKey) {
        if fresh?.ordinal == record.ordinal { fresh = nil }
        changes.append(.remove(DeliveryRowKey(Record.itemTable, queue, record.ordinal)))
    }
}

package protocol DeliveryEffect: Sendable, Equatable {
    /// The item's file is no longer needed (FIL-14).
    static func released(_ id: UniqueIdentifier) -> Self

    /// Whether it sends a frame to the peer, which may wait for room on the link. No other effect waits for that.
    var isFrame: Bool { get }

    /// Whether it says all that an earlier effect says. Of the frames of one commit that cover each other only the last
    /// is sent; of such effects in a row only the last is run.
    func covers(_ earlier: Self) -> Bool
}

extension DeliveryEffect {
    package func covers(_ earlier: Self) -> Bool { false }
}

/// A queue or ledger as its owner uses it in either direction.
package protocol DeliveryMachine: ~Copyable {
    associatedtype Effect: DeliveryEffect

    var key: QueueKey { get }
    var epoch: UInt64 { get }
    var kept: KeptAmount { get }
    /// The next time at which the machine has something to do; nil if nothing depends on time.
    var nextDeadline: MonotonicTime? { get }

    mutating func timeAdvanced(at reading: ClockReading) -> DeliveryTransition<Effect>
    mutating func noteClock(at reading: ClockReading) -> DeliveryTransition<Effect>
    mutating func startEpoch(_ epoch: UInt64, at reading: ClockReading) -> DeliveryTransition<Effect>
    mutating func retryDeadLetter(_ ordinal: UInt64, at reading: ClockReading) -> DeliveryTransition<Effect>
    mutating func dropDeadLetter(_ ordinal: UInt64, at reading: ClockReading) -> DeliveryTransition<Effect>
}

// MARK: - outbound

package typealias OutboundTransition = DeliveryTransition<OutboundEffect>

/// An effect of an outbound queue. There is none for an accepted item: its submitter waits for the commit
/// itself, also of a transition without effects.
package enum OutboundEffect: DeliveryEffect {
    /// An `item` frame for the peer.
    case send(OutboundDispatch)
    /// A `gap` frame: the item of this sequence will not come, or should no longer be handled.
    case sendGap(sequence: UInt64, GapReason)
    /// An `outcomeAck` frame: the outcome is durable here, the peer may forget it.
    case sendOutcomeAck(sequence: UInt64)
    /// The item is durable at the peer.
    case stored(UniqueIdentifier)
    /// The item has ended, with the peer's refusal if that explains it; `forget` once its submitter has acknowledged
    /// that.
    case finished(UniqueIdentifier, Outcome, ItemRefusal?)
    /// The item has ended, and no submitter awaits that: only what waits behind it goes on (DEL-22).
    case finishedSilently(UniqueIdentifier)
    /// The peer refused the item too often, the last time for this reason, and it waits for an operator.
    case deadLetter(UniqueIdentifier, ItemRefusal?)
    /// The oldest dead letter is gone, because there were too many (LIM-25).
    case letterDropped(UniqueIdentifier)
    /// The item's file is no longer needed (FIL-14).
    case released(UniqueIdentifier)
    /// The context has to be enqueued again: the peer may have lost it with its epoch.
    case setContextAgain
    /// The numbers of this device and its peer contradict each other: a store was restored. Start a new epoch of the
    /// pairing.
    case startEpoch
    /// The peer acknowledged what was never sent; the link should be closed.
    case violation

    package var isFrame: Bool {
        switch self {
        case .send, .sendGap, .sendOutcomeAck: true
        case .stored, .finished, .finishedSilently, .deadLetter, .letterDropped, .released, .setContextAgain,
            .startEpoch, .violation:
            false
        }
    }
}

/// An item to be sent now.
package struct OutboundDispatch: Sendable, Equatable {
    package let ordinal: UInt64
    package let sequence: UInt64
    package let id: UniqueIdentifier
    /// Time since the item was accepted, in milliseconds.
    package let age: Int64
    /// Time until it expires; nil if it never does.
    package let remaining: Duration?
    /// 1 for the first attempt.
    package let attempt: Int
    package let topic: String?
    package let revision: UInt64?
    /// Bytes of the body.
    package let size: Int
    /// The body, if it is at hand; otherwise it is in the row (`bodyTable`, `ordinal`).
    package let payload: [UInt8]?
    package let bodyTable: DeliveryTable
}

/// The result of taking an item back.
package enum Cancellation: Sendable, Equatable {
    /// It will never be handled.
    case cancelled
    /// It was sent: the peer decides, and `finished` reports its decision.
    case asked
    /// It had ended before.
    case tooLate(Outcome)
    /// No such item.
    case unknown
    /// The store could not write it; the item is as it was.
    case notStored
}

// MARK: - inbound

package typealias InboundTransition = DeliveryTransition<InboundEffect>

/// An effect of an inbound ledger. Frames are dropped while there is no link: `linkOpened` repeats
/// them.
package enum InboundEffect: DeliveryEffect {
    /// A `stored` frame.
    case acknowledge(through: UInt64)
    /// An `outcome` frame.
    case report(sequence: UInt64, Outcome)
    /// An `outcome` frame for each of these, as ``InboundLedger/outcome(of:)`` says when there is room for it: a peer
    /// may have left a whole store of them unacknowledged, and they would be made for each new link.
    case reportAgain(sequences: [UInt64])
    /// The item for its handler, if ``InboundLedger/handOver(_:at:)`` says so when the effect runs.
    case deliver(ReceivedItem)
    /// The same for an item without its payload, which is in its row of this table.
    case deliverStored(ReceivedItem, from: DeliveryTable)
    /// The item came before its predecessors and was dropped; it will come again.
    case droppedAhead
    /// The ledger is full and the item was dropped without an answer; it will come again.
    case droppedFull
    /// The item's file is no longer needed, unless another item has its identifier (FIL-14).
    case released(UniqueIdentifier)
    /// The item failed too often and waits for an operator.
    case deadLetter(id: UniqueIdentifier?)
    /// The oldest dead letter is gone, because there were too many (LIM-25).
    case letterDropped(id: UniqueIdentifier?)
    /// The attempts that were counted ahead for these are durable; the ledger has to be notified. They are named one by
    /// one: an item is counted ahead once, so that this is true even of a ledger that was restored meanwhile.
    case counted(ordinals: [UInt64])
    /// A newer context is durable.
    case contextReceived(ContextVersion, body: [UInt8])
    /// A context came that is not newer than the one received before; it changed nothing.
    case staleContext(revision: UInt64)

    package var isFrame: Bool {
        switch self {
        case .acknowledge, .report, .reportAgain: true
        default: false
        }
    }

    /// A watermark covers a lower one (DEL-4).
    package func covers(_ earlier: InboundEffect) -> Bool {
        guard case .acknowledge(let sequence) = self, case .acknowledge(let before) = earlier else { return false }
        return before <= sequence
    }
}
