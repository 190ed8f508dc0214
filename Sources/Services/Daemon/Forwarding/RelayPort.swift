// A connection's own entry into the relay. It holds what was looked up when the connection was attached, so that a
// frame is authorised and routed from here without asking who the connection was. Whoever owns the endpoint keeps its
// port.

package import TandemBase
import TandemReactor
package import TandemSession
package import TandemWire

/// The relay's side of one attached connection.
package final class RelayPort: NumberedConnection {
    /// What the connection proved to be when it was attached (FRM-13).
    enum Source {
        case application(LocalApplication)
        case link(PairingEnd)
    }

    /// What only a link needs to know: an object of its own, because links are few.
    private final class LinkSource {
        let end: PairingEnd
        let side: Side

        init(_ end: PairingEnd, _ side: Side) {
            self.end = end
            self.side = side
        }
    }

    package let endpoint: any RelayEndpoint
    /// The app whose connection this is; nil for a link.
    let application: LocalApplication?
    /// What the link is of; nil for an app's connection.
    private let link: LinkSource?
    /// Made when it is first needed: most connections never hold anybody back.
    var congestion: Congestion {
        if let ownCongestion { return ownCongestion }
        let made = Congestion()
        ownCongestion = made
        return made
    }
    private var ownCongestion: Congestion?
    private let relay: Relay
    // What is smaller than a word comes last: an idle connection is to be small.
    /// Its number in the ledger; another's after it has closed.
    let party: RequestParty
    /// Whether this is the connection that takes the app's messages.
    package let receives: Bool
    private let takesMessages: Bool
    private let takesData: Bool
    /// Whether frames to it may name a topic.
    let takesTopics: Bool
    private(set) var isClosed = false

    init(
        endpoint: any RelayEndpoint, side: Side, source: Source, receives: Bool, capabilities: [Capability],
        party: RequestParty, relay: Relay
    ) {
        self.endpoint = endpoint
        switch source {
        case .application(let application): (self.application, link) = (application, nil)
        case .link(let end): (application, link) = (nil, LinkSource(end, side))
        }
        self.receives = receives
        takesMessages = capabilities.contains(.message)
        takesData = capabilities.contains(.messageData)
        takesTopics = capabilities.contains(.topic)
        self.party = party
        self.relay = relay
    }

    package var number: ConnectionNumber { endpoint.number }

    /// The app whose connection this is; nil for a link.
    package var app: ApplicationIdentifier? { application?.app }

    var isLink: Bool { application == nil }

    var source: Source { if let application { .application(application) } else { .link(itsLink.end) } }

    var side: Side { if let application { application.side } else { itsLink.side } }

    private var itsLink: LinkSource {
        guard let link else { preconditionFailure("a connection is an app's or a link") }
        return link
    }

    /// Whether the other end agreed to get this kind of message (SES-3).
    func takes(_ kind: FrameKind) -> Bool { if case .messageData = kind { takesData } else { takesMessages } }

    /// Whether it may get such a frame: who did not agree to topics would refuse the key, and with it the connection
    /// (SES-3).
    func takes(_ passage: Passage) -> Bool { takes(passage.kind) && (takesTopics || !passage.hasTopic) }

    /// Takes a `message`, `messageData`, `reply` or `failure` whose head could be read in place.
    /// - Returns: the refusal that the connection has earned and must be closed with; nil if all is well. What cannot
    ///   be passed on has then been answered with `failure`.
    package func receive(_ frame: Frame, _ head: EnvelopeHead) -> RefusalName? {
        guard !isClosed else { return nil }
        let passage = Passage(head)
        if let application {
            guard frame.withPayload({ application.isNamed($0.extracting(head.app)) }) else { return .notYours }
            return take(frame, passage, of: application)
        }
        return takeFromLink(frame, passage, of: frame.withPayload { side.names.find($0.extracting(head.app)) })
    }

    /// The same for any valid frame, and from a link `application` too.
    package func receive(_ frame: Frame, _ envelope: Envelope) -> RefusalName? {
        guard !isClosed else { return nil }
        if envelope.kind == .application { return relay.announced(envelope, from: self) }
        guard let app = envelope.app, let passage = Passage(envelope) else { return .envelope }
        guard let application else { return takeFromLink(frame, passage, of: side.applications[app]) }
        return application.app == app ? take(frame, passage, of: application) : .notYours
    }

    /// Takes a frame that names the connection's own app (FRM-13).
    private func take(_ frame: Frame, _ passage: Passage, of application: LocalApplication) -> RefusalName? {
        // Only another broadcast may join those that wait.
        if relay.batch.origin === self, passage.pairing != .zero || passage.wantsReply { relay.sendBroadcasts() }
        switch passage.kind {
        case .message, .messageData: relay.forward(frame, passage, of: application, from: self)
        case .reply, .failure: relay.answer(frame, passage, of: application, from: self)
        default: return .unexpected
        }
        return nil
    }

    /// - Parameter application: the app that the frame names; nil if it is none of this device's.
    private func takeFromLink(
        _ frame: Frame, _ passage: Passage, of application: LocalApplication?
    ) -> RefusalName? {
        guard link?.end.known.pairing == passage.pairing else { return .notYours }
        switch passage.kind {
        case .message, .messageData: relay.forward(frame, passage, toLocal: application, from: self)
        case .reply, .failure: relay.answer(frame, passage, of: application, from: self)
        default: return .unexpected
        }
        return nil
    }

    /// Broadcasts of this connection that wait for the end of the turn leave now, before what it sends next is
    /// answered.
    package func sendBroadcasts() {
        if relay.batch.origin === self { relay.sendBroadcasts() }
    }

    /// The endpoint's queue has drained: who was held back may go on.
    package func drained() { ownCongestion?.end(relay.scheduler) }

    /// The connection is gone; requests that it should have answered fail (SES-11). A second call does nothing.
    /// - Parameter reason: for a link, what host apps see as the reason.
    package func closed(_ reason: ReachabilityReason = .noLink) {
        guard !isClosed else { return }
        // What it has broadcast was accepted.
        sendBroadcasts()
        isClosed = true
        ownCongestion?.end(relay.scheduler)
        relay.detach(self, reason: reason)
    }
}
