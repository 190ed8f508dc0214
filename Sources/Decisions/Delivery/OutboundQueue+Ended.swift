// What is left of ended items: how they ended, until their submitters have heard, and dead letters, until an operator drops or
// retries them. Both are bounded; the oldest goes first.

package import TandemBase

extension OutboundQueue {
    /// The submitter has heard how the item ended; nothing for one that has not ended. A dead letter stays for the operator.
    package mutating func forget(_ id: UniqueIdentifier, at reading: Reading) -> OutboundTransition {
        guard var record = record(of: id), !record.isUnfinished, !record.isHeard else { return OutboundTransition() }
        return transition(at: reading) { queue, transition in
            queue.endedCount -= 1
            guard record.isDeadLetter else { return queue.remove(record, &transition) }
            record.isHeard = true
            queue.put(record, &transition)
        }
    }

    mutating func keepUnheard(_ ordinal: UInt64, _ transition: inout OutboundTransition) {
        ended.append(ordinal)
        endedCount += 1
        while endedCount > limits.unheard, let oldest = ended.first {
            ended.removeFirst()
            guard var record = records[oldest], !record.isUnfinished, !record.isHeard else { continue }
            endedCount -= 1
            guard record.isDeadLetter else {
                remove(record, &transition)
                continue
            }
            record.isHeard = true
            put(record, &transition)
        }
    }

    // MARK: dead letters

    mutating func keepLetter(_ letter: OutboundRecord, _ transition: inout OutboundTransition) {
        letters.insert(letter.ordinal)
        letterBytes += letter.size
        while letters.count > limits.deadLetters || letterBytes > limits.bytes, let oldest = letters.first,
            let record = records[oldest]
        {
            drop(record, &transition)
        }
    }

    private mutating func drop(_ letter: OutboundRecord, _ transition: inout OutboundTransition) {
        letters.remove(letter.ordinal)
        letterBytes -= letter.size
        guard !letter.isHeard else { return remove(letter, &transition) }
        // Its submitter still has to hear.
        var ended = letter
        ended.withdrawal = nil
        removePayload(of: letter, &transition)
        put(ended, &transition)
    }

    /// Drops a dead letter and its body; nothing for another number.
    package mutating func dropDeadLetter(_ ordinal: UInt64, at reading: Reading) -> OutboundTransition {
        guard let letter = records[ordinal], letter.isDeadLetter else { return OutboundTransition() }
        return transition(at: reading) { queue, transition in queue.drop(letter, &transition) }
    }

    /// Sends a dead letter once more, in its place in the order of acceptance and with a new time to live. A submitter that knows
    /// how it ended is not told again.
    package mutating func retryDeadLetter(_ ordinal: UInt64, at reading: Reading) -> OutboundTransition {
        guard var record = records[ordinal], record.isDeadLetter else { return OutboundTransition() }
        return transition(at: reading) { queue, transition in
            queue.letters.remove(ordinal)
            queue.letterBytes -= record.size
            if !record.isHeard {
                queue.ended.remove(ordinal)
                queue.endedCount -= 1
            }
            record.phase = .waiting
            record.withdrawal = nil
            record.attempts = 0
            record.expiresAt = queue.expiry(of: nil, at: reading)
            queue.count += 1
            queue.bytes += record.size
            queue.acceptance.insert(ordinal)
            queue.lanes[Int(record.precedence.rawValue)].insert(ordinal)
            queue.expiry.add(ordinal, at: record.expiresAt)
            queue.put(record, &transition)
            queue.sendWaiting(at: reading, &transition)
        }
    }
}
