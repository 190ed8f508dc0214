// One message to the counterparts on all paired devices. The daemon multiplies it: the app's message crosses to the
// daemon once, whatever the number of devices.

public import TandemBase
public import TandemPropertyList
import TandemSession
public import TandemWire

/// The outcome of a broadcast for one paired device.
public struct BroadcastOutcome: Sendable, Equatable {
    /// The pairing with that device.
    public let pairing: UniqueIdentifier
    /// Why it did not leave for that device; nil if it did. Whether a handler took it is not known by that. 7005 (the
    /// pairing was removed meanwhile), 7006 or 7018 (the app is not installed there), 7007 (its name is the reason), or
    /// 7014 `slow-consumer` (the way there is full); 7014 `unsupported-kind` if a daemon is too old for the topic, and
    /// any other code if the counterpart has answered already, for example 7014 `unhandled`.
    public let failure: SessionError?
}

/// The receivers of a broadcast.
public enum BroadcastReceivers: Sendable, Equatable {
    /// The counterparts on all paired devices.
    case all
    /// Those whose app says that it provides this (``PairedSessionOptions/provides``), as far as that is known.
    case providing(String)
}

extension BroadcastReceivers {
    func includes(_ entry: PairingState) -> Bool {
        switch self {
        case .all: true
        case .providing(let name): entry.features.provides.names.contains(name)
        }
    }
}

extension PairedSession {
    /// Sends a dictionary without a reply to the counterparts on all paired devices; returns when the daemon has given
    /// it to each of them that it can reach. A session that is bound to a pairing broadcasts to all the same.
    /// - Parameters:
    ///   - message: as for `sendMessage`.
    ///   - topic: which handler is meant, 1 to 128 bytes without NUL.
    ///   - receivers: all, or those that provide something; without any of these it goes nowhere and has no outcome.
    ///   - failure: called later, at most once for each device, if the message did not reach a handler there and that
    ///     became known.
    /// - Returns: one outcome for each of these pairings, in the order of their identifiers.
    /// - Throws: the first that applies of 7004, 7016, 7005 (no pairing), 7008, 7010, 7009 (over 65,536 bytes), 7001
    ///   (too many broadcasts or `cancelled`); later 7012 (the daemon did not take it in 30 s), 7014 `daemon-lost`.
    @discardableResult
    public func broadcast(
        _ message: PropertyListDictionary, topic: String? = nil, to receivers: BroadcastReceivers = .all,
        failure: (@Sendable (UniqueIdentifier, SessionError) -> Void)? = nil
    ) async throws(SessionError) -> [BroadcastOutcome] {
        let (id, content) = (UniqueIdentifier.random(), OutgoingContent(message, topic: topic))
        return try await core.result(id, cancel: { $0.broadcasts.abandon(id) }) { core, completion in
            core.broadcast(content, to: receivers, id: id, laterFailure: failure, completion: completion)
        }
    }
}
