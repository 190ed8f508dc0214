// The primary's side of a join (PAR-5 to PAR-9, PAR-11).

package import TandemBase
package import TandemCrypto
package import TandemWire

extension PairingRegistry {
    /// This device as the other end of a join sees it.
    package struct OwnDevice: Sendable {
        package let pin: KeyIdentifier
        package let claim: JoinClaim

        package init(pin: KeyIdentifier, claim: JoinClaim) {
            self.pin = pin
            self.claim = claim
        }
    }

    /// What the connection proves, and what a new pairing would be called.
    package struct JoinCircumstances: Sendable {
        /// The pin of the TLS peer.
        package let peer: KeyIdentifier
        /// The TLS exporter's value of this connection.
        package let exporter: [UInt8]
        /// A fresh random identifier.
        package let newPairing: UniqueIdentifier
        package let now: WallTime

        package init(peer: KeyIdentifier, exporter: [UInt8], newPairing: UniqueIdentifier, now: WallTime) {
            self.peer = peer
            self.exporter = exporter
            self.newPairing = newPairing
            self.now = now
        }
    }

    /// What a join came to.
    package enum JoinOutcome: Sendable, Equatable {
        /// Commit the changes, then send the answer, then log the event.
        case joined(JoinAnswer, changes: [PairingChange], event: PairingEvent)
        /// Commit the changes, then refuse with this name and nothing else, and log the event.
        case refused(RefusalName, changes: [PairingChange], event: PairingEvent)
    }

    /// Issues a token; `expires` is what the link says.
    package mutating func issue(
        _ identifier: JoinTokenIdentifier, secret: SecretBytes, expires: WallTime
    ) -> [PairingChange] {
        let token = JoinToken(identifier: identifier, secret: secret, expires: WallTime(seconds: expires.seconds))
        tokens.issue(token)
        return [.putToken(token)]
    }

    /// Judges a `join` that arrived at this device, the primary.
    package mutating func join(
        _ request: JoinRequest, own: OwnDevice, at circumstances: JoinCircumstances
    ) -> JoinOutcome {
        switch request.method {
        case .token(let identifier, let proof):
            joinByToken(request, identifier, proof, own: own, at: circumstances)
        case .trust: joinByTrust(request, own: own, at: circumstances)
        }
    }

    private mutating func joinByToken(
        _ request: JoinRequest, _ identifier: JoinTokenIdentifier, _ proof: [UInt8], own: OwnDevice,
        at circumstances: JoinCircumstances
    ) -> JoinOutcome {
        let transcript = JoinTranscript(
            exporter: circumstances.exporter, primary: own.pin, secondary: circumstances.peer, token: identifier)
        let verdict = tokens.attempt(
            identifier, proof: proof, message: transcript.secondaryMessage(request.claim), by: circumstances.peer,
            pairing: circumstances.newPairing, now: circumstances.now)
        switch verdict {
        case .refused(let cause): return refusal(cause, circumstances, token: identifier)
        case .repeated(let pairing):
            guard let record = records[pairing], record.peer == circumstances.peer else {
                return refusal(.pairingGone, circumstances, token: identifier)
            }
            let answer = answer(record, own, transcript, secret: tokens[identifier]?.secret)
            return .joined(answer, changes: [], event: .joinRepeated(pairing, peer: circumstances.peer))
        case .accepted:
            let record = addPending(request, circumstances)
            let token = tokens[identifier].map { [PairingChange.putToken($0)] } ?? []
            let answer = answer(record, own, transcript, secret: tokens[identifier]?.secret)
            return .joined(
                answer, changes: token + [.putPairing(record)], event: .joined(record.pairing, peer: record.peer))
        }
    }

    private mutating func joinByTrust(
        _ request: JoinRequest, own: OwnDevice, at circumstances: JoinCircumstances
    ) -> JoinOutcome {
        guard trusted.device(circumstances.peer, as: .secondary) != nil else {
            return refusal(.untrustedPin, circumstances, token: nil)
        }
        let waiting = records.values.first {
            $0.peer == circumstances.peer && $0.role == .primary && $0.state == .pending
                && !$0.hasLapsed(now: circumstances.now)
        }
        let record = waiting ?? addPending(request, circumstances)
        let answer = JoinAnswer(pairing: record.pairing, epoch: record.epoch, claim: own.claim, proof: nil)
        let event: PairingEvent =
            waiting == nil
            ? .joined(record.pairing, peer: record.peer) : .joinRepeated(record.pairing, peer: record.peer)
        return .joined(answer, changes: waiting == nil ? [.putPairing(record)] : [], event: event)
    }

    private mutating func addPending(_ request: JoinRequest, _ circumstances: JoinCircumstances) -> PairingRecord {
        let record = PairingRecord(
            pairing: circumstances.newPairing, role: .primary, peer: circumstances.peer, claim: request.claim,
            created: circumstances.now)
        records[record.pairing] = record
        return record
    }

    private func answer(
        _ record: PairingRecord, _ own: OwnDevice, _ transcript: JoinTranscript, secret: SecretBytes?
    ) -> JoinAnswer {
        let proof = secret.map {
            HMACSHA256.code(for: transcript.primaryMessage(own.claim, pairing: record.pairing), key: $0)
        }
        return JoinAnswer(pairing: record.pairing, epoch: record.epoch, claim: own.claim, proof: proof)
    }

    /// The attempts left may have changed, so the token is written again.
    private func refusal(
        _ cause: JoinRefusalCause, _ circumstances: JoinCircumstances, token: JoinTokenIdentifier?
    ) -> JoinOutcome {
        let isCounted = cause == .wrongProof
        let changes = isCounted ? token.flatMap { tokens[$0] }.map { [PairingChange.putToken($0)] } ?? [] : []
        return .refused(.joinRefused, changes: changes, event: .joinRefused(cause, peer: circumstances.peer))
    }
}
