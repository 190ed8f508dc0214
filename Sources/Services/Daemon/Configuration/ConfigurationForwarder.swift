// The forwarding half: a configuration from the operator becomes one durable item for each secondary that it is for,
// and what they report is waited for. The early check is for feedback only; nobody relies on it (CFG-21).

import TandemBase
import TandemCrypto
import TandemDelivery
import TandemPairing
import TandemReactor
import TandemSignedConfiguration
import TandemStore
import TandemWire

/// Forwards configurations and collects reports; confined to its loop.
final class ConfigurationForwarder {
    let context: CarrierContext
    let committed: CommittedState<ForwardingState>
    private var waiters: [ApplyWaiter] = []

    init(_ context: CarrierContext, state: ForwardingState, store: LoopStore) {
        self.context = context
        committed = CommittedState(state, in: store)
    }

    /// Queues the configuration for the pairings; `completion` gets one result for each when all have reported, or when
    /// `wait` is over.
    func forward(
        _ envelope: [UInt8], _ payload: ConfigurationPayload, to pairings: [PairingRecord], wait: Duration,
        then completion: @escaping (ApplyOutcome) -> Void
    ) {
        let now = context.reading.wall
        let key = ConfigurationSlotKey(
            application: payload.application, role: payload.role, target: payload.target)
        let entries = pairings.map { record in
            ForwardedConfiguration(
                id: .random(), pairing: record.pairing, key: key, version: payload.version,
                digest: SHA256.digest(envelope), accepted: now)
        }
        committed.perform(
            { next in (entries.flatMap { next.update($0) }, { [self] in queue(entries, envelope, wait, completion) }) },
            failure: { error in completion(.failed(name: error.isFull ? "full" : "store", text: error.description)) })
    }

    private func queue(
        _ entries: [ForwardedConfiguration], _ envelope: [UInt8], _ wait: Duration,
        _ completion: @escaping (ApplyOutcome) -> Void
    ) {
        let waiter = ApplyWaiter(ids: entries.map(\.id), completion: completion)
        waiters.append(waiter)
        for entry in entries { submit(entry, envelope) }
        waiter.timer = context.scheduler.schedule(after: wait) { [weak self] in self?.answer(waiter) }
        answerFinished()
    }

    private func submit(_ entry: ForwardedConfiguration, _ envelope: [UInt8]) {
        let item = OutboundItem(
            id: entry.id, payload: envelope,
            supersedeKey: SHA256.digest(Array("\(entry.key.role.rawValue) \(entry.key.target.text)".utf8)))
        let queue = QueueKey(pairing: entry.pairing, app: entry.key.application, channel: .configuration)
        context.exchange.submissions.submit(item, to: queue) { [weak self] result in
            if case .failure(let error) = result {
                self?.end(entry.id, error.isFull ? "full" : "store", error.description)
            }
        }
    }

    // MARK: what becomes of them

    /// The item has ended. One that the secondary took is finished by its report.
    func ended(_ id: UniqueIdentifier, _ outcome: Outcome) {
        guard outcome != .handled else { return }
        end(id, outcome.name, nil)
    }

    private func end(_ id: UniqueIdentifier, _ verdict: String, _ text: String?) {
        committed.perform(
            { [self] next in
                guard var entry = next.entries[id], !entry.isFinished else { return ([], {}) }
                entry.verdict = verdict
                entry.text = text
                entry.isFinished = true
                return (next.update(entry), { [self] in answerFinished() })
            }, failure: { _ in })
    }

    /// A report has arrived through a pairing; `completion` is called when it is durable or dropped, with false if it
    /// could not be stored.
    func received(_ report: [UInt8], from record: PairingRecord, then completion: @escaping (Bool) -> Void) {
        let now = context.reading.wall
        committed.perform(
            { [self] next in
                do throws(ReportFailure) {
                    let (entry, changes) = try next.accept(report, from: record, now: now)
                    return (
                        changes,
                        { [self] in
                            log(entry, record)
                            answerFinished()
                            completion(true)
                        }
                    )
                } catch {
                    context.log(
                        LogEvent(
                            .warning, "report refused", .text("pairing", "\(record.pairing)"),
                            .text("reason", error.rawValue)))
                    return ([], { completion(true) })
                }
            }, failure: { _ in completion(false) })
    }

    private func log(_ entry: ForwardedConfiguration, _ record: PairingRecord) {
        context.log(
            LogEvent(
                .info, "configuration reported", .outside("device", record.name),
                .text("app", "\(entry.key.application)"),
                .text("verdict", entry.verdict ?? ""), .integer("version", entry.version)))
    }

    // MARK: who waits

    private func answerFinished() {
        for waiter in waiters where waiter.ids.allSatisfy({ committed.state.entries[$0]?.verdict != nil }) {
            answer(waiter)
        }
    }

    private func answer(_ waiter: ApplyWaiter) {
        guard let place = waiters.firstIndex(where: { $0 === waiter }) else { return }
        waiters.remove(at: place)
        waiter.timer.map(context.scheduler.cancel)
        waiter.completion(.results(waiter.ids.compactMap { result(committed.state.entries[$0]) }))
    }

    private func result(_ entry: ForwardedConfiguration?) -> ApplyResult? {
        guard let entry, let record = context.delegate?.pairingRecord(entry.pairing) else { return nil }
        return ApplyResult(
            pairing: entry.pairing, name: record.name, verdict: entry.verdict, text: entry.text, version: entry.version,
            digest: entry.digest)
    }

    /// A pairing is gone, and what was on its way through it.
    func unpaired(_ pairing: UniqueIdentifier) {
        committed.perform(
            { [self] next in (next.remove(pairing), { [self] in answerFinished() }) }, failure: { _ in })
    }
}

extension SubmitFailure {
    /// Whether waiting or making room helps.
    var isFull: Bool {
        switch self {
        case .full: true
        case .store(let error): error.isFull
        case .lost, .unpaired: false
        }
    }
}

extension StoreError {
    /// Whether making room helps.
    var isFull: Bool { if case .full = self { true } else { false } }
}
