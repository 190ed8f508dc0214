// The control command `trace` (CTL-20): one message's or item's steps, or all that come, while somebody waits for them.

import TandemHostApps
import TandemIdentity
import TandemPropertyList
import TandemReactor
import TandemRelay
import TandemSession
import TandemWire

/// Who waits for the next events, and until when messages are traced; confined to the node's loop.
final class Tracing {
    /// Messages are traced for this long after the last request that asked for them (LIM-35).
    static var lease: Duration { .seconds(60) }
    /// Events in one answer (LIM-35).
    static var eventsAtOnce: Int { 256 }

    let log: TraceLog
    private let scheduler: any Scheduler
    private var waiting: [(number: Int, answer: () -> Void)] = []
    private var lastNumber = 0
    private var isTelling = false
    private var leaseTimer: TimerToken?

    init(_ scheduler: any Scheduler) {
        self.scheduler = scheduler
        log = TraceLog(scheduler)
        log.onEvent = { [weak self] in self?.eventCame() }
    }

    /// Calls back once: at the end of the turn in which the next event comes, or when the time is over.
    func wait(_ time: Duration, then answer: @escaping () -> Void) {
        lastNumber += 1
        let number = lastNumber
        waiting.append((number, answer))
        scheduler.schedule(after: time) { [weak self] in
            guard let self, let place = waiting.firstIndex(where: { $0.number == number }) else { return }
            waiting.remove(at: place).answer()
        }
    }

    private func eventCame() {
        guard !waiting.isEmpty, !isTelling else { return }
        isTelling = true
        scheduler.atEndOfTurn { [self] in
            isTelling = false
            let told = waiting
            waiting = []
            for follower in told { follower.answer() }
        }
    }

    /// Traces the relay's messages from now on, for as long as somebody asks again; or not any more.
    func setMessages(_ isOn: Bool, of relay: Relay) {
        if let leaseTimer { scheduler.cancel(leaseTimer) }
        leaseTimer = nil
        relay.trace = isOn ? log : nil
        guard isOn else { return }
        leaseTimer = scheduler.schedule(after: Self.lease) { [weak relay] in relay?.trace = nil }
    }
}

extension Node {
    func trace(_ body: BodyFields, _ completion: @escaping Answering) throws(WireError) {
        if let isOn = try body.optional("messages", "a boolean", \.booleanValue) {
            tracing.setMessages(isOn, of: relay)
        }
        if let id = try body.optionalIdentifier("id") {
            return completion(traced(tracing.log.ring.entries(of: id)))
        }
        let after = try body.optional("after", "an integer from 0", \.unsignedValue) ?? tracing.log.ring.lastOrdinal
        let wait = try body.milliseconds("wait", absent: .zero)
        let answer = { [self] in
            completion(traced(tracing.log.ring.entries(after: after, limit: Tracing.eventsAtOnce), after: after))
        }
        if after < tracing.log.ring.lastOrdinal || wait == .zero { return answer() }
        tracing.wait(wait, then: answer)
    }

    private func traced(_ entries: [TraceRing.Entry], after: UInt64 = 0) -> ControlAnswer {
        .done([
            "device": .data(device.keys.vendorIdentifier.bytes), "name": .string(options.name),
            "last": PropertyListValue(entries.last?.ordinal ?? after),
            "events": .array(entries.map { .dictionary($0.body) }),
        ])
    }

    /// Notes a frame of a durable channel, sent to the peer or come from it.
    func note(_ envelope: Envelope, isSent: Bool) {
        guard let step = TraceEvent.Step(envelope.kind, isSent: isSent), let pairing = envelope.pairing else { return }
        // What the item's sender says travels the way of the item; what its receiver answers, the other way.
        let isOfSender = envelope.kind == .item || envelope.kind == .gap || envelope.kind == .settled
        note(
            TraceEvent(
                step, id: envelope.id, pairing: pairing, app: envelope.app, channel: envelope.channel,
                sequence: envelope.sequence, isOutbound: isSent == isOfSender, detail: detail(of: envelope)))
    }

    /// Notes what happened between an app and this device; an app that has handled something works.
    func note(_ event: TraceEvent) {
        tracing.log.note(event)
        itemCounts.add(event.step)
        if event.step == .handled, let app = event.app { starter?.handled(app) }
    }

    /// A peer's word is shown only where it is one of ours.
    private func detail(of envelope: Envelope) -> String? {
        switch envelope.kind {
        case .outcome, .gap: envelope.name.map { LogTextCut.cut($0) }
        default: nil
        }
    }
}

extension TraceEvent.Step {
    fileprivate init?(_ kind: FrameKind, isSent: Bool) {
        switch kind {
        case .item: self = isSent ? .sent : .arrived
        case .stored: self = .stored
        case .outcome: self = .ended
        case .settled: self = .settled
        case .gap: self = .ended
        default: return nil
        }
    }
}

extension TraceRing.Entry {
    fileprivate var body: PropertyListDictionary {
        var body: PropertyListDictionary = [
            "ordinal": PropertyListValue(ordinal), "time": PropertyListValue(time.nanoseconds / 1000),
            "wall": .integer(wall.milliseconds), "step": .string(event.step.rawValue),
            "pairing": .data(event.pairing.bytes), "direction": .string(event.isOutbound ? "out" : "in"),
        ]
        body["id"] = event.id.map { .data($0.bytes) }
        body["app"] = event.app.map { .string($0.description) }
        body["channel"] = event.channel.map { .string($0.rawValue) }
        body["sequence"] = event.sequence.map { PropertyListValue($0) }
        body["detail"] = event.detail.map { .string($0) }
        return body
    }
}
