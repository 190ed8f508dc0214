// What a link asks of its device and what it tells it. The device (the Node room) owns the pairing registry and the
// store; a link only speaks for it. Each judgement is asked with a completion, because what it changes must be durable
// before the peer may learn of it (PAR-9, PAR-10).

package import TandemBase
package import TandemCrypto
package import TandemPairing
package import TandemWire

/// Decides who may link and join; called on the loop's thread.
package protocol LinkAuthority: AnyObject {
    /// Whether a TLS peer with this pin may say hello: it has a pairing here that has not lapsed.
    func isPinned(_ pin: KeyIdentifier) -> Bool

    /// What this device says of a pairing when it dials; nil if the pairing is gone.
    func situation(of pairing: UniqueIdentifier) -> LinkSituation?

    /// Judges a peer's hello. The completion is called on the loop's thread, once, when what changed is durable.
    func judge(
        _ hello: PairingRegistry.PeerHello, peerSituation: LinkSituation,
        completion: @escaping (HelloVerdict) -> Void)

    /// Judges a `join` at this device. The completion is called on the loop's thread, once, when what changed is
    /// durable.
    func judge(
        _ join: JoinRequest, peer: KeyIdentifier, exporter: [UInt8],
        completion: @escaping (JoinVerdict) -> Void)
}

/// What became of a peer's hello.
package enum HelloVerdict: Sendable, Equatable {
    /// The link may be used; `situation` is what this device says in its own hello.
    case accepted(PairingRecord, situation: LinkSituation)
    case refused(RefusalName)
}

/// What became of a `join`.
package enum JoinVerdict: Sendable, Equatable {
    case joined(JoinAnswer)
    case refused(RefusalName)
}

/// Learns what happens on links; called on the loop's thread.
package protocol LinkDelegate: AnyObject {
    /// Both sides have said hello and everything about it is durable.
    func linkDidBecomeReady(_ link: Link)

    /// A frame of a kind that links carry, for this link's pairing. `frame` is what came, to be forwarded unchanged.
    func link(_ link: Link, didReceive envelope: Envelope, in frame: Frame)

    /// The link was congested and is not any more.
    func linkDidDrain(_ link: Link)

    /// The link is over. Exactly once for each ready link; before another one for the same pairing becomes ready.
    func link(_ link: Link, didCloseWith reason: LinkCloseReason)

    /// A device connection ended before it became a link.
    func connectionDidFail(_ failure: LinkFailure)
}

/// A device connection that never became a link.
package struct LinkFailure: Sendable, Equatable {
    /// The pairing that was dialled; nil for an accepted connection.
    package let pairing: UniqueIdentifier?
    /// The peer's pin, once TLS proved one.
    package let pin: KeyIdentifier?
    /// Nobody that this device is paired with: worth a line only to someone who looks for a fault, because anybody on
    /// the network can cause as many as they like.
    package let isStranger: Bool
    package let reason: LinkCloseReason
}
