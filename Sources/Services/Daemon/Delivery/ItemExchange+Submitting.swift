// What submitters do: give an item, take it back, and say that they have heard how it ended. Each gets one answer,
// after the commit that it rests on.

package import TandemBase
import TandemCrypto
package import TandemDelivery
import TandemReactor
import TandemStore
package import TandemWire

extension ItemExchange {
    package typealias SubmitCompletion = (Result<Acceptance, SubmitFailure>) -> Void

    /// Accepts an item for the peer; `completion` is called once, later, when it is durable here or refused. A context
    /// supersedes the one before; an urgent item over budget goes to the end of the user info.
    package func submit(_ item: OutboundItem, to key: QueueKey, then completion: @escaping SubmitCompletion) {
        guard epoch(of: key.pairing) != nil else { return later { completion(.failure(.unpaired)) } }
        var item = item
        item.after = item.after.flatMap { unfinished($0, of: key.app, in: key.pairing) ? $0 : nil }
        switch key.channel {
        case .context: setContext(item, in: key, then: completion)
        case .urgent: submitUrgent(item, to: key, then: completion)
        case .configuration, .userInfo, .file: enqueue(item, to: key, Acceptance(), then: completion)
        }
    }

    /// Answers as ``submit(_:to:then:)`` for an item that was submitted before: when it is durable, or when it was lost
    /// with its commit.
    package func confirm(_ id: UniqueIdentifier, in key: QueueKey, then completion: @escaping SubmitCompletion) {
        guard let lane = outbound[key] else { return later { completion(.failure(.unpaired)) } }
        var isKnown = false
        lane.perform(
            { queue in
                isKnown = queue.record(of: id) != nil
                return LaneAnswer()
            },
            then: { result in
                let answer = result.mapError { SubmitFailure.store($0) }
                completion(
                    answer.flatMap { isKnown ? .success(Acceptance()) : .failure(.store(.withdrawn)) })
            })
    }

    private func later(_ action: @escaping () -> Void) { scheduler.schedule(after: .zero, action) }

    /// Gives the queue an event that may be refused, and the submitter its one answer.
    private func ask(
        _ key: QueueKey, size: Int,
        _ event: @escaping (inout OutboundQueue, DeliveryError?) throws(DeliveryError) -> OutboundTransition,
        then completion: @escaping (Result<Void, SubmitFailure>) -> Void
    ) {
        var refusal: SubmitFailure?
        let lane = outboundLane(key)
        lane.perform(
            { [unowned lane] queue in
                do throws(DeliveryError) {
                    return try event(&queue, lane.refusal(of: size)).answer
                } catch {
                    refusal = SubmitFailure(error)
                    return LaneAnswer(isRefusal: true)
                }
            },
            size: size,
            then: { result in
                if let refusal { return completion(.failure(refusal)) }
                completion(result.mapError { .store($0) })
            })
    }

    private func enqueue(
        _ item: OutboundItem, to key: QueueKey, _ acceptance: Acceptance, then completion: @escaping SubmitCompletion
    ) {
        let reading = reading
        ask(
            key, size: item.payload.count,
            { queue, full throws(DeliveryError) in try queue.enqueue(item, at: reading, unless: full) },
            then: { completion($0.map { acceptance }) })
    }

    private func setContext(_ item: OutboundItem, in key: QueueKey, then completion: @escaping SubmitCompletion) {
        let reading = reading
        let digest = SHA256.digest(item.payload)
        var update = ContextUpdate.unchanged(revision: 0)
        ask(
            key, size: item.payload.count,
            { queue, full throws(DeliveryError) in
                let (result, transition) = try queue.setContext(
                    item, digest: digest, policy: item.policy, at: reading, unless: full)
                update = result
                return transition
            },
            then: { [weak self] result in
                switch update {
                case .unchanged(let revision):
                    completion(result.map { Acceptance(.unchanged, revision: revision) })
                case .set(let revision):
                    if case .success = result { self?.told(key, .sent, revision, item.payload) }
                    completion(result.map { Acceptance(revision: revision) })
                }
            })
    }

