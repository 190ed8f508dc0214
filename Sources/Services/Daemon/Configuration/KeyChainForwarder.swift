// Key chain forwarder: brings key sets and revocations to each secondary (CFG-92). Which step goes to which is the
// machine's; the forwarder commits its rows, queues the items and collects the reports.

import TandemBase
import TandemDelivery
import TandemSignedConfiguration
import TandemStore
import TandemWire

/// Forwards key chains and collects their reports; confined to its loop.
final class KeyChainForwarder {
    private let context: ConfigurationContext
    private let committed: CommittedState<KeyChainDeliveries>
    /// The steps after the anchor as they are durable now. Asked when a delivery is decided: a chain that has grown
    /// since a caller looked must not seem to be another one.
    private let steps: (KeySubject) -> [ChainStep]
    /// Its configurations wait for the steps that secondaries lack.
    weak var forwarder: ConfigurationForwarder?
    let changes: ChangeWaiters

    init(
        _ context: ConfigurationContext, state: KeyChainDeliveries, store: LoopStore,
        steps: @escaping (KeySubject) -> [ChainStep]
    ) {
        self.context = context
        self.steps = steps
        changes = ChangeWaiters(on: context.scheduler)
        committed = CommittedState(state, in: store)
    }

    /// The state in force.
    var state: KeyChainDeliveries { committed.state }

    /// Whether a configuration that is delivered to a secondary now would overtake steps of its chain.
    func isBehind(_ subject: KeySubject, at peer: ConfigurationPeer) -> Bool {
        let key = KeyChainDeliveries.Key(pairing: peer.pairing, subject: subject)
        return committed.state.isBehind(
            key, along: steps(subject).count, in: peer.epoch, under: context.trust(of: subject.application, at: peer))
    }

    /// Steps have been queued, or are not wanted.
    private func moved(_ subject: KeySubject, at peers: [ConfigurationPeer]) {
        let caughtUp = peers.filter { !isBehind(subject, at: $0) }
        if !caughtUp.isEmpty { forwarder?.caughtUp(subject, at: caughtUp.map(\.pairing)) }
    }

    /// Secondaries may lack a part of a chain.
    func advance(_ subject: KeySubject, to peers: [ConfigurationPeer], because occasion: KeyChainDeliveries.Occasion) {
        // An anchor in the place of a longer chain leaves nothing to wait for.
        guard !steps(subject).isEmpty else { return moved(subject, at: peers) }
        for part in peers.commitBatches {
            change(for: part.map(\.pairing)) { [self] next in advance(&next, subject, to: part, because: occasion) }
        }
    }

    /// A secondary refuses a configuration for its keys. If that contradicts its reports, the chain starts again, and
    /// then the action runs.
    func doubt(_ subject: KeySubject, at peer: ConfigurationPeer, then action: @escaping () -> Void) {
        change(for: [peer.pairing]) { [self] next in
            let key = KeyChainDeliveries.Key(pairing: peer.pairing, subject: subject)
            guard next.doubt(key, along: steps(subject)) else { return Commit([]) {} }
            let answer = advance(&next, subject, to: [peer])
            return Commit(answer.changes) {
                answer.effect()
                action()
            }
        }
    }

    /// Runs the action once what was asked before is decided. Only then it is known whether a configuration would
    /// overtake steps: a refused chain may have started again.
    func whenDecided(_ action: @escaping () -> Void) { committed.inTurn(action) }

    /// A chain has grown: returns once what follows from that is durable, or false if it could not be stored.
    func advance(_ subject: KeySubject, to peers: [ConfigurationPeer]) async -> Bool {
        await committed.isStored({ [self] next in advance(&next, subject, to: peers) }, failure: { log($0) })
    }

