// The bytes of files, beside the items of their channel (FIL): from an app into the spool, over the link into a partial
// file, from there to the app. The rules are the Delivery room's machines', the disk is the worker's; this class gives
// events to the ones and jobs to the other. It never waits, and it holds no more of a file than a window.

package import TandemDelivery
package import TandemFiles
package import TandemIdentity
package import TandemLog
package import TandemReactor
import TandemWire

/// Where the files of one app arrive.
package struct FileInbox {
    let inbox: AppInbox

    /// - Parameter owner: the app's user; nil is the daemon's own.
    package init(of directory: OwnedDirectory, owner: UInt32?) { inbox = AppInbox(of: directory, owner: owner) }
}

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
    var waiting: [FileSubmission] = []
    /// Files that peers pull, by pairing and by file.
    var senders: [UniqueIdentifier: FileSender] = [:]
    var sendings: [FileKey: FileSending] = [:]
    /// Who handed a file over, to be told how far it is.
    var sources: [FileKey: WeakSource] = [:]
    /// Files that come, one for each queue.
    var arrivals: [QueueKey: FileArrival] = [:]

    /// Costs nothing before the first file: then two directories and a thread.
    /// - Parameters:
    ///   - directory: a device's own.
    ///   - suffix: tells the devices apart that share a directory.
    package init(
        in directory: OwnedDirectory, suffix: String = "", scheduler: any Scheduler,
        limits: FileLimits = FileLimits(), log: @escaping LogHandler = { _ in }
    ) {
        spool = FileShelf("spool" + suffix, in: directory)
        partials = FileShelf("partial" + suffix, in: directory)
        worker = FileWorker(for: scheduler)
        self.scheduler = scheduler
        self.limits = limits
        self.log = log
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
        run("removing orphans") { () throws(FileError) in try spool.removeAll(but: kept) }
        let partials = partials
        run("removing orphans") { () throws(FileError) in try partials.removeAll(butOf: pairings) }
        let received = Dictionary(grouping: received, by: \.queue.app)
        for app in apps {
            guard let inbox = delegate?.files(self, inboxOf: app)?.inbox else { continue }
            let names = Set((received[app] ?? []).map { "\($0.queue.pairing)/\($0.id)" })
            run("removing orphans") { () throws(FileError) in try inbox.removeAll(but: names) }
        }
    }

    /// The link of a pairing is gone.
    package func linkClosed(_ pairing: UniqueIdentifier) {
        senders[pairing] = nil
        sendings = sendings.filter { $0.key.queue.pairing != pairing }
        for (queue, arrival) in arrivals where queue.pairing == pairing { arrival.receiver?.linkClosed() }
    }

    /// A pairing is gone, and all its files with it.
    package func removePairing(_ pairing: UniqueIdentifier, apps: [ApplicationIdentifier]) {
        linkClosed(pairing)
        for key in takings.keys where key.queue.pairing == pairing { drop(key) }
        for queue in Array(arrivals.keys) where queue.pairing == pairing { arrivals.removeValue(forKey: queue)?.end() }
        sources = sources.filter { $0.key.queue.pairing != pairing }
        let (spool, partials) = (spool, partials)
        run("removing a pairing's files") { () throws(FileError) in
            try spool.removeAll(of: pairing)
            try partials.removeAll(of: pairing)
        }
        for app in apps {
            guard let inbox = delegate?.files(self, inboxOf: app)?.inbox else { continue }
            run("removing a pairing's files") { () throws(FileError) in try inbox.removeAll(of: "\(pairing)") }
        }
    }

    // MARK: parts of all that follows

    /// A job whose failure only costs space.
    func run(_ what: StaticString, _ job: @escaping @Sendable () throws(FileError) -> Void) {
        worker.attempt(job) { [log] result in
            guard case .failure(let error) = result else { return }
            log(LogEvent(.warning, "files: a job failed", .text("job", "\(what)"), .text("error", "\(error)")))
        }
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
    /// Where its bytes are on a shelf.
    var place: ShelfPlace { ShelfPlace(pairing: queue.pairing, app: queue.app, item: id) }
}

/// A source that may go away.
struct WeakSource {
    weak var source: (any FileSource)?
}
