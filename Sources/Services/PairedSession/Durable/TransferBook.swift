// Durable items of this app on their way out (SES-48 to SES-50). An item is submitted again on each new connection,
// under the same identifier, until the daemon has accepted it. From then on it is the daemon's, and this side reports
// how far it is. The daemon forgets with a connection which items are waited for, so the next one names them (SES-56).

import TandemBase
import TandemReactor
import TandemSession
import TandemWire

/// A step of a durable item of this app.
package struct TransferEvent: Sendable {
    package enum Step: Sendable {
        /// Durable on the other device.
        case stored
        case finished(TransferOutcome)
    }

    package let item: ItemKey
    package let step: Step

    package var id: UniqueIdentifier { item.id }
    package var channel: Channel { item.queue.channel }
}

/// The items of one session; confined to its scheduler.
final class TransferBook {
    private struct Submitted {
        /// Called once: when the daemon has the item, or when it never will.
        let accepted: Completion<Acceptance>
        /// Sent again after a loss.
        let frame: SubmitFrame
        let peer: UniqueIdentifier?
    }

    /// An accepted item that this process waits for.
    private struct Followed {
        let transfer: Transfer
        let file: FileTransfer?
    }

    private let app: ApplicationIdentifier
    private let daemon: DaemonChannel
    private let queries: QueryTable
    private let handovers: HandoverBook
    private let scheduler: any Scheduler
    private var items = TransferTable<Submitted>(capacity: Limits.queuedItems, byteCapacity: Limits.queuedItemBytes)
    private var followed: [UniqueIdentifier: Followed] = [:]
    /// The connection on which all of that was submitted, or subscribed to.
    private var connection: UInt64 = 0
    private lazy var withdrawals = Withdrawals(
        daemon: daemon, queries: queries, handovers: handovers, scheduler: scheduler
    ) {
        // Weakly: the caller of one withdrawal may have dropped the session before the next one ends.
        [weak self] item, result in
        self?.withdrawalEnded(item, result) ?? result.map { TransferCancellation($0) }
    }
    /// Items whose withdrawal this daemon has not been asked for yet; they are followed once it has ended (SES-84).
    private var followedAfterWithdrawal: Set<UniqueIdentifier> = []
    private var observers: [(TransferEvent) -> Void] = []
    /// An observer acknowledges each end itself, later than it gets it.
    private var isAcknowledging = false
    /// The ends that were reported to this observer, and that it has not acknowledged.
    private var unacknowledged: Set<ItemKey> = []
    /// Ends of former processes' items, until an observer asks for them.
    private var unreported: [TransferEvent] = []
    private var reported = RecentEnds()
    /// Items of former processes that the daemon has listed, and that have not ended.
    private var formerItems: [UniqueIdentifier: ItemKey] = [:]

    init(
        app: ApplicationIdentifier, daemon: DaemonChannel, queries: QueryTable, handovers: HandoverBook,
        scheduler: any Scheduler
    ) {
        self.app = app
        self.daemon = daemon
        self.queries = queries
        self.handovers = handovers
        self.scheduler = scheduler
    }

    // MARK: submitting

    /// Submits an item.
    /// - Parameter accepted: called once, when the item is durable here or never will be.
    func submit(_ submission: Submission, to entry: PairingState, accepted: @escaping Completion<Acceptance>) {
        let frame = submission.frame(app, to: entry.pairing)
        let token = Submitted(accepted: handovers.track(accepted), frame: frame, peer: entry.peer)
        let excess = items.submit(
            submission.id, to: entry.pairing, on: submission.channel, size: frame.body.count, token: token)
        if let excess {
            let error = SessionError.tooManySubmissions(
                submission.id, ofBytes: excess.isOfBytes, actual: excess.actual, limit: excess.limit)
            return token.accepted(.failure(error))
        }
        // The first one on a connection that still loads a configuration: it leaves once, and behind older ones.
        if connection == daemon.number { send(frame) } else { connected() }
    }

    /// Submits an item and follows it from the moment of its acceptance.
    /// - Parameters:
    ///   - file: the file whose item it is.
    ///   - session: for taking the item back.
    func transfer(
        _ submission: Submission, of file: FileTransfer? = nil, to entry: PairingState, session: WeakSession,
        accepted: @escaping Completion<Transfer>
    ) {
        guard let kind = Transfer.Kind(submission.channel) else {
            return accepted(.failure(.notATransfer(submission.id)))
        }
        submit(submission, to: entry) { [weak self] result in
            accepted(
                result.map { acceptance in
                    let isDemoted = acceptance.note == .demoted
                    let overflow = isDemoted ? submission.channel.properties.overflow : nil
                    let transfer = Transfer(
                        id: submission.id, pairing: entry.pairing, kind: overflow.flatMap { Transfer.Kind($0) } ?? kind,
                        isDemoted: isDemoted, session: session)
                    self?.followed[submission.id] = Followed(transfer: transfer, file: file)
                    return transfer
                })
        }
    }

