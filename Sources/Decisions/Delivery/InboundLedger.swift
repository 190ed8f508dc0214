// The receiver's half of durable delivery (DEL): a watermark up to which every sequence is known, the items whose
// handler has not returned, and the outcomes that the sender has not acknowledged. Items are stored in sequence only:
// an item that comes too early is dropped and comes again, so that there is never more than one gap in the numbers. One
// item at a time is with the handler, in order; a failing one blocks for a few attempts and then becomes a dead letter.
// Like the outbound queue, a ledger is changed at once by each event, and cannot be copied.

package import TandemBase
package import TandemWire

/// A receiver's ledger for one (pairing, application, channel).
package struct InboundLedger: DeliveryMachine, ~Copyable, Sendable {
    package let key: QueueKey
    private let limits: DeliveryLimits
    private var journal: HeaderJournal<InboundHeader>
    private var records: RecordTable<InboundRecord>
    private var turn = HandlerTurn()
    /// The latest context received; used by the channels of which the latest wins.
    private var latest: InboundContext

    /// The ledger as its rows restore it; there is no link and no handler yet.
    package init(
        _ key: QueueKey, header: InboundHeader, records: [InboundRecord] = [], items: [InboundRecord] = [],
        context: ContextVersion? = nil, at reading: ClockReading, limits: DeliveryLimits = DeliveryLimits()
    ) {
        self.key = key
        self.limits = limits
        latest = InboundContext(context)
        let stored = InboundRecord.newest(records, items)
        // The handler that had an item is gone. It may or may not have done its work, so it sees the item again, as a
        // redelivery.
        self.records = RecordTable(
            stored.map { record in
                var record = record
                if record.phase == .handing { record.phase = .waiting }
                return record
            })
        journal = HeaderJournal(header, at: reading)
        for record in stored { journal.restore(record) }
    }

    // MARK: state

    /// The epoch whose numbers the ledger knows.
    package var epoch: UInt64 { journal.epoch }

    /// The highest sequence stored in order, for hello. Only a committed one may be sent.
    package var received: UInt64 { journal.header.watermark }

    /// Items whose handler has not returned.
    package var count: Int { records.count }

    /// Bytes of their bodies.
    package var bytes: Int { records.bytes }
    package var kept: KeptAmount { records.kept }

    package var context: ContextVersion? { latest.last }

    /// The remainder of the ledger. A context outlives its item, with a body as large as any. The beginning of a file
    /// may be on the disk before its item is here: were its ledger removed, ever new names could leave such files.
    package var occupancy: LedgerOccupancy {
        if records.kept.records > 0 || latest.last != nil { return .occupied }
        return received > 0 || key.channel.properties.hasFile ? .watermark : .unused
    }

    /// The items that failed too often, in order of arrival.
    package var deadLetters: [InboundRecord] { records.deadLetters }

    package var deadLetterCount: Int { records.deadLetterCount }

    /// The item that its handler has had without a verdict for the time of LIM-145, and since when; nil for none.
    package func inHandler(at now: MonotonicTime) -> (id: UniqueIdentifier, since: MonotonicTime)? {
        guard let item = turn.inHandler(for: limits.handling, at: now), let id = records[item.ordinal]?.id else {
            return nil
        }
        return (id: id, since: item.since)
    }

    /// The items whose files must stay: their handler has not returned, or they are dead letters.
    package var itemsWithFiles: Set<UniqueIdentifier> { Set(recordsWithFiles.compactMap(\.id)) }

    /// The records of these items.
    package var recordsWithFiles: [InboundRecord] { records.deadLetters + records.unfinished() }

    // MARK: arrival

    /// An `item` frame has come.
    /// - Parameter isFull: a wider budget has no room for any new item.
    package mutating func arrived(
        _ item: ReceivedItem, as sequence: UInt64, at reading: ClockReading, isFull: Bool = false
    ) -> InboundTransition {
        guard sequence > received else { return repeated(sequence) }
        guard sequence == received + 1 else { return InboundTransition(effects: [.droppedAhead]) }
        guard wouldStore(sequence, size: item.payload.count, isFull: isFull) else {
            return InboundTransition(effects: [.droppedFull])
        }
        return transition(at: reading) { ledger, transition in
            if ledger.key.channel.properties.isLatestWins, !ledger.takeContext(item, &transition) {
                return ledger.close(sequence, .superseded, &transition)
            }
            // The handler has another item, so this one waits anyway. A context is news at once.
            transition.mayWait = ledger.turn.current != nil && !ledger.key.channel.properties.isLatestWins
            let ordinal = ledger.store(item, sequence, at: reading, &transition)
            transition.effects.append(.acknowledge(through: sequence))
            ledger.deliverNext(at: reading, payload: item.payload, of: item.id, &transition)
            ledger.turn.keep(item.payload, of: ordinal)
        }
    }

    /// Whether an item of this sequence and size would be stored now (DEL-3).
    /// - Parameter isFull: a wider budget has no room for any new item.
    package func wouldStore(_ sequence: UInt64, size: Int, isFull: Bool = false) -> Bool {
        !isFull && isNext(sequence) && hasRoomForRecord && count < limits.items
            && size <= limits.bytes - bytes
    }

    /// Whether the number is that of the next item to come.
    package func isNext(_ sequence: UInt64) -> Bool { sequence == received + 1 }

    /// Outcomes stay until the sender acknowledges them; a sender that never does must not fill the store.
    private var hasRoomForRecord: Bool { records.kept.records < limits.items + limits.unacknowledged }

    /// The sender repeats a known sequence, so it has missed the answer.
    private func repeated(_ sequence: UInt64) -> InboundTransition {
        var transition = InboundTransition(effects: [.acknowledge(through: received)])
        if let outcome = outcome(of: sequence) {
            transition.effects.append(.report(sequence: sequence, outcome))
        }
        return transition
    }

    private mutating func store(
        _ item: ReceivedItem, _ sequence: UInt64, at reading: ClockReading, _ transition: inout InboundTransition
    ) -> UInt64 {
        let record = InboundRecord(journal.takeOrdinal(for: sequence), item, sequence: sequence, at: now(reading))
        records.set(record)
        transition.add(record, of: key, item.payload)
        return record.ordinal
    }

    /// A `gap` frame has come: the item will not come, or is taken back if no handler has it. One that a handler has is
    /// not delivered again (DEL-6).
    /// - Parameter isFull: a wider budget has no room for a further record.
    package mutating func gapArrived(
        _ sequence: UInt64, _ reason: GapReason, at reading: ClockReading, isFull: Bool = false
    ) -> InboundTransition {
        if sequence == received + 1 {
            guard !isFull, hasRoomForRecord else { return InboundTransition(effects: [.droppedFull]) }
            return transition(at: reading) { ledger, transition in ledger.close(sequence, reason, &transition) }
        }
        guard sequence <= received else { return InboundTransition(effects: [.droppedAhead]) }
        guard let record = records.record(sequence: sequence), record.isUnfinished else { return repeated(sequence) }
        guard record.phase == .waiting || !turn.isHandedOver else {
            turn.takeBack(reason)
            return repeated(sequence)
        }
        return transition(at: reading) { ledger, transition in
            ledger.finish(record, .withdrawn(reason), &transition)
            ledger.deliverNext(at: reading, &transition)
        }
    }

    /// Moves the watermark over a number of which only the outcome is kept.
    private mutating func close(
        _ sequence: UInt64, _ reason: GapReason, _ transition: inout InboundTransition
    ) {
        let record = InboundRecord(journal.takeOrdinal(for: sequence), gap: reason, sequence: sequence)
        records.set(record)
        transition.put(record, of: key)
        transition.effects += [.acknowledge(through: sequence), .report(sequence: sequence, .withdrawn(reason))]
    }

    /// Takes a context if it is newer than the one before (DEL-20): older ones that wait are superseded.
    /// - Returns: false for one that is not, and changes nothing.
    private mutating func takeContext(_ item: ReceivedItem, _ transition: inout InboundTransition) -> Bool {
        guard let next = latest.newer(item.revision, in: journal.epoch, &transition) else { return false }
        for older in records.unfinished() where older.phase == .waiting {
            finish(older, .withdrawn(.superseded), &transition)
        }
        latest.apply(next, body: item.payload, of: key, &transition)
        return true
    }

    // MARK: the sender

    /// An `outcomeAck` frame has come: the sender will not ask about this item again.
    package mutating func outcomeAcknowledged(_ sequence: UInt64, at reading: ClockReading) -> InboundTransition {
        guard let record = records.record(sequence: sequence), !record.isUnfinished else { return InboundTransition() }
        return transition(at: reading) { ledger, transition in
            transition.mayWait = true
            ledger.dropSequence(of: record, &transition)
        }
    }

    /// The outcome of an item is reported no more; an item that has ended goes with it, unless it is a dead letter.
    private mutating func dropSequence(of record: InboundRecord, _ transition: inout InboundTransition) {
        guard record.isUnfinished || record.isDeadLetter else { return remove(record, &transition) }
        var kept = record
        kept.sequence = nil
        put(kept, &transition)
    }

    /// The link is ready: answers that the sender may have missed are sent again.
    package func linkOpened() -> InboundTransition {
        var transition = InboundTransition(effects: [.acknowledge(through: received)])
        let ended = records.endedSequences
        if !ended.isEmpty { transition.effects.append(.reportAgain(sequences: ended)) }
        return transition
    }

    /// How the item of this sequence ended; nil if it has not, or if the sender has acknowledged that.
    package func outcome(of sequence: UInt64) -> Outcome? {
        guard case .finished(let outcome)? = records.record(sequence: sequence)?.phase else { return nil }
        return outcome
    }

    /// A new epoch of the pairing begins: sequences start from nothing. Stored items still go to their handler, but
    /// their outcomes can no longer be reported.
    package mutating func startEpoch(_ epoch: UInt64, at reading: ClockReading) -> InboundTransition {
        guard epoch != journal.epoch else { return InboundTransition() }
        return transition(at: reading) { ledger, transition in
            for sequence in ledger.records.sequences {
                guard var record = ledger.records.record(sequence: sequence) else { continue }
                record.leave(ledger.contextEpoch)
                ledger.dropSequence(of: record, &transition)
            }
            for record in ledger.records.deadLetters + ledger.records.unfinished() {
                var former = record
                if former.leave(ledger.contextEpoch) { ledger.put(former, &transition) }
            }
            ledger.journal.startEpoch(epoch)
        }
    }

    // MARK: the handler

    /// A handler is there and takes one item at a time.
    package mutating func consumerArrived(at reading: ClockReading) -> InboundTransition {
        turn.handlerArrived()
        return transition(at: reading) { ledger, transition in ledger.deliverNext(at: reading, &transition) }
    }

    /// The ledger was read back while its handler was there: it takes items, unless it has put one off.
    package mutating func consumerStayed(at reading: ClockReading) -> InboundTransition {
        turn.isPutOff ? InboundTransition() : consumerArrived(at: reading)
    }

    /// The attempt of a delivery (``InboundEffect/deliver(_:)``) is durable. Returns whether the handler gets the item.
    /// It may have left while the commit was under way, and the item may have ended: then the delivery was called off,
    /// and another one may have begun (DEL-47).
    package mutating func handOver(_ item: ReceivedItem, at reading: ClockReading) -> Bool {
        turn.handOver(item.delivery, at: reading.monotonic)
    }

    /// The handler is gone. The item that it had counts as a failed attempt, because it may be the reason. One that it
    /// was only going to get counts as none (DEL-47).
    package mutating func consumerLeft(at reading: ClockReading) -> InboundTransition {
        turn.handlerLeft()
        guard let ordinal = turn.current else { return InboundTransition() }
        return turn.isHandedOver ? failed(ordinal, at: reading) : giveBack(ordinal, at: reading) { _ in }
    }

    /// The handler took the item.
    package mutating func handled(_ ordinal: UInt64, at reading: ClockReading) -> InboundTransition {
        ended(ordinal, .handled, at: reading)
    }

    /// The handler refused the item for good.
    package mutating func rejected(_ ordinal: UInt64, code: Int64, at reading: ClockReading) -> InboundTransition {
        ended(ordinal, .rejected(code: code), at: reading)
    }

    private mutating func ended(_ ordinal: UInt64, _ outcome: Outcome, at reading: ClockReading) -> InboundTransition {
        guard turn.current == ordinal, let record = records[ordinal] else { return InboundTransition() }
        return transition(at: reading) { ledger, transition in
            ledger.finish(record, outcome, &transition)
            ledger.deliverNext(at: reading, &transition)
            // The handler has the next item already, and its verdict follows.
            transition.mayWait = !transition.atOnce.isEmpty
        }
    }

    /// The handler failed: the item is delivered again after a pause, or becomes a dead letter.
    package mutating func failed(_ ordinal: UInt64, at reading: ClockReading) -> InboundTransition {
        guard turn.current == ordinal, var record = records[ordinal] else { return InboundTransition() }
        let takenBack = turn.end(ordinal)
        return transition(at: reading) { ledger, transition in
            if ledger.endUntaken(record, takenBack, &transition) {
                return ledger.deliverNext(at: reading, &transition)
            }
            guard record.attempts < ledger.limits.attempts else {
                ledger.finish(record, .withdrawn(.dead), &transition)
                return ledger.deliverNext(at: reading, &transition)
            }
            record.phase = .waiting
            ledger.put(record, &transition)
            ledger.turn.pause(
                of: ordinal, until: reading.monotonic + RetryPause.after(attempts: record.attempts))
        }
    }

    /// The handler cannot take the item now: no attempt, and the item comes again after the pauses of DEL-12.
    package mutating func pauseWithoutAttempt(_ ordinal: UInt64, at reading: ClockReading) -> InboundTransition {
        giveBack(ordinal, at: reading) { $0.pauseWithoutAttempt(of: ordinal, at: reading.monotonic) }
    }

    /// The handler has not begun with the item, and takes nothing of this queue until it arrives again: that is no
    /// attempt either.
    package mutating func putOff(_ ordinal: UInt64, at reading: ClockReading) -> InboundTransition {
        giveBack(ordinal, at: reading) { $0.putOff() }
    }

    /// The handler has put an item off, and would do so again: nothing here is a reason to start it.
    package var isPutOff: Bool { turn.isPutOff }

    /// The handler may take what it has put off, once it arrives.
    package mutating func putOffEnded() -> InboundTransition {
        turn.putOffEnded()
        return InboundTransition()
    }

    /// - Parameter wait: says when the handler is free again.
    private mutating func giveBack(
        _ ordinal: UInt64, at reading: ClockReading, _ wait: (inout HandlerTurn) -> Void
    ) -> InboundTransition {
        guard turn.current == ordinal, var record = records[ordinal] else { return InboundTransition() }
        let takenBack = turn.end(ordinal)
        wait(&turn)
        return transition(at: reading) { ledger, transition in
            if ledger.endUntaken(record, takenBack, &transition) {
                return ledger.deliverNext(at: reading, &transition)
            }
            record.attempts -= 1
            record.phase = .waiting
            ledger.put(record, &transition)
        }
    }

    /// Ends an item that its handler has not taken and must not get again.
    /// - Parameter takenBack: why its sender has taken it back meanwhile; nil if it has not.
    /// - Returns: false for one that comes again.
    private mutating func endUntaken(
        _ record: InboundRecord, _ takenBack: GapReason?, _ transition: inout InboundTransition
    ) -> Bool {
        guard let takenBack else { return supersede(record, &transition) }
        finish(record, .withdrawn(takenBack), &transition)
        return true
    }

    /// Ends a context that its handler has not taken if a newer one waits (DEL-20): one that no handler can take must
    /// not hold back the newest.
    /// - Returns: false for the newest one, and for an item of a channel in which each item counts.
    private mutating func supersede(_ record: InboundRecord, _ transition: inout InboundTransition) -> Bool {
        guard key.channel.properties.isLatestWins, !records.unfinished(after: record.ordinal, limit: 1).isEmpty else {
            return false
        }
        finish(record, .withdrawn(.superseded), &transition)
        return true
    }

    /// Delivers the head to the handler, if there is one and it is free. An attempt is durable before the handler sees
    /// the item, so that a handler that takes its process down is counted too; an item that failed too often before a
    /// restart is not delivered again. The end of its predecessor need not be durable by then: if that is lost, both
    /// are delivered again, in order and marked.
    /// - Parameter payload: the body of the item `id`.
    private mutating func deliverNext(
        at reading: ClockReading, payload: [UInt8]? = nil, of id: UniqueIdentifier? = nil,
        _ transition: inout InboundTransition
    ) {
        while turn.isFree, var record = records.first(), record.phase == .waiting, let itemID = record.id {
            if supersede(record, &transition) { continue }
            let (isCounted, isDurable, body) = turn.take(record.ordinal)
            if !isCounted {
                if record.attempts >= limits.attempts {
                    finish(record, .withdrawn(.dead), &transition)
                    continue
                }
                record.attempts += 1
            }
            record.phase = .handing
            let number = turn.begin(record.ordinal)
            let payload = body ?? (itemID == id ? payload : nil)
            let item = record.item(itemID, in: key, delivery: number, at: now(reading), payload: payload ?? [])
            let delivery: InboundEffect = payload == nil ? .deliverStored(item, from: record.bodyTable) : .deliver(item)
            if isDurable {
                // Its row says all of it: a waiting item with a counted attempt is delivered again just like one in
                // hand.
                records.set(record)
                transition.atOnce.append(delivery)
            } else {
                put(record, &transition)
                transition.effects.append(delivery)
            }
        }
        countAhead(&transition)
    }

    /// Counts the attempts of waiting items that were never delivered. One that failed before is counted alone, when it
    /// is its turn: if it takes the process down, no other item's count rises with its own.
    private mutating func countAhead(_ transition: inout InboundTransition) {
        let limit = turn.countable(limits)
        guard limit > 0, count > turn.countedCount else { return }
        var ordinals: [UInt64] = []
        for ordinal in records.ordinals.dropFirst(turn.countedCount).prefix(limits.countedAhead) {
            guard ordinals.count < limit else { break }
            guard var record = records[ordinal], record.phase == .waiting, record.attempts == 0 else { continue }
            record.attempts = 1
            put(record, &transition)
            turn.count(ordinal)
            ordinals.append(ordinal)
        }
        if !ordinals.isEmpty { transition.effects.append(.counted(ordinals: ordinals)) }
    }

    /// The daemon stops in order. Items that no handler has seen keep no attempt that was counted ahead, and none is
    /// delivered any more.
    package mutating func stopping(at reading: ClockReading) -> InboundTransition {
        turn.handlerLeft()
        let ordinals = turn.takeCounted() + [turn.callOff()].compactMap(\.self)
        return transition(at: reading) { ledger, transition in
            for ordinal in ordinals {
                guard var record = ledger.records[ordinal], record.isUnfinished else { continue }
                record.attempts -= 1
                record.phase = .waiting
                ledger.put(record, &transition)
            }
        }
    }

    /// The commit of ``InboundEffect/counted(ordinals:)`` is done.
    package mutating func attemptsAreDurable(_ ordinals: [UInt64]) { turn.becameDurable(ordinals) }

    /// The ledger was read back, because a commit failed. The handler has not failed: it keeps its item if it is still
    /// the first one, and pauses go on. An attempt that no handler has seen is not counted again if it is in the row,
    /// which then has as many (DEL-47).
    /// - Parameter isComplete: false if an event since then is lost: perhaps the verdict, or that the handler has left.
    package mutating func goOn(after former: borrowing InboundLedger, isComplete: Bool) {
        let head = records.first()
        var counted: [UInt64] = []
        for ordinal in former.turn.notBegun {
            guard let record = records[ordinal], record.phase == .waiting else { continue }
            if record.attempts == former.records[ordinal]?.attempts { counted.append(ordinal) }
        }
        turn.goOn(after: former.turn, isComplete: isComplete, head: head?.ordinal, counted: counted)
        guard var head, turn.current == head.ordinal else { return }
        head.phase = .handing
        records.set(head)
    }

    // MARK: time

    private func now(_ reading: ClockReading) -> Int64 { journal.clock.milliseconds(at: reading.monotonic) }

    /// Time has passed; call it at ``nextDeadline`` or at any other time.
    package mutating func timeAdvanced(at reading: ClockReading) -> InboundTransition {
        let now = now(reading)
        turn.timeAdvanced(to: reading.monotonic)
        return transition(at: reading) { ledger, transition in
            while let record = ledger.records.takeExpired(at: now) {
                ledger.finish(record, .withdrawn(.expired), &transition)
            }
            ledger.deliverNext(at: reading, &transition)
        }
    }

    /// The next time at which ``timeAdvanced(at:)`` has something to do; nil if nothing depends on time.
    package var nextDeadline: MonotonicTime? {
        let earliest = records.nextExpiry.map { journal.clock.time(of: $0) }
        guard let earliest, let pausedUntil = turn.pausedUntil else { return earliest ?? turn.pausedUntil }
        return min(earliest, pausedUntil)
    }

    /// Keeps the ledger's time, from which expiry goes on: the wall clock may have been set, or the program ends.
    package mutating func noteClock(at reading: ClockReading) -> InboundTransition {
        count > 0 ? InboundTransition(changes: journal.noteClock(of: key, at: reading)) : InboundTransition()
    }

    // MARK: ended items

    /// Ends an item, and reports it to the sender if that still waits for the outcome. A dead letter keeps its body.
    private mutating func finish(
        _ record: InboundRecord, _ outcome: Outcome, _ transition: inout InboundTransition
    ) {
        turn.end(record.ordinal)
        var ended = record
        ended.phase = .finished(outcome)
        // It was counted for an attempt that is never made.
        if turn.take(record.ordinal).isCounted { ended.attempts -= 1 }
        guard let sequence = record.sequence else {
            if ended.isDeadLetter { keep(ended, &transition) } else { remove(record, &transition) }
            return
        }
        transition.effects.append(.report(sequence: sequence, outcome))
        if ended.isDeadLetter { return keep(ended, &transition) }
        transition.removeItem(of: record, in: key)
        put(ended, &transition)
    }

    private mutating func keep(_ letter: InboundRecord, _ transition: inout InboundTransition) {
        put(letter, &transition)
        transition.effects.append(.deadLetter(id: letter.id))
        while let oldest = records.excessLetter(over: limits) {
            transition.effects.append(.letterDropped(id: oldest.id))
            drop(oldest, &transition)
        }
    }

    private mutating func drop(_ letter: InboundRecord, _ transition: inout InboundTransition) {
        guard letter.sequence != nil else { return remove(letter, &transition) }
        // Its sender has not acknowledged the outcome: it stays, as that of any other item.
        var ended = letter
        ended.attempts = 0
        transition.removeItem(of: letter, in: key)
        put(ended, &transition)
    }

    /// Drops a dead letter and its body; nothing for another number.
    package mutating func dropDeadLetter(_ ordinal: UInt64, at reading: ClockReading) -> InboundTransition {
        guard let letter = records.deadLetter(ordinal) else { return InboundTransition() }
        return transition(at: reading) { ledger, transition in ledger.drop(letter, &transition) }
    }

    /// Delivers a dead letter once more, in its place in the order of arrival and without a time to live. Its end is
    /// not reported to the sender, for whom it has ended; one whose outcome the sender has not acknowledged is not
    /// delivered yet. A context that a newer one has followed is dropped (DEL-24).
    package mutating func retryDeadLetter(_ ordinal: UInt64, at reading: ClockReading) -> InboundTransition {
        guard var record = records.deadLetter(ordinal), record.sequence == nil else { return InboundTransition() }
        return transition(at: reading) { ledger, transition in
            if let context = record.context(in: ledger.contextEpoch), ledger.isOutdated(context) {
                transition.effects.append(.staleContext(revision: context.revision))
                transition.dropsOutdated = true
                return ledger.drop(record, &transition)
            }
            record.attempts = 0
            record.expiresAt = nil
            record.phase = .waiting
            ledger.put(record, &transition)
            ledger.deliverNext(at: reading, &transition)
        }
    }

    /// The epoch of a context whose record has none. One that came in the present epoch applied then, so the latest is
    /// of that epoch, too. A record of an earlier version may be of an epoch before.
    private var contextEpoch: UInt64 { latest.last?.epoch ?? epoch }

    /// Whether another context applies by now. After a restored sender it may have the same or a lower revision.
    private func isOutdated(_ context: ContextVersion) -> Bool {
        key.channel.properties.isLatestWins && context != latest.last
    }

    // MARK: the end of the application

    /// The application is removed: what waits for it is refused for good, and its dead letters and its context go.
    /// - Parameter code: the error that the senders get.
    package mutating func clear(code: Int64, at reading: ClockReading) -> InboundTransition {
        transition(at: reading) { ledger, transition in
            for letter in ledger.records.deadLetters { ledger.drop(letter, &transition) }
            for record in ledger.records.unfinished() {
                ledger.finish(record, .rejected(code: code), &transition)
            }
            ledger.latest.clear(of: ledger.key, &transition)
        }
    }

    // MARK: rows

    /// Runs an event, and adds the header's row if the other rows would not restore it.
    private mutating func transition(
        at reading: ClockReading, _ event: (inout Self, inout InboundTransition) -> Void
    ) -> InboundTransition {
        var transition = InboundTransition()
        event(&self, &transition)
        records.prune()
        journal.complete(&transition.changes, of: key, at: reading)
        return transition
    }

    private mutating func put(_ record: InboundRecord, _ transition: inout InboundTransition) {
        if let sequence = records.set(record)?.sequence, record.sequence == nil { journal.sequenceRemoved(sequence) }
        transition.put(record, of: key)
    }

    private mutating func remove(_ record: InboundRecord, _ transition: inout InboundTransition) {
        records.remove(record.ordinal)
        journal.recordRemoved(record.ordinal)
        if let sequence = record.sequence { journal.sequenceRemoved(sequence) }
        transition.remove(record, of: key)
    }
}
