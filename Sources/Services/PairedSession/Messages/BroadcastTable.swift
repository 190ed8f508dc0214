// Broadcasts on their way out (SES-30). Behind each goes a `ping`: its `pong` says that the daemon has answered for all
// devices that it cannot reach, so that the outcomes are the daemon's statement and not this side's guess.

import TandemBase
import TandemReactor
import TandemSession
import TandemWire

/// The broadcasts of one session whose failures can still be reported; confined to its scheduler.
final class BroadcastTable {
    typealias LaterFailure = @Sendable (UniqueIdentifier, SessionError) -> Void

    private struct Open {
        /// Completes the caller, once; nil when it has.
        var completion: Completion<[BroadcastOutcome]>?
        let laterFailure: LaterFailure?
        /// The peers by pairing at the moment of sending, and the pairings that are known to have failed.
        let peers: [UniqueIdentifier: UniqueIdentifier]
        var failures: [UniqueIdentifier: SessionError] = [:]
        /// To some devices only: the identifiers of the messages to each.
        let parts: [UniqueIdentifier]
        let deadline: MonotonicTime
    }

    private let app: ApplicationIdentifier
    private let daemon: DaemonChannel
    private let scheduler: any Scheduler
    private let timer: DeadlineTimer
    private var open: [UniqueIdentifier: Open] = [:]
    /// Messages of broadcasts that go to some devices only, and of which broadcast each is.
    private var parts: [UniqueIdentifier: UniqueIdentifier] = [:]

    init(app: ApplicationIdentifier, daemon: DaemonChannel, scheduler: any Scheduler) {
        self.app = app
        self.daemon = daemon
        self.scheduler = scheduler
        timer = DeadlineTimer(on: scheduler)
        timer.onDeadline = { [weak self] in self?.expire() }
    }

    /// - Parameters:
    ///   - entries: the pairings that it goes to.
    ///   - isToAll: these are all pairings: the daemon multiplies one message.
    ///   - completion: called once.
    func send(
        _ content: OutgoingContent, _ id: UniqueIdentifier, to entries: [PairingState], isToAll: Bool,
        laterFailure: LaterFailure?, completion: @escaping Completion<[BroadcastOutcome]>
    ) {
        let addresses = isToAll ? [(id, .zero)] : entries.map { (UniqueIdentifier.random(), $0.pairing) }
        guard open.count + parts.count < Limits.openRequests else {
            return completion(.failure(.tooManyRequests(id)))
        }
        let frames: [Frame]
        do throws(WireError) { frames = try self.frames(content, id, to: addresses) } catch {
            return completion(.failure(.notWritten(error, messageID: id)))
        }
        let deadline = scheduler.now + Limits.standardDeadline
        let own = isToAll ? [] : addresses.map(\.0)
        for part in own { parts[part] = id }
        open[id] = Open(
            completion: { completion($0.mapError { $0.about(message: id, peer: nil) }) }, laterFailure: laterFailure,
            peers: Dictionary(entries.map { ($0.pairing, $0.peer) }, uniquingKeysWith: { first, _ in first }),
            parts: own, deadline: deadline)
        timer.watch(deadline)
        for frame in frames { daemon.enqueue(Outgoing(id: id, frame: frame)) }
    }

    /// The message to every pairing, or one to each, and the `ping` whose `pong` ends the waiting.
    private func frames(
        _ content: OutgoingContent, _ id: UniqueIdentifier, to addresses: [(UniqueIdentifier, UniqueIdentifier)]
    ) throws(WireError) -> [Frame] {
        var frames: [Frame] = []
        for (message, pairing) in addresses {
            frames.append(
                try MessageFrame(
                    content.kind, app: app, pairing: pairing, id: message, deadline: Limits.standardDeadline,
                    topic: content.topic, body: content.body[...]
                ).frame())
        }
        return frames + [try PingFrame(id: id).frame()]
    }

    /// The caller gives up; the message may have left.
    func abandon(_ id: UniqueIdentifier) { end(id, .cancelled(id)) }

    /// Ends the wait; frames that are still queued for the daemon never leave.
    private func end(_ id: UniqueIdentifier, _ error: SessionError) {
        daemon.removeQueued(id)
        remove(id)?.completion?(.failure(error))
    }

    func broadcast(of message: UniqueIdentifier) -> UniqueIdentifier? {
        open[message] != nil ? message : parts[message]
    }

    /// A broadcast failed for one device or, with the zero pairing, for all.
    func failed(_ id: UniqueIdentifier, _ pairing: UniqueIdentifier, _ error: SessionError) {
        guard let peers = open[id]?.peers else { return }
        let error = error.about(message: id, peer: peers[pairing])
        guard pairing != .zero else {
            remove(id)?.completion?(.failure(error))
            return
        }
        // In place: a copy of the entry would copy all failures so far.
        let isNew = open[id]?.failures.updateValue(error, forKey: pairing) == nil
        if isNew, let broadcast = open[id], broadcast.completion == nil { broadcast.laterFailure?(pairing, error) }
    }

    /// The daemon has taken everything that was sent before the `ping` with this identifier.
    func pongArrived(_ id: UniqueIdentifier) {
        guard let broadcast = open[id] else { return }
        open[id]?.completion = nil
        if broadcast.laterFailure == nil { _ = remove(id) }
        let outcomes = broadcast.peers.keys.sorted().map {
            BroadcastOutcome(pairing: $0, failure: broadcast.failures[$0])
        }
        broadcast.completion?(.success(outcomes))
    }

    /// Fails all: the daemon is lost, or the session ends.
    func failAll(_ error: SessionError) {
        let lost = open
        (open, parts) = ([:], [:])
        for broadcast in lost.values { broadcast.completion?(.failure(error)) }
    }

    /// The broadcast is over: what still comes finds nothing.
    private func remove(_ id: UniqueIdentifier) -> Open? {
        guard let broadcast = open.removeValue(forKey: id) else { return nil }
        for part in broadcast.parts { parts[part] = nil }
        return broadcast
    }

    private func expire() {
        for id in open.filter({ $0.value.deadline <= scheduler.now }).keys { end(id, .timedOut(id)) }
        if let next = open.values.lazy.map(\.deadline).min() { timer.watch(next) }
    }
}
