// The end of an application (SES-73): what its queues and ledgers keep, and what their peers hear of it.

import TandemBase
import TandemDelivery
import TandemWire
import Testing

@Suite struct ClearTests {
    /// The rows that are left of a queue after these transitions.
    private func rows(_ changes: [DeliveryChange]) -> Set<DeliveryTable> {
        var rows: [DeliveryRowKey: DeliveryTable] = [:]
        for change in changes {
            switch change {
            case .put(let key, _): rows[key] = key.table
            case .remove(let key): rows[key] = nil
            }
        }
        return Set(rows.values)
    }

    // MARK: the sender

    @Test func `SES-73: items that were never sent are gone, and nobody hears of it`() throws {
        var queue = try outbound(channel: .userInfo)
        var changes = try queue.enqueue(item(1), at: reading(0)).changes
        changes += try queue.enqueue(item(2, after: 9), at: reading(0)).changes
        let cleared = queue.clear(at: reading(1))
        #expect(cleared.effects == [.finishedSilently(identifier(1)), .finishedSilently(identifier(2))])
        #expect(queue.count == 0 && queue.bytes == 0 && !queue.hasUnacknowledged)
        #expect(!queue.isKnown(identifier(1)) && rows(changes + cleared.changes) == [.outboundHeader])
        #expect(queue.clear(at: reading(1)) == OutboundTransition(), "again changes nothing")
    }

    @Test func `SES-73: items that were sent are withdrawn, and their sequences stay`() throws {
        var queue = try outbound(channel: .userInfo)
        _ = queue.linkOpened(received: 0, at: reading(0))
        for number in 1...3 { _ = try queue.enqueue(item(UInt8(number)), at: reading(0)) }
        _ = queue.stored(through: 1, at: reading(1))
        let cleared = queue.clear(at: reading(1))
        #expect(cleared.gaps == [1, 2, 3] && cleared.finished.isEmpty)
        #expect(queue.count == 3 && queue.ownCount == 0, "they are the former application's")
        #expect(!rows(cleared.changes).contains(.outboundItem))
        #expect(queue.stored(through: 3, at: reading(2)).finished.isEmpty)
        for number: UInt8 in [1, 2] {
            let ended = queue.ended(UInt64(number), .handled, at: reading(2))
            let silence: OutboundEffect = .finishedSilently(identifier(number))
            #expect(ended.effects == [silence, .sendOutcomeAck(sequence: UInt64(number))], "nobody awaits the end")
            #expect(ended.atOnce.isEmpty, "nor hears that it was stored")
        }
        _ = queue.ended(3, .withdrawn(.cancelled), at: reading(2))
        #expect(queue.count == 0 && !queue.hasUnacknowledged)
        #expect(try queue.enqueue(item(4), at: reading(3)).sent == [4])
    }

    @Test func `SES-73: dead letters and ends that no application has heard are forgotten`() throws {
        var limits = DeliveryLimits()
        limits.attempts = 1
        var queue = try outbound(limits, channel: .userInfo)
        _ = queue.linkOpened(received: 0, at: reading(0))
        for number in 1...2 { _ = try queue.enqueue(item(UInt8(number)), at: reading(0)) }
        _ = queue.refused(identifier(1), at: reading(1))
        _ = queue.stored(through: 2, at: reading(1))
        _ = queue.ended(1, .withdrawn(.dead), at: reading(1))
        _ = queue.ended(2, .handled, at: reading(1))
        #expect(queue.deadLetters.count == 1 && queue.hasUnacknowledged)
        let cleared = queue.clear(at: reading(2))
        #expect(queue.deadLetters.isEmpty && !queue.hasUnacknowledged && cleared.effects.isEmpty)
    }

    @Test("FIL-14: a file is released once: when the peer has stored it, and not again when it is taken back")
    func releasedOnce() throws {
        var queue = try outbound(channel: .file)
        _ = queue.linkOpened(received: 0, at: reading(0))
        _ = try queue.enqueue(item(1), at: reading(0))
        let stored = queue.stored(through: 1, at: reading(0))
        #expect(stored.effects == [.released(identifier(1))])
        #expect(!queue.cancel(identifier(1), at: reading(0)).1.effects.contains(.released(identifier(1))))
        _ = queue.ended(1, .withdrawn(.cancelled), at: reading(0))
        _ = try queue.enqueue(item(2), at: reading(0))
        #expect(queue.stored(through: 2, at: reading(0)).effects == [.released(identifier(2))])
        #expect(!queue.clear(at: reading(0)).effects.contains(.released(identifier(2))))
    }

    @Test func `SES-73: a file that waits is released`() throws {
        var queue = try outbound(channel: .file)
        _ = try queue.enqueue(item(1), at: reading(0))
        #expect(queue.clear(at: reading(1)).effects == [.released(identifier(1)), .finishedSilently(identifier(1))])
    }

    @Test func `SES-73: the context goes, and the next one continues its revisions`() throws {
        var queue = try outbound(channel: .context)
        let (first, _) = try queue.setContext(item(1), digest: [1], at: reading(0))
        #expect(first == .set(revision: 1))
        let cleared = queue.clear(at: reading(1))
        #expect(queue.context?.isCleared == true && !queue.needsContextAgain)
        #expect(
            cleared.changes.contains { change in
                if case .put(_, .sentContext(let context, let body)) = change {
                    context.isCleared && body.isEmpty
                } else {
                    false
                }
            })
        _ = queue.startEpoch(2, at: reading(2))
        #expect(queue.needsContextAgain == false, "what was removed is not sent again")
        let (next, _) = try queue.setContext(item(2), digest: [1], at: reading(3))
        #expect(next == .set(revision: 2))
    }

    // MARK: the receiver

    @Test func `SES-73: what waits for a removed app is refused with the code, and its sequence stays known`() throws {
        var ledger = try inbound(channel: .userInfo)
        for sequence: UInt64 in 1...2 { _ = ledger.arrived(arrived(sequence), at: reading(0)) }
        let cleared = ledger.clear(code: 7006, at: reading(1))
        #expect(cleared.reported == [.rejected(code: 7006), .rejected(code: 7006)])
        #expect(ledger.count == 0 && ledger.received == 2)
        let again = ledger.arrived(arrived(1), at: reading(2))
        #expect(again.reported == [.rejected(code: 7006)] && again.handed.isEmpty)
        #expect(ledger.consumerArrived(at: reading(3)).handed.isEmpty)
        #expect(ledger.clear(code: 7006, at: reading(3)).changes.isEmpty, "again changes nothing")
    }

    @Test func `SES-73: dead letters and the received context are forgotten`() throws {
        var limits = DeliveryLimits()
        limits.attempts = 1
        var ledger = try inbound(limits, channel: .context)
        _ = ledger.consumerArrived(at: reading(0))
        let ordinal = try #require(ledger.arrived(arrived(1, revision: 1), at: reading(0)).handed.first?.ordinal)
        _ = ledger.failed(ordinal, at: reading(1))
        #expect(ledger.deadLetters.count == 1 && ledger.context != nil)
        let cleared = ledger.clear(code: 7006, at: reading(2))
        #expect(ledger.deadLetters.isEmpty && ledger.context == nil)
        #expect(
            cleared.changes.contains { if case .remove(let key) = $0 { key.table == .receivedContext } else { false } })
    }
}