    private func send(_ submit: SubmitFrame) {
        guard let frame = try? submit.frame() else { return }
        daemon.enqueue(Outgoing(id: submit.item.id, frame: frame))
    }

    /// The pairing of an item that this process has submitted.
    func pairing(of id: UniqueIdentifier) -> UniqueIdentifier? { items[id]?.pairing }

    /// A new connection is ready, or gets its first item. Sends withdrawals first (SES-84), then submits unaccepted
    /// items again, and subscribes to accepted ones (SES-56). A repeated call on one connection changes nothing: its
    /// daemon knows all of it.
    func connected() {
        guard connection != daemon.number else { return }
        connection = daemon.number
        withdrawals.ask()
        let frames = items.unaccepted.map { $0.entry.token.frame }
        for frame in frames where !withdrawals.isPending(frame.item) { send(frame) }
        followAll()
    }

    /// The connection is lost: withdrawals stay pending for the next one.
    func disconnected() {
        followedAfterWithdrawal = []
        withdrawals.disconnected()
    }

    private func key(_ id: UniqueIdentifier, in pairing: UniqueIdentifier, on channel: Channel) -> ItemKey {
        ItemKey(QueueKey(pairing: pairing, app: app, channel: channel), id)
    }

    /// The key that the item's submission has, if this process has submitted it: a demoted item is in the queue of
    /// another channel.
    private func submittedKey(
        _ id: UniqueIdentifier, in pairing: UniqueIdentifier, on channel: Channel
    ) -> ItemKey {
        items[id]?.token.frame.item ?? key(id, in: pairing, on: channel)
    }

    // MARK: taking back

    /// Takes an item back (SES-84).
    /// - Parameter completion: called once.
    func takeBack(
        _ id: UniqueIdentifier, on channel: Channel, in pairing: UniqueIdentifier,
        then completion: @escaping Completion<TransferCancellation>
    ) {
        // The withdrawal passes what waits for the daemon to read, and the item must not come behind it.
        daemon.removeQueued(id)
        withdrawals.begin(submittedKey(id, in: pairing, on: channel), then: completion)
    }

    private func withdrawalEnded(
        _ item: ItemKey, _ result: Result<AnswerFrame, SessionError>
    ) -> Result<TransferCancellation, SessionError> {
        if followedAfterWithdrawal.remove(item.id) != nil, let transfer = followed[item.id]?.transfer {
            follow([item.id], transfer.kind, transfer.pairing)
        }
        switch result {
        case .success(let answer):
            followed[item.id]?.transfer.withdrawalAnswered(answer.word)
            return .success(withdrawalAnswered(item, answer))
        case .failure(let error):
            submissionFailed(item.id, error)
            return .failure(error)
        }
    }

    private func withdrawalAnswered(_ item: ItemKey, _ answer: AnswerFrame) -> TransferCancellation {
        guard let entry = items[item.id], entry.phase == .submitted else { return TransferCancellation(answer) }
        switch answer.word {
        case .cancelled, .unknown:
            // An end that the daemon still sends, because it had accepted the item, is not reported again.
            for channel in [entry.channel, entry.channel.properties.overflow].compactMap(\.self) {
                _ = reported.insert(key(item.id, in: entry.pairing, on: channel))
            }
            submissionFailed(item.id, .cancelled(item.id))
            return .cancelled
        default:
            // Accepted on a connection that was lost; this one gets its end from now on.
            impliedAcceptance(of: item.id)
            if let kind = Transfer.Kind(entry.channel) { follow([item.id], kind, entry.pairing) }
            return TransferCancellation(answer)
        }
    }

    // MARK: what the daemon reports

    /// The daemon has listed items that had not ended when it began the page.
    /// - Returns: those whose end has not come before it. A daemon that reads many bodies for a page sends ends of its
    ///   items meanwhile (SES-62).
    func noteOutstanding(_ listed: [OutstandingTransfer]) -> [OutstandingTransfer] {
        listed.filter { item in
            let key = key(item.id, in: item.pairing, on: item.kind.channel)
            guard !reported.contains(key) else { return false }
            if items[item.id] == nil { formerItems[item.id] = key }
            return true
        }
    }

    /// The daemon has listed all items of a queue that had not ended.
    /// - Returns: those that have not ended since.
    func noteAllOutstanding(
        _ listed: [OutstandingTransfer], of kind: Transfer.Kind, to pairing: UniqueIdentifier
    ) -> [OutstandingTransfer] {
        let queue = QueueKey(pairing: pairing, app: app, channel: kind.channel)
        formerItems = formerItems.filter { $0.value.queue != queue }
        return noteOutstanding(listed)
    }

