// The sender's half of durable delivery (DEL): items that wait, items under way, items that the peer has. An item gets
// its sequence when it is first sent, not when it is accepted: until then it can be passed, cancelled or superseded
// without the peer ever seeing it. The queue keeps every record and no body. An event changes it at once and returns
// the rows to commit and the effects to run after that commit. Memory is never rolled back: after a failed commit the
// owner restores a queue from its rows. So no event works on a copy, and the queue cannot be copied.

package import TandemBase
package import TandemWire

/// A sender's queue for one (pairing, application, channel).
package struct OutboundQueue: DeliveryMachine, ~Copyable, Sendable {
    package let key: QueueKey
    private let limits: DeliveryLimits
    private var journal: HeaderJournal<OutboundHeader>
    private var records: OutboundRecords
    private var link = PeerLink()
    /// The urgent items left of the day; used by the channel `urgent`.
    private var budget: UrgentBudget
    private var latest: OutboundContext

    /// The queue as its rows restore it; the link is closed.
    package init(
        _ key: QueueKey, header: OutboundHeader, records: [OutboundRecord] = [], items: [OutboundRecord] = [],
        budget: UrgentBudget = UrgentBudget(), context: SentContext? = nil, at reading: ClockReading,
        limits: DeliveryLimits = DeliveryLimits()
    ) {
        self.key = key
        self.limits = limits
        self.budget = budget
        latest = OutboundContext(context)
        let stored = OutboundRecord.newest(records, items)
        journal = HeaderJournal(header, at: reading)
        journal.restore(budget)
        for record in stored { journal.restore(record) }
        let storedThrough = journal.header.storedThrough
        self.records = OutboundRecords(stored.map { $0.stored(through: storedThrough) })
    }

    // MARK: state

    /// The epoch in which the queue numbers its items.
    package var epoch: UInt64 { journal.epoch }
    /// The highest sequence that is durable at the peer in this epoch; 0 if none.
    package var lastStored: UInt64 { journal.header.storedThrough }
    /// The highest sequence ever sent in this epoch; 0 if none.
    package var lastSent: UInt64 { journal.lastSent }
    /// Unfinished items.
    package var count: Int { records.table.count }
    /// Unfinished items, without those of a former application that the peer has not answered yet. It looks at items
    /// only where some are being taken back.
    package var ownCount: Int { records.withdrawing > 0 ? outstanding().count { !$0.isCleared } : count }
    /// Bytes of the unfinished items' bodies.
    package var bytes: Int { records.table.bytes }
    package var kept: KeptAmount { records.table.kept }
    /// The item's record; nil if it is unknown or forgotten.
    package func record(of id: UniqueIdentifier) -> OutboundRecord? { records[id] }
    package func isKnown(_ id: UniqueIdentifier) -> Bool { records.isKnown(id) }
    /// The unfinished items in order of acceptance, from behind `ordinal`.
    package func outstanding(after ordinal: UInt64 = 0, limit: Int = .max) -> [OutboundRecord] {
        records.table.unfinished(after: ordinal, limit: limit)
    }

    /// Unfinished items and their bytes by source, without this item and those that it supersedes (CFG-103).
    package mutating func shares(
        without item: OutboundItem, sourceOf: (UniqueIdentifier) -> UniqueIdentifier?
    ) -> [UniqueIdentifier?: KeptAmount] { records.shares(without: item, sourceOf: sourceOf) }

    /// The first ended items that their submitters have not acknowledged, in the order of their ends.
    package func unacknowledged(limit: Int = .max) -> [OutboundRecord] { records.unacknowledged(limit: limit) }
    package var hasUnacknowledged: Bool { records.unacknowledged > 0 }
    /// The items that the peer refused too often, in order of acceptance.
    package var deadLetters: [OutboundRecord] { records.table.deadLetters }
    package var deadLetterCount: Int { records.table.deadLetterCount }
    /// The items for whose end others wait here.
    package var awaited: [UniqueIdentifier] { records.awaited }
    /// Whether something here waits for the end of this item.
    package func isAwaiting(_ id: UniqueIdentifier) -> Bool { records.isAwaiting(id) }
    /// Why the peer does not take the item that is its turn, as far as it has said.
    package var headRefusal: ItemRefusal? {
        let head = records.table.record(sequence: lastStored + 1)
        return head?.withdrawal == nil ? head?.refusal : nil
    }

    /// Age of the oldest unfinished item in milliseconds; nil if there is none.
    package func oldestAge(at reading: ClockReading) -> Int64? {
        records.table.unfinished(limit: 1).first.map { QueueClock.passed(since: $0.acceptedAt, at: now(reading)) }
    }

    /// The urgent items left of the day.
    package func urgentBudget(at reading: ClockReading) -> BudgetAnswer {
        budget.allowance(at: now(reading), limit: limits.urgentPerDay)
    }

    package var context: SentContext? { latest.last }
    /// Whether the peer may have lost the context with its epoch (DEL-21).
    package var needsContextAgain: Bool { latest.isLost(in: journal.header) }

    private func now(_ reading: ClockReading) -> Int64 { journal.clock.milliseconds(at: reading.monotonic) }

    // MARK: submission

    /// Accepts an item. One with the identifier of a known item is the same item, submitted again.
    /// - Parameter refusal: what a wider budget has against any new item.
    /// - Throws: ``QueueFull``; nothing has changed then.
    package mutating func enqueue(
        _ item: OutboundItem, at reading: ClockReading, unless refusal: QueueFull? = nil
    ) throws(QueueFull) -> OutboundTransition {
        if records.isKnown(item.id) { return .duplicate }
        try checkRoom(for: item, unless: refusal)
        return transition(at: reading, accepting: item)
    }

    private func checkRoom(for item: OutboundItem, unless refusal: QueueFull?) throws(QueueFull) {
        let (items, bytes) = records.remaining(supersededBy: item.supersedeKey)
        guard items < limits.items, item.payload.count <= limits.bytes - bytes else {
            throw QueueFull(
                KeptAmount(records: items, bytes: bytes), of: KeptAmount(records: limits.items, bytes: limits.bytes))
        }
        if let refusal { throw refusal }
    }

    /// Adds an item to those that wait, in the place of those that it supersedes.
    private mutating func add(_ item: OutboundItem, at reading: ClockReading, _ transition: inout OutboundTransition) {
        while let older = records.newest(supersededBy: item.supersedeKey) {
            withdraw(older.ordinal, .superseded, &transition)
        }
        var record = OutboundRecord(
            ordinal: journal.takeOrdinal(), item, on: key.channel, acceptedAt: now(reading),
            expiresAt: key.channel.expiry(of: item.lifetime, from: now(reading)))
        if let kind = item.kind {
            untag(kind, &transition)
            record.isCurrent = true
        }
        records.add(record)
        transition.add(record, of: key, item.payload)
    }

    /// Takes an item back: at once if it was never sent, else by asking the peer.
    package mutating func cancel(_ id: UniqueIdentifier, at reading: ClockReading) -> (Cancellation, OutboundTransition)
    {
        guard let record = records[id] else { return (.unknown, OutboundTransition()) }
        if case .finished(let outcome) = record.phase { return (.tooLate(outcome), OutboundTransition()) }
        let transition = transition(at: reading) { queue, transition in
            queue.withdraw(record.ordinal, .cancelled, &transition)
        }
        return (record.phase == .waiting ? .cancelled : .asked, transition)
    }

    /// Takes an item back for a reason. The peer may have one that was sent, so it decides.
    private mutating func withdraw(_ ordinal: UInt64, _ reason: GapReason, _ transition: inout OutboundTransition) {
        guard var record = records.table[ordinal], record.withdrawal == nil else { return }
        guard let sequence = record.phase.sequence else {
            if record.phase == .waiting { finish(record, .withdrawn(reason), &transition) }
            return
        }
        if reason != .dead { removeRows(of: record, &transition) }
        record.withdrawal = reason
        latest.takenBack(record, &journal)
        records.unrelate(record)
        put(record, &transition)
        if link.isOpen, ordinal != link.pausedFor { transition.effects.append(.sendGap(sequence: sequence, reason)) }
    }

    // MARK: items that wait for another one

    /// The item has ended, or is not known: the items that waited for it go on.
    package mutating func released(_ id: UniqueIdentifier, at reading: ClockReading) -> OutboundTransition {
        guard records.isAwaiting(id) else { return OutboundTransition() }
        return transition(at: reading) { queue, transition in
            for var record in queue.records.removeBarrier(id) {
                record.after = nil
                queue.put(record, &transition)
            }
        }
    }

    // MARK: contexts

    /// Sets the context: an older one that waits is superseded. An item that is known is the same update again.
    /// Refuses as ``enqueue(_:at:unless:)`` does; `digest` distinguishes equal bodies from others.
    package mutating func setContext(
        _ item: OutboundItem, digest: [UInt8], at reading: ClockReading, unless refusal: QueueFull? = nil
    ) throws(QueueFull) -> (ContextUpdate, OutboundTransition) {
        if let known = records[item.id] { return (.set(revision: known.revision ?? 0), .duplicate) }
        let update = latest.update(to: digest, item.policy, in: journal.header)
        guard case .set(let revision) = update else { return (update, OutboundTransition()) }
        let next = SentContext(revision: revision, digest: digest)
        return (update, try set(item, next, at: reading, unless: refusal))
    }

    /// Enqueues the last context again, with the revision that it has; nothing if that is no longer needed.
    package mutating func setContextAgain(
        _ id: UniqueIdentifier, body: [UInt8], at reading: ClockReading
    ) throws(QueueFull) -> OutboundTransition {
        guard needsContextAgain, let context else { return OutboundTransition() }
        var transition = try set(OutboundItem(id: id, payload: body), context, at: reading, unless: nil)
        // No application submitted it, so none acknowledges its end.
        guard var record = records[id] else { return transition }
        record.isAcknowledged = true
        put(record, &transition)
        return transition
    }

    private mutating func set(
        _ item: OutboundItem, _ next: SentContext, at reading: ClockReading, unless refusal: QueueFull?
    ) throws(QueueFull) -> OutboundTransition {
        let item = latest.item(item, carrying: next)
        try checkRoom(for: item, unless: refusal)
        return transition(at: reading, accepting: item) { queue, transition in
            queue.latest.set(next, body: item.payload, of: queue.key, &queue.journal, &transition)
        }
    }

    // MARK: urgent items

    /// Accepts an urgent item as ``enqueue(_:at:unless:)`` does; nil if none is left of the day.
    package mutating func enqueueUrgent(
        _ item: OutboundItem, at reading: ClockReading, unless refusal: QueueFull? = nil
    ) throws(QueueFull) -> OutboundTransition? {
        if records.isKnown(item.id) { return .duplicate }
        var next = budget
        guard next.take(at: now(reading), limit: limits.urgentPerDay) else { return nil }
        try checkRoom(for: item, unless: refusal)
        return transition(at: reading, accepting: item) { queue, transition in
            queue.budget = next
            transition.changes.append(.put(DeliveryRowKey(.urgentBudget, queue.key), .urgentBudget(next)))
        }
    }

    /// A newer item of this kind went to another queue: none here is the current one any longer.
    package mutating func untag(_ kind: String, at reading: ClockReading) -> OutboundTransition {
        transition(at: reading) { queue, transition in queue.untag(kind, &transition) }
    }

    private mutating func untag(_ kind: String, _ transition: inout OutboundTransition) {
        guard var record = records.removeCurrent(kind) else { return }
        record.isCurrent = false
        put(record, &transition)
    }

    // MARK: the link

    /// No window is ever this large: a wider distance is damage, and a gap frame for each number would be endless.
    private static var largestDistance: UInt64 { 65_536 }

    /// Whether it can be true that `received` is the highest sequence that the peer has stored in order in this epoch
    /// (DEL-10).
    /// - Parameter isSameRun: whether the peer's daemon ran at its last `stored`, which then may have overtaken this.
    package func mayHaveStored(_ received: UInt64, isSameRun: Bool) -> Bool {
        received <= lastSent && (isSameRun || received >= lastStored) && lastSent - received < Self.largestDistance
    }

    /// The link is ready; `received` is the highest sequence that the peer has stored in order in this epoch.
    package mutating func linkOpened(
        received: UInt64, isSameRun: Bool = false, at reading: ClockReading
    ) -> OutboundTransition {
        guard mayHaveStored(received, isSameRun: isSameRun) else {
            link.closed()
            return OutboundTransition(effects: [.startEpoch])
        }
        link.opened(at: reading.monotonic)
        return transition(at: reading) { queue, transition in
            queue.acknowledge(through: received, &transition)
            queue.sendAgain(at: reading, &transition)
        }
    }

    /// The link is gone; everything unacknowledged is sent again on the next one, behind a pause that lasts.
    package mutating func linkClosed() { link.closed() }
    /// The queue was read back, because a commit failed: a pause goes on, and the next link is a new one.
    package mutating func keepPause(of former: borrowing Self) { link = former.link.whenClosed }

    /// The peer has stored everything up to this sequence.
    package mutating func stored(through sequence: UInt64, at reading: ClockReading) -> OutboundTransition {
        guard sequence <= lastSent else { return OutboundTransition(effects: [.violation]) }
        guard sequence > lastStored else { return OutboundTransition() }
        link.awaitsPeer(from: reading.monotonic)
        return transition(at: reading) { queue, transition in
            queue.acknowledge(through: sequence, &transition)
            transition.mayWait = true
        }
    }

    /// The peer reports how an item ended. The outcome is final, and is acknowledged even if it came before.
    package mutating func ended(
        _ sequence: UInt64, _ outcome: Outcome, at reading: ClockReading
    ) -> OutboundTransition {
        guard sequence <= lastSent, sequence > 0 else { return OutboundTransition(effects: [.violation]) }
        return transition(at: reading) { queue, transition in
            if let record = queue.records.table.record(sequence: sequence) {
                // The `stored` may have been lost with a link, or may have been that of the item's gap. It is not for a
                // former application's item: another application may have its name by now (SES-73).
                let isNews = record.phase == .sent(sequence: sequence) && outcome.wasStored && !record.isCleared
                if isNews { transition.atOnce.append(.stored(record.id)) }
                queue.finish(record, outcome, &transition)
            }
            transition.effects.append(.sendOutcomeAck(sequence: sequence))
        }
    }

    /// The header's row says for all of them that the peer has stored them. Of an item that was taken back the peer may
    /// have the gap only: the outcome says whether it has the item.
    private mutating func acknowledge(through sequence: UInt64, _ transition: inout OutboundTransition) {
        guard sequence > lastStored else { return }
        for number in lastStored + 1...sequence {
            guard var record = records.table.record(sequence: number), record.withdrawal == nil else { continue }
            record.phase = .stored(sequence: number)
            // The last progress of a file is reported while its bytes are there.
            transition.atOnce.append(.stored(record.id))
            transition.removeLongBody(of: record, in: key)
            records.set(record)
        }
        journal.acknowledge(through: sequence)
    }

    /// Sends everything again that the peer has not confirmed: items, gaps, and gaps for numbers without an item. While
    /// a pause lasts, only the gaps of what the peer has stored.
    private mutating func sendAgain(
        at reading: ClockReading, after first: UInt64 = 0, _ transition: inout OutboundTransition
    ) {
        guard link.isOpen else { return }
        for sequence in records.table.sequences where sequence > first && sequence <= lastStored {
            guard let reason = records.table.record(sequence: sequence)?.withdrawal else { continue }
            transition.effects.append(.sendGap(sequence: sequence, reason))
        }
        guard link.maySend else { return }
        let start = max(lastStored, first) + 1
        for sequence in start..<max(start, lastSent + 1) {
            guard let record = records.table.record(sequence: sequence) else {
                transition.effects.append(.sendGap(sequence: sequence, .lost))
                continue
            }
            transition.effects.append(record.sending(sequence, at: now(reading)))
        }
    }

    /// Ends a pause once its item is stored, taken back or over, and sends everything again, the item's gap included.
    private mutating func endPauseIfOver(at reading: ClockReading, _ transition: inout OutboundTransition) {
        guard let paused = link.pausedFor, records.table[paused]?.isUnderWay != true else { return }
        link.repeated(at: reading.monotonic)
        sendAgain(at: reading, &transition)
    }

    /// Assigns sequences to waiting items and sends them, as far as the window reaches.
    /// - Parameter item: one whose body is at hand.
    private mutating func sendWaiting(
        _ item: OutboundItem?, at reading: ClockReading, _ transition: inout OutboundTransition
    ) {
        guard link.maySend else { return }
        while lastSent - lastStored < UInt64(limits.window), var record = records.takeWaiting() {
            let sequence = journal.takeSequence()
            record.phase = .sent(sequence: sequence)
            put(record, &transition)
            transition.mayWait = false
            let payload = record.id == item?.id ? item?.payload : nil
            transition.effects.append(record.sending(sequence, at: now(reading), payload: payload))
        }
    }

    // MARK: refusals

    /// The peer cannot take an item now (DEL-12).
    package mutating func refused(_ failure: FailureFrame, at reading: ClockReading) -> OutboundTransition {
        let refusal = ItemRefusal(failure)
        return failure.isBlockedOnSpace
            ? blockedOnSpace(failure.id, refusal, at: reading) : refused(failure.id, refusal, at: reading)
    }

    /// The peer cannot take this item now. The head blocks for a few attempts and then becomes a dead letter.
    /// - Parameter isFinal: no further attempt can succeed.
    package mutating func refused(
        _ id: UniqueIdentifier, _ refusal: ItemRefusal? = nil, isFinal: Bool = false, at reading: ClockReading
    ) -> OutboundTransition {
        guard var record = refusable(id), case .sent(let sequence) = record.phase else { return OutboundTransition() }
        record.attempts += 1
        record.refusal = refusal
        let isDead = isFinal || record.attempts >= limits.attempts
        if !isDead { link.pause(after: record.attempts, at: record.ordinal, from: reading.monotonic) }
        return transition(at: reading) { queue, transition in
            queue.put(record, &transition)
            guard isDead else { return }
            queue.withdraw(record.ordinal, .dead, &transition)
            queue.sendAgain(at: reading, after: sequence, &transition)
        }
    }

    /// The peer has no room for this item now: that is no attempt, and only its time to live ends the item.
    package mutating func blockedOnSpace(
        _ id: UniqueIdentifier, _ refusal: ItemRefusal?, at reading: ClockReading
    ) -> OutboundTransition {
        guard var record = refusable(id) else { return OutboundTransition() }
        link.pause(withoutSpaceFor: record.ordinal, at: reading.monotonic)
        // A refusal that is known already is not written once more.
        guard record.refusal != refusal else { return OutboundTransition() }
        record.refusal = refusal
        return transition(at: reading) { queue, transition in queue.put(record, &transition) }
    }

    /// A sent item that the peer has not stored and that is not being taken back. Nil while a pause lasts, because a
    /// refusal counts once for each sending.
    private func refusable(_ id: UniqueIdentifier) -> OutboundRecord? {
        link.maySend ? records[id].flatMap { $0.isUnderWay ? $0 : nil } : nil
    }

    // MARK: time

    /// Time has passed; call it at ``nextDeadline`` or at any other time.
    package mutating func timeAdvanced(at reading: ClockReading) -> OutboundTransition {
        let now = now(reading)
        return transition(at: reading) { queue, transition in
            while let record = queue.records.takeExpired(at: now) {
                queue.withdraw(record.ordinal, .expired, &transition)
            }
            if let time = queue.resendTime, time <= reading.monotonic {
                queue.link.repeated(at: reading.monotonic)
                queue.sendAgain(at: reading, &transition)
            }
        }
    }

    package var nextDeadline: MonotonicTime? {
        let earliest = records.table.nextExpiry.map { journal.clock.time(of: $0) }
        guard let earliest, let resendTime else { return earliest ?? resendTime }
        return min(earliest, resendTime)
    }

    private var resendTime: MonotonicTime? { link.resendTime(isAwaitingPeer: isAwaitingPeer, limits: limits) }
    private var isAwaitingPeer: Bool { lastStored < lastSent || records.withdrawing > 0 }

    /// Keeps the queue's time, from which expiry goes on: the wall clock may have been set, or the program ends.
    package mutating func noteClock(at reading: ClockReading) -> OutboundTransition {
        guard count > 0 || budget.isRunning(at: now(reading)) else { return OutboundTransition() }
        return OutboundTransition(changes: journal.noteClock(of: key, at: reading))
    }

    // MARK: epochs

    /// A new epoch of the pairing begins. Items that the peer has not stored are sent again, perhaps a second time.
    /// Items that only the peer has are lost to this queue, because their sequences are no longer valid.
    package mutating func startEpoch(_ epoch: UInt64, at reading: ClockReading) -> OutboundTransition {
        guard epoch != journal.epoch else { return OutboundTransition() }
        return transition(at: reading) { queue, transition in
            for sequence in queue.records.table.sequences {
                guard var record = queue.records.table.record(sequence: sequence) else { continue }
                if let reason = record.withdrawal {
                    queue.finish(record, .withdrawn(reason), &transition)
                } else if record.isLostByEpoch {
                    queue.finish(record, .withdrawn(.lost), &transition)
                } else {
                    record.phase = .waiting
                    queue.put(record, &transition)
                }
            }
            queue.link.closed()
            queue.records.rebuildWaiting()
            // A context that waits again need not be set again.
            let isContextWaiting = queue.records.newest(supersededBy: OutboundContext.supersedeKey)?.phase == .waiting
            queue.journal.startEpoch(epoch, isContextWaiting: isContextWaiting)
            if queue.needsContextAgain { transition.effects.append(.setContextAgain) }
        }
    }

    // MARK: ended items

    /// Ends an item. A dead letter keeps its body; one whose submitter has acknowledged an end reports nothing more.
    private mutating func finish(
        _ record: OutboundRecord, _ outcome: Outcome, _ transition: inout OutboundTransition
    ) {
        var ended = record
        ended.phase = .finished(outcome)
        // One that the peer took after all failed there for another reason.
        if record.withdrawal != .dead { ended.refusal = nil }
        records.unrelate(record)
        latest.ended(record, outcome, &journal)
        if !ended.isDeadLetter { removeRows(of: record, &transition) }
        if ended.isDeadLetter { transition.effects.append(.deadLetter(record.id, ended.refusal)) }
        put(ended, &transition)
        while let oldest = records.table.excessLetter(over: limits) {
            transition.effects.append(.letterDropped(oldest.id))
            drop(oldest, &transition)
        }
        guard !record.isAcknowledged else {
            if !ended.isDeadLetter { close(ended, &transition) }
            return transition.effects.append(.finishedSilently(record.id))
        }
        transition.effects.append(.finished(record.id, outcome, ended.endingRefusal))
        // The oldest go: an app that never returns must not fill the store (LIM-24).
        while let oldest = records.excessUnacknowledged(over: limits.unacknowledged) { forget(oldest, &transition) }
    }

    /// Removes the row of an item that ends or is taken back, and a long body that the peer has not stored.
    private func removeRows(of record: OutboundRecord, _ transition: inout OutboundTransition) {
        guard record.hasItemRow else { return }
        if record.hasBody { transition.removeLongBody(of: record, in: key) }
        transition.removeItemRow(of: record, in: key)
    }

    /// The submitter acknowledges how the item ended, if it has. A dead letter stays for the operator.
    package mutating func forget(_ id: UniqueIdentifier, at reading: ClockReading) -> OutboundTransition {
        guard let record = records[id], record.isUnacknowledged else { return OutboundTransition() }
        return transition(at: reading) { queue, transition in
            transition.mayWait = true
            queue.forget(record, &transition)
        }
    }

    private mutating func forget(_ ended: OutboundRecord, _ transition: inout OutboundTransition) {
        guard ended.isDeadLetter else { return close(ended, &transition) }
        var letter = ended
        letter.isAcknowledged = true
        put(letter, &transition)
    }

    /// The item is over for its submitter. A repeated submission finds it until later ends push it out (DEL-33).
    private mutating func close(_ ended: OutboundRecord, _ transition: inout OutboundTransition) {
        transition.put(records.acknowledge(ended), of: key)
        dropEnds(over: limits.acknowledged, &transition)
    }

    private mutating func dropEnds(over limit: Int, _ transition: inout OutboundTransition) {
        while let oldest = records.takeExcessAcknowledged(over: limit) {
            journal.recordRemoved(oldest.ordinal)
            transition.remove(oldest, of: key)
        }
    }

    // MARK: dead letters

    /// Drops a dead letter and its body; nothing for another number.
    package mutating func dropDeadLetter(_ ordinal: UInt64, at reading: ClockReading) -> OutboundTransition {
        guard let letter = records.table.deadLetter(ordinal) else { return OutboundTransition() }
        return transition(at: reading) { queue, transition in queue.drop(letter, &transition) }
    }

    private mutating func drop(_ letter: OutboundRecord, _ transition: inout OutboundTransition) {
        var ended = letter
        ended.withdrawal = nil
        transition.removeItem(of: letter, in: key)
        // Its submitter may still have to acknowledge its end.
        if letter.isAcknowledged { close(ended, &transition) } else { put(ended, &transition) }
    }

    /// Sends a dead letter once more, in its place and with a new time to live. A submitter is notified of one end.
    package mutating func retryDeadLetter(_ ordinal: UInt64, at reading: ClockReading) -> OutboundTransition {
        guard var record = records.table.deadLetter(ordinal) else { return OutboundTransition() }
        return transition(at: reading) { queue, transition in
            record.phase = .waiting
            record.withdrawal = nil
            record.attempts = 0
            record.expiresAt = queue.key.channel.expiry(of: nil, from: queue.now(reading))
            record.isCurrent = queue.records.readmit(record)
            queue.put(record, &transition)
        }
    }

    // MARK: the end of the application

    /// The application is removed: nothing more is sent for it, and no submitter awaits an end. An item that was sent
    /// stays, without its body, until the peer answers. Sequences and the context's revision go on.
    package mutating func clear(at reading: ClockReading) -> OutboundTransition {
        transition(at: reading) { queue, transition in
            for letter in queue.records.table.deadLetters { queue.drop(letter, &transition) }
            for var record in queue.records.table.unfinished() {
                record.isAcknowledged = true
                if record.withdrawal == .dead { transition.removeItem(of: record, in: queue.key) }
                record.withdrawal = record.withdrawal.map { _ in .cancelled }
                queue.put(record, &transition)
                queue.withdraw(record.ordinal, .cancelled, &transition)
            }
            for ended in queue.records.unacknowledged(limit: .max) { queue.close(ended, &transition) }
            queue.dropEnds(over: 0, &transition)
            queue.latest.clear(of: queue.key, &queue.journal, &transition)
        }
    }

    // MARK: rows

    /// Runs an event, sends what the window has room for after it, and adds the header's row if it is needed.
    /// - Parameter item: a new item that there is room for; accepted after the event's own changes.
    private mutating func transition(
        at reading: ClockReading, accepting item: OutboundItem? = nil,
        _ event: (inout Self, inout OutboundTransition) -> Void = { _, _ in }
    ) -> OutboundTransition {
        var transition = OutboundTransition()
        let wasAwaitingPeer = isAwaitingPeer
        event(&self, &transition)
        if let item { add(item, at: reading, &transition) }
        endPauseIfOver(at: reading, &transition)
        sendWaiting(item, at: reading, &transition)
        if !wasAwaitingPeer, isAwaitingPeer { link.awaitsPeer(from: reading.monotonic) }
        records.prune()
        journal.complete(&transition.changes, of: key, at: reading)
        return transition
    }

    private mutating func put(_ record: OutboundRecord, _ transition: inout OutboundTransition) {
        if let before = records.set(record) { journal.recordChanged(from: before.phase, to: record.phase) }
        transition.put(record, of: key)
    }
}
