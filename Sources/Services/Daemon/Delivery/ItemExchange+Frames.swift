// The frames of durable channels on a link: each becomes one event of one machine. What does not read is the sender's
// breach, answered with a refusal by the caller.

package import TandemBase
import TandemDelivery
import TandemPropertyList
package import TandemWire

extension ItemExchange {
    /// The link of a pairing is ready; `received` is what the peer's hello said it has stored, `channels` what both
    /// ends know. Items of other channels wait here.
    package func linkOpened(
        _ pairing: UniqueIdentifier, received: [(app: ApplicationIdentifier, channel: Channel, sequence: UInt64)],
        channels agreed: Set<Channel> = Set(Channel.allCases)
    ) {
        open[pairing] = channels.intersection(agreed)
        let reading = reading
        let positions = Dictionary(
            received.map { (QueueKey(pairing: pairing, app: $0.app, channel: $0.channel), $0.sequence) }
        ) {
            max($0, $1)
        }
        // No queue is made by a peer's word: one that has stored what this device never sent knows an older store of
        // it.
        if positions.contains(where: { outbound[$0.key] == nil && $0.value > 0 }) {
            delegate?.exchange(self, needsEpochOf: pairing)
        }
        for (key, lane) in outbound where key.pairing == pairing && isOpen(key) {
            lane.perform { $0.linkOpened(received: positions[key] ?? 0, at: reading).answer }
        }
        for (key, lane) in inbound where key.pairing == pairing && isOpen(key) {
            lane.perform { $0.linkOpened().answer }
        }
    }

    /// The link of a pairing is gone.
    package func linkClosed(_ pairing: UniqueIdentifier) {
        open[pairing] = nil
        for (key, lane) in outbound where key.pairing == pairing {
            lane.perform { queue in
                queue.linkClosed()
                return LaneAnswer()
            }
        }
    }

    /// The peer cannot take an item now (DEL-12): a `failure` that names its channel.
    /// - Returns: false if this device has sent no such item.
    package func takeFailure(_ failure: FailureFrame) -> Bool {
        guard let item = failure.item, let lane = outbound[item.queue], lane.machine.record(of: item.id) != nil else {
            return false
        }
        let (refusal, reading) = (ItemRefusal(failure), reading)
        if failure.tellsWantOfRoom {
            lane.perform { $0.foundNoRoom(item.id, refusal, at: reading).answer }
        } else {
            lane.perform { $0.refused(item.id, refusal, at: reading).answer }
        }
        return true
    }

    /// Takes `item`, `gap`, `stored`, `outcome` or `settled` from a link.
    /// - Returns: false for a frame that does not read.
    package func receive(_ envelope: Envelope) -> Bool {
        guard let pairing = envelope.pairing, let app = envelope.app, let channel = envelope.channel,
            let sequence = envelope.sequence, channels.contains(channel), epoch(of: pairing) != nil
        else { return false }
        let key = QueueKey(pairing: pairing, app: app, channel: channel)
        let reading = reading
        switch envelope.kind {
        case .item: return receiveItem(envelope, sequence, key)
        case .gap:
            guard let reason = envelope.name.flatMap({ GapReason(rawValue: $0) }) else { return false }
            guard let lane = inboundLane(key) else { return true }
            lane.perform { [unowned lane] in
                $0.gapArrived(sequence, reason, at: reading, isFull: lane.refusal(of: 0) != nil).answer
            }
        case .settled: inbound[key]?.perform({ $0.settled(sequence, at: reading).answer }, repeats: true)
        case .stored:
            guard let lane = outbound[key] else { return false }
            lane.perform { $0.stored(through: sequence, at: reading).answer }
        case .outcome:
            guard let outcome = envelope.name.flatMap({ Outcome(name: $0, code: envelope.code.map { Int64($0) }) })
            else { return false }
            guard let lane = outbound[key] else { return false }
            // The peer tells it once for each link.
            lane.perform({ $0.ended(sequence, outcome, at: reading).answer }, repeats: true)
        default: return false
        }
        return true
    }

    private func receiveItem(_ envelope: Envelope, _ sequence: UInt64, _ key: QueueKey) -> Bool {
        guard let id = envelope.id, let body = envelope.body else { return false }
        if key.channel == .context, envelope.revision == nil { return false }
        let item = ArrivedItem(
            sequence: sequence, id: id, payload: Array(body), remaining: envelope.remaining, age: envelope.age,
            topic: envelope.topic, revision: envelope.revision)
        let reading = reading
        guard let lane = inboundLane(key) else { return true }
        let arrive = { [unowned lane] (ledger: inout InboundLedger) in
            ledger.arrived(item, at: reading, isFull: lane.refusal(of: item.payload.count) != nil).answer
        }
        lane.perform(arrive, size: item.payload.count)
        return true
    }
}

extension FailureFrame {
    /// Whether it says that there is no room now, and that there may be later.
    fileprivate var tellsWantOfRoom: Bool {
        guard code == SessionError.Code.insufficientSpace.rawValue || name == ErrorName.queueFull.rawValue else {
            return false
        }
        return body[BodyKey.retry]?.booleanValue == true
    }
}

extension ItemRefusal {
    /// What a `failure` says. A name that is none is not kept.
    fileprivate init(_ failure: FailureFrame) {
        self.init(code: Int64(failure.code), name: failure.name.flatMap { $0.isShortText ? $0 : nil })
    }
}
