// What time does: items expire, pauses end, silence makes us send again. And the new epoch, which begins the numbering
// anew when two stores contradict each other.

package import TandemBase
import TandemWire

extension OutboundQueue {
    /// Time has passed; call it at ``nextDeadline`` or at any other time.
    package mutating func timeAdvanced(at reading: Reading) -> OutboundTransition {
        let now = clock.milliseconds(at: reading.monotonic)
        return transition(at: reading) { queue, transition in
            while let next = queue.expiry.first, next.time <= now {
                queue.expiry.removeFirst()
                guard let record = queue.records[next.ordinal], record.canExpire, record.expiresAt <= now else {
                    continue
                }
                queue.withdraw(next.ordinal, .expired, &transition)
            }
            queue.resume(at: reading, &transition)
            queue.sendWaiting(at: reading, &transition)
        }
    }

    private mutating func resume(at reading: Reading, _ transition: inout OutboundTransition) {
        guard let open = link else { return }
        let isPauseOver = open.pausedUntil.map { $0 <= reading.monotonic } ?? false
        guard isPauseOver || isSilent(open, at: reading.monotonic) else { return }
        link = OpenLink(lastProgress: reading.monotonic)
        sendAgain(at: reading, &transition)
        sendWaiting(at: reading, &transition)
    }

    private func isSilent(_ link: OpenLink, at time: MonotonicTime) -> Bool {
        isAwaitingPeer && link.pausedUntil == nil && time.since(link.lastProgress) >= limits.resendAfter
    }

    /// Whether the peer still owes a word about something that was sent.
    private var isAwaitingPeer: Bool {
        header.storedThrough + 1 < header.nextSequence || withdrawing > 0
    }

    /// When time has to be told next; nil if nothing depends on it.
    package var nextDeadline: MonotonicTime? {
        let earliest = expiry.first.map { clock.time(of: $0.time) }
        guard let earliest, let resumption else { return earliest ?? resumption }
        return min(earliest, resumption)
    }

    /// When something is sent again, or for the first time after a pause.
    private var resumption: MonotonicTime? {
        guard let link else { return nil }
        if let end = link.pausedUntil { return end }
        return isAwaitingPeer ? link.lastProgress + limits.resendAfter : nil
    }

    /// A new epoch of the pairing begins. What the peer has not stored is sent anew, perhaps a second time; what only
    /// the peer has is lost to this queue, because its numbers mean nothing any more.
    package mutating func startEpoch(_ epoch: UInt64, at reading: Reading) -> OutboundTransition {
        guard epoch != header.epoch else { return OutboundTransition() }
        return transition(at: reading) { queue, transition in
            for (_, ordinal) in queue.ordinalBySequence.sorted(by: { $0.key < $1.key }) {
                guard var record = queue.records[ordinal] else { continue }
                if let reason = record.withdrawal {
                    queue.finish(record, .withdrawn(reason), &transition)
                } else if case .stored = record.phase {
                    queue.finish(record, .withdrawn(.lost), &transition)
                } else {
                    record.phase = .waiting
                    queue.put(record, &transition)
                }
            }
            queue.beginNumbering(epoch, &transition)
        }
    }

    /// Whether the context waits again and need not be set again.
    private var isContextWaiting: Bool { newestBySupersedeKey[[]].flatMap { records[$0] }?.phase == .waiting }

    private mutating func beginNumbering(_ epoch: UInt64, _ transition: inout OutboundTransition) {
        link = nil
        ordinalBySequence = [:]
        header.epoch = epoch
        header.nextSequence = 1
        header.storedThrough = 0
        withdrawing = 0
        if isContextWaiting { header.contextEpoch = epoch }
        // The header is a change of its own here, also if the queue is empty.
        owesHeader = true
        rebuildLanes()
        if needsContextAgain { transition.effects.append(.setContextAgain) }
    }
}
