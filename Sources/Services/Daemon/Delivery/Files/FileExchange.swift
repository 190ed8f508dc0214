// The bytes of files, beside the items of their channel (FIL): from an app into the spool, over the link into a partial
// file, from there to the app. The rules are the Delivery room's machines', the disk is the worker's; this class gives
// events to the ones and jobs to the other. It never waits, and it holds no more of a file than a window.

package import TandemBase
package import TandemDelivery
package import TandemFiles
package import TandemReactor
import TandemWire

/// Moves files between apps and links; confined to its loop.
package final class FileExchange {
    package weak var delegate: (any FileExchangeDelegate)?
    package weak var items: (any FileItems)?
    let worker: FileWorker
    let spool: FileShelf
    let partials: FileShelf
    let scheduler: any Scheduler
    package var limits: FileLimits
    let log: LogHandler
    /// Files that apps hand over, and those that wait for their turn.
    var takings: [FileKey: FileSubmission] = [:]
    var waiting = WaitingFiles()
    /// Files that peers pull, by pairing and by file.
    var senders: [UniqueIdentifier: FileSender] = [:]
    var sendings: [FileKey: FileSending] = [:]
    /// Who handed a file over, to be told how far it is.
    var sources: [FileKey: WeakSource] = [:]
    /// Files that come, one for each queue.
    var arrivals: [QueueKey: FileArrival] = [:]
    /// Queues for whose next file the disk is asked, and what came of them meanwhile.
    var opening: Set<QueueKey> = []
    var next: [QueueKey: Envelope] = [:]
    /// Bytes that came over each link and are not written.
    var unwritten: [UniqueIdentifier: Int] = [:]
    /// Queues that are swept; true: once more after it.
    var sweeping: [QueueKey: Bool] = [:]
    /// What is in the spool, and what has come and was not handled.
    var spooled = FileBytes<SpoolOwner>()
    var received = FileBytes<UniqueIdentifier>()
    /// The user of this device who owns an app; nil if nobody is known.
    package var userOf: (ApplicationIdentifier) -> UInt32? = { _ in nil }
    /// Files that peers asked for and that are not on their way to them.
    let stray: Counter

    /// Costs nothing before the first file: then two directories and a thread.
    /// - Parameters:
    ///   - directory: a device's own.
    ///   - suffix: tells the devices apart that share a directory.
    package init(
        in directory: OwnedDirectory, suffix: String = "", scheduler: any Scheduler,
        limits: FileLimits = FileLimits(), counters: Counters = Counters(), log: @escaping LogHandler = { _ in }
    ) {
        spool = FileShelf("spool" + suffix, in: directory)
        partials = FileShelf("partial" + suffix, in: directory)
        worker = FileWorker(for: scheduler)
        self.scheduler = scheduler
        self.limits = limits
        self.log = log
        stray = counters.counter("files.stray")
    }

    /// Waits for the disk; what follows comes later, as always. For tests that turn time by hand.
    package func waitForDisk() { worker.waitUntilIdle() }

    /// Lets the disk finish; nothing may be asked after it.
    package func close() { worker.close() }

    // MARK: life

    /// Removes what a process left behind that ended in the middle (FIL-14); before anything else.
    /// - Parameters:
    ///   - sent: items whose bytes the peer does not have yet.
    ///   - received: items whose handler has not returned, and dead letters.
    ///   - apps: all that may have files.
    package func restore(
        sent: [FileKey], received: [FileKey], pairings: Set<UniqueIdentifier>, apps: [ApplicationIdentifier]
    ) {
        guard spool.exists || partials.exists else { return }
        let spool = spool
        let kept = Set(sent.map(\.place))
        count({ () throws(FileError) in try spool.removeAll(but: kept) }) {
            $0.spooled.set($1, of: $0.owner(of: $1), size: $2)
        }
        let partials = partials
        clear("removing orphans") { () throws(FileError) in try partials.removal(butOf: pairings) }
        count({ () throws(FileError) in try partials.sizes(of: pairings) }) {
            $0.received.set($1, of: $1.queue.pairing, size: $2)
        }
        let received = Dictionary(grouping: received, by: \.queue.app)
        for app in apps {
            guard let inbox = delegate?.files(self, inboxOf: app)?.inbox else { continue }
            removeOrphans(in: inbox, of: pairings, but: received[app] ?? [])
        }
    }

    /// Counts what is on a shelf, as far as it can be read.
    private func count(
        _ job: @escaping @Sendable () throws(FileError) -> [ShelfPlace: Int64],
        _ add: @escaping (FileExchange, FileKey, Int64) -> Void
    ) {
        worker.attempt(job) { [weak self] result in
            switch result {
            case .success(let sizes): for (place, size) in sizes { if let self { add(self, FileKey(place), size) } }
            case .failure(let error): self?.log(.files("looking at files", error))
            }
        }
    }

    /// Whose spool a file is in.
    func owner(of file: FileKey) -> SpoolOwner { userOf(file.queue.app).map { .user($0) } ?? .app(file.queue.app) }

    /// The directory of a pairing that goes on stays, also without a file: the next one may come into it meanwhile.
    private func removeOrphans(in inbox: AppInbox, of pairings: Set<UniqueIdentifier>, but received: [FileKey]) {
        let files = Dictionary(grouping: received, by: \.queue.pairing)
        let names = Set(pairings.union(files.keys).map(\.description))
        clear("removing orphans") { () throws(FileError) in try inbox.removal(butOf: names) }
        for pairing in pairings.union(files.keys) {
            let kept = Set((files[pairing] ?? []).map(\.id.description))
            clear("removing orphans") { () throws(FileError) in try inbox.removal(of: "\(pairing)", but: kept) }
        }
    }

    /// The link of a pairing is gone.
    package func linkClosed(_ pairing: UniqueIdentifier) {
        senders[pairing] = nil
        sendings = sendings.filter { $0.key.queue.pairing != pairing }
        for (queue, arrival) in arrivals where queue.pairing == pairing {
            arrival.isCut = true
            arrival.receiver?.linkClosed()
        }
    }

    /// A pairing is gone, and all its files with it.
    package func removePairing(_ pairing: UniqueIdentifier, apps: [ApplicationIdentifier]) {
        linkClosed(pairing)
        // First those that wait: the end of one lets the next one begin.
        for submission in waiting.all where submission.key.queue.pairing == pairing { drop(submission.key) }
        for key in Array(takings.keys) where key.queue.pairing == pairing { drop(key) }
        for queue in Array(arrivals.keys) where queue.pairing == pairing { arrivals.removeValue(forKey: queue)?.end() }
        sources = sources.filter { $0.key.queue.pairing != pairing }
        next = next.filter { $0.key.pairing != pairing }
        spooled.removeAll { $0.queue.pairing == pairing }
        received.removeAll { $0.queue.pairing == pairing }
        for shelf in [spool, partials] {
            clear("removing a pairing's files") { () throws(FileError) in try shelf.removal(of: pairing) }
        }
        for app in apps {
            guard let inbox = delegate?.files(self, inboxOf: app)?.inbox else { continue }
            clear("removing a pairing's files") { () throws(FileError) in try inbox.removal(of: "\(pairing)") }
        }
    }

    // MARK: parts of all that follows

    /// A job whose failure only costs space.
    func run(_ what: StaticString, _ job: @escaping @Sendable () throws(FileError) -> Void) {
        worker.attempt(job) { [log] result in
            if case .failure(let error) = result { log(.files(what, error)) }
        }
    }

    /// Removes what the job names, in steps between which others have their turn; what stays only costs space.
    func clear(_ what: StaticString, _ job: @escaping @Sendable () throws(FileError) -> TreeRemoval?) {
        worker.remove(job) { [log] error in if let error { log(.files(what, error)) } }
    }

    /// Writes a part of a file. Several files that come at once were each promised the same space, so it is looked at again
    /// before each part: none of them may take the reserve.
    func append(
        _ bytes: ArraySlice<UInt8>, to file: GrowingFile, on shelf: FileShelf,
        then completion: @escaping (Result<Void, FileRefusal>) -> Void
    ) {
        let reserve = limits.reserve
        worker.perform(
            {
                refusing { () throws(FileRefusal) in
                    try shelf.checkSpace(for: Int64(bytes.count), reserve: reserve)
                    try translating { () throws(FileError) in try file.append(bytes) }
                }
            }, then: completion)
    }

    func envelope(_ kind: FrameKind, _ file: FileKey) -> Envelope {
        Envelope(kind, app: file.queue.app, pairing: file.queue.pairing, id: file.id, channel: .file)
    }

    func send(_ envelope: Envelope, over pairing: UniqueIdentifier) {
        delegate?.files(self, send: envelope, over: pairing)
    }
}

extension FileKey {
    init(_ place: ShelfPlace) {
        self.init(QueueKey(pairing: place.pairing, app: place.app, channel: .file), place.item)
    }

    /// Where its bytes are on a shelf.
    var place: ShelfPlace { ShelfPlace(pairing: queue.pairing, app: queue.app, item: id) }
}

/// A source that may go away.
struct WeakSource {
    weak var source: (any FileSource)?
}
