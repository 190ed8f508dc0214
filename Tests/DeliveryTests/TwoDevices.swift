// Two devices, a link between them that can do everything a link does, and a handler with moods. It keeps the books
// that the properties are checked against.

import TandemBase
import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

struct TwoDevices: ~Copyable {
    enum Frame {
        case item(ReceivedItem, UInt64)
        case gap(UInt64, GapReason)
        case settled(UInt64)
        case stored(UInt64)
        case outcome(UInt64, Outcome)
    }

    /// An effect that follows a commit of the sender.
    enum SenderEffect {
        case accepted(UniqueIdentifier)
        case queue(OutboundEffect)
    }

    /// Probability of each fault, in percent.
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
    /// Effects of the receiver's commits that have not run yet: one of them reads a body, and the others wait for it.
    var receiverEffects: [InboundEffect] = []
    var isLinked = false
    var toReceiver: [Frame] = []
    var toSender: [Frame] = []
    var hasHandler = true
    /// The item that the handler has.
    var handler: ReceivedItem?

    // The books.
    var accepted: [UniqueIdentifier] = []
    var bodies: [UniqueIdentifier: [UInt8]] = [:]
    var outcomes: [UniqueIdentifier: Outcome] = [:]
    var handed: [UniqueIdentifier] = []
    /// Items whose attempts may be counted although no handler has seen them: a crash or a failed commit has lost that
    /// they were taken back (DEL-47).
    var mayBeMarked: Set<UniqueIdentifier> = []
    /// A handler has left, perhaps in an event that is not durable.
    var handlerHasLeft = false
    var handlersReturned: [UniqueIdentifier: Int] = [:]

    init(seed: UInt64) throws {
        schedule = SeededGenerator(seed: seed)
        limits.window = 4
        limits.items = 40
        limits.resendAfter = .seconds(5)
        // Both first: a throw between them would leave one of two machines that cannot be copied.
        let sender = try senderDisk.outboundQueue(at: reading(0), limits: limits)
        let receiver = try receiverDisk.inboundLedger(at: reading(0), limits: limits)
        self.sender = sender
        self.receiver = receiver
        run(self.receiver.consumerArrived(at: now))
    }

    var now: ClockReading { reading(seconds) }

    // MARK: effects, after their commit

    mutating func run(_ transition: OutboundTransition, accepting id: UniqueIdentifier? = nil) {
        senderDisk.submit(
            transition.changes, (id.map { [.accepted($0)] } ?? []) + transition.effects.map { .queue($0) })
    }