    private func submitUrgent(_ item: OutboundItem, to key: QueueKey, then completion: @escaping SubmitCompletion) {
        let userInfo = QueueKey(pairing: key.pairing, app: key.app, channel: .userInfo)
        // An item that was demoted once stays where it is.
        if outbound[userInfo]?.machine.record(of: item.id) != nil {
            return demote(item, to: userInfo, then: completion)
        }
        let reading = reading
        var isSpent = false
        ask(
            key, size: item.payload.count,
            { queue, full throws(DeliveryError) in
                if let transition = try queue.enqueueUrgent(item, at: reading, unless: full) { return transition }
                isSpent = true
                return OutboundTransition()
            },
            then: { [weak self] result in
                guard let self, isSpent, case .success = result else {
                    return completion(result.map { Acceptance() })
                }
                demote(item, to: userInfo, then: completion)
            })
        untag(item.kind, in: userInfo)
    }

    private func demote(_ item: OutboundItem, to key: QueueKey, then completion: @escaping SubmitCompletion) {
        guard epoch(of: key.pairing) != nil else { return completion(.failure(.unpaired)) }
        untag(item.kind, in: QueueKey(pairing: key.pairing, app: key.app, channel: .urgent))
        enqueue(item, to: key, Acceptance(.demoted), then: completion)
    }

    private func untag(_ kind: String?, in key: QueueKey) {
        guard let kind, let lane = outbound[key] else { return }
        let reading = reading
        lane.perform { $0.untag(kind, at: reading).answer }
    }

    /// Takes an item back; what came of it is told after the commit. An urgent item is found where it was demoted to,
    /// too.
    package func cancel(_ id: UniqueIdentifier, in key: QueueKey, then completion: @escaping (Cancellation) -> Void) {
        guard let lane = outbound[whereabouts(of: id, in: key)] else { return later { completion(.unknown) } }
        let reading = reading
        var cancellation = Cancellation.unknown
        lane.perform(
            { queue in
                let (result, transition) = queue.cancel(id, at: reading)
                cancellation = result
                return transition.answer
            },
            then: { result in
                if case .failure = result { completion(.notStored) } else { completion(cancellation) }
            })
    }

    /// The submitter has heard how an item ended: it may be forgotten, save a dead letter.
    /// - Parameter done: called when that is durable, or could not be made so now.
    package func forget(_ id: UniqueIdentifier, in key: QueueKey, then done: ((Bool) -> Void)? = nil) {
        guard let lane = outbound[whereabouts(of: id, in: key)] else { return done?(true) ?? () }
        let reading = reading
        let completion = done.map { done in
            { (result: Result<Void, StoreError>) in
                if case .success = result { done(true) } else { done(false) }
            }
        }
        lane.perform({ $0.forget(id, at: reading).answer }, repeats: done != nil, then: completion)
    }

    /// The item and the queue that it is in; nil if it is unknown or forgotten. It may not be durable yet.
    package func record(of id: UniqueIdentifier, in key: QueueKey) -> (place: QueueKey, record: OutboundRecord)? {
        let place = whereabouts(of: id, in: key)
        return outbound[place]?.machine.record(of: id).map { (place, $0) }
    }

    /// Calls back when all that is known of a queue's items is durable and told, those that were demoted too.
    package func whenDurable(_ key: QueueKey, then done: @escaping (Bool) -> Void) {
        let demoted = key.channel == .urgent ? [QueueKey(pairing: key.pairing, app: key.app, channel: .userInfo)] : []
        whenDurable(([key] + demoted)[...], done)
    }

    private func whenDurable(_ keys: ArraySlice<QueueKey>, _ done: @escaping (Bool) -> Void) {
        guard let key = keys.first else { return done(true) }
        guard let lane = outbound[key] else { return whenDurable(keys.dropFirst(), done) }
        lane.perform({ _ in LaneAnswer() }) { [weak self] result in
            guard case .success = result else { return done(false) }
            lane.afterEffects { self?.whenDurable(keys.dropFirst(), done) }
        }
    }

    /// The queue that the item is in: an urgent one may have been demoted.
    private func whereabouts(of id: UniqueIdentifier, in key: QueueKey) -> QueueKey {
        guard key.channel == .urgent else { return key }
        let userInfo = QueueKey(pairing: key.pairing, app: key.app, channel: .userInfo)
        return outbound[userInfo]?.machine.record(of: id) == nil ? key : userInfo
    }
}

extension SubmitFailure {
    init(_ error: DeliveryError) {
        switch error {
        case .queueFull(let items, let bytes, let itemLimit, let byteLimit):
            self = .full(items: items, bytes: bytes, itemLimit: itemLimit, byteLimit: byteLimit)
        }
    }
}
