// Contexts of apps (DEL-19, DEL-20): of each (pairing, app) and direction only the latest counts. The queues and
// ledgers of the channel decide which that is; this type sets contexts, sets them again when an epoch has lost them,
// and reads the latest ones from their rows.

package import TandemBase
import TandemCrypto
import TandemDelivery
import TandemStore
package import TandemWire

/// The contexts of all apps; confined to its loop.
package final class ContextDelivery {
    private let queues: OutboundQueues
    private let arrivals: Arrivals
    private let environment: DeliveryEnvironment
    /// The queues whose contexts wait for the disk: for room on it, or until it can be read.
    private var lost: Set<QueueKey> = []
    /// The rows whose last read failed. Each is logged once, until it can be read or is replaced.
    private var unreadable: Set<DeliveryRowKey> = []
    private let retry: LaterAttempt

    init(to queues: OutboundQueues, from arrivals: Arrivals, in environment: DeliveryEnvironment) {
        self.queues = queues
        self.arrivals = arrivals
        self.environment = environment
        retry = LaterAttempt(on: environment.scheduler)
        queues.contexts = self
        arrivals.contexts = self
    }

    /// Sets the context of an application: it supersedes the one before. `completion` is called once, when it is
    /// durable or refused.
    func set(_ item: OutboundItem, in key: QueueKey, then completion: @escaping Submissions.Completion) {
        let reading = environment.reading
        let digest = SHA256.digest(item.payload)
        queues.queue(key).accept(
            size: item.payload.count,
            { queue, full throws(QueueFull) in
                let (update, transition) = try queue.setContext(item, digest: digest, at: reading, unless: full)
                return ((update, transition.isDuplicate), transition)
            },
            then: { [weak self, environment] result in
                completion(
                    result.map { update, isDuplicate in
                        switch update {
                        case .unchanged(let revision): return SubmitReceipt(.unchanged, revision: revision)
                        case .set(let revision):
                            _ = self?.unreadable.remove(DeliveryRowKey(.sentContext, key))
                            // A repeated submission may be of an older context than the one that is set.
                            if !isDuplicate, key.isContext {
                                environment.report(.contextChanged(LatestContext(key, sent: revision, item.payload)))
                            }
                            return SubmitReceipt(revision: revision, isDuplicate: isDuplicate)
                        }
                    })
            })
    }

    /// A received context replaces the one in its row.
    func arrived(_ key: QueueKey) { unreadable.remove(DeliveryRowKey(.receivedContext, key)) }

    func removePairing(_ pairing: UniqueIdentifier) { forget { $0.pairing == pairing } }

    /// The application is removed, and its contexts with it.
    func clear(_ app: ApplicationIdentifier) { forget { $0.app == app } }

    private func forget(where isGone: (QueueKey) -> Bool) {
        lost = lost.filter { !isGone($0) }
        unreadable = unreadable.filter { !isGone($0.queue) }
    }

    /// Submits the last context to its queue again: the peer may have lost it with its epoch. Not while the disk is
    /// full: each attempt that fails lets the queue be read back.
    func setAgain(_ key: QueueKey) {
        guard queues[key]?.fullDisk == nil else { return setAgainLater(key) }
        fetch(DeliveryRowKey(.sentContext, key)) { [weak self] result in
            switch result {
            // A damaged row stays so, until the app sets its next context.
            case .failure(let error): if !error.isDamage { self?.setAgainLater(key) }
            case .success(let context):
                if let context { self?.setAgain(context.body, in: key) }
            }
        }
    }

    /// Reads a context, and logs if that fails.
    private func fetch(
        _ key: DeliveryRowKey, then done: @escaping (Result<LatestContext?, StoreError>) -> Void
    ) {
        let read = { (row: [UInt8]) throws(DeliveryRecordError) in
            LatestContext(key.queue, try DeliveryValue(key, bytes: row))
        }
        environment.store.value(at: key, read) { [weak self] result in
            switch result {
            case .success: self?.unreadable.remove(key)
            case .failure(let error):
                if self?.unreadable.insert(key).inserted == true {
                    self?.environment.bodyIsUnreadable(error, in: key.queue)
                }
            }
            done(result)
        }
    }

    private func setAgain(_ body: [UInt8], in key: QueueKey) {
        guard let queue = queues[key] else { return }
        let reading = environment.reading
        let set: OutboundQueues.Queue.Event = { queue in
            // A full queue of contexts contains newer ones.
            do throws(QueueFull) {
                return try queue.setContextAgain(.random(), body: body, at: reading)
            } catch {
                return OutboundTransition()
            }
        }
        queue.perform(set, room: .ordinary)
    }

    private func setAgainLater(_ key: QueueKey) {
        lost.insert(key)
        retry.request { [weak self] in self?.setLostAgain() }
    }

    private func setLostAgain() {
        let keys = lost
        lost = []
        for key in keys where queues[key]?.machine.needsContextAgain == true { setAgain(key) }
    }

    // MARK: reading

    private func sentRevision(_ queue: OutboundQueues.Queue) -> UInt64? {
        queue.machine.context.flatMap { $0.isCleared ? nil : $0.revision }
    }

    private func receivedRevision(_ ledger: Arrivals.Ledger) -> UInt64? { ledger.machine.context?.revision }

    /// The revisions of all contexts, by pairing and application: the last one set here, and the last one that came and
    /// was applied.
    package var revisions: [(key: QueueKey, sent: UInt64?, received: UInt64?)] {
        let sent = queues.table.queues.filter(\.key.isContext).compactMapValues(sentRevision)
        let received = arrivals.table.queues.filter(\.key.isContext).compactMapValues(receivedRevision)
        let keys = Set(sent.keys).union(received.keys)
        return keys.sorted { ($0.app, $0.pairing) < ($1.app, $1.pairing) }.map { ($0, sent[$0], received[$0]) }
    }

    /// Reads the contexts of an application, one after the other; one that was never set or cannot be read is left out.
    /// - Parameters:
    ///   - serves: whether a pairing is one of the application's side.
    ///   - turns: when each of them may be read.
    ///   - each: called later for each of them; the next one is read when it calls `next`.
    ///   - done: called after the last one.
    package func read(
        of app: ApplicationIdentifier, in serves: (UniqueIdentifier) -> Bool = { _ in true },
        _ turns: ReadTurns = .none,
        each: @escaping (_ context: LatestContext, _ next: @escaping () -> Void) -> Void,
        then done: @escaping () -> Void
    ) {
        func isMeant(_ key: QueueKey) -> Bool { key.isContext && serves(key.pairing) }
        let sent = queues.table.appEntries(of: app).filter { isMeant($0.key) && sentRevision($0.value) != nil }
        let received = arrivals.table.appEntries(of: app).filter {
            isMeant($0.key) && receivedRevision($0.value) != nil
        }
        let keys =
            sent.map { DeliveryRowKey(.sentContext, $0.key) }
            + received.map { DeliveryRowKey(.receivedContext, $0.key) }
        read(at: keys.sorted { $0.queue.pairing < $1.queue.pairing }[...], turns, each, done)
    }

    private func read(
        at keys: ArraySlice<DeliveryRowKey>, _ turns: ReadTurns,
        _ each: @escaping (_ context: LatestContext, _ next: @escaping () -> Void) -> Void,
        _ done: @escaping () -> Void
    ) {
        guard let key = keys.first else { return done() }
        let next = { [weak self] in self?.read(at: keys.dropFirst(), turns, each, done) ?? () }
        turns.begin { [weak self] in
            guard let self else { return turns.end() }
            fetch(key) { [environment] result in
                turns.end()
                // The pairing may have ended while the disk read, and its context with it.
                let isPaired = environment.epoch(of: key.queue.pairing) != nil
                if isPaired, case .success(let context?) = result { each(context, next) } else { next() }
            }
        }
    }
}

