// One call for what should be handled now if possible and otherwise later (SES-39). Nothing falls back by itself: the
// caller asks for it, and the receipt says which way it went and how far it is. Both ways carry one identifier, and the
// second is taken only if no handler can have seen the message on the first.

public import TandemBase
public import TandemPropertyList
import TandemSession
public import TandemWire

/// Policy for a message whose counterpart cannot be reached.
public enum UnreachablePolicy: Sendable, Equatable {
    /// It is an error: 7007.
    case fail
    /// It is queued as a user info of the same identifier, content and topic.
    case queue
}

/// Which way a message went, and how far it is known to be.
public struct DeliveryReceipt: Sendable {
    /// The way it took.
    public enum Channel: Sendable, Equatable {
        /// At once, as a message.
        case message
        /// Queued, as a user info.
        case userInfo
    }

    /// The message's identifier, the same on both ways.
    public let id: UniqueIdentifier
    /// The pairing that it goes through.
    public let pairing: UniqueIdentifier
    /// The way that it took.
    public let channel: Channel
    /// How far it was when the call returned: a message was handled, a user info accepted.
    public let level: AcknowledgementLevel
    /// The handler's reply; nil for a user info.
    public let reply: PropertyListDictionary?
    /// Reports the progress of a user info; nil for a message.
    public let transfer: Transfer?
    /// Why it was queued; nil for a message.
    public let unreachable: SessionError?
}

extension PairedSession {
    /// Delivers a dictionary to a handler of the counterpart: as a message that is replied to or, if the caller allows
    /// it and the counterpart cannot be reached, as a user info.
    ///
    /// The counterpart needs both kinds of handlers for the topic; a message that its handler may have seen is never
    /// queued as well.
    /// - Parameters:
    ///   - message: as for ``sendMessage(_:topic:timeout:)``.
    ///   - topic: which handler is meant, 1 to 128 bytes without NUL.
    ///   - timeout: for the reply to a message, 1 ms to 600 s.
    ///   - policy: what to do at 7007.
    /// - Throws: as ``sendMessage(_:topic:timeout:)``; if it was to be queued, as
    ///   ``transferUserInfo(_:options:until:)``.
    public func deliver(
        _ message: PropertyListDictionary, topic: String? = nil, timeout: Duration = PairedSession.standardTimeout,
        ifUnreachable policy: UnreachablePolicy = .fail
    ) async throws(SessionError) -> DeliveryReceipt {
        let id = UniqueIdentifier.random()
        let content = OutgoingContent(message, topic: topic)
        // Both ways go to the same device, whatever is switched meanwhile.
        let target = try target(for: id)
        do throws(SessionError) {
            let body = try await request(content, timeout, id: id, to: target)
            return DeliveryReceipt(
                id: id, pairing: target, channel: .message, level: .handled,
                reply: try PropertyListDictionary(reply: body, messageID: id), transfer: nil, unreachable: nil)
        } catch {
            guard policy == .queue, error.code == .notReachable else { throw error }
            return try await queue(content, topic, id: id, to: target, because: error)
        }
    }

    private func target(for id: UniqueIdentifier) throws(SessionError) -> UniqueIdentifier {
        if core.hasEnded { throw SessionError(.ended, messageID: id) }
        if let refusal = core.states.snapshot.standing(of: pairing).refusal {
            throw SessionError(refusal, messageID: id)
        }
        guard let device = pairedDevice else { throw SessionError(.withoutPairing(pairing), messageID: id) }
        return device.pairing
    }

    private func queue(
        _ content: OutgoingContent, _ topic: String?, id: UniqueIdentifier, to target: UniqueIdentifier,
        because error: SessionError
    ) async throws(SessionError) -> DeliveryReceipt {
        var submission = Submission(.userInfo, to: target, content)
        submission.id = id
        submission.options.topic = topic
        return DeliveryReceipt(
            id: id, pairing: target, channel: .userInfo, level: .accepted, reply: nil,
            transfer: try await transfer(submission), unreachable: error)
    }
}