    private func advance(
        _ next: inout KeyChainDeliveries, _ subject: KeySubject, to peers: [ConfigurationPeer],
        because occasion: KeyChainDeliveries.Occasion = .changed
    ) -> Commit<Void> {
        let chain = steps(subject)
        var rows: [RowChange] = []
        var transitions: [(ConfigurationPeer, KeyChainDeliveries.Transition)] = []
        var former: [(peer: ConfigurationPeer, app: ApplicationIdentifier, item: UniqueIdentifier)] = []
        for peer in peers {
            if let entered = next.enterEpoch(peer.epoch, of: peer.pairing) {
                rows += entered.map { next.stored($0.key) } + next.storedCounter(of: peer.pairing)
                former += entered.flatMap { key, items in items.map { (peer, key.subject.application, $0) } }
            }
            let key = KeyChainDeliveries.Key(pairing: peer.pairing, subject: subject)
            let (queue, before) = (context.queue(of: subject.application, at: peer.pairing), next[key])
            let submissions = context.delivery.submissions
            let transition = next.advance(
                key, along: chain, because: occasion, under: context.trust(of: subject.application, at: peer),
                isUnderWay: { submissions.record(of: $0, in: queue)?.record.isUnfinished ?? false },
                isHandled: { submissions.record(of: $0, in: queue)?.record.phase == .finished(.handled) },
                newIdentifier: { .random() })
            transitions.append((peer, transition))
            if next[key] != before { rows.append(next.stored(key)) }
        }
        return Commit(rows) { [self] in
            for (peer, app, item) in former { context.takeBack(item, of: app, from: peer.pairing) }
            for (peer, transition) in transitions {
                for id in transition.cancelled { context.takeBack(id, of: subject.application, from: peer.pairing) }
                for item in transition.items { submit(item) }
            }
            moved(subject, at: peers)
            if !rows.isEmpty { changed() }
        }
    }

    private func submit(_ item: KeyChainDeliveries.Item) {
        context.submit(
            item.envelope, as: item.id, slot: nil, of: item.key.subject.application, to: item.key.pairing
        ) { [self] result in
            guard case .failure(let error) = result else { return }
            // A failure of the store is tried again (LIM-56); any other one is repaired at the next link.
            context.log(
                .warning, "key statement not queued", .text("app", "\(item.key.subject.application)"),
                .text("error", error.description))
            if case .store = error { context.whenNotStored(item.key.pairing) }
        }
    }

    /// A step of a chain, of which results are asked.
    struct Question {
        let subject: KeySubject
        let index: Int
        let digest: [UInt8]
        /// Of the key set in force.
        let version: UInt64
        let peers: [ConfigurationPeer]

        fileprivate var keys: [KeyChainDeliveries.Key] {
            peers.map { KeyChainDeliveries.Key(pairing: $0.pairing, subject: subject) }
        }
    }

    /// The results of a step, when each secondary has one or `wait` is over.
    func results(of question: Question, within wait: Duration) async -> [ApplyResult] {
        await changes.wait(atMost: wait, untilEach: question.keys) { [self] in verdict(at: $0, on: question) != nil }
        return results(of: question)
    }

    /// The present results of a step.
    func results(of question: Question) -> [ApplyResult] {
        zip(question.peers, question.keys).map { peer, key in
            let verdict = verdict(at: key, on: question)
            return ApplyResult(
                pairing: peer.pairing, name: peer.name, via: peer.via, verdict: verdict?.name,
                text: verdict == nil || verdict == .applied ? nil : committed.state[key]?.result?.text,
                version: question.version,
                digest: question.digest,
                awaitsApplication: Verdict.awaitsApplication(
                    hasApplication: context.hasApplication(question.subject.application, at: peer),
                    verdict: verdict?.name))
        }
    }

    private func verdict(at key: KeyChainDeliveries.Key, on question: Question) -> Verdict? {
        committed.state[key]?.verdict(
            on: question.digest, at: question.index, along: steps(question.subject))
    }

    /// Whether a report is one on a step that was delivered.
    func awaits(_ report: [UInt8]) -> Bool {
        ConfigurationReport.claimedNonce(report).map { committed.state.awaits($0) } ?? false
    }

    /// Whether the pairing has begun an epoch that this state has not entered.
    func mustEnterEpoch(of peer: ConfigurationPeer) -> Bool {
        committed.state.mustEnterEpoch(peer.epoch, of: peer.pairing)
    }

