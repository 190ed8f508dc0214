// Outcomes of the items that apps have submitted (SES-50, SES-56): sent to the connection that submitted the item, or
// else to the app's receiving connection, and sent again until the app has acknowledged them.

import TandemBase
import TandemDelivery
import TandemReactor
import TandemSession
import TandemWire

/// Reports to apps what becomes of their items; confined to its loop.
final class AppOutcomes {
    /// An item as its submitter names it. Apps choose the identifiers, perhaps the same for two pairings. The channel
    /// is no part of it, because an urgent item that is demoted changes it.
    private struct Submitted: Hashable {
        // First, because `==` compares in this order and most items that are compared have this alone different.
        let id: UniqueIdentifier
        let pairing: UniqueIdentifier
        let app: ApplicationIdentifier

        init(_ id: UniqueIdentifier, in queue: QueueKey) {
            self.id = id
            (pairing, app) = (queue.pairing, queue.app)
        }

        /// Without the application, whose name costs most: a user has few in one pairing (LIM-11).
        func hash(into hasher: inout Hasher) {
            hasher.combine(pairing)
            hasher.combine(id)
        }
    }

    /// Outcomes of former items, sent to the app's receiving connection page by page: the next page follows when this
    /// one is acknowledged.
    private struct MissedOutcomes {
        /// Those of the page that was sent.
        var unacknowledged: Set<Submitted> = []
        /// The oldest outcomes sent live but not yet acknowledged. Bounded: enough to avoid sending an outcome twice.
        var live: Set<Submitted> = []
        /// Queues that may have more, the next one last.
        var queues: [QueueKey]
    }

    private let submissions: Submissions
    private unowned let endpoint: LocalEndpoint
    /// The connection that submitted an item that has not ended; the app's receiving connection gets the outcomes of
    /// all others, and of those whose connection is gone. Unchecked, because nothing is called while it is touched.
    @exclusivity(unchecked) private var submitters: [Submitted: ConnectionNumber] = [:]
    private var isSweeping = false
    private var missedOutcomes: [ApplicationIdentifier: MissedOutcomes] = [:]
    private var frames = ItemFrames()

    init(of delivery: DurableDelivery, endpoint: LocalEndpoint) {
        submissions = delivery.submissions
        self.endpoint = endpoint
    }

    // MARK: submitters

    func setSubmitter(_ number: ConnectionNumber, of id: UniqueIdentifier, in queue: QueueKey) {
        // A context has no end that its app waits for: the next one takes its place (SES-50).
        if !queue.channel.properties.isLatestWins { submitters[Submitted(id, in: queue)] = number }
    }

    func removeSubmitter(of id: UniqueIdentifier, in queue: QueueKey) { submitters[Submitted(id, in: queue)] = nil }

    /// Removes the submitter if it is this one.
    func removeSubmitter(_ number: ConnectionNumber, of id: UniqueIdentifier, in queue: QueueKey) {
        let name = Submitted(id, in: queue)
        if submitters[name] == number { submitters[name] = nil }
    }

    /// A connection is gone. Finding its items means looking through those of all users, so that one pass serves all
    /// connections that have gone within a second: one user's apps that come and go do not cause a pass each.
    func submitterLeft() {
        guard !isSweeping, !submitters.isEmpty else { return }
        isSweeping = true
        endpoint.scheduler.schedule(after: .seconds(1)) { [weak self] in self?.sweep() }
    }

    private func sweep() {
        isSweeping = false
        submitters = submitters.filter { connected($0.value) != nil }
    }

    /// Makes the connection the submitter of what is known of the items: a process of an app that waits for them has
    /// come back (SES-56).
    /// - Parameter done: gets the items that are no longer known; nil if the store cannot be read.
    func subscribe(
        to items: [UniqueIdentifier], in queue: QueueKey, _ connection: HostAppConnection,
        then done: @escaping ([UniqueIdentifier]?) -> Void
    ) {
        let number = connection.number
        var missed: [UniqueIdentifier] = []
        for id in items {
            guard let phase = submissions.record(of: id, in: queue)?.record.phase else { continue }
            setSubmitter(number, of: id, in: queue)
            switch phase {
            case .waiting, .sent: break
            case .stored, .finished: missed.append(id)
            }
        }
        // Only durable outcomes are sent. Later outcomes of the other items are sent as they happen.
        submissions.whenDurable(queue) { [weak self] isDurable in
            guard let self, let connection = endpoint.connection(number) else { return }
            guard isDurable else { return done(nil) }
            for id in missed { catchUp(id, queue, connection) }
            done(items.filter { self.submissions.record(of: $0, in: queue) == nil })
        }
    }

    /// Reports how far an item had come when the connection subscribed to it.
    private func catchUp(_ id: UniqueIdentifier, _ queue: QueueKey, _ connection: HostAppConnection) {
        guard let (holder, record) = submissions.record(of: id, in: queue) else { return }
        switch record.phase {
        case .waiting, .sent: break
        case .stored: sendStored(id, holder, to: connection)
        case .finished(let outcome):
            // Otherwise it has been sent since the question arrived.
            guard submitters[Submitted(id, in: queue)] == connection.number else { break }
            submitters[Submitted(id, in: queue)] = nil
            report(id, holder, outcome, record.endingRefusal, to: connection)
        }
    }

