// Making lanes: at start from the rows of the store, later when a queue is first used, and again from the rows after a
// commit that failed.

import TandemBase
import TandemDelivery
package import TandemStore
import TandemWire

extension ItemExchange {
    /// Reads all queues of the known pairings from the store; before the loop runs.
    /// - Parameter rows: the rows of a key space.
    package func restore<Failure: Error>(_ rows: (RowSpace) throws(Failure) -> [Row]) throws {
        var stored = DeliveryRows()
        for table in DeliveryRows.tables { try stored.add(try rows(table.space), of: table) }
        let reading = reading
        for (key, header) in stored.outboundHeaders where epoch(of: key.pairing) != nil {
            addLane(stored.queue(key, header, at: reading, limits: limits(key.channel)))
        }
        for (key, header) in stored.inboundHeaders where epoch(of: key.pairing) != nil {
            addLane(stored.ledger(key, header, at: reading, limits: limits(key.channel)))
        }
    }

    /// Tells what had ended and not been heard, and gives waiting items to their handlers; once, when all is set up.
    package func resume() {
        let reading = reading
        renumber()
        for (key, lane) in outbound {
            if key.channel == .configuration { tellUnheard(lane.machine, key) }
            if lane.machine.needsContextAgain { setContextAgain(key) }
            reconsiderBarriers(of: key.app, in: key.pairing)
        }
        for (key, lane) in inbound where hasConsumer(key) {
            lane.perform { $0.consumerArrived(at: reading).answer }
        }
    }

    private func tellUnheard(_ queue: OutboundQueue, _ key: QueueKey) {
        for record in queue.unheard {
            guard case .finished(let outcome) = record.phase else { continue }
            ended(record.id, outcome, record.endingRefusal, in: key)
        }
    }

    /// A daemon that ended between the commit of a new epoch and those of its queues starts the epoch in them now.
    private func renumber() {
        for lane in outbound.values { lane.perform { [unowned self] in catchUp(&$0) } }
        for lane in inbound.values { lane.perform { [unowned self] in catchUp(&$0) } }
    }

    /// Starts the pairing's epoch in a queue that is of another one: its commit did not come about.
    func catchUp(_ queue: inout OutboundQueue) -> LaneAnswer<OutboundEffect> {
        guard let epoch = epoch(of: queue.key.pairing) else { return LaneAnswer() }
        return queue.startEpoch(epoch, at: reading).answer
    }

    /// Likewise; what was told of its former numbers is told no more.
    func catchUp(_ ledger: inout InboundLedger) -> LaneAnswer<InboundEffect> {
        guard let epoch = epoch(of: ledger.key.pairing), ledger.epoch != epoch else { return LaneAnswer() }
        committed[ledger.key] = 0
        return ledger.startEpoch(epoch, at: reading).answer
    }

    /// The queue of this key, made at its first use; the pairing exists.
    func outboundLane(_ key: QueueKey) -> OutboundLane {
        if let lane = outbound[key] { return lane }
        guard let epoch = epoch(of: key.pairing) else { preconditionFailure("a queue of a pairing that is not there") }
        let reading = reading
        let header = OutboundHeader(epoch: epoch, at: reading)
        let lane = addLane(OutboundQueue(key, header: header, at: reading, limits: limits(key.channel)))
        if isOpen(key) { lane.perform { $0.linkOpened(received: 0, at: reading).answer } }
        return lane
    }

    /// The ledger of this key, made at its first use; nil if there are too many, or the pairing is gone.
    func inboundLane(_ key: QueueKey) -> InboundLane? {
        if let lane = inbound[key] { return lane }
        guard let epoch = epoch(of: key.pairing), hasRoom(for: key) else { return nil }
        let reading = reading
        let header = InboundHeader(epoch: epoch, at: reading)
        let lane = addLane(InboundLedger(key, header: header, at: reading, limits: limits(key.channel)))
        if hasConsumer(key) { lane.perform { $0.consumerArrived(at: reading).answer } }
        return lane
    }

    /// A peer may name any application: on each channel it gets as many queues as a device has apps (LIM-11), and no
    /// more.
    private func hasRoom(for key: QueueKey) -> Bool {
        budgets.inboundQueues(of: key.pairing, key.channel) < Limits.applications
    }

    @discardableResult
    private func addLane(_ queue: OutboundQueue) -> OutboundLane {
        let key = queue.key
        let lane = OutboundLane(
            queue, store: store, scheduler: scheduler,
            OutboundLane.Surroundings(
                run: { [weak self] effect, done in self?.run(effect, of: key, done) },
                reload: { [weak self] done in self?.reloadQueue(key, done) },
                renewed: { [weak self] queue in self.map { $0.catchUp(&queue) } ?? LaneAnswer() },
                timeAdvanced: { [weak self] queue in
                    self.map { queue.timeAdvanced(at: $0.reading).answer } ?? LaneAnswer()
                },
                usage: budgets.add(key, .outbound, user: userOf(key.app))))
        outbound[key] = lane
        watchClock()
        return lane
    }

    @discardableResult
    private func addLane(_ ledger: InboundLedger) -> InboundLane {
        let key = ledger.key
        committed[key] = ledger.received
        let lane = InboundLane(
            ledger, store: store, scheduler: scheduler,
            InboundLane.Surroundings(
                run: { [weak self] effect, done in self?.run(effect, of: key, done) },
                reload: { [weak self] done in self?.reloadLedger(key, done) },
                renewed: { [weak self] ledger in self.map { $0.catchUp(&ledger) } ?? LaneAnswer() },
                timeAdvanced: { [weak self] ledger in
                    self.map { ledger.timeAdvanced(at: $0.reading).answer } ?? LaneAnswer()
                },
                usage: budgets.add(key, .inbound, user: nil)))
        inbound[key] = lane
        watchClock()
        return lane
    }
}
