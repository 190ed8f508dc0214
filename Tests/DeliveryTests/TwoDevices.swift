// Two devices, a link between them that can do everything a link does, and a handler with moods. It keeps the books that
// the properties are checked against.

import TandemBase
import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

struct TwoDevices {
    enum Frame {
        case item(ArrivedItem)
        case gap(UInt64, GapReason)
        case settled(UInt64)
        case stored(UInt64)
        case outcome(UInt64, Outcome)
    }

    /// What follows a commit of the sender's.
    enum SenderEffect {
        case accepted(UniqueIdentifier)
        case queue(OutboundEffect)
    }

    /// What can go wrong, in percent of the occasions.
    struct Faults {
        var drop = 5
        var duplicate = 5
        var handlerFails = 10
        var handlerRejects = 10
        static let none = Faults(drop: 0, duplicate: 0, handlerFails: 0, handlerRejects: 0)
    }

    var schedule: SeededGenerator
    var faults = Faults()
    var hasCrashes = true
    var seconds: Int64 = 0
    var limits = DeliveryLimits()

    var senderDisk = Disk<SenderEffect>()
    var sender: OutboundQueue
    var receiverDisk = Disk<InboundEffect>()
    var receiver: InboundLedger
    var isLinked = false
    var toReceiver: [Frame] = []
    var toSender: [Frame] = []
    var handler: InboundDelivery?

    // The books.
    var accepted: [UniqueIdentifier] = []
    var lane: [UniqueIdentifier: Precedence] = [:]
    var bodies: [UniqueIdentifier: [UInt8]] = [:]
    var outcomes: [UniqueIdentifier: Outcome] = [:]
    var handed: [UniqueIdentifier] = []
    var handledDurably: [UniqueIdentifier: Int] = [:]
    var handlersReturned: [UniqueIdentifier: Int] = [:]

    init(seed: UInt64) throws {
        schedule = SeededGenerator(seed: seed)
        limits.window = 4
        limits.items = 40
        limits.resendAfter = .seconds(5)
        sender = try senderDisk.outboundQueue(at: reading(0), limits: limits)
        receiver = try receiverDisk.inboundLedger(at: reading(0), limits: limits)
        run(receiver.consumerArrived(at: now))
    }

    var now: Reading { reading(seconds) }

    // MARK: effects, after their commit

    mutating func run(_ transition: OutboundTransition, accepting id: UniqueIdentifier? = nil) {
        senderDisk.submit(
            transition.changes, (id.map { [.accepted($0)] } ?? []) + transition.effects.map { .queue($0) })
    }

    mutating func run(_ transition: InboundTransition) {
        receiverDisk.submit(transition.changes, transition.effects)
        for effect in transition.atOnce {
            guard case .hand(let delivery) = effect else {
                Issue.record("nothing else may pass a commit")
                continue
            }
            take(delivery)
        }
    }

    mutating func commitAtSender() throws {
        for effect in senderDisk.commitNext() {
            switch effect {
            case .accepted(let id): accepted.append(id)
            case .queue(let effect): try perform(effect)
            }
        }
    }

    mutating func commitAtReceiver() throws {
        for effect in receiverDisk.commitNext() { try perform(effect) }
    }

    private mutating func perform(_ effect: OutboundEffect) throws {
        switch effect {
        case .send(let dispatch):
            let body = dispatch.payload ?? senderDisk.payload(.outboundPayload, sender.key, dispatch.ordinal)
            // The body may have gone meanwhile: the peer has stored the item, or it was taken back.
            guard let body else { return }
            #expect(body == bodies[dispatch.id], "bodies never change")
            sendToReceiver(
                .item(
                    ArrivedItem(
                        sequence: dispatch.sequence, id: dispatch.id, payload: body,
                        remaining: .milliseconds(dispatch.remaining))))
        case .sendGap(let sequence, let reason): sendToReceiver(.gap(sequence, reason))
        case .sendSettled(let sequence): sendToReceiver(.settled(sequence))
        case .finished(let id, let outcome, _): hear(id, outcome)
        case .stored, .released: break
        case .startEpoch, .violation, .setContextAgain: Issue.record("neither happens between two good devices")
        }
    }

    private mutating func hear(_ id: UniqueIdentifier, _ outcome: Outcome) {
        if let earlier = outcomes[id] { #expect(earlier == outcome, "an item ends once") }
        outcomes[id] = outcome
        run(sender.forget(id, at: now))
    }

    private mutating func perform(_ effect: InboundEffect) throws {
        switch effect {
        case .acknowledge(let sequence): sendToSender(.stored(sequence))
        case .report(let sequence, let outcome): sendToSender(.outcome(sequence, outcome))
        case .hand(let delivery): take(delivery)
        case .counted(let ordinals): receiver.attemptsAreDurable(ordinals)
        case .droppedAhead, .droppedFull, .deadLetter, .contextReceived, .staleContext, .released: break
        }
    }

    private mutating func take(_ delivery: InboundDelivery) {
        let body = delivery.payload ?? receiverDisk.payload(.inboundPayload, receiver.key, delivery.ordinal)
        #expect(body == bodies[delivery.id], "bodies never change")
        let row = try? receiverDisk.value(DeliveryRowKey(.inboundRecord, receiver.key, delivery.ordinal))
        if case .inboundRecord(let record)? = row {
            #expect(record.attempts >= delivery.attempt, "DEL-11: the attempt is counted durably before")
        } else {
            Issue.record("an item is handed over whose row is not durable")
        }
        if handed.contains(delivery.id) { #expect(delivery.isRedelivery, "a second presentation is marked") }
        if !handed.contains(delivery.id) { handed.append(delivery.id) }
        handler = delivery
    }

    private mutating func sendToReceiver(_ frame: Frame) {
        guard isLinked, !schedule.chance(faults.drop) else { return }
        toReceiver.append(frame)
        if schedule.chance(faults.duplicate) { toReceiver.append(frame) }
    }

    private mutating func sendToSender(_ frame: Frame) {
        guard isLinked, !schedule.chance(faults.drop) else { return }
        toSender.append(frame)
        if schedule.chance(faults.duplicate) { toSender.append(frame) }
    }
}
