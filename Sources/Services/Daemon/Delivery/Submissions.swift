// Submissions of durable items: accepts them for the peer, cancels and forgets them, and answers what their submitters
// ask. Each submission gets one answer, after the commit that it rests on.

package import TandemBase
package import TandemDelivery
import TandemReactor
package import TandemWire

/// Accepts items into the outbound queues; confined to its loop.
package final class Submissions {
    package typealias Completion = (Result<SubmitReceipt, DeliveryFailure>) -> Void

    private let environment: DeliveryEnvironment
    private let queues: OutboundQueues
    private let contexts: ContextDelivery

    init(to queues: OutboundQueues, contexts: ContextDelivery, in environment: DeliveryEnvironment) {
        self.queues = queues
        self.contexts = contexts
        self.environment = environment
    }

    /// An operator lets the queues run empty: the apps' new items are refused (CTL-14). Unchecked, because it is only
    /// loaded and stored.
    @exclusivity(unchecked) package var isDraining = false

    private var reading: ClockReading { environment.reading }

    private func later(_ action: @escaping () -> Void) { environment.scheduler.schedule(after: .zero, action) }

    // MARK: accepting

    /// Accepts an item for the peer; `completion` is called once, later, when it is durable here or refused. A context
    /// supersedes the one before; an urgent item over budget goes to the end of the user info.
    package func submit(_ item: consuming OutboundItem, to key: QueueKey, then completion: @escaping Completion) {
        guard environment.epoch(of: key.pairing) != nil else { return later { completion(.failure(.unpaired)) } }
        let item = withoutEndedBarrier(item, in: key)
        if key.channel.properties.isLatestWins {
            contexts.set(item, in: key, then: completion)
        } else if key.channel.properties.overflow != nil {
            submitUrgent(item, to: key, then: completion)
        } else {
            enqueue(item, to: key, then: completion)
        }
    }

    /// The item without a barrier that has ended: an end releases only items that are in a queue already (DEL-22). One
    /// that waits until its queue is read back is looked at again then.
    private func withoutEndedBarrier(_ item: consuming OutboundItem, in key: QueueKey) -> OutboundItem {
        if let after = item.after, !queues.isUnfinished(after, of: key.app, in: key.pairing) { item.after = nil }
        return item
    }

    /// Answers as ``submit(_:to:then:)`` for an item that was submitted before: when it is durable, also while a full
    /// disk takes no new ones, or when it was lost with its commit.
    package func answerAgain(_ id: UniqueIdentifier, in key: QueueKey, then completion: @escaping Completion) {
        let holder = holder(of: id, in: key)
        guard let queue = queues[holder] else { return later { completion(.failure(.unpaired)) } }
        let note: AcceptedFrame.Note? = holder == key ? nil : .demoted
        queue.perform(
            { queue in ((queue.isKnown(id), queue.record(of: id)?.revision), OutboundTransition()) },
            then: { [weak queue] result in
                completion(
                    result.flatMap { isKnown, revision in
                        isKnown
                            ? .success(SubmitReceipt(note, revision: revision, isDuplicate: true))
                            : .failure(queue?.fullDisk.map { .store($0) } ?? .lost)
                    })
            })
    }

    private func enqueue(_ item: OutboundItem, to key: QueueKey, then completion: @escaping Completion) {
        let reading = reading
        queues.queue(key).accept(
            size: item.payload.count,
            { queue, full throws(QueueFull) in
                let transition = try queue.enqueue(item, at: reading, unless: full)
                return (SubmitReceipt(isDuplicate: transition.isDuplicate), transition)
            },
            then: completion)
    }

    private func submitUrgent(_ item: OutboundItem, to key: QueueKey, then completion: @escaping Completion) {
        let userInfo = key.demoted
        // An item that was demoted once stays where it is.
        if queues[userInfo]?.machine.isKnown(item.id) == true {
            return demote(item, from: key, to: userInfo, then: completion)
        }
        let reading = reading
        queues.queue(key).accept(
            size: item.payload.count,
            { queue, full throws(QueueFull) -> (SubmitReceipt?, OutboundTransition) in
                guard let transition = try queue.enqueueUrgent(item, at: reading, unless: full) else {
                    return (nil, OutboundTransition())
                }
                return (SubmitReceipt(isDuplicate: transition.isDuplicate), transition)
            },
            then: { [weak self] result in
                switch result {
                case .failure(let failure): completion(.failure(failure))
                case .success(nil): self?.demote(item, from: key, to: userInfo, then: completion)
                case .success(let receipt?):
                    if !receipt.isDuplicate { self?.untag(item.kind, in: userInfo) }
                    completion(.success(receipt))
                }
            })
    }

    private func demote(
        _ item: OutboundItem, from urgent: QueueKey, to key: QueueKey, then completion: @escaping Completion
    ) {
        guard environment.epoch(of: key.pairing) != nil else { return completion(.failure(.unpaired)) }
        enqueue(withoutEndedBarrier(item, in: key), to: key) { [weak self] result in
            if case .success(let receipt) = result, !receipt.isDuplicate { self?.untag(item.kind, in: urgent) }
            completion(result.map { SubmitReceipt(.demoted, isDuplicate: $0.isDuplicate) })
        }
    }

    /// A newer item of the kind is in the other queue of the two: none here is current any more (DEL-23).
    private func untag(_ kind: String?, in key: QueueKey) {
        guard let kind, let queue = queues[key] else { return }
        queue.perform({ [reading] in $0.untag(kind, at: reading) }, repeats: true)
    }

    // MARK: taking back

    /// Takes an item back; `completion` gets the result after the commit. An urgent item is looked for in its own
    /// queue first, and then in the queue to which it is demoted: it may move between the two looks.
    package func cancel(_ id: UniqueIdentifier, in key: QueueKey, then completion: @escaping (Cancellation) -> Void) {
        cancel(id, at: key) { [weak self] cancellation in
            guard let self, cancellation == .unknown, key.demoted != key else { return completion(cancellation) }
            cancel(id, at: key.demoted, then: completion)
        }
    }

    private func cancel(_ id: UniqueIdentifier, at key: QueueKey, then completion: @escaping (Cancellation) -> Void) {
        guard let queue = queues[key] else { return later { completion(.unknown) } }
        queue.perform({ [reading] in $0.cancel(id, at: reading) }, then: { completion((try? $0.get()) ?? .notStored) })
    }

    /// The submitter knows how an item ended: its record may go, except that of a dead letter.
    /// - Parameter done: called when that is durable, or could not be made so now.
    package func forget(_ id: UniqueIdentifier, in key: QueueKey, then done: ((Bool) -> Void)? = nil) {
        guard let queue = queues[holder(of: id, in: key)] else { return done?(true) ?? () }
        let reading = reading
        let completion = done.map { done in
            { (result: Result<Void, DeliveryFailure>) in
                if case .success = result { done(true) } else { done(false) }
            }
        }
        queue.perform({ $0.forget(id, at: reading) }, repeats: done != nil, then: completion)
    }

    // MARK: asking

    /// The item and the queue that it is in; nil if it is unknown or forgotten. It may not be durable yet.
    package func record(of id: UniqueIdentifier, in key: QueueKey) -> (queue: QueueKey, record: OutboundRecord)? {
        let holder = holder(of: id, in: key)
        return queues[holder]?.machine.record(of: id).map { (holder, $0) }
    }

    /// Whether an item of this identifier was accepted before.
    package func hasAccepted(_ id: UniqueIdentifier, in key: QueueKey) -> Bool {
        queues[holder(of: id, in: key)]?.machine.isKnown(id) ?? false
    }

    /// Calls back when all that is known of a queue's items is durable and reported, including those that were demoted.
    package func whenDurable(_ key: QueueKey, then done: @escaping (Bool) -> Void) {
        whenDurable((key.demoted == key ? [key] : [key, key.demoted])[...], done)
    }

    private func whenDurable(_ keys: ArraySlice<QueueKey>, _ done: @escaping (Bool) -> Void) {
        guard let key = keys.first else { return done(true) }
        guard let queue = queues[key] else { return whenDurable(keys.dropFirst(), done) }
        queue.whenDurable { [weak self] result in
            guard case .success = result, let self else { return done(false) }
            // The effects of the same commit, which report what ended in it, run after its completions, and at once.
            environment.scheduler.atEndOfTurn { [weak self] in self?.whenDurable(keys.dropFirst(), done) }
        }
    }

    /// The queue that the item is in: an urgent one may have been demoted.
    private func holder(of id: UniqueIdentifier, in key: QueueKey) -> QueueKey {
        guard key.channel.properties.overflow != nil else { return key }
        return queues[key.demoted]?.machine.isKnown(id) == true ? key.demoted : key
    }

    /// The unfinished items of a queue in order of acceptance, from behind an ordinal.
    package func outstanding(
        in key: QueueKey, after ordinal: UInt64 = 0, limit: Int = .max
    ) -> [OutboundRecord] { queues[key]?.machine.outstanding(after: ordinal, limit: limit) ?? [] }

    /// - Parameter sourceOf: asked once for each item of the queue.
    func shares(
        of key: QueueKey, without item: OutboundItem, sourceOf: (UniqueIdentifier) -> UniqueIdentifier?
    ) -> [UniqueIdentifier?: KeptAmount] {
        queues[key]?.shares(without: item, sourceOf: sourceOf) ?? [:]
    }

    /// Reads in its turn the body of an item of this device; nil if the peer has stored it, and for another item.
    func payload(
        of id: UniqueIdentifier, in key: QueueKey, _ turns: ReadTurns, then completion: @escaping ([UInt8]?) -> Void
    ) {
        turns.begin { [weak self] in
            let done: ([UInt8]?) -> Void = { body in
                turns.end()
                completion(body)
            }
            guard let queue = self?.queues[key], let record = queue.machine.record(of: id) else { return done(nil) }
            // Where the peer has it a long body is gone, and a short one is no longer shown. It is looked for all the
            // same, so that a list of many such items takes its turns, too.
            let isStored = if case .stored = record.phase { true } else { false }
            queue.body(of: record.ordinal, in: record.bodyTable) { body in
                done(isStored ? nil : (try? body.get()) ?? nil)
            }
        }
    }

    func limits(of key: QueueKey) -> DeliveryLimits { environment.limits(key.channel) }

    /// The urgent items that are left of the day.
    package func urgentBudget(of app: ApplicationIdentifier, in pairing: UniqueIdentifier) -> BudgetAnswer {
        let key = QueueKey(pairing: pairing, app: app, channel: .urgent)
        let limit = environment.limits(.urgent).urgentPerDay
        return queues[key]?.machine.urgentBudget(at: reading)
            ?? BudgetAnswer(remaining: limit, limit: limit, resets: .zero)
    }

    /// The queues of an application with ended items that it has not acknowledged.
    package func queuesWithEnds(of app: ApplicationIdentifier) -> [QueueKey] {
        queues.table.appEntries(of: app).filter { $0.value.machine.hasUnacknowledged }
            .map(\.key)
            .sorted { ($0.pairing, $0.channel.rawValue) < ($1.pairing, $1.channel.rawValue) }
    }

    /// The first ones of a queue's items that have ended and that the application has not acknowledged.
    package func unacknowledged(in key: QueueKey, limit: Int) -> [OutboundRecord] {
        queues[key]?.machine.unacknowledged(limit: limit) ?? []
    }
}

extension QueueKey {
    /// The queue that takes urgent items over budget; that of other items is their own.
    fileprivate var demoted: QueueKey {
        QueueKey(pairing: pairing, app: app, channel: channel.properties.overflow ?? channel)
    }
}
