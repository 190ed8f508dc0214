// Handlers of durable items, and the verdicts (SES-51): each item goes to its handlers once in this process's life. A
// handler may come late: until the first one for a channel is there, and while the app registers one after the other,
// the item waits here. The daemon sends no further item of that queue, so the number of queues bounds what waits. A
// handler that names a topic gets the items of that topic; items that no topic's handler takes are for those that name
// none.

import TandemBase
import TandemReactor
import TandemSession
import TandemWire

/// The handlers of one host app and the items that wait for them; confined to the session's scheduler.
final class ItemInbox {
    /// Which items a handler takes.
    struct Interest: Sendable {
        let channels: Set<Channel>
        let pairing: UniqueIdentifier?
        let topic: String?
    }

    typealias Take = (DeliveredItem, HandlingToken) -> Void

    private struct Handler {
        let number: UInt64
        let interest: Interest
        let take: Take
        /// The session is over: no further item will come.
        let ended: () -> Void
    }

    private var memory = HandlingMemory<HandlingVerdict>()
    private var fileObservers: [(IncomingFileProgress) -> Void] = []
    private var handlers: [Handler] = []
    private var waiting: [(item: DeliveredItem, give: @Sendable (HandlingVerdict) -> Void)] = []
    private var nextNumber: UInt64 = 0
    private let scheduler: any Scheduler
    private let timer: DeadlineTimer
    /// When the app's start ends (SES-34); nil before its activation and its first handler.
    private var startedAt: MonotonicTime?

    init(scheduler: any Scheduler) {
        self.scheduler = scheduler
        timer = DeadlineTimer(on: scheduler)
        timer.onDeadline = { [weak self] in self?.judgeWaiting() }
    }

    /// Something of the app's waits for its first handler: `hasContentPending` of WCSession.
    var hasWaiting: Bool { waiting.contains { $0.item.channel != .settings } }

    /// The app has registered no handler yet, or has taken back all of them; that of synced settings is the library's.
    var hasNoHandler: Bool { handlers.allSatisfy { $0.interest.channels == [.settings] } }

    /// A `delivery` arrived.
    /// - Parameter give: called once with the verdict of the handlers.
    /// - Returns: the verdict that is known at once.
    func delivered(
        _ frame: DeliveryFrame, give: @escaping @Sendable (HandlingVerdict) -> Void
    ) -> HandlingVerdict? {
        switch memory.arrived(frame.item) {
        case .inHand: return nil
        case .done(let verdict): return verdict
        case .new: break
        }
        guard let item = DeliveredItem(frame), item.channel.properties.hasFile || !item.content.hasReservedKey else {
            memory.ended(frame.item, .rejected(.malformedItem))
            return .rejected(.malformedItem)
        }
        arrived(item, give: give)
        return nil
    }

    /// The verdict of an item is known.
    func ended(_ item: ItemKey, _ verdict: HandlingVerdict) {
        switch verdict {
        case .failed, .later: memory.forget(item)
        case .handled, .rejected: memory.ended(item, verdict)
        }
    }

    /// Passes the item to its handlers, queues it for a later one, or rejects what the app's handlers do not want.
    private func arrived(_ item: DeliveredItem, give: @escaping @Sendable (HandlingVerdict) -> Void) {
        let takers = takers(of: item)
        let hasHandler = handlers.contains { $0.interest.channels.contains(item.channel) }
        guard hasHandler, !takers.isEmpty || isStarted else {
            waiting.append((item, give))
            return watch()
        }
        guard !takers.isEmpty else { return give(.rejected(.unhandled(item.facts.topic))) }
        // Before the first of several handlers, which may move the file away (FIL-18).
        if let hidden = item.hiddenFile {
            PairedLog.write(.hiddenFile(hidden.path, hidden.reason))
            return give(.failed("the app's process does not see its file: \(hidden.reason)"))
        }
        let token = HandlingToken(handlers: takers.count, give: give)
        for handler in takers { handler.take(item, token) }
    }

    /// Adds a handler and passes it what waited; returns its number.
    func add(_ interest: Interest, take: @escaping Take, ended: @escaping () -> Void) -> UInt64 {
        nextNumber += 1
        handlers.append(Handler(number: nextNumber, interest: interest, take: take, ended: ended))
        judgeWaiting()
        return nextNumber
    }

    /// The app is at its start.
    func starts() {
        startedAt = scheduler.now + Limits.startingTime
        watch()
    }

    private var isStarted: Bool { startedAt.map { scheduler.now >= $0 } ?? false }

    /// Judges the items that wait again when the app has started.
    private func watch() {
        if let startedAt, scheduler.now < startedAt, !waiting.isEmpty { timer.watch(startedAt) }
    }

    private func judgeWaiting() {
        let items = waiting
        waiting = []
        for (item, give) in items { arrived(item, give: give) }
    }

    func remove(_ number: UInt64) { handlers.removeAll { $0.number == number } }

    /// The session is over.
    func removeAll() {
        for handler in handlers { handler.ended() }
        handlers = []
        fileObservers = []
        waiting = []
    }

    // MARK: incoming files

    func observeFiles(_ observer: @escaping (IncomingFileProgress) -> Void) { fileObservers.append(observer) }

    /// This device has so many bytes of a file that comes for this app.
    func fileProgressed(_ item: ItemKey, _ file: ProgressFrame.IncomingFile, _ offset: Int64) {
        let progress = IncomingFileProgress(
            id: item.id, pairing: item.queue.pairing, name: file.name, size: file.size, received: offset)
        for observer in fileObservers { observer(progress) }
    }

    private func takers(of item: DeliveredItem) -> [Handler] {
        handlers.filter { $0.interest.channels.contains(item.channel) }
            .takers(through: item.facts.pairing, of: item.facts.topic) { ($0.interest.pairing, $0.interest.topic) }
    }
}

extension LogEvent {
    /// A received file that this process does not see (FIL-18).
    fileprivate static func hiddenFile(_ path: String, _ reason: String) -> LogEvent {
        LogEvent(
            .error, "received file is hidden: let this process see the app's directory under the daemon's own path",
            .outside("path", path), .text("reason", reason))
    }
}
