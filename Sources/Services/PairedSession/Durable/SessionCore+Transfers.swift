// Durable items on their way out (SES-48 to SES-50). The daemon's word makes them durable; until it comes the item is
// kept here and submitted again on each new connection, under the same identifier. From then on it is the daemon's, and
// this side only hears how far it is.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemWire

/// What a submitter of an item waits for.
package struct TransferToken {
    /// Called once: when the daemon has the item, or when it never will.
    let accepted: (Result<Acceptance, SessionError>) -> Void
    /// What is submitted again after a loss; let go with the acceptance.
    let envelope: Envelope
}

extension SessionCore {
    /// Submits an item; `accepted` is called once, when it is durable here or when it never will be.
    package func submit(_ submission: Submission, accepted: @escaping (Result<Acceptance, SessionError>) -> Void) {
        let refusal = submission.refusal(
            machine.activation(of: submission.pairing), machine.counterpart(of: submission.pairing),
            isSupported: machine.isSupported)
        guard let pairing = machine.situation?.pairing(submission.pairing)?.pairing, refusal == nil else {
            let error = SessionError(refusal ?? .notPaired, messageID: submission.id)
            return accepted(.failure(error.about(message: nil, peer: peer(of: submission.pairing))))
        }
        let envelope = submission.envelope(settings.application, to: pairing)
        let token = TransferToken(accepted: accepted, envelope: envelope)
        guard transfers.submit(submission.id, to: pairing, on: submission.channel, token: token) else {
            return accepted(.failure(.tooManySubmissions(submission.id)))
        }
        give(envelope)
    }

    private func give(_ envelope: Envelope) {
        guard let id = envelope.id, let frame = try? envelope.frame() else { return }
        put(Outgoing(id: id, frame: frame, wantsReply: false, given: nil))
    }

    /// On a new connection: what was not accepted is submitted again.
    func submitAgain() {
        for (_, entry) in transfers.unaccepted { give(entry.token.envelope) }
    }

    /// Names the object that hears how an accepted item goes on. Called from its `accepted`.
    func follow(_ id: UniqueIdentifier, with transfer: Transfer) { followed[id] = transfer }

    // MARK: the daemon's word

    func itemAccepted(_ envelope: Envelope) {
        guard let id = envelope.id, let entry = transfers.reached(.accepted, id) else { return }
        entry.token.accepted(.success(Acceptance(name: envelope.name, revision: envelope.revision)))
        // A context has no end of its own: the next one takes its place.
        if entry.channel == .context { _ = transfers.ended(id) }
    }

    /// The daemon did not take the item.
    func submissionFailed(_ id: UniqueIdentifier, _ error: SessionError) {
        guard let entry = transfers.ended(id) else { return }
        entry.token.accepted(.failure(error.about(message: nil, peer: peer(of: entry.pairing))))
    }

    func itemProgressed(_ envelope: Envelope) {
        guard let id = envelope.id, let pairing = envelope.pairing, let name = envelope.name else { return }
        switch name {
        case "stored":
            impliedAcceptance(of: id)
            guard transfers.reached(.stored, id) != nil || transfers[id] == nil else { return }
            followed[id]?.stored()
            fileEnded(id, isStored: true)
            onTransfer?(TransferEvent(id: id, pairing: pairing, channel: envelope.channel ?? .userInfo, step: .stored))
        case "taking", "transferred": fileProgressed(envelope)
        default: break
        }
    }

    /// An item has ended. The daemon keeps its record until it is told that somebody here has heard.
    func itemFinished(_ envelope: Envelope) {
        guard let id = envelope.id, let pairing = envelope.pairing, let channel = envelope.channel else { return }
        impliedAcceptance(of: id)
        let outcome = TransferOutcome(finished: envelope, peer: machine.situation?.pairing(pairing)?.peer)
        let transfer = followed.removeValue(forKey: id)
        let isOurs = transfers.ended(id) != nil
        transfer?.finished(outcome)
        fileEnded(id, isStored: outcome == .handled)
        let event = TransferEvent(id: id, pairing: pairing, channel: channel, step: .finished(outcome))
        guard toldEnds.insert(id, of: pairing) || isOurs else {
            // Told before, and the word that it was heard was lost; or it is still to be heard.
            if !isParked(event) { heard(event) }
            return
        }
        // Nobody waits for the end of a context: keeping it would keep one for each that was ever set.
        let isAnothers = transfer == nil && !isOurs && channel != .context
        if let onTransfer { onTransfer(event) } else if isAnothers { return park(event) }
        heard(event)
    }

    /// Kept for an observer; each new connection tells it again until then.
    private func park(_ event: TransferEvent) {
        if !isParked(event) { unheard.append(event) }
    }

    private func isParked(_ event: TransferEvent) -> Bool {
        unheard.contains { $0.id == event.id && $0.pairing == event.pairing && $0.channel == event.channel }
    }

    /// What is said of an item later says that it was accepted, though that word was lost with a connection.
    private func impliedAcceptance(of id: UniqueIdentifier) {
        guard let entry = transfers.reached(.accepted, id) else { return }
        entry.token.accepted(.success(Acceptance(name: nil, revision: nil)))
    }

    private func heard(_ event: TransferEvent) {
        send(
            Envelope(.heard, app: settings.application, pairing: event.pairing, id: event.id, channel: event.channel))
    }

    /// Tells each step of each item of this app, those of former processes too, on the scheduler; what has come before
    /// is told first.
    package func observeTransfers(_ observer: @escaping (TransferEvent) -> Void) {
        let before = onTransfer
        onTransfer = { event in
            before?(event)
            observer(event)
        }
        let waiting = unheard
        unheard = []
        for event in waiting {
            observer(event)
            heard(event)
        }
    }

    /// The session ends, or a pairing is gone: what was not accepted never will be.
    func failTransfers(to pairing: UniqueIdentifier?, _ error: SessionError) {
        for token in transfers.dropUnaccepted(of: pairing) { token.accepted(.failure(error)) }
        for (id, transfer) in followed where pairing == nil || transfer.pairing == pairing {
            followed[id] = nil
            _ = transfers.ended(id)
            var error = error
            error.messageID = id
            // What the daemon has accepted goes on without this session, but not without its pairing.
            if pairing == nil { transfer.unfollowed(error) } else { transfer.finished(.failed(error)) }
            fileEnded(id, isStored: false)
        }
    }
}

/// A step of a durable item of this app.
package struct TransferEvent: Sendable {
    /// What has happened to it.
    package enum Step: Sendable {
        /// Durable on the other device.
        case stored
        case finished(TransferOutcome)
    }

    package let id: UniqueIdentifier
    package let pairing: UniqueIdentifier
    package let channel: Channel
    package let step: Step
}
