// The control command `trace` (CTL-20): one message's or item's steps, or all that come.

import TandemBase
import TandemOperations
import TandemPropertyList
import TandemWire

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

    /// How an item ended; cut, because it is a peer's word.
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
