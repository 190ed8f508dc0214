// What the link and the peer do. Items leave in sequence, a bounded window ahead of what the peer has stored; after a
// loss everything behind the peer's last word is sent again.

import TandemBase
package import TandemWire

extension OutboundQueue {
    /// No window is ever this large: a wider distance is damage, and telling the peer of each number would be endless.
    static var largestDistance: UInt64 { 65_536 }

    /// The link is ready; `received` is the highest sequence that the peer has stored in order in this epoch.
    package mutating func linkOpened(received: UInt64, at reading: Reading) -> OutboundTransition {
        guard received >= header.storedThrough, received < header.nextSequence,
            header.nextSequence - received <= Self.largestDistance
        else {
            link = nil
            return OutboundTransition(effects: [.startEpoch])
        }
        link = OpenLink(lastProgress: reading.monotonic)
        return transition(at: reading) { queue, transition in
            queue.acknowledge(through: received, &transition)
            queue.sendAgain(at: reading, &transition)
            queue.sendWaiting(at: reading, &transition)
        }
    }

    /// The link is gone; what was sent will be sent again on the next one.
    package mutating func linkClosed() { link = nil }

    /// The peer has stored everything up to this sequence.
    package mutating func stored(through sequence: UInt64, at reading: Reading) -> OutboundTransition {
        guard sequence < header.nextSequence else { return OutboundTransition(effects: [.violation]) }
        guard sequence > header.storedThrough else { return OutboundTransition() }
        link?.lastProgress = reading.monotonic
        link?.pausedUntil = nil
        return transition(at: reading) { queue, transition in
            queue.acknowledge(through: sequence, &transition)
            queue.sendWaiting(at: reading, &transition)
        }
    }

    /// The peer tells how an item ended. Its word is final, and is answered even if it came before.
    package mutating func ended(_ sequence: UInt64, _ outcome: Outcome, at reading: Reading) -> OutboundTransition {
        guard sequence < header.nextSequence, sequence > 0 else { return OutboundTransition(effects: [.violation]) }
        return transition(at: reading) { queue, transition in
            if let record = queue.ordinalBySequence[sequence].flatMap({ queue.records[$0] }) {
                // The word that it was stored may have been lost with a link.
                if record.phase == .sent(sequence: sequence), outcome.wasStored {
                    transition.effects.append(.stored(record.id))
                }
                queue.finish(record, outcome, &transition)
            }
            transition.effects.append(.sendSettled(sequence: sequence))
            queue.sendWaiting(at: reading, &transition)
        }
    }

    private mutating func acknowledge(through sequence: UInt64, _ transition: inout OutboundTransition) {
        guard sequence > header.storedThrough else { return }
        for number in header.storedThrough + 1...sequence {
            guard let ordinal = ordinalBySequence[number], var record = records[ordinal] else {
                // No record tells this number.
                owesHeader = true
                continue
            }
            record.phase = .stored(sequence: number)
            if record.withdrawal == nil {
                removePayload(of: record, &transition)
                transition.effects.append(.stored(record.id))
            }
            put(record, &transition)
        }
        header.storedThrough = sequence
    }

    /// Sends everything again that the peer has not confirmed: items, gaps, and gaps for numbers that are ours no more.
    mutating func sendAgain(at reading: Reading, after first: UInt64 = 0, _ transition: inout OutboundTransition) {
        guard link != nil else { return }
        for (sequence, ordinal) in ordinalBySequence.sorted(by: { $0.key < $1.key }) where sequence > first {
            guard sequence <= header.storedThrough, let reason = records[ordinal]?.withdrawal else { continue }
            transition.effects.append(.sendGap(sequence: sequence, reason))
        }
        let start = max(header.storedThrough, first) + 1
        for sequence in start..<max(start, header.nextSequence) {
            guard let record = ordinalBySequence[sequence].flatMap({ records[$0] }) else {
                transition.effects.append(.sendGap(sequence: sequence, .lost))
                continue
            }
            transition.effects.append(sending(record, sequence, at: reading))
        }
    }

    private func sending(
        _ record: OutboundRecord, _ sequence: UInt64, at reading: Reading, payload: [UInt8]? = nil
    ) -> OutboundEffect {
        if let reason = record.withdrawal { return .sendGap(sequence: sequence, reason) }
        let now = clock.milliseconds(at: reading.monotonic)
        return .send(
            OutboundDispatch(
                ordinal: record.ordinal, sequence: sequence, id: record.id, age: max(0, now - record.acceptedAt),
                remaining: max(0, record.expiresAt - now), attempt: record.attempts + 1, topic: record.topic,
                revision: record.revision, payload: payload))
    }

    /// Gives sequences to what waits, as far as the window reaches.
    mutating func sendWaiting(
        at reading: Reading, payload: [UInt8]? = nil, of id: UniqueIdentifier? = nil,
        _ transition: inout OutboundTransition
    ) {
        guard let link, link.pausedUntil == nil else { return }
        while header.nextSequence - 1 - header.storedThrough < UInt64(limits.window), var record = takeWaiting() {
            let sequence = header.nextSequence
            header.nextSequence += 1
            record.phase = .sent(sequence: sequence)
            ordinalBySequence[sequence] = record.ordinal
            put(record, &transition)
            let atHand = record.id == id ? payload : nil
            transition.effects.append(sending(record, sequence, at: reading, payload: atHand))
            self.link?.lastProgress = max(link.lastProgress, reading.monotonic)
        }
    }

    private mutating func takeWaiting() -> OutboundRecord? {
        for lane in lanes.indices {
            while let ordinal = lanes[lane].first {
                guard let record = records[ordinal], record.phase == .waiting else {
                    lanes[lane].removeFirst()
                    continue
                }
                // Everything behind it waits with it.
                if record.after != nil { return nil }
                lanes[lane].removeFirst()
                return record
            }
        }
        return nil
    }
}
