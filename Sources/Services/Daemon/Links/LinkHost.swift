// Link host: the device behind its links. It owns the pairing registry and the store; a link only speaks for it. A
// change that a judgement makes is durable before the judgement returns, and so before the peer can learn of it (PAR-9,
// PAR-10).

package import TandemBase
package import TandemCrypto
package import TandemPairing
import TandemSession
package import TandemTLS
package import TandemTransport
package import TandemWire

/// Decides which peers may link and join, and takes the events of the links; on the loop's thread. A daemon's
/// composition and the test devices conform.
package protocol LinkHost: AnyObject {
    /// Whether a TLS peer with this pin may say hello: it has a pairing here that has not lapsed.
    func isPinned(_ pin: KeyIdentifier) -> Bool

    /// This device's epoch and positions in a pairing; nil if the pairing is gone.
    func positions(of pairing: UniqueIdentifier) -> LinkPositions?

    /// Whether the peer says that it has stored what this device's queues contradict: one of the two stores was
    /// restored (DEL-10).
    /// - Parameter capabilities: those of both ends.
    func contradicts(_ peer: PeerGreeting, in pairing: UniqueIdentifier, capabilities: Set<Capability>) -> Bool

    /// Judges a peer's hello.
    func judge(_ hello: PairingRegistry.PeerHello) async -> HelloVerdict

    /// Judges a `join` at this device.
    func judge(_ join: JoinRequest, peer: KeyIdentifier, exporter: [UInt8]) async -> JoinVerdict

    /// Both sides have said hello and all its changes are durable.
    func linkDidBecomeReady(_ link: Link)

    /// A frame of a kind that links carry, for this link's pairing. `frame` has the received bytes, to be forwarded
    /// unchanged.
    func link(_ link: Link, didReceive envelope: Envelope, in frame: Frame)

    /// The link is no longer congested.
    func linkDidDrain(_ link: Link)

    /// The link is over. Exactly once for each ready link; before another one for the same pairing becomes ready.
    func link(_ link: Link, didCloseWith reason: LinkCloseReason)

    /// A device connection ended before it became a link.
    func connectionDidFail(_ failure: LinkFailure)
}

extension LinkHost {
    /// Judges the greeting of a peer that has this pin. Phase and contradiction look at the queues of one moment:
    /// callers call this in the turn in which they made the phase.
    func judge(
        _ greeting: PeerGreeting, in pairing: UniqueIdentifier, from peer: KeyIdentifier, _ agreement: HelloAgreement,
        phase: PairingRegistry.PeerHello.Phase
    ) async -> HelloVerdict {
        await judge(
            PairingRegistry.PeerHello(
                pairing: pairing, peer: peer, role: greeting.role, epoch: greeting.positions.epoch,
                hasNoSequences: greeting.positions.isEmpty, version: agreement.version, device: greeting.device,
                name: greeting.name,
                contradictsQueues: contradicts(greeting, in: pairing, capabilities: agreement.capabilities),
                phase: phase))
    }
}

/// The judgement of a peer's hello.
package enum HelloVerdict: Sendable, Equatable {
    case accepted(PairingRecord)
    case refused(RefusalName)
}

/// The judgement of a peer's `join`.
package enum JoinVerdict: Sendable, Equatable {
    case joined(JoinAnswer)
    /// By `join-refused`, so that the peer learns no cause, or by `stopping` if the join could not be stored (PAR-8).
    case refused(RefusalName)
}

extension RefusalName {
    /// Why a hello or a join is refused by this name, in words.
    var inWords: String {
        switch self {
        case .notPaired: "this device has no such pairing with that device, in that role"
        case .versionLowered: "a higher version was spoken before; 'tandem allow-version' here allows this one"
        case .epoch: "the queues contradict each other: a new epoch begins; if there is none left, unpair both devices"
        case .stopping: "this device is stopping, or it can store nothing now"
        case .joinRefused: "the join was refused"
        default: "the hello was refused"
        }
    }
}

/// A device connection that never became a link.
package struct LinkFailure: Sendable, Equatable {
    /// The pairing that was dialled, or that the hello of an accepted connection named: there it is a claim.
    package let pairing: UniqueIdentifier?
    /// This side has accepted the connection.
    package let isAccepted: Bool
    /// The peer's pin, once TLS proved one.
    package let pin: KeyIdentifier?
    /// Nobody that this device is paired with: worth a line only to someone who looks for a fault, because anybody on
    /// the network can cause as many as they like.
    package let isStranger: Bool
    package let reason: LinkCloseReason
}

/// The end of a device connection, by a stable name: status shows it, logs and tests compare it.
package enum LinkCloseReason: Error, Sendable, Equatable {
    /// This side ended it with `bye` and this name.
    case ended(ByeName)
    /// The peer said `bye`, with this name if it gave one we know.
    case endedByPeer(ByeName?)
    /// This side refused the peer; the text is for logs.
    case refused(RefusalName, String)
    /// The peer refused this side, by this name if we know it.
    case refusedByPeer(RefusalName?)
    /// It was there for a join, which is done.
    case joined
    /// TLS ended it.
    case notSecured(TLSError)
    /// It gave way to newer connections of unknown peers.
    case crowdedOut
    /// The peer did not answer three heartbeats.
    case noHeartbeat
    /// The stream below ended.
    case stream(CloseReason)

    /// The stable name.
    package var name: String {
        switch self {
        case .ended(let name): name.rawValue
        case .endedByPeer(let name): "peer-" + (name?.rawValue ?? FrameKind.bye.rawValue)
        case .refused(let name, _): name.rawValue
        case .refusedByPeer(let name): "peer-refused-" + (name?.rawValue ?? "unknown")
        case .joined: FrameKind.joined.rawValue
        case .notSecured(let error): error.name
        case .crowdedOut: "crowded-out"
        case .noHeartbeat: "no-heartbeat"
        case .stream(let reason): reason.name
        }
    }
}

extension LinkCloseReason {
    /// Whether one side refused the other.
    var isRefusal: Bool {
        switch self {
        case .refused, .refusedByPeer: true
        case .ended, .endedByPeer, .joined, .notSecured, .crowdedOut, .noHeartbeat, .stream: false
        }
    }

    /// Whether a device with another key than the pinned one is at the other end.
    var isOtherDevice: Bool { if case .notSecured(.wrongPin) = self { true } else { false } }

    /// The reason in the log. Fingerprints are whole, so that they can be compared (PAR-11); anything else is cut.
    var logField: LogField { isOtherDevice ? .text("reason", "\(self)") : .outside("reason", "\(self)") }
}

extension LinkCloseReason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .refused(let name, let text): "\(name.rawValue): \(text)"
        case .notSecured(let error): "\(error.name): \(error)"
        case .stream(let reason): "\(reason)"
        case .refusedByPeer(.versionLowered):
            "\(name): it has seen a newer version of this device; to allow this one, run 'tandem allow-version' there"
        default: name
        }
    }
}