    /// A report has arrived from a secondary; returns whether it is durable or dropped, or nil if it is about no step.
    func received(_ report: [UInt8], from peer: ConfigurationPeer) async -> Bool? {
        guard awaits(report), let (device, key) = peer.reporter else { return nil }
        let isDurable: Bool? = try? await committed.commit { [self] next in
            do throws(ReportFailure) {
                let reported = try next.report(
                    report, through: peer.pairing, in: peer.epoch, device: device, key: key,
                    under: { [context] in context.trust(of: $0, at: peer) })
                let items = next.goOn(reported, along: steps(reported.subject), newIdentifier: { .random() })
                let rows = [next.stored(reported)] + next.storedCounter(of: peer.pairing)
                return Commit(rows) { [self] in
                    log(reported, peer)
                    for item in items { submit(item) }
                    moved(reported.subject, at: [peer])
                    changed()
                    return true
                }
            } catch {
                context.log(error, from: peer)
                return Commit([]) { true }
            }
        }
        return isDurable ?? false
    }

    private func log(_ key: KeyChainDeliveries.Key, _ peer: ConfigurationPeer) {
        guard let result = committed.state[key]?.result else { return }
        // A device without the app knows no key for it (CFG-74).
        let isGood = result.verdict == .applied || result.verdict == .waitingForKey
        context.log(
            isGood ? .info : .warning, "key statement reported", .outside("device", peer.name),
            .text("app", "\(key.subject.application)"), .text("verdict", result.verdict.name))
    }

    /// A pairing is gone.
    func unpaired(_ pairing: UniqueIdentifier) {
        change(room: .reserve) { next in
            _ = next.unpaired(pairing)
            return Commit([.deleteAll(.prefix(pairing.bytes, in: .keyChainProgress))]) {}
        }
    }

    /// - Parameter pairings: the secondaries that lack something if the change cannot be stored.
    private func change(
        for pairings: [UniqueIdentifier] = [], room: CommitRoom = .ordinary,
        _ transition: @escaping (inout KeyChainDeliveries) -> Commit<Void>
    ) {
        committed.perform(
            room: room, transition,
            failure: { [self] error in
                log(error)
                pairings.forEach(context.whenNotStored)
            })
    }

    private func log(_ error: StoreError) {
        context.log(.error, "key chain not stored", .text("error", error.description))
    }

    private func changed() {
        changes.count()
        changes.notify()
    }
}

extension KeyChainDeliveries {
    fileprivate func stored(_ key: Key) -> RowChange { .set(.keyChainProgress, key: key.bytes, to: row(of: key)) }

    fileprivate func storedCounter(of pairing: UniqueIdentifier) -> [RowChange] {
        counter(of: pairing).map { [RowChange.set(.keyChainProgress, key: pairing.bytes, to: $0.dictionary)] } ?? []
    }

    /// - Parameter rows: the rows of a key space.
    init(rows: (RowSpace) throws -> [Row]) throws {
        self.init()
        for row in try rows(.keyChainProgress) {
            let fields = try row.fields()
            guard let pairing = UniqueIdentifier(bytes: Array(row.key.prefix(16))) else {
                throw ConfigurationRowError(.keyChainProgress, "its key names no pairing")
            }
            if row.key.count == 16, let counter = ReportCounter(fields) {
                restore(counter, of: pairing)
            } else if let subject = KeySubject(bytes: Array(row.key.dropFirst(16))) {
                try restore(fields, of: Key(pairing: pairing, subject: subject))
            } else {
                throw ConfigurationRowError(.keyChainProgress, "its key names no app")
            }
        }
    }
}

extension KeyChainDeliveries.Key {
    fileprivate var bytes: [UInt8] { pairing.bytes + subject.bytes }
}

extension RowSpace {
    /// How far each secondary is along each chain; with a pairing alone for a key, its last report counters.
    static let keyChainProgress = RowSpace(rawValue: 43)
}
