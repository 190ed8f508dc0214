// Durable items from the daemon (SES-51): each to its handlers once in this process's life, and then the verdict, over
// whichever connection there is at that time.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemWire

extension SessionCore {
    /// A `delivery`, or what the daemon says of this app's own items.
    func itemArrived(_ envelope: Envelope) throws(WireError) {
        guard machine.phase == .active else { return refuse(Refusal(.unexpected, "an item before registered")) }
        switch envelope.kind {
        case .delivery: delivered(envelope)
        case .accepted: itemAccepted(envelope)
        case .progress: itemProgressed(envelope)
        case .finished: itemFinished(envelope)
        case .context: try contextArrived(envelope)
        default: answered(envelope)
        }
    }

    private func delivered(_ envelope: Envelope) {
        guard let id = envelope.id, let pairing = envelope.pairing, let channel = envelope.channel else { return }
        let name = ItemName(pairing: pairing, channel: channel, id: id)
        switch handling.arrived(name) {
        case .inHand: return
        case .done(let verdict): return send(verdict, of: name)
        case .new: break
        }
        guard let item = try? DeliveredItem(envelope), channel == .file || !item.content.hasReservedKey else {
            return decided(.rejected(.malformedItem), name)
        }
        let core = LoopBound(self, to: scheduler)
        let scheduler = scheduler
        items.arrived(item) { verdict in
            scheduler.submit { core.value.decided(verdict, name) }
        }
        publishPending()
    }

    private func decided(_ verdict: HandlingVerdict, _ item: ItemName) {
        if case .failed = verdict { handling.failed(item) } else { handling.ended(item, verdict) }
        send(verdict, of: item)
        publishPending()
    }

    private func send(_ verdict: HandlingVerdict, of item: ItemName) {
        guard machine.phase == .active else { return }
        var envelope = Envelope(
            .verdict, app: settings.application, pairing: item.pairing, id: item.id, channel: item.channel)
        var body: PropertyListDictionary?
        switch verdict {
        case .handled: envelope.name = "handled"
        case .failed(let text):
            envelope.name = "failed"
            body = ["text": .string(text)]
        case .rejected(let error):
            (envelope.name, envelope.code) = ("rejected", error.code.rawValue)
            body = ["text": .string(error.reason)]
        }
        if let body, let whole = try? envelope.with(body: body) { envelope = whole }
        send(envelope)
    }

    /// Adds a handler, called on the scheduler.
    package func handleItems(
        _ channels: Set<Channel>, pairing: UniqueIdentifier? = nil, topic: String? = nil,
        take: @escaping (DeliveredItem, HandlingToken) -> Void
    ) -> UInt64 {
        defer { publishPending() }
        return items.add(ItemInbox.Interest(channels: channels, pairing: pairing, topic: topic), take: take)
    }
}

extension SessionError {
    fileprivate static var malformedItem: SessionError {
        SessionError(.deliveryFailed, name: "malformed", reason: "the item is not a dictionary that may be shown")
    }
}