    mutating func run(_ transition: InboundTransition) {
        receiverDisk.submit(transition.changes, transition.effects)
        for effect in transition.atOnce {
            if !take(effect) { Issue.record("nothing else may pass a commit") }
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
        commitReceiverDisk()
        try runReceiverEffects(receiverEffects.count)
    }

    private mutating func commitReceiverDisk() {
        receiverEffects += receiverDisk.commitNext()
        if receiverDisk.isIdle { handlerHasLeft = false }
    }

    private mutating func runReceiverEffects(_ count: Int) throws {
        for _ in 0..<count where !receiverEffects.isEmpty { try perform(receiverEffects.removeFirst()) }
    }

    /// The effects of a commit follow it later, perhaps behind a failed commit.
    private mutating func commitSlowlyAtReceiver() throws {
        commitReceiverDisk()
        let count = schedule.chance(70) ? receiverEffects.count : Int.random(in: 0..<4, using: &schedule)
        try runReceiverEffects(count)
    }

    /// A commit of the receiver fails, and those behind it with it: the ledger is read back and goes on (DEL-47).
    private mutating func failCommitAtReceiver() throws {
        guard !receiverDisk.isIdle else { return }
        try receiverDisk.lose()
        var next = try receiverDisk.inboundLedger(at: now, limits: limits)
        next.goOn(after: receiver, isComplete: true)
        // An end that is lost takes with it that the attempt was not made.
        mayBeMarked.formUnion(
            handlerHasLeft ? next.itemsWithFiles : next.itemsWithFiles.subtracting(receiver.itemsWithFiles))
        handlerHasLeft = false
        receiver = next
        // Its verdict on an item that it does not keep does not count.
        if let item = handler, receiver.inHandler(at: reading(seconds + 1_000_000).monotonic)?.id != item.id {
            handler = nil
        }
        if hasHandler { run(receiver.consumerStayed(at: now)) }
    }

    private mutating func perform(_ effect: OutboundEffect) throws {
        switch effect {
        case .send(let dispatch):
            let body = dispatch.payload ?? senderDisk.body(dispatch.bodyTable, sender.key, dispatch.ordinal)
            // The body may have gone meanwhile: the peer has stored the item, or it was taken back.
            guard let body else { return }
            #expect(body == bodies[dispatch.id], "bodies never change")
            sendToReceiver(
                .item(received(dispatch.id, body, remaining: dispatch.remaining), dispatch.sequence))
        case .sendGap(let sequence, let reason): sendToReceiver(.gap(sequence, reason))
        case .sendOutcomeAck(let sequence): sendToReceiver(.settled(sequence))
        case .finished(let id, let outcome, _): hear(id, outcome)
        case .stored, .finishedSilently, .deadLetter, .letterDropped, .released: break
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
        case .reportAgain(let sequences):
            for sequence in sequences {
                if let outcome = receiver.outcome(of: sequence) { sendToSender(.outcome(sequence, outcome)) }
            }
        case .deliver, .deliverStored: _ = take(effect)
        case .counted(let ordinals): receiver.attemptsAreDurable(ordinals)
        case .droppedAhead, .droppedFull, .deadLetter, .letterDropped, .contextReceived, .staleContext, .released:
            break
        }
    }

    /// - Returns: false if the effect delivers nothing.
    private mutating func take(_ effect: InboundEffect) -> Bool {
        guard let delivery = effect.delivered else { return false }
        guard receiver.handOver(delivery, at: now) else { return true }
        #expect(hasHandler && handler == nil, "DEL-11: one item at a time is with the handler")
        var body: [UInt8]? = delivery.payload
        if case .deliverStored(_, let table) = effect {
            body = receiverDisk.body(table, receiver.key, delivery.ordinal)
        }
        #expect(body == bodies[delivery.id], "bodies never change")
        if let record = receiverDisk.inboundRecord(receiver.key, delivery.ordinal) {
            #expect(record.attempts >= delivery.attempt, "DEL-11: the attempt is counted durably before")
        } else {
            Issue.record("an item is handed over whose row is not durable")
        }
        if handed.contains(delivery.id) { #expect(delivery.isRedelivery, "a second presentation is marked") }
        if !handed.contains(delivery.id) {
            #expect(!delivery.isRedelivery || mayBeMarked.contains(delivery.id), "DEL-47: no handler has seen it")
            handed.append(delivery.id)
        }
        handler = delivery
        return true
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

    // MARK: steps

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
        case 45..<60: try commitSlowlyAtReceiver()
        case 60..<74: deliverToReceiver()
        case 74..<88: deliverToSender()
        case 88..<94: handlerReturns()
        case 94..<95: if hasCrashes { try failCommitAtReceiver() }
        case 95..<97: handlerComesOrGoes()
        default: tick()
        }
    }

    mutating func submit() {
        let id = UniqueIdentifier.random(using: &schedule)
        // Some share the row of their record, others are too long.
        let size = Int.random(in: 0..<9, using: &schedule) + (schedule.chance(40) ? 800 : 0)
        let body = (0..<size).map { UInt8(truncatingIfNeeded: $0) } + id.bytes
        let supersedes = schedule.chance(30) ? [UInt8.random(in: 0..<3, using: &schedule)] : nil
        let lifetime = schedule.chance(10) ? Duration.seconds(Int64.random(in: 1..<60, using: &schedule)) : nil
        bodies[id] = body
        let new = OutboundItem(id: id, payload: body, supersedeKey: supersedes, lifetime: lifetime)
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
        try runReceiverEffects(receiverEffects.count)
        while !receiverDisk.isIdle { try commitAtReceiver() }
        while !senderDisk.isIdle { try commitAtSender() }
        isLinked = true
        run(sender.linkOpened(received: receiver.received, at: now))
        run(receiver.linkOpened())
    }

    mutating func restartSender() throws {
        linkDown()
        try senderDisk.lose()
        sender = try senderDisk.outboundQueue(at: now, limits: limits)
        for record in sender.unacknowledged() {
            guard case .finished(let outcome) = record.phase else { continue }
            senderDisk.submit([], [.queue(.finished(record.id, outcome, nil))])
        }
    }

    mutating func restartReceiver() throws {
        linkDown()
        try receiverDisk.lose()
        handler = nil
        receiverEffects = []
        receiver = try receiverDisk.inboundLedger(at: now, limits: limits)
        mayBeMarked.formUnion(receiver.itemsWithFiles)
        if hasHandler { run(receiver.consumerArrived(at: now)) }
    }

    /// The handler's process goes away, at whatever point the commits are, or is there again.
    mutating func handlerComesOrGoes() {
        hasHandler.toggle()
        handler = nil
        handlerHasLeft = handlerHasLeft || !hasHandler
        run(hasHandler ? receiver.consumerArrived(at: now) : receiver.consumerLeft(at: now))
    }

    mutating func deliverToReceiver() {
        guard !toReceiver.isEmpty else { return }
        switch toReceiver.removeFirst() {
        case .item(let item, let sequence): run(receiver.arrived(item, as: sequence, at: now))
        case .gap(let sequence, let reason): run(receiver.gapArrived(sequence, reason, at: now))
        case .settled(let sequence): run(receiver.outcomeAcknowledged(sequence, at: now))
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
        if !hasHandler { handlerComesOrGoes() }
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
            guard senderDisk.isIdle, receiverDisk.isIdle, receiverEffects.isEmpty, toReceiver.isEmpty, toSender.isEmpty
            else { return false }
            return try senderDisk.values(.outboundRecord).isEmpty
                && receiverDisk.values(.inboundRecord).count == receiver.deadLetters.count
        }
    }
}
