// The secondary's side of a join (PAR-6, PAR-9, PAR-11): the request that it sends once the TLS peer has shown the
// right pin, and the check of the answer. It accepts the primary only with a proof made for this connection.

package import TandemBase
package import TandemCrypto
import TandemWire

/// Why the secondary does not accept the answer to its join.
package enum JoinAnswerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The TLS peer's key is not the link's.
    case wrongPin
    case expired(at: WallTime)
    /// The primary did not prove that it knows the secret.
    case wrongProof
    /// It answered with the identifier of another pairing of this device.
    case pairingTaken

    package var description: String {
        switch self {
        case .wrongPin: "the device at this address is not the one that printed the link; check the address"
        case .expired(let time): "the join link expired at \(time); run 'tandem pair' again on the primary"
        case .wrongProof: "the device that answered does not know the link's secret; do not trust this address"
        case .pairingTaken: "the primary answered with a pairing that belongs to another device; nothing was stored"
        }
    }
}

/// One join on one connection.
package struct JoinAttempt: Sendable {
    /// By what the primary is to believe this device.
    package enum Credential: Sendable {
        case link(JoinLink)
        case trust(TrustedDevice)
    }

    private let credential: Credential
    private let own: PairingRegistry.OwnDevice
    private let exporter: [UInt8]

    /// - Parameter exporter: the TLS exporter's value of the connection.
    package init(credential: Credential, own: PairingRegistry.OwnDevice, exporter: [UInt8]) {
        self.credential = credential
        self.own = own
        self.exporter = exporter
    }

    /// The first message; refuses a connection to another device, and an expired link.
    package func request(peer: KeyIdentifier, now: WallTime) throws(JoinAnswerError) -> JoinRequest {
        guard peer == expectedPin else { throw .wrongPin }
        guard case .link(let link) = credential else { return request(.trust) }
        guard now < link.expires else { throw .expired(at: link.expires) }
        let message = transcript(link).secondaryMessage(own.claim)
        return request(.token(link.token, proof: HMACSHA256.code(for: message, key: link.secret)))
    }

    /// The pending pairing to commit, if the answer proves itself.
    package func accept(_ answer: JoinAnswer, now: WallTime) throws(JoinAnswerError) -> PairingRecord {
        if case .link(let link) = credential {
            let message = transcript(link).primaryMessage(answer.claim, pairing: answer.pairing)
            guard let proof = answer.proof, HMACSHA256.isValid(proof, for: message, key: link.secret) else {
                throw .wrongProof
            }
        }
        return PairingRecord(
            pairing: answer.pairing, role: .secondary, peer: expectedPin, claim: answer.claim, epoch: answer.epoch,
            created: now, address: address)
    }

    /// The pin that the TLS peer must show.
    package var expectedPin: KeyIdentifier {
        switch credential {
        case .link(let link): link.primary
        case .trust(let device): device.pin
        }
    }

    private var address: String? {
        switch credential {
        case .link(let link): link.address
        case .trust(let device): device.address
        }
    }

    private func request(_ method: JoinRequest.Method) -> JoinRequest {
        JoinRequest(method: method, claim: own.claim, versions: ProtocolVersion.supported)
    }

    private func transcript(_ link: JoinLink) -> JoinTranscript {
        JoinTranscript(exporter: exporter, primary: link.primary, secondary: own.pin, token: link.token)
    }
}
