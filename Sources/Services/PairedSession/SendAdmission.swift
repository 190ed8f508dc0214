// Admission of what an app sends: the first reason against it, in the order of SES-13, and the pairing that it goes to.

import TandemBase
import TandemSession
import TandemWire

/// The checks of one session before anything is sent; confined to its scheduler.
struct SendAdmission {
    private let app: ApplicationIdentifier
    private let connection: SessionConnection

    init(of app: ApplicationIdentifier, over connection: SessionConnection) {
        self.app = app
        self.connection = connection
    }

    /// The frame of a message, and the pairing that it goes to.
    /// - Parameter pairing: nil: the active one at this moment.
    func message(
        _ content: OutgoingContent, to pairing: UniqueIdentifier?, id: UniqueIdentifier, timeout: Duration,
        wantsReply: Bool
    ) throws(SessionError) -> (Frame, UniqueIdentifier) {
        var content = content
        if !Limits.deadline.contains(timeout) { content.badArgument = .timeout }
        let refusal = content.refusal(
            connection.machine.standing(of: pairing), connection.machine.counterpart(of: pairing), of: pairing)
        if let refusal { throw SessionError(refusal, messageID: id) }
        try checkCapabilities(for: content, id)
        guard let target = connection.machine.state?.pairing(pairing)?.pairing else {
            throw SessionError(.withoutPairing(pairing), messageID: id)
        }
        do throws(WireError) {
            let frame = try MessageFrame(
                content.kind, app: app, pairing: target, id: id, reply: wantsReply, deadline: timeout,
                topic: content.topic, body: content.body[...]
            ).frame()
            return (frame, target)
        } catch {
            throw .notWritten(error, messageID: id)
        }
    }

    func item(_ submission: Submission) throws(SessionError) -> PairingState {
        let refusal = submission.refusal(
            connection.machine.standing(of: submission.pairing), connection.machine.counterpart(of: submission.pairing))
        let entry = connection.machine.state?.pairing(submission.pairing)
        if let entry, refusal == nil { return entry }
        let error = SessionError(refusal ?? .withoutPairing(submission.pairing), messageID: submission.id)
        throw error.about(message: nil, peer: entry?.peer)
    }

    /// The pairings that a message to several devices may go to.
    func broadcast(_ content: OutgoingContent, id: UniqueIdentifier) throws(SessionError) -> [PairingState] {
        if let refusal = content.refusal(connection.machine.standing(of: nil), anyone) {
            throw SessionError(refusal, messageID: id)
        }
        try checkCapabilities(for: content, id)
        return connection.machine.state?.pairings ?? []
    }

    /// The pairings that an item for several devices may go to.
    func broadcast(_ submission: Submission) throws(SessionError) -> [PairingState] {
        if let refusal = submission.refusal(connection.machine.standing(of: nil), anyone) {
            throw SessionError(refusal, messageID: submission.id)
        }
        return connection.machine.state?.pairings ?? []
    }

    /// The counterpart of a check for all devices: the daemon knows which of them can be reached.
    private var anyone: SendCheck.Counterpart? {
        connection.machine.state?.pairings.first.map {
            SendCheck.Counterpart(role: $0.role, level: .immediate, reason: .none)
        }
    }

    /// A daemon that does not know the kind of a frame, or a key of it, would end the connection (SES-3).
    private func checkCapabilities(for content: OutgoingContent, _ id: UniqueIdentifier) throws(SessionError) {
        let kind: Capability = content.kind == .messageData ? .messageData : .message
        guard connection.knows(kind) else { throw .noSuchMessages(id) }
        guard content.topic == nil || connection.knows(.topic) else { throw .noTopics(id) }
    }
}