    func accepted(_ frame: AcceptedFrame) {
        guard let entry = items.reached(.accepted, frame.item.id) else { return }
        entry.token.accepted(.success(Acceptance(note: frame.note, revision: frame.revision)))
        // A context has no end: the next one takes its place.
        if entry.channel.properties.isLatestWins { _ = items.ended(frame.item.id) }
    }

    /// The daemon did not take the item, or the app took it back before it could.
    func submissionFailed(_ id: UniqueIdentifier, _ error: SessionError) {
        guard items[id]?.phase == .submitted, let entry = items.ended(id) else { return }
        entry.token.accepted(.failure(error.about(message: nil, peer: entry.token.peer)))
    }

    func stored(_ item: ItemKey) {
        let id = item.id
        impliedAcceptance(of: id)
        guard items.reached(.stored, id) != nil || items[id] == nil else { return }
        followed[id]?.transfer.stored()
        followed[id]?.file?.ended(isStored: true)
        report(TransferEvent(item: item, step: .stored))
    }

    /// The other device has so many bytes of a file.
    func transferred(_ id: UniqueIdentifier, _ offset: Int64) {
        followed[id]?.file?.update { $0.transferred = min($0.total, offset) }
    }

    /// An item has ended. The daemon keeps its record until this side acknowledges the end.
    func finished(_ frame: FinishedFrame, peer: UniqueIdentifier?) {
        let id = frame.item.id
        // Reported; the observer has not acknowledged it yet.
        guard !unacknowledged.contains(frame.item) else { return }
        impliedAcceptance(of: id)
        let outcome = TransferOutcome(frame, peer: peer)
        formerItems[id] = nil
        let follower = followed.removeValue(forKey: id)
        let isOurs = items.ended(id) != nil
        follower?.transfer.finished(outcome)
        follower?.file?.ended(isStored: outcome == .handled)
        let event = TransferEvent(item: frame.item, step: .finished(outcome))
        guard reported.insert(frame.item) || isOurs else {
            // Reported before, and its acknowledgement was lost.
            if !isUnreported(event) { sendAcknowledgement(of: frame.item) }
            return
        }
        // Nobody waits for the end of a context: keeping it would keep one for each that was ever set.
        let isAnothers = follower == nil && !isOurs && !event.channel.properties.isLatestWins
        if observers.isEmpty, isAnothers {
            if !isUnreported(event) { unreported.append(event) }
        } else {
            reportEnd(event)
        }
    }

    /// A later report about an item implies its acceptance, whose own report was lost with a daemon.
    private func impliedAcceptance(of id: UniqueIdentifier) {
        guard let entry = items.reached(.accepted, id) else { return }
        entry.token.accepted(.success(Acceptance(note: nil, revision: nil)))
    }

    /// Without a daemon the next one repeats the end.
    private func sendAcknowledgement(of item: ItemKey) {
        if daemon.isRegistered { daemon.send(FinishedAckFrame(item)) }
    }

    // MARK: observers

    /// Reports each step of each item of this app, those of former processes too; first what has come before.
    /// - Parameter acknowledging: the observer acknowledges each end itself (``acknowledge(_:)``); otherwise an end is
    ///   acknowledged when the observer has returned.
    func observe(acknowledging: Bool, _ observer: @escaping (TransferEvent) -> Void) {
        observers.append(observer)
        isAcknowledging = isAcknowledging || acknowledging
        let waiting = unreported
        unreported = []
        for event in waiting { reportEnd(event) }
    }

    /// Reports an end. It is acknowledged when the observer has returned, or by ``acknowledge(_:)``. Until then the
    /// daemon keeps it for a later process (SES-85).
    private func reportEnd(_ event: TransferEvent) {
        let isLater = isAcknowledging && !event.channel.properties.isLatestWins
        if isLater { unacknowledged.insert(event.item) }
        report(event)
        if !isLater { sendAcknowledgement(of: event.item) }
    }

    /// The observer acknowledges an end.
    func acknowledge(_ item: ItemKey) {
        if unacknowledged.remove(item) != nil { sendAcknowledgement(of: item) }
    }

    /// The session is over: what its observers hold is released.
    func removeObservers() { observers = [] }

    private func report(_ event: TransferEvent) {
        for observer in observers { observer(event) }
    }

    private func isUnreported(_ event: TransferEvent) -> Bool {
        unreported.contains { $0.item == event.item }
    }

    // MARK: across connections

    private func followAll() {
        var pages: [UniqueIdentifier: [Transfer.Kind: [UniqueIdentifier]]] = [:]
        for transfer in followed.values.map(\.transfer) {
            let item = submittedKey(transfer.id, in: transfer.pairing, on: transfer.kind.channel)
            if withdrawals.isWaiting(item) {
                followedAfterWithdrawal.insert(transfer.id)
            } else {
                pages[transfer.pairing, default: [:]][transfer.kind, default: []].append(transfer.id)
            }
        }
        for (pairing, kinds) in pages {
            for (kind, items) in kinds { follow(items[...], kind, pairing) }
        }
    }

