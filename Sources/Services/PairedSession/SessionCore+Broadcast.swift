// Broadcasts on their way out (SES-30). Behind each goes a `ping`: the daemon's `pong` says that it has answered for
// all devices that it cannot reach, so that the caller's outcomes are the daemon's word and not this side's guess.

import TandemBase
import TandemReactor
import TandemSession
import TandemWire

/// A broadcast whose failures can still be told.
struct OpenBroadcast {
    /// Completes the caller, once; nil when it has.
    var completion: ((Result<[BroadcastOutcome], SessionError>) -> Void)?
    let laterFailure: (@Sendable (UniqueIdentifier, SessionError) -> Void)?
    /// The pairings at the moment of sending, and those that are known to have failed.
    let pairings: [UniqueIdentifier]
    let peers: [UniqueIdentifier: UniqueIdentifier]
    /// To some devices only: the identifiers of the messages to each.
    let parts: [UniqueIdentifier]
    var failures: [UniqueIdentifier: SessionError] = [:]
    let deadline: MonotonicTime
}

extension SessionCore {
    /// - Parameter completion: exactly once.
    package func broadcast(
        _ content: OutgoingContent, to receivers: BroadcastReceivers = .all, id: UniqueIdentifier = .random(),
        laterFailure: (@Sendable (UniqueIdentifier, SessionError) -> Void)? = nil,
        completion: @escaping (Result<[BroadcastOutcome], SessionError>) -> Void
    ) {
        if let refusal = obstacle(toBroadcast: content) {
            return completion(.failure(SessionError(refusal, messageID: id)))
        }
        guard content.topic == nil || takesTopics else { return completion(.failure(.noTopics(id))) }
        let entries = (machine.situation?.pairings ?? []).filter(receivers.includes)
        let addresses = receivers.isAll ? [(id, .zero)] : entries.map { (UniqueIdentifier.random(), $0.pairing) }
        guard broadcasts.count + broadcastParts.count < Limits.openRequests,
            let frames = try? frames(ofBroadcast: content, id, to: addresses)
        else { return completion(.failure(.tooManyRequests(id))) }
        let deadline = scheduler.now + Limits.standardDeadline
        let parts = receivers.isAll ? [] : addresses.map(\.0)
        for part in parts { broadcastParts[part] = id }
        broadcasts[id] = OpenBroadcast(
            completion: { completion($0.mapError { $0.about(message: id, peer: nil) }) }, laterFailure: laterFailure,
            pairings: entries.map(\.pairing).sorted(),
            peers: Dictionary(entries.map { ($0.pairing, $0.peer) }, uniquingKeysWith: { first, _ in first }),
            parts: parts, deadline: deadline)
        watch(deadline: deadline)
        for frame in frames { put(Outgoing(id: id, frame: frame, wantsReply: false, given: nil)) }
    }

    /// The message to every pairing, or one to each, and the `ping` whose `pong` ends the waiting.
    private func frames(
        ofBroadcast content: OutgoingContent, _ id: UniqueIdentifier,
        to addresses: [(UniqueIdentifier, UniqueIdentifier)]
    ) throws(WireError) -> [Frame] {
        var frames: [Frame] = []
        for (message, pairing) in addresses {
            frames.append(
                try Envelope(
                    content.kind, app: settings.application, pairing: pairing, id: message,
                    deadline: Limits.standardDeadline, topic: content.topic, body: content.body
                ).frame())
        }
        return frames + [try Envelope(.ping, id: id).frame()]
    }

    /// The broadcast is over: nothing that still comes finds it.
    private func removeBroadcast(_ id: UniqueIdentifier) -> OpenBroadcast? {
        guard let broadcast = broadcasts.removeValue(forKey: id) else { return nil }
        for part in broadcast.parts { broadcastParts[part] = nil }
        return broadcast
    }

    /// What stands against it for all devices; who can be reached is the daemon's to say.
    private func obstacle(toBroadcast content: OutgoingContent) -> SendRefusal? {
        let anybody = machine.situation?.pairings.first.map {
            SendCheck.Counterpart(role: $0.role, level: .immediate, reason: .none)
        }
        var check = SendCheck(
            activation: machine.activation, counterpart: anybody, badArgument: content.badArgument,
            unsupportedKeyPath: content.unsupportedKeyPath, bodySize: content.body.count,
            bodyLimit: Limits.messageBody)
        check.isSupported = machine.isSupported
        return check.refusal
    }

    /// The caller gives up; the message may have left.
    package func abandonBroadcast(_ id: UniqueIdentifier) {
        removeBroadcast(id)?.completion?(.failure(.cancelled(id)))
    }

    // MARK: what the daemon says

    /// A failure of a broadcast, for one device or, with the zero pairing, for all.
    func broadcastFailed(_ id: UniqueIdentifier, _ pairing: UniqueIdentifier, _ error: SessionError) {
        guard let broadcast = broadcasts[id] else { return }
        let error = error.about(message: id, peer: broadcast.peers[pairing])
        if pairing == .zero {
            _ = removeBroadcast(id)
            broadcast.completion?(.failure(error))
        } else if broadcast.completion != nil {
            broadcasts[id]?.failures[pairing] = error
        } else if broadcast.failures[pairing] == nil {
            broadcasts[id]?.failures[pairing] = error
            broadcast.laterFailure?(pairing, error)
        }
    }

    /// The daemon has taken all that was sent before the `ping` with this identifier.
    func pongArrived(_ id: UniqueIdentifier?) {
        guard let id, let broadcast = broadcasts[id] else { return }
        broadcasts[id]?.completion = nil
        if broadcast.laterFailure == nil { _ = removeBroadcast(id) }
        broadcast.completion?(
            .success(broadcast.pairings.map { BroadcastOutcome(pairing: $0, failure: broadcast.failures[$0]) }))
    }

    /// The daemon is gone, or the session ends.
    func failBroadcasts(_ error: SessionError) {
        let lost = broadcasts
        (broadcasts, broadcastParts) = ([:], [:])
        for broadcast in lost.values { broadcast.completion?(.failure(error)) }
    }

    var nextBroadcastDeadline: MonotonicTime? { broadcasts.values.lazy.map(\.deadline).min() }

    /// Forgets what has reached its deadline; a caller that still waits is told so.
    func expireBroadcasts() {
        let late = broadcasts.filter { $0.value.deadline <= scheduler.now }
        for (id, broadcast) in late {
            _ = removeBroadcast(id)
            broadcast.completion?(.failure(.timedOut(id)))
        }
    }
}
