// Durable delivery of one device: items and files that survive restarts, in order and once, on all durable channels of
// all pairings. The daemon around it passes frames of links to it, sends the frames that it asks for, and takes its
// events.

package import TandemBase
package import TandemDelivery
package import TandemReactor
package import TandemStore
package import TandemWire

/// Sends and receives durable items; confined to its loop.
package final class DurableDelivery {
    package let submissions: Submissions
    package let arrivals: Arrivals
    package let contexts: ContextDelivery
    /// The bytes of the channel `file`; nil where no files are taken.
    package let files: FileDelivery?
    private let environment: DeliveryEnvironment
    private let outbound: OutboundQueues
    /// The channels that this device takes part in. A frame of another one is refused, so that a peer cannot fill it.
    private let channels: Set<Channel>

    /// - Parameter userOf: the user of this device who owns an app; nil if unknown.
    package init(
        store: LoopStore, files: FileDelivery? = nil, scheduler: any Scheduler,
        channels: Set<Channel> = Set(Channel.allCases),
        limits: @escaping (Channel) -> DeliveryLimits = DeliveryLimits.standard,
        budgets: ItemBudgetLimits = ItemBudgetLimits(),
        userOf: @escaping (ApplicationIdentifier) -> UInt32? = { _ in nil },
        counters: Counters = Counters(), log: @escaping LogHandler = { _ in }
    ) {
        let environment = DeliveryEnvironment(
            store: store, scheduler: scheduler, limits: limits, budgets: ItemBudgets(budgets), userOf: userOf,
            log: log)
        let outbound = OutboundQueues(in: environment)
        arrivals = Arrivals(in: environment, counters: counters)
        contexts = ContextDelivery(to: outbound, from: arrivals, in: environment)
        submissions = Submissions(to: outbound, contexts: contexts, in: environment)
        self.environment = environment
        self.outbound = outbound
        self.files = files
        self.channels = channels
        files?.attach(to: self)
    }

    /// The disk was full and has had no room since: nothing new is stored.
    var isDiskFull: Bool { environment.store.fullDisk != nil }

    /// Connects the outlets; before the first link.
    /// - Parameters:
    ///   - send: sends over the pairing's link. A frame for a pairing without a link is dropped, since opening one
    ///     repeats it.
    ///   - queuedBytes: what waits in that link's own queue.
    ///   - onEvent: takes the events of all channels.
    package func connect(
        send: @escaping (Envelope, UniqueIdentifier) -> Void,
        queuedBytes: @escaping (UniqueIdentifier) -> Int = { _ in 0 }, onEvent: @escaping (DeliveryEvent) -> Void
    ) {
        environment.connect(send: send, queuedBytes: queuedBytes) { [weak files] event in
            switch event {
            case .stored(let id, let queue) where queue.channel.properties.hasFile: files?.sentItemStored(id, in: queue)
            case .ended(let id, let queue, _, _) where queue.channel.properties.hasFile:
                files?.sentItemEnded(id, in: queue)
            case .fileReleased(let id, let queue, let direction): files?.released(id, in: queue, direction)
            default: break
            }
            onEvent(event)
        }
        files?.connect(send: send) { onEvent(.itemsMayWait($0)) }
    }

    // MARK: pairings

    /// A pairing exists in this epoch. Another epoch than before restarts its numbering.
    package func setPairing(_ pairing: UniqueIdentifier, epoch: UInt64) {
        guard let before = environment.setEpoch(epoch, of: pairing), before != epoch else { return }
        for (key, count) in outbound.lostByEpoch(of: pairing) { environment.log(.lost(count, in: key)) }
        // Its link belongs to the former epoch, and ends in this turn.
        environment.linkClosed(pairing)
        files?.epochEnded(of: pairing)
        outbound.table.startEpoch(of: pairing)
        arrivals.table.startEpoch(of: pairing)
    }

    /// A pairing is gone: its queues and files go with it. The caller commits ``removal(of:)``.
    /// - Parameter apps: all that may have files.
    package func removePairing(_ pairing: UniqueIdentifier, apps: [ApplicationIdentifier] = []) {
        environment.removePairing(pairing)
        outbound.table.removePairing(pairing)
        arrivals.removePairing(pairing)
        contexts.removePairing(pairing)
        environment.budgets.remove(pairing)
        files?.removePairing(pairing, apps: apps)
    }

    /// The rows to delete together with a pairing. The headers are last: on a full disk the rows go in parts, and a
    /// header that a crash leaves behind says at the next start that others may be left, too.
    package static func removal(of pairing: UniqueIdentifier) -> [RowChange] {
        let tables = DeliveryTable.allCases.filter(\.hasOrdinals) + DeliveryTable.allCases.filter { !$0.hasOrdinals }
        return tables.map { .deleteAll(.prefix(QueueKey.prefix(of: pairing), in: $0.space)) }
    }

    // MARK: applications

    /// The items, files and contexts of an application, in all pairings.
    struct ApplicationContents: Sendable, Equatable {
        fileprivate(set) var items = 0
        fileprivate(set) var files = 0
        fileprivate(set) var letters = 0
        fileprivate(set) var contexts = 0
    }

    /// The contents that ``clear(_:code:)`` would end, of each application that has any. One look at all queues,
    /// however many applications are asked for.
    var contents: [ApplicationIdentifier: ApplicationContents] {
        var contents: [ApplicationIdentifier: ApplicationContents] = [:]
        for (key, items, letters) in outbound.counts + arrivals.counts {
            var content = contents[key.app] ?? ApplicationContents()
            if key.channel.isForApps {
                if key.channel.properties.hasFile { content.files += items } else { content.items += items }
            }
            content.letters += letters
            contents[key.app] = content
        }
        for (key, sent, received) in contexts.revisions {
            let count = (sent == nil ? 0 : 1) + (received == nil ? 0 : 1)
            contents[key.app, default: ApplicationContents()].contexts += count
        }
        return contents
    }

    /// The applications for which items wait in either direction.
    var applications: Set<ApplicationIdentifier> {
        Set(arrivals.queuesWithItems.map(\.app)).union(outbound.applications)
    }

    /// Ends everything of an application that is removed; returns whether that is durable. It may be repeated.
    /// - Parameter code: the error that the senders of its items get, by pairing.
    func clear(
        _ app: ApplicationIdentifier, code: (UniqueIdentifier) -> SessionError.Code
    ) async -> Bool {
        let reading = environment.reading
        files?.clear(app)
        contexts.clear(app)
        // Unsafe, because a scheduler that stops drops the commits, and with them this.
        return await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
            // One is open until all events are with their queues.
            var (open, isDurable) = (1, true)
            let end = { (result: Result<Void, DeliveryFailure>) in
                if case .failure(.store) = result { isDurable = false }
                open -= 1
                if open == 0 { continuation.resume(returning: isDurable) }
            }
            for (_, queue) in outbound.table.appEntries(of: app) {
                open += 1
                queue.perform({ $0.clear(at: reading) }, then: end)
            }
            for (_, ledger) in arrivals.table.appEntries(of: app) {
                let code = Int64(code(ledger.machine.key.pairing).rawValue)
                open += 1
                ledger.perform({ $0.clear(code: code, at: reading) }, then: end)
            }
            end(.success(()))
        }
    }

    /// An application belongs to another user now: from here on its queues count towards that user's budgets.
    func reassign(_ app: ApplicationIdentifier) {
        outbound.table.reassign(app)
        arrivals.table.reassign(app)
    }

    // MARK: start

    /// Reads all queues of the known pairings from the store, and removes those of others; before the loop runs.
    /// - Parameter rows: the rows of a range.
    package func restore<Failure: Error>(_ rows: (RowRange) throws(Failure) -> [Row]) throws {
        var stored = DeliveryRows()
        for table in DeliveryRows.tables {
            var next: RowRange? = DeliveryRows.range(of: table)
            while let range = next {
                let found = try rows(range)
                try stored.add(found, of: table)
                next = range.rest(after: found)
            }
        }
        outbound.table.restore(stored)
        arrivals.restore(stored)
        let ended = stored.pairings.filter { environment.epoch(of: $0) == nil }
        guard !ended.isEmpty else { return }
        environment.store.commit(ended.flatMap { Self.removal(of: $0) }, room: .reserve) { _ in }
    }

    /// Removes files that belong to no item (FIL-14); once the items are known, before anything else.
    /// - Parameter apps: all that may have files.
    package func restoreFiles(of pairings: Set<UniqueIdentifier>, apps: [ApplicationIdentifier]) {
        files?.restore(sent: outbound.itemsWithFiles, received: arrivals.itemsWithFiles, pairings: pairings, apps: apps)
    }

    /// Reports unacknowledged ends, and passes waiting items to their handlers; once, when all is set up.
    package func resume() {
        outbound.table.startEpochs()
        arrivals.table.startEpochs()
        outbound.resume()
        arrivals.resume()
    }

    // MARK: links

    /// The link of a pairing is ready. Items of channels that the peer does not know wait here.
    /// - Parameters:
    ///   - received: what the peer's hello says it has stored.
    ///   - agreed: the channels that both ends know.
    ///   - isSameRun: whether the same run of the peer's daemon had the last link. Its store was not restored since: an
    ///     acknowledgement on that link may have overtaken `received`.
    package func linkOpened(
        _ pairing: UniqueIdentifier, received: [SequenceMark],
        channels agreed: Set<Channel> = Set(Channel.allCases), isSameRun: Bool = false
    ) {
        environment.linkOpened(pairing, channels: channels.intersection(agreed))
        outbound.linkOpened(pairing, positions: Self.positions(received, of: pairing), isSameRun: isSameRun)
        arrivals.linkOpened(pairing)
    }

    /// Whether the queues contradict what a peer says it has stored: one of the two stores was restored (DEL-10). For a
    /// hello, before any link: parameters as in ``linkOpened(_:received:channels:isSameRun:)``.
    package func contradicts(
        _ pairing: UniqueIdentifier, received: [SequenceMark], channels agreed: Set<Channel>, isSameRun: Bool
    ) -> Bool {
        outbound.contradicts(
            pairing, positions: Self.positions(received, of: pairing), channels: channels.intersection(agreed),
            isSameRun: isSameRun)
    }

    private static func positions(_ received: [SequenceMark], of pairing: UniqueIdentifier) -> [QueueKey: UInt64] {
        Dictionary(received.map { (QueueKey(pairing: pairing, app: $0.app, channel: $0.channel), $0.sequence) }) {
            max($0, $1)
        }
    }

    /// The link of a pairing is gone.
    package func linkClosed(_ pairing: UniqueIdentifier) {
        environment.linkClosed(pairing)
        outbound.linkClosed(pairing)
        files?.linkClosed(pairing)
    }

    /// The own queue of the pairing's link has drained.
    package func linkDrained(_ pairing: UniqueIdentifier) { environment.link(pairing)?.drained() }

    /// Takes a `ping` or `pong` that came over the pairing's link (DEL-27).
    package func take(marker: PingFrame, over pairing: UniqueIdentifier) {
        if marker.kind == .ping { return environment.answer(marker, over: pairing) }
        if let id = marker.id { environment.link(pairing)?.answered(id) }
    }

    /// The highest sequences stored in order from the peer, and the first of those sent to it (SES-2): it only matters
    /// whether there are any, and a hello must not grow with each app that was ever here.
    package func positions(
        of pairing: UniqueIdentifier
    ) -> (received: [(key: QueueKey, sequence: UInt64)], sent: [(key: QueueKey, sequence: UInt64)]) {
        (arrivals.received(from: pairing), Array(outbound.sent(to: pairing).prefix(1)))
    }

    /// Takes a frame of an item or a file from a link.
    /// - Returns: false for a frame that does not read, or that this device does not take.
    package func receive(_ envelope: Envelope) -> Bool {
        if let files, envelope[.channel] == Channel.file, FileDelivery.kinds.contains(envelope.kind) {
            return files.receive(envelope)
        }
        return store(envelope)
    }

    /// The peer cannot take an item now (DEL-12): a `failure` that names its channel.
    /// - Returns: false if this device has sent no such item.
    @discardableResult
    package func take(_ failure: FailureFrame) -> Bool {
        guard let item = failure.item, let queue = outbound[item.queue], queue.machine.record(of: item.id) != nil else {
            return false
        }
        queue.perform { [reading = environment.reading] in $0.refused(failure, at: reading) }
        if item.queue.channel.properties.hasFile { files?.refused(item) }
        return true
    }

    /// Takes the frame of an item whose file, if any, is complete.
    package func store(_ envelope: Envelope) -> Bool {
        do throws(WireError) {
            switch envelope.kind {
            case .item:
                let frame = try ItemFrame(envelope)
                guard takes(frame.item.queue) else { return false }
                arrivals.arrived(ReceivedItem(frame), as: frame.sequence)
            case .gap:
                let frame = try GapFrame(envelope)
                guard takes(frame.queue) else { return false }
                arrivals.gapArrived(frame.sequence, frame.reason, in: frame.queue)
            case .outcomeAck:
                let frame = try PositionFrame(envelope)
                guard takes(frame.queue) else { return false }
                arrivals.outcomeAcknowledged(frame.sequence, in: frame.queue)
            case .stored:
                let frame = try PositionFrame(envelope)
                guard takes(frame.queue) else { return false }
                outbound.stored(through: frame.sequence, in: frame.queue)
            case .outcome:
                let frame = try OutcomeFrame(envelope)
                guard takes(frame.queue) else { return false }
                outbound.ended(frame.sequence, frame.outcome, in: frame.queue)
            default: return false
            }
            return true
        } catch {
            return false
        }
    }

    /// Whether this device takes part in the channel, and knows the pairing.
    private func takes(_ queue: QueueKey) -> Bool {
        channels.contains(queue.channel) && environment.epoch(of: queue.pairing) != nil
    }

    // MARK: the end

    /// The daemon stops in order: attempts that were counted ahead are returned (DEL-11), and queues note the clock.
    package func stop() {
        arrivals.stop()
        environment.clock.note(isAtOnce: true)
        environment.patience.end()
    }

    // MARK: status

    /// Items of a pairing that have not ended, and dead letters, for each channel.
    func counts(of pairing: UniqueIdentifier, _ direction: DeliveryDirection) -> [Channel: Int] {
        switch direction {
        case .outbound: outbound.table.counts(of: pairing)
        case .inbound: arrivals.table.counts(of: pairing)
        }
    }

    /// The contents of an outbound queue: items, their bytes (SES-87), the age of the oldest in ms, and why the peer
    /// does not take the first.
    package typealias WaitingItems = (key: QueueKey, count: Int, bytes: Int, oldest: Int64?, refusal: ItemRefusal?)

    /// The contents of each outbound queue.
    package var queues: [WaitingItems] { outbound.waiting }

    /// Whether received items wait for an app, here or with its handler, except those that it has put off.
    /// - Parameter isCounted: whether items of the queue are for the app.
    func hasDueItems(for app: ApplicationIdentifier, where isCounted: (QueueKey) -> Bool = { _ in true }) -> Bool {
        arrivals.hasDueItems(for: app, where: isCounted)
    }

    /// The pairings with an outbound queue that a condition on its items, their bytes and the peer's refusal of the
    /// first is true of.
    func pairings(
        where condition: (_ count: Int, _ bytes: Int, _ refusal: ItemRefusal?) -> Bool
    ) -> Set<UniqueIdentifier> {
        outbound.table.queues.reduce(into: []) { pairings, entry in
            let queue = entry.value
            if condition(queue.machine.count, queue.machine.bytes, queue.machine.headRefusal) {
                pairings.insert(entry.key.pairing)
            }
        }
    }

    package var deadLetterCount: Int { outbound.table.deadLetterCount + arrivals.table.deadLetterCount }

    /// All dead letters, by queue.
    package func deadLetters() -> [DeadLetter] { deadLetters(of: nil, atMost: .max).letters }

    /// The first dead letters, by queue, and the number of the others, which are not even looked at.
    /// - Parameter app: nil: of all apps.
    package func deadLetters(
        of app: ApplicationIdentifier?, atMost limit: Int
    ) -> (letters: [DeadLetter], more: Int) {
        var places = outbound.table.deadLetterCounts + arrivals.table.deadLetterCounts
        if let app { places.removeAll { $0.key.app != app } }
        places.sort {
            ($0.key.pairing, $0.key.app, $0.key.channel.rawValue, $0.direction.rawValue)
                < ($1.key.pairing, $1.key.app, $1.key.channel.rawValue, $1.direction.rawValue)
        }
        var letters: [DeadLetter] = []
        for place in places where letters.count < limit {
            let all =
                switch place.direction {
                case .outbound: outbound.deadLetters(in: place.key)
                case .inbound: arrivals.deadLetters(in: place.key)
                }
            letters += all.prefix(limit - letters.count)
        }
        return (letters, places.reduce(0) { $0 + $1.count } - letters.count)
    }

    /// Tries a dead letter once more, or drops it; `completion` gets the result after the commit.
    package func act(
        _ action: DeadLetterAction, on ordinal: UInt64, in queue: QueueKey, _ direction: DeliveryDirection,
        then completion: @escaping (DeadLetterResult) -> Void
    ) {
        switch direction {
        case .outbound: outbound.table.act(action, on: ordinal, in: queue, then: completion)
        case .inbound:
            arrivals.table.act(action, on: ordinal, in: queue) { [environment] result in
                if action == .retry, result == .done { environment.report(.itemsMayWait(queue.app)) }
                completion(result)
            }
        }
    }
}

extension DurableDelivery: FileItems {
    package func wouldStore(_ sequence: UInt64, size: Int, in queue: QueueKey) -> Bool {
        arrivals.wouldStore(sequence, size: size, in: queue)
    }

    package func isNext(_ sequence: UInt64, in queue: QueueKey) -> Bool { arrivals.isNext(sequence, in: queue) }

    package func isUnderWay(_ id: UniqueIdentifier, in queue: QueueKey) -> Bool { outbound.isUnderWay(id, in: queue) }

    package func fileIsUnreadable(_ id: UniqueIdentifier, isGone: Bool, in queue: QueueKey) {
        outbound.failed(id, .fileError, isFinal: isGone, in: queue)
    }

    package func keptFiles(of queue: QueueKey, then done: @escaping (Set<UniqueIdentifier>?) -> Void) {
        arrivals.keptFiles(of: queue, then: done)
    }
}

extension ReceivedItem {
    fileprivate init(_ frame: ItemFrame) {
        self.init(
            queue: frame.item.queue, id: frame.item.id, payload: Array(frame.body), remaining: frame.remaining,
            age: frame.age, topic: frame.topic, revision: frame.revision)
    }
}