    private func follow(_ items: ArraySlice<UniqueIdentifier>, _ kind: Transfer.Kind, _ pairing: UniqueIdentifier) {
        guard !items.isEmpty else { return }
        let page = Array(items.prefix(Limits.pageItems))
        queries.ask(.subscribe(page), of: pairing, on: kind.channel) { [weak self] result in
            guard let self else { return }
            guard case .success(let answer) = result else { return followLater(items, kind, pairing) }
            forgotten(UnknownItems(answer.body).items)
            follow(items.dropFirst(Limits.pageItems), kind, pairing)
        }
    }

    /// A daemon whose disk is full cannot answer now. A new connection asks for everything again anyhow.
    private func followLater(
        _ items: ArraySlice<UniqueIdentifier>, _ kind: Transfer.Kind, _ pairing: UniqueIdentifier
    ) {
        let number = daemon.number
        scheduler.schedule(after: .seconds(1)) { [weak self] in
            guard let self, daemon.isRegistered, daemon.number == number else { return }
            follow(items.filter { self.followed[$0] != nil }[...], kind, pairing)
        }
    }

    /// Items that the daemon no longer knows: another connection has acknowledged their end, or the daemon dropped it
    /// (LIM-24).
    private func forgotten(_ unknown: [UniqueIdentifier]) {
        for id in unknown {
            guard let follower = followed.removeValue(forKey: id) else { continue }
            _ = items.ended(id)
            follower.transfer.unfollowed(.endUnknown(id))
            follower.file?.ended(isStored: false)
            let transfer = follower.transfer
            reportEnd(of: key(id, in: transfer.pairing, on: transfer.kind.channel), .failed(.endUnknown(id)))
        }
    }

    /// The daemon has refused the app for good: nothing is submitted again, and no wait counts the withdrawals.
    func refused(_ error: SessionError) {
        failUnaccepted(error)
        withdrawals.release(error)
    }

    private func failUnaccepted(_ error: SessionError) {
        for token in items.dropUnaccepted(of: nil) { token.accepted(.failure(error)) }
    }

    /// The session ends: what was not accepted never will be. Accepted items continue without this session.
    func failAll(_ error: SessionError) {
        handovers.failAll(error)
        withdrawals.fail(to: nil, error)
        failUnaccepted(error)
        for (id, follower) in followed {
            _ = items.ended(id)
            follower.transfer.unfollowed(error.about(message: id, peer: nil))
            follower.file?.ended(isStored: false)
        }
        (followed, formerItems) = ([:], [:])
    }

    /// A pairing is gone, and with it all that waited for it in the daemon.
    func fail(to pairing: UniqueIdentifier, _ error: SessionError) {
        withdrawals.fail(to: pairing, error)
        for token in items.dropUnaccepted(of: pairing) { token.accepted(.failure(error)) }
        for (id, entry) in items.dropAccepted(of: pairing) {
            let outcome = TransferOutcome.failed(error.about(message: id, peer: entry.token.peer))
            let follower = followed.removeValue(forKey: id)
            follower?.transfer.finished(outcome)
            follower?.file?.ended(isStored: false)
            // A demoted item is in the queue of another channel than it was submitted to.
            let channel = follower?.transfer.kind.channel ?? entry.channel
            reportEnd(of: key(id, in: pairing, on: channel), outcome)
        }
        for (id, item) in formerItems where item.queue.pairing == pairing {
            formerItems[id] = nil
            reportEnd(of: item, .failed(error.about(message: id, peer: nil)))
        }
    }

    /// An item is over without a word of the daemon about it; an end that it may still send is not reported again.
    private func reportEnd(of item: ItemKey, _ outcome: TransferOutcome) {
        if reported.insert(item) { report(TransferEvent(item: item, step: .finished(outcome))) }
    }
}

/// The ends of items that were reported last, as many as a daemon keeps until they are acknowledged (LIM-24). A daemon
/// repeats an end when its acknowledgement was lost with a connection; this process reports each once.
struct RecentEnds {
    private var all: Set<ItemKey> = []
    private var order: [ItemKey] = []
    private var oldest = 0

    func contains(_ item: ItemKey) -> Bool { all.contains(item) }

    /// Remembers the item's end, and forgets the oldest if there are too many; false if it is remembered already.
    mutating func insert(_ item: ItemKey) -> Bool {
        guard all.insert(item).inserted else { return false }
        guard order.count == Limits.unacknowledgedEnds else {
            order.append(item)
            return true
        }
        all.remove(order[oldest])
        order[oldest] = item
        oldest = (oldest + 1) % Limits.unacknowledgedEnds
        return true
    }
}
