// A durable item on its way to the daemon. Its content is encoded on the caller's thread; what the daemon needs to know
// besides is in the envelope, so that the body never changes.

import TandemBase
import TandemPropertyList
import TandemSession
import TandemWire

/// What the daemon said when it took an item.
package struct Acceptance: Sendable {
    /// `unchanged` or `demoted` (SES-48); nil otherwise.
    package let name: String?
    /// A context's.
    package let revision: UInt64?
}

/// One item to submit.
package struct Submission {
    package var id = UniqueIdentifier.random()
    /// nil: the active pairing at the moment of submitting.
    package var pairing: UniqueIdentifier?
    package let channel: Channel
    package var content: OutgoingContent
    package var options = TransferOptions()
    /// As the channel says (SES-48).
    package var name: String?

    package init(_ channel: Channel, to pairing: UniqueIdentifier?, _ content: OutgoingContent) {
        self.channel = channel
        self.pairing = pairing
        self.content = content
        if channel == .context, content.kind != .message { self.content.badArgument = .kind }
    }

    var bodyLimit: Int { channel == .context ? Limits.contextBody : Limits.userInfoBody }

    /// What is wrong with the options; nil if nothing is.
    var badArgument: BadArgument? {
        if let bad = content.badArgument { return bad }
        if let topic = options.topic, !topic.isShortText { return .topic }
        if let key = options.supersedeKey, !key.isShortText { return .supersedeKey }
        if let time = options.timeToLive, time <= .zero { return .timeToLive }
        return nil
    }

    func envelope(_ app: ApplicationIdentifier, to pairing: UniqueIdentifier) -> Envelope {
        Envelope(
            .submit, app: app, pairing: pairing, id: id, channel: channel, remaining: options.timeToLive, name: name,
            topic: options.topic, key: options.supersedeKey, after: options.after, body: content.body)
    }
}

extension Submission {
    /// The first reason against submitting (SES-13); nil if there is none.
    func refusal(
        _ activation: ActivationState, _ counterpart: SendCheck.Counterpart?, isSupported: Bool
    ) -> SendRefusal? {
        var check = SendCheck(
            activation: activation, counterpart: counterpart, badArgument: badArgument,
            unsupportedKeyPath: content.unsupportedKeyPath, bodySize: content.body.count, bodyLimit: bodyLimit,
            needsReachability: false)
        check.isSupported = isSupported
        return check.refusal
    }
}

extension PairedSession {
    /// The first reason against submitting, as far as it is known at this moment on any thread; nil if there is none.
    package func obstacle(to submission: Submission) -> SessionError? {
        let snapshot = handle.board.snapshot
        let device = pairedDevice
        let counterpart = device.map {
            SendCheck.Counterpart(role: $0.role, level: $0.reachability.level, reason: $0.reachability.reason)
        }
        let refusal = submission.refusal(
            snapshot.activation(of: pairing), counterpart, isSupported: snapshot.isSupported)
        guard let refusal else { return nil }
        var error = SessionError(refusal, messageID: submission.id)
        error.peer = device?.device
        return error
    }
}