    // MARK: live outcomes

    /// An item of an app is durable on the other device.
    func stored(_ id: UniqueIdentifier, in queue: QueueKey) {
        guard !queue.channel.properties.isLatestWins else { return }
        if let connection = recipient(of: id, in: queue) { sendStored(id, queue, to: connection) }
    }

    private func sendStored(_ id: UniqueIdentifier, _ queue: QueueKey, to connection: HostAppConnection) {
        connection.send { () throws(WireError) in try frames.stored(ItemKey(queue, id)) }
    }

    /// An item of an app has ended. Without a connection that takes the outcome, durable delivery keeps it.
    func ended(_ id: UniqueIdentifier, in queue: QueueKey, _ outcome: Outcome, _ refusal: ItemRefusal?) {
        if queue.channel.properties.isLatestWins { return submissions.forget(id, in: queue) }
        let connection = recipient(of: id, in: queue)
        submitters[Submitted(id, in: queue)] = nil
        guard let connection else { return }
        report(id, queue, outcome, refusal, to: connection)
    }

    private func recipient(of id: UniqueIdentifier, in queue: QueueKey) -> HostAppConnection? {
        let submitter = submitters[Submitted(id, in: queue)]
        return submitter.flatMap(connected) ?? endpoint.receiver(of: queue.app)
    }

    /// The connection of a number; nil also for one that has left and only takes what was sent before.
    private func connected(_ number: ConnectionNumber) -> HostAppConnection? {
        endpoint.connection(number).flatMap { $0.port == nil ? nil : $0 }
    }

    /// Sends an outcome, once on a receiving connection: it may ask for what it missed while it is sent.
    private func report(
        _ id: UniqueIdentifier, _ queue: QueueKey, _ outcome: Outcome, _ refusal: ItemRefusal?,
        to connection: HostAppConnection
    ) {
        let name = Submitted(id, in: queue)
        if endpoint.receivers[queue.app] === connection, let missed = missedOutcomes[queue.app] {
            if missed.unacknowledged.contains(name) || missed.live.contains(name) { return }
            if missed.live.count < Limits.endsAhead { missedOutcomes[queue.app]?.live.insert(name) }
        }
        send(id, queue, outcome, refusal, to: connection)
    }

    private func send(
        _ id: UniqueIdentifier, _ queue: QueueKey, _ outcome: Outcome, _ refusal: ItemRefusal?,
        to connection: HostAppConnection
    ) {
        if outcome == .handled, refusal == nil {
            return connection.send { () throws(WireError) in try frames.handled(ItemKey(queue, id)) }
        }
        let frame = FinishedFrame(ItemKey(queue, id), outcome, code: refusal?.code, refusal: refusal?.name)
        connection.send(frame)
    }

    // MARK: missed outcomes

    /// The app has a receiving connection, which gets what the app has not acknowledged.
    func receiverArrived(_ app: ApplicationIdentifier) {
        // An operator may have sent items as this app on the other side, before it was anybody's.
        let queues = submissions.queuesWithEnds(of: app).filter { endpoint.serves($0.pairing) }
        missedOutcomes[app] = MissedOutcomes(queues: queues.reversed())
        sendMissed(of: app)
    }

    func receiverLeft(_ app: ApplicationIdentifier) { missedOutcomes[app] = nil }

    /// Sends the next outcomes that the app has not acknowledged.
    private func sendMissed(of app: ApplicationIdentifier) {
        guard var missed = missedOutcomes[app], missed.unacknowledged.isEmpty, let connection = endpoint.receivers[app]
        else {
            return
        }
        while missed.unacknowledged.count < Limits.endsAhead, let queue = missed.queues.last {
            let limit = Limits.endsAhead - missed.unacknowledged.count
            let page = submissions.unacknowledged(in: queue, limit: limit)
            if page.count < limit || queue.channel.properties.isLatestWins { missed.queues.removeLast() }
            for record in page {
                guard !queue.channel.properties.isLatestWins else {
                    submissions.forget(record.id, in: queue)
                    continue
                }
                guard case .finished(let outcome) = record.phase else { continue }
                missed.unacknowledged.insert(Submitted(record.id, in: queue))
                send(record.id, queue, outcome, record.endingRefusal, to: connection)
            }
        }
        missedOutcomes[app] = missed
    }

    /// The app has acknowledged an outcome.
    func acknowledged(_ item: ItemKey) {
        guard item.queue.channel.isForApps else { return }
        let (id, queue, app) = (item.id, item.queue, item.queue.app)
        let name = Submitted(id, in: queue)
        missedOutcomes[app]?.live.remove(name)
        guard missedOutcomes[app]?.unacknowledged.contains(name) == true else {
            return submissions.forget(id, in: queue)
        }
        // The next page is read when this one is forgotten: else it would be the same one.
        submissions.forget(id, in: queue) { [weak self] isForgotten in
            guard let self else { return }
            missedOutcomes[app]?.unacknowledged.remove(name)
            if isForgotten { return sendMissed(of: app) }
            endpoint.scheduler.schedule(after: .seconds(1)) { [weak self] in self?.sendMissed(of: app) }
        }
    }
}
