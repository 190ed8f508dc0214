// Broadcasts on their way out (SES-30). Behind each goes a `ping`: the daemon's `pong` says that it has answered for
// all devices that it cannot reach, so that the caller's outcomes are the daemon's word and not this side's guess.

import TandemIdentity
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
    var failures: [UniqueIdentifier: SessionError] = [:]
    let deadline: MonotonicTime
}

extension SessionCore {
    /// - Parameter completion: exactly once.
    package func broadcast(
        _ content: OutgoingContent, id: UniqueIdentifier = .random(),
        laterFailure: (@Sendable (UniqueIdentifier, SessionError) -> Void)? = nil,
        completion: @escaping (Result<[BroadcastOutcome], SessionError>) -> Void
    ) {
        if let refusal = obstacle(toBroadcast: content) {
            return completion(.failure(SessionError(refusal, messageID: id)))
        }
        guard broadcasts.count < Limits.openRequests, let frames = try? frames(ofBroadcast: content, id) else {
            return completion(.failure(.tooManyRequests(id)))
        }
        let deadline = scheduler.now + Limits.standardDeadline
        let pairings = (machine.situation?.pairings ?? []).map(\.pairing).sorted()
        broadcasts[id] = OpenBroadcast(
            completion: completion, laterFailure: laterFailure, pairings: pairings, deadline: deadline)
        watch(deadline: deadline)
        for frame in frames { put(Outgoing(id: id, frame: frame, wantsReply: false, given: nil)) }
    }

    /// The message to every pairing, and the `ping` whose `pong` ends the waiting.
    private func frames(
        ofBroadcast content: OutgoingContent, _ id: UniqueIdentifier
    ) throws(WireError) -> [Frame] {
        let message = Envelope(
            content.kind, app: settings.application, pairing: .zero, id: id, deadline: Limits.standardDeadline,
            body: content.body)
        return [try message.frame(), try Envelope(.ping, id: id).frame()]
    }

    /// What stands against it for all devices; who can be reached is the daemon's to say.
    private func obstacle(toBroadcast content: OutgoingContent) -> SendRefusal? {
        let anybody = machine.situation?.pairings.first.map {
            SendCheck.Counterpart(role: $0.role, level: .immediate, reason: .none)
        }
        return SendCheck(
            activation: machine.activation, counterpart: anybody, badArgument: content.badArgument,
            unsupportedKeyPath: content.unsupportedKeyPath, bodySize: content.body.count,
            bodyLimit: Limits.messageBody
        ).refusal
    }

    /// The caller gives up; the message may have left.
    package func abandonBroadcast(_ id: UniqueIdentifier) {
        broadcasts.removeValue(forKey: id)?.completion?(.failure(.cancelled(id)))
    }

    // MARK: what the daemon says

    /// A failure of a broadcast, for one device or, with the zero pairing, for all.
    func broadcastFailed(_ id: UniqueIdentifier, _ pairing: UniqueIdentifier, _ error: SessionError) {
        guard let broadcast = broadcasts[id] else { return }
        if pairing == .zero {
            broadcasts[id] = nil
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
        if broadcast.laterFailure == nil { broadcasts[id] = nil }
        broadcast.completion?(
            .success(broadcast.pairings.map { BroadcastOutcome(pairing: $0, failure: broadcast.failures[$0]) }))
    }

    /// The daemon is gone, or the session ends.
    func failBroadcasts(_ error: SessionError) {
        let lost = broadcasts
        broadcasts = [:]
        for broadcast in lost.values { broadcast.completion?(.failure(error)) }
    }

    var nextBroadcastDeadline: MonotonicTime? { broadcasts.values.lazy.map(\.deadline).min() }

    /// Forgets what has reached its deadline; a caller that still waits is told so.
    func expireBroadcasts() {
        let late = broadcasts.filter { $0.value.deadline <= scheduler.now }
        for (id, broadcast) in late {
            broadcasts[id] = nil
            broadcast.completion?(.failure(.timedOut(id)))
        }
    }
}
