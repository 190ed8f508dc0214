// The steps of a schedule, and the healing at its end.

import TandemBase
import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

extension TwoDevices {
    mutating func step() throws {
        switch Int.random(in: 0..<100, using: &schedule) {
        case 0..<14: submit()
        case 14..<17: cancelSomething()
        case 17..<19: seconds += Int64.random(in: 1..<8, using: &schedule)
        case 19..<21: linkDown()
        case 21..<26: try linkUp()
        case 26..<28: if hasCrashes { try restartSender() }
        case 28..<30: if hasCrashes { try restartReceiver() }
        case 30..<45: try commitAtSender()
        case 45..<60: try commitAtReceiver()
        case 60..<74: deliverToReceiver()
        case 74..<88: deliverToSender()
        case 88..<95: handlerReturns()
        default: tick()
        }
    }

    mutating func submit() {
        let id = UniqueIdentifier.random(using: &schedule)
        let body = (0..<Int.random(in: 0..<9, using: &schedule)).map { UInt8($0) } + id.bytes
        let precedence: Precedence = schedule.chance(15) ? .first : .ordinary
        let supersedes =
            precedence == .ordinary && schedule.chance(30) ? [UInt8.random(in: 0..<3, using: &schedule)] : nil
        let lifetime = schedule.chance(10) ? Duration.seconds(Int64.random(in: 1..<60, using: &schedule)) : nil
        lane[id] = precedence
        bodies[id] = body
        let new = OutboundItem(
            id: id, payload: body, precedence: precedence, supersedeKey: supersedes, lifetime: lifetime)
        if let transition = try? sender.enqueue(new, at: now) { run(transition, accepting: id) }
    }

    mutating func cancelSomething() {
        guard let id = accepted.randomElement(using: &schedule) else { return }
        run(sender.cancel(id, at: now).1)
    }

    mutating func linkDown() {
        isLinked = false
        toReceiver = []
        toSender = []
        sender.linkClosed()
    }

    /// A link is ready only once everything before it is committed: hello tells durable facts.
    mutating func linkUp() throws {
        guard !isLinked else { return }
        while !receiverDisk.isIdle { try commitAtReceiver() }
        while !senderDisk.isIdle { try commitAtSender() }
        isLinked = true
        run(sender.linkOpened(received: receiver.received, at: now))
        run(receiver.linkOpened())
    }

    mutating func restartSender() throws {
        linkDown()
        senderDisk.lose()
        sender = try senderDisk.outboundQueue(at: now, limits: limits)
        for record in sender.unheard {
            guard case .finished(let outcome) = record.phase else { continue }
            senderDisk.submit([], [.queue(.finished(record.id, outcome, nil))])
        }
    }

    mutating func restartReceiver() throws {
        linkDown()
        receiverDisk.lose()
        handler = nil
        receiver = try receiverDisk.inboundLedger(at: now, limits: limits)
        run(receiver.consumerArrived(at: now))
    }

    mutating func deliverToReceiver() {
        guard !toReceiver.isEmpty else { return }
        switch toReceiver.removeFirst() {
        case .item(let item): run(receiver.arrived(item, at: now))
        case .gap(let sequence, let reason): run(receiver.gapArrived(sequence, reason, at: now))
        case .settled(let sequence): run(receiver.settled(sequence, at: now))
        case .stored, .outcome: Issue.record("not for a receiver")
        }
    }

    mutating func deliverToSender() {
        guard !toSender.isEmpty else { return }
        switch toSender.removeFirst() {
        case .stored(let sequence): run(sender.stored(through: sequence, at: now))
        case .outcome(let sequence, let outcome): run(sender.ended(sequence, outcome, at: now))
        case .item, .gap, .settled: Issue.record("not for a sender")
        }
    }

    mutating func handlerReturns() {
        guard let delivery = handler else { return }
        handler = nil
        if schedule.chance(faults.handlerFails) { return run(receiver.failed(delivery.ordinal, at: now)) }
        if schedule.chance(faults.handlerRejects) { return run(receiver.rejected(delivery.ordinal, code: 7, at: now)) }
        handlersReturned[delivery.id, default: 0] += 1
        run(receiver.handled(delivery.ordinal, at: now))
    }

    mutating func tick() {
        seconds += 1
        run(sender.timeAdvanced(at: now))
        run(receiver.timeAdvanced(at: now))
    }

    /// Everything works from now on: runs until nothing is left to do.
    mutating func heal() throws {
        faults = .none
        linkDown()
        try linkUp()
        for _ in 0..<400 where try !isSettled {
            for _ in 0..<40 {
                try commitAtSender()
                try commitAtReceiver()
                deliverToReceiver()
                deliverToSender()
                handlerReturns()
            }
            tick()
        }
    }

    /// Whether nothing moves and nothing is owed.
    private var isSettled: Bool {
        get throws {
            guard senderDisk.isIdle, receiverDisk.isIdle, toReceiver.isEmpty, toSender.isEmpty else { return false }
            return try senderDisk.values(.outboundRecord).isEmpty
                && receiverDisk.values(.inboundRecord).count == receiver.deadLetters.count
        }
    }
}
