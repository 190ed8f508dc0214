// Configuration forwarder: the forwarding half. A configuration from the operator becomes one durable item for each of
// its secondaries, and their reports are collected. The early check is for feedback only; nothing relies on it
// (CFG-21).

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemReactor
import TandemSignedConfiguration
import TandemStore
import TandemWire

/// The present result of a configuration at one secondary.
struct ApplyResult: Sendable, Equatable {
    /// nil for this device's own app.
    let pairing: UniqueIdentifier?
    /// The device's name.
    let name: String
    /// Nil while there is none: the configuration waits for the link or for the report.
    let verdict: String?
    let text: String?
    let version: UInt64
    let digest: [UInt8]
}

/// The result of `apply` (CTL-3): one for each secondary, or the reason why nothing was forwarded.
enum ApplyOutcome: Sendable, Equatable {
    case results([ApplyResult])
    case failed(ControlFailure)
}

/// Forwards configurations and collects reports; confined to its loop.
final class ConfigurationForwarder {
    /// A caller that waits until each of its items has a verdict.
    private struct Waiter {
        let ids: [UniqueIdentifier]
        let finished: Expectation<Bool>
    }

    private let context: ConfigurationContext
    private let committed: CommittedState<ForwardingState>
    private var waiters: [Waiter] = []

    init(_ context: ConfigurationContext, state: ForwardingState, store: LoopStore) {
        self.context = context
        committed = CommittedState(state, in: store)
    }

    /// The state in force.
    var state: ForwardingState { committed.state }

    /// Queues the configuration for the secondaries; returns one result for each when all have reported, or when `wait`
    /// is over.
    func forward(
        _ envelope: [UInt8], _ payload: ConfigurationPayload, to peers: [ConfigurationPeer], wait: Duration
    ) async -> ApplyOutcome {
        let now = context.reading.wall
        let key = ConfigurationSlotKey(
            application: payload.application, role: payload.role, target: payload.target)
        let entries = peers.map { peer in
            ForwardedConfiguration(
                id: .random(), pairing: peer.pairing, key: key, version: payload.version,
                digest: SHA256.digest(envelope), accepted: now)
        }
        do throws(StoreError) {
            try await committed.commit { next in (entries.flatMap { next.update($0) }, {}) }
        } catch {
            return .failed(ControlFailure(error.isFull ? .full : .store, error.description))
        }
        let waiter = Waiter(ids: entries.map(\.id), finished: Expectation(on: context.scheduler))
        waiters.append(waiter)
        for entry in entries { submit(entry, envelope) }
        notifyFinished()
        _ = await waiter.finished.value(within: wait)
        waiters.removeAll { $0.finished === waiter.finished }
        return .results(waiter.ids.compactMap { result(state.entries[$0]) })
    }

    private func submit(_ entry: ForwardedConfiguration, _ envelope: [UInt8]) {
        let item = OutboundItem(
            id: entry.id, payload: envelope,
            supersedeKey: SHA256.digest(Array("\(entry.key.role.rawValue) \(entry.key.target.text)".utf8)))
        let queue = QueueKey(pairing: entry.pairing, app: entry.key.application, channel: .configuration)
        context.delivery.submissions.submit(item, to: queue) { [weak self] result in
            if case .failure(let error) = result {
                let name: ControlFailureName = error.isFull ? .full : .store
                self?.end(entry.id, name.rawValue, error.description)
            }
        }
    }

    private func result(_ entry: ForwardedConfiguration?) -> ApplyResult? {
        guard let entry, let peer = context.device.peer(entry.pairing) else { return nil }
        return ApplyResult(
            pairing: entry.pairing, name: peer.name, verdict: entry.verdict, text: entry.text, version: entry.version,
            digest: entry.digest)
    }

    // MARK: results

    /// The item has ended. One that the secondary took is finished by its report.
    func ended(_ id: UniqueIdentifier, _ outcome: Outcome) {
        if outcome != .handled { end(id, outcome.name, nil) }
    }

    private func end(_ id: UniqueIdentifier, _ verdict: String, _ text: String?) {
        change { next in next.end(id, verdict, text) }
    }

    /// A pairing is gone, and the configurations on their way through it.
    func unpaired(_ pairing: UniqueIdentifier) { change(room: .reserve) { next in next.remove(pairing) } }

    /// Changes the state, for a caller that does not wait.
    private func change(
        room: CommitRoom = .ordinary, _ transition: @escaping (inout ForwardingState) -> [RowChange]
    ) {
        context.scheduler.start { [self] in
            try? await committed.commit(room: room) { [self] next in (transition(&next), { [self] in notifyFinished() })
            }
        }
    }

    /// A report has arrived from a secondary; returns true when it is durable or dropped, and false if it could not be
    /// stored.
    func received(_ report: [UInt8], from peer: ConfigurationPeer) async -> Bool {
        let now = context.reading.wall
        let isDurable = try? await committed.commit { [self] next in
            do throws(ReportFailure) {
                let (entry, changes) = try next.accept(report, from: peer, now: now)
                return (
                    changes,
                    { [self] in
                        log(entry, peer)
                        notifyFinished()
                        return true
                    }
                )
            } catch {
                context.log(
                    LogEvent(
                        .warning, "report refused", .text("pairing", "\(peer.pairing)"),
                        .text("reason", error.rawValue)))
                return ([], { true })
            }
        }
        return isDurable ?? false
    }

    private func log(_ entry: ForwardedConfiguration, _ peer: ConfigurationPeer) {
        context.log(
            LogEvent(
                .info, "configuration reported", .outside("device", peer.name),
                .text("app", "\(entry.key.application)"),
                .text("verdict", entry.verdict ?? ""), .integer("version", entry.version)))
    }

    private func notifyFinished() {
        for waiter in waiters where waiter.ids.allSatisfy({ state.entries[$0]?.verdict != nil }) {
            waiter.finished.fulfil(true)
        }
    }
}

extension SubmitFailure {
    /// Whether waiting or freeing space helps.
    fileprivate var isFull: Bool {
        switch self {
        case .full: true
        case .store(let error): error.isFull
        case .lost, .unpaired: false
        }
    }
}

extension StoreError {
    /// Whether freeing space helps.
    var isFull: Bool { if case .full = self { true } else { false } }
}