extension QueueKey {
    /// An app is told the latest of the queue (SES-52); of mirrored settings only their merging needs it (SES-76).
    var isContext: Bool { channel == .context }
}

/// The latest context of one direction.
package struct LatestContext: Sendable, Equatable {
    package let pairing: UniqueIdentifier
    package let app: ApplicationIdentifier
    package let direction: ContextFrame.Direction
    package let revision: UInt64
    /// The version of a received one; nil for one that this device's app has set, which has no epoch.
    let version: ContextVersion?
    package let body: [UInt8]

    init(_ queue: QueueKey, sent revision: UInt64, _ body: [UInt8]) {
        (pairing, app) = (queue.pairing, queue.app)
        (direction, version) = (.sent, nil)
        self.revision = revision
        self.body = body
    }

    init(_ queue: QueueKey, received version: ContextVersion, _ body: [UInt8]) {
        (pairing, app) = (queue.pairing, queue.app)
        direction = .received
        self.version = version
        revision = version.revision
        self.body = body
    }

    fileprivate init?(_ queue: QueueKey, _ row: DeliveryValue) {
        switch row {
        case .sentContext(let context, let body): self.init(queue, sent: context.revision, body)
        case .receivedContext(let context, let body): self.init(queue, received: context, body)
        default: return nil
        }
    }
}
