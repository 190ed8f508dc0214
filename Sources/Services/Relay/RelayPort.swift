// A connection's own entry into the relay. It holds what was looked up when the connection was attached, so that a frame
// is authorised and routed from here without asking who the connection was. Whoever owns the endpoint keeps its port.

import TandemBytes
import TandemIdentity
import TandemReactor
package import TandemSession
package import TandemWire

/// The relay's side of one attached connection.
package final class RelayPort {
    /// What the connection proved to be when it was attached (FRM-13).
    enum Source {
        case application(LocalApplication)
        case link(PairingEnd)
    }

    package let endpoint: any RelayEndpoint
    let side: Side
    let source: Source
    /// Whether this is the connection that takes the app's messages.
    let receives: Bool
    private let takesMessages: Bool
    private let takesData: Bool
    /// Made when it is first needed: most connections never hold anybody back.
    var congestion: Congestion {
        if let ownCongestion { return ownCongestion }
        let made = Congestion()
        ownCongestion = made
        return made
    }
    private var ownCongestion: Congestion?
    /// Its number in the ledger; another's after it has closed.
    let party: RequestParty
    private(set) var isClosed = false
    private let relay: Relay

    init(
        endpoint: any RelayEndpoint, side: Side, source: Source, receives: Bool, capabilities: [Capability],
        party: RequestParty, relay: Relay
    ) {
        self.endpoint = endpoint
        self.side = side
        self.source = source
        self.receives = receives
        takesMessages = capabilities.contains(.message)
        takesData = capabilities.contains(.messageData)
        self.party = party
        self.relay = relay
    }

    var number: ConnectionNumber { endpoint.number }

    var isLink: Bool { if case .link = source { true } else { false } }

    /// Whether the other end agreed to get this kind of message (SES-3).
    func takes(_ kind: FrameKind) -> Bool { kind == .messageData ? takesData : takesMessages }

    /// Takes a `message`, `messageData`, `reply` or `failure` whose head could be read in place.
    /// - Returns: the refusal that the connection has earned and must be closed with; nil if all is well. What cannot be
    ///   passed on has then been answered with `failure`.
    package func receive(_ frame: Frame, _ head: EnvelopeHead) -> RefusalName? {
        guard !isClosed else { return nil }
        guard let app = head.app else { return .envelope }
        let application = frame.payload.withBytes { self.application(named: $0.extracting(app)) }
        guard let passage = Passage(frame, head, application: application) else { return .envelope }
        return receive(passage)
    }

    /// The same for any valid frame, and from a link `application` too.
    package func receive(_ frame: Frame, _ envelope: Envelope) -> RefusalName? {
        guard !isClosed else { return nil }
        if envelope.kind == .application { return relay.announced(envelope, from: self) }
        guard let app = envelope.app else { return .envelope }
        let name = Array(app.description.utf8)
        let application = self.application(named: name.span.bytes)
        guard let passage = Passage(frame, envelope, application: application) else { return .envelope }
        return receive(passage)
    }

    private func receive(_ passage: Passage) -> RefusalName? {
        switch passage.kind {
        case .message, .messageData: relay.forward(passage, from: self)
        case .reply, .failure: relay.answer(passage, from: self)
        default: .unexpected
        }
    }

    private func application(named name: RawSpan) -> LocalApplication? {
        switch source {
        case .application(let application): application.isNamed(name) ? application : nil
        case .link: side.names.find(name)
        }
    }

    /// The endpoint's queue has drained: who was held back may go on.
    package func drained() { ownCongestion?.end(relay.scheduler) }

    /// The connection is gone; requests that it should have answered fail (SES-11). A second call does nothing.
    /// - Parameter reason: for a link, what host apps see as the reason.
    package func closed(_ reason: ReachabilityReason = .noLink) {
        guard !isClosed else { return }
        isClosed = true
        ownCongestion?.end(relay.scheduler)
        relay.detach(self, reason: reason)
    }
}
