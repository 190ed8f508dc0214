// Configurations given to a host app (kind `configuration`) that wait for its answer. Each completes exactly once: by
// the reply, a failure, the connection's end or the deadline; an answer from any other connection is none.

import TandemBase
import TandemReactor
import TandemSession
package import TandemWire

/// The result of offering a configuration to a host app.
package enum OfferOutcome: Sendable, Equatable {
    /// The body of the app's reply.
    case reply([UInt8])
    /// The app answered `failure`, or the configuration is too large for a frame.
    case failed(SessionError)
    /// The app's connection ended before it answered: it may or may not have seen the configuration.
    case disconnected
    /// The app did not answer in time.
    case expired
    /// The app is not connected: it has not seen the configuration.
    case notConnected

    /// Whether the app refuses the offer because too many messages wait there: it has not seen it, and may take it
    /// later (SES-28).
    var isForLackOfRoom: Bool { if case .failed(let error) = self { error.isNamed(.inboxFull) } else { false } }

    /// The outcome in a word, for the log.
    var name: String {
        switch self {
        case .reply: "malformed reply"
        case .failed: isForLackOfRoom ? "too many messages wait for the app" : "refused by the app"
        case .disconnected: "disconnected"
        case .expired: "no answer in time"
        case .notConnected: "not connected"
        }
    }
}

/// The open offers of one endpoint.
final class PendingOffers {
    private struct Entry {
        let connection: ConnectionNumber
        let timer: TimerToken
        let completion: (OfferOutcome) -> Void
    }

    /// Unchecked, because nothing is called while it is touched: a completion runs when its entry is out.
    @exclusivity(unchecked) private var entries: [UniqueIdentifier: Entry] = [:]
    private let scheduler: any Scheduler

    init(scheduler: any Scheduler) { self.scheduler = scheduler }

    func open(
        _ id: UniqueIdentifier, to connection: ConnectionNumber, deadline: Duration,
        completion: @escaping (OfferOutcome) -> Void
    ) {
        let timer = scheduler.schedule(after: deadline) { [weak self] in self?.complete(id, .expired) }
        entries[id] = Entry(connection: connection, timer: timer, completion: completion)
    }

    /// Whether this connection was given the offer with this identifier and has not answered it.
    @inline(__always)
    func isOpen(_ id: UniqueIdentifier, to connection: ConnectionNumber) -> Bool {
        guard !entries.isEmpty else { return false }
        return entries[id]?.connection == connection
    }

    /// Takes a `reply` or `failure`; false if it answers no offer to this connection. One that names another app or a
    /// channel answers none: the relay refuses it (FRM-10, FRM-13).
    /// - Parameter app: the connection's own.
    func answered(
        _ envelope: Envelope, of app: ApplicationIdentifier?, by connection: ConnectionNumber
    ) throws(WireError) -> Bool {
        let id: UniqueIdentifier = try envelope.required(.id)
        guard isOpen(id, to: connection), let app, envelope.isAbout(app), !envelope.has(.channel) else { return false }
        if envelope.kind == .reply {
            complete(id, .reply(Array(try MessageFrame(envelope).body)))
        } else {
            complete(id, .failed(Self.error(of: try FailureFrame(envelope))))
        }
        return true
    }

    /// A failure must end its request even when its body is of no use.
    private static func error(of failure: FailureFrame) -> SessionError {
        do { return try failure.error() } catch {
            return SessionError(.messageReplyFailed, name: failure.name, reason: error.description)
        }
    }

    /// The connection is gone.
    func closed(_ connection: ConnectionNumber) {
        for (id, entry) in entries where entry.connection == connection { complete(id, .disconnected) }
    }

    private func complete(_ id: UniqueIdentifier, _ outcome: OfferOutcome) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        scheduler.cancel(entry.timer)
        entry.completion(outcome)
    }
}
