// Delivery of file bytes, beside the items of the channel `file` (FIL): from an app into the spool, over the link into
// a partial file, from there to the app. The rules are in the machines of the room Delivery of Decisions, the disk is
// the worker's. This type gives events to the machines and jobs to the worker; it never waits, and keeps no more of a
// file in memory than a window.

package import TandemBase
internal import TandemCrypto
package import TandemDelivery
package import TandemFiles
package import TandemReactor
package import TandemSession
package import TandemWire

/// The items of the channel `file`, whose bytes a ``FileDelivery`` moves; on its loop.
package protocol FileItems: AnyObject {
    /// Whether this item would be stored now, and not dropped or answered as a repetition (DEL-3).
    func wouldStore(_ sequence: UInt64, size: Int, in queue: QueueKey) -> Bool

    /// Whether the number is that of the next item to come, for which there may be no room.
    func isNext(_ sequence: UInt64, in queue: QueueKey) -> Bool

    /// Takes the frame of an item whose file is complete, or of a gap.
    /// - Returns: false for a frame that does not read.
    func store(_ envelope: Envelope) -> Bool

    /// Whether an item of this identifier was sent, is not stored by the peer, and is not being taken back.
    func isUnderWay(_ id: UniqueIdentifier, in queue: QueueKey) -> Bool

    /// The file of an item that was sent cannot be read.
    /// - Parameter isGone: it is not there, and no attempt can read it.
    func fileIsUnreadable(_ id: UniqueIdentifier, isGone: Bool, in queue: QueueKey)

    /// The received items whose files must stay, once everything that has happened so far is durable; nil if it could
    /// not be made so.
    func keptFiles(of queue: QueueKey, then done: @escaping (Set<UniqueIdentifier>?) -> Void)
}

/// Moves files between apps and links; confined to its loop.
package final class FileDelivery {
    /// The directories of files on their way out and in, in a device's own.
    static let spoolDirectory = "spool"
    static let partialDirectory = "partial"

    package let uploads: FileUploads
    package let offers: FileOffers
    private let sendings: FileSendings
    private let arrivals: FileArrivals
    private let environment: FileEnvironment

    /// Costs nothing before the first file: then two directories and a thread.
    /// - Parameters:
    ///   - directory: a device's own.
    ///   - suffix: distinguishes devices that share a directory.
    ///   - userOf: the user of this device who owns an app; nil if unknown.
    ///   - inbox: the app's own directory, and its user if that is not the daemon's; nil for an app without an owner.
    package init(
        in directory: OwnedDirectory, suffix: String = "", scheduler: any Scheduler,
        limits: FileLimits = FileLimits(), userOf: @escaping (ApplicationIdentifier) -> UInt32? = { _ in nil },
        inbox: @escaping (ApplicationIdentifier) throws(FileError) -> AppInbox?,
        counters: Counters = Counters(), log: @escaping LogHandler = { _ in }
    ) {
        let environment = FileEnvironment(
            in: directory, suffix: suffix, scheduler: scheduler, limits: limits, inbox: inbox, log: log)
        self.environment = environment
        uploads = FileUploads(in: environment, userOf: userOf)
        sendings = FileSendings(of: uploads, in: environment, stray: counters.counter("files.stray"))
        arrivals = FileArrivals(in: environment)
        offers = FileOffers(of: arrivals, in: environment)
    }

    package var limits: FileLimits {
        get { environment.limits }
        set { environment.limits = newValue }
    }

    /// The durable items whose files these are.
    package func attach(to items: any FileItems) { environment.items = items }

    /// Connects the outlets to the links.
    /// - Parameters:
    ///   - send: sends over the pairing's link; dropped without one.
    ///   - onArrival: called when all bytes of a file have come, and its item may wait for its app.
    package func connect(
        send: @escaping (Envelope, UniqueIdentifier) -> Void,
        onArrival: @escaping (ApplicationIdentifier) -> Void = { _ in }
    ) {
        environment.send = send
        environment.onArrival = onArrival
    }

    /// Connects the outlet to the apps.
    /// - Parameter notify: sends a frame to a connection; if that is nil or gone, to the receiving connection of the
    ///   app.
    package func connect(notify: @escaping (Envelope, ConnectionNumber?, ApplicationIdentifier?) -> Void) {
        environment.notifyApp = notify
    }

    /// Waits for the disk; what follows comes later, as always. For tests that turn time by hand.
    package func waitForDisk() { environment.worker.waitUntilIdle() }

    /// Lets the disk finish; no job may follow.
    package func close() { environment.worker.close() }

    // MARK: life

    /// Removes what a process left behind that ended in the middle (FIL-14); before anything else.
    /// - Parameters:
    ///   - sent: items whose bytes the peer does not have yet.
    ///   - received: items whose handler has not returned, and dead letters.
    ///   - apps: all that may have files.
    package func restore(
        sent: [FileKey], received: [StoredFile], pairings: Set<UniqueIdentifier>, apps: [ApplicationIdentifier]
    ) {
        guard environment.spool.exists || environment.partials.exists else { return }
        uploads.restore(sent)
        arrivals.restore(pairings, stored: received)
        offers.restore(received.map(\.file), pairings: pairings, apps: apps)
    }

    /// The link of a pairing is gone.
    package func linkClosed(_ pairing: UniqueIdentifier) {
        sendings.linkClosed(pairing)
        arrivals.linkClosed(pairing)
    }

    /// A new epoch of the pairing has begun, in which its items have other numbers.
    func epochEnded(of pairing: UniqueIdentifier) { arrivals.epochEnded(of: pairing) }

    /// An application is removed. Files that are accepted or stored end with their items.
    package func clear(_ app: ApplicationIdentifier) { arrivals.clear(app) }

    /// A pairing is gone, and all its files with it.
    package func removePairing(_ pairing: UniqueIdentifier, apps: [ApplicationIdentifier]) {
        linkClosed(pairing)
        uploads.removePairing(pairing)
        arrivals.removePairing(pairing)
        offers.removePairing(pairing, apps: apps)
    }

    // MARK: frames and items

    /// The frames of the channel `file` that this type takes from a link.
    static let kinds: Set<FrameKind> = [.item, .gap, .fetch, .chunk]

    /// Takes a frame of ``kinds`` from a link.
    /// - Returns: false for a frame that does not read.
    package func receive(_ envelope: Envelope) -> Bool {
        guard envelope[.channel] == Channel.file else { return false }
        do throws(WireError) {
            switch envelope.kind {
            case .item: return arrivals.take(try ItemFrame(envelope), envelope)
            case .fetch: return sendings.take(try FetchFrame(envelope))
            case .chunk:
                arrivals.take(try ChunkFrame(envelope))
                return true
            case .gap:
                let gap = try GapFrame(envelope)
                switch arrivals.take(gap, envelope) {
                case .unreadable: return false
                case .taken(let mayHavePart):
                    if mayHavePart { offers.sweep(gap.queue) }
                    return true
                }
            default: return false
            }
        } catch {
            return false
        }
    }

    /// The peer cannot take a file now (DEL-12). Its bytes sent ahead no longer count against the link's window, which
    /// other files need meanwhile; the peer asks again when the item has come again.
    package func refused(_ file: FileKey) { sendings.refused(file) }

    /// The peer has stored a submitted item, and so its file.
    package func sentItemStored(_ id: UniqueIdentifier, in queue: QueueKey) { sendings.stored(FileKey(queue, id)) }

    /// A submitted item has ended; the bytes of a dead letter stay.
    func sentItemEnded(_ id: UniqueIdentifier, in queue: QueueKey) { sendings.end(FileKey(queue, id)) }

    /// The bytes of an item are no longer needed (FIL-14).
    package func released(_ id: UniqueIdentifier, in queue: QueueKey, _ direction: DeliveryDirection) {
        let key = FileKey(queue, id)
        switch direction {
        case .inbound: offers.judged(id, in: queue)
        case .outbound:
            sendings.end(key)
            // A new item of that identifier may be on its way in already.
            if !uploads.isTaking(key) { uploads.discard(key) }
        }
    }
}

/// Resources that the parts of file delivery share; confined to its loop.
final class FileEnvironment {
    let worker: FileWorker
    let spool: FileSpool
    let partials: FileSpool
    let scheduler: any Scheduler
    let log: LogHandler
    private let openInbox: (ApplicationIdentifier) throws(FileError) -> AppInbox?
    /// Apps whose directory could not be opened the last time.
    private var unusable: Set<ApplicationIdentifier> = []
    // Set only by `FileDelivery`, in this file; its parts only read them.
    fileprivate(set) var limits: FileLimits
    fileprivate(set) weak var items: (any FileItems)?
    fileprivate(set) var send: (Envelope, UniqueIdentifier) -> Void = { _, _ in }
    fileprivate(set) var notifyApp: (Envelope, ConnectionNumber?, ApplicationIdentifier?) -> Void = { _, _, _ in }
    fileprivate(set) var onArrival: (ApplicationIdentifier) -> Void = { _ in }

    fileprivate init(
        in directory: OwnedDirectory, suffix: String, scheduler: any Scheduler, limits: FileLimits,
        inbox: @escaping (ApplicationIdentifier) throws(FileError) -> AppInbox?, log: @escaping LogHandler
    ) {
        spool = FileSpool(hashed: FileDelivery.spoolDirectory + suffix, in: directory)
        partials = FileSpool(hashed: FileDelivery.partialDirectory + suffix, in: directory)
        worker = FileWorker(for: scheduler)
        self.scheduler = scheduler
        self.limits = limits
        openInbox = inbox
        self.log = log
    }

    /// The directory in which the files of an app arrive; nil for an app without an owner. One that cannot be opened
    /// costs that app its files and no other, and one line in the log until it works again.
    func inbox(_ app: ApplicationIdentifier) throws(FileError) -> AppInbox? {
        do throws(FileError) {
            let inbox = try openInbox(app)
            unusable.remove(app)
            return inbox
        } catch {
            if unusable.insert(app).inserted {
                log(
                    LogEvent(
                        .error, "an app's directory cannot be used", .text("app", "\(app)"),
                        .text("error", error.textOfFixedPath)))
            }
            throw error
        }
    }

    /// A job whose failure only costs space.
    func run(_ what: StaticString, _ job: @escaping @Sendable () throws(FileError) -> Void) {
        worker.attempt(job) { [log] result in
            if case .failure(let error) = result { log(.files(what, error)) }
        }
    }

    /// Removes the file of an item as ``clear(_:_:)`` does; tried again later if it stays.
    func remove(
        _ what: StaticString, _ key: FileKey, orAddTo leftovers: FileLeftovers,
        _ job: @escaping @Sendable () throws(FileError) -> TreeRemoval?
    ) {
        worker.remove(job) { [log] error in
            guard let error else { return leftovers.removed(key) }
            if leftovers.add(key, after: error) { log(.files(what, error)) }
        }
    }

    /// Removes what the job names, in steps between which others have their turn; what stays only costs space.
    func clear(_ what: StaticString, _ job: @escaping @Sendable () throws(FileError) -> TreeRemoval?) {
        worker.remove(job) { [log] error in if let error { log(.files(what, error)) } }
    }

    /// Counts the files of a spool; without any if they cannot be read.
    func count(
        _ job: @escaping @Sendable () throws(FileError) -> [SpoolKey: Int64],
        then done: @escaping ([(file: FileKey, size: Int64)]) -> Void
    ) {
        worker.attempt(job) { [log] result in
            switch result {
            case .success(let sizes): done(sizes.map { (FileKey($0.key), $0.value) })
            case .failure(let error):
                log(.files("looking at files", error))
                done([])
            }
        }
    }

    func space(on spool: FileSpool) -> FileSpace { FileSpace(on: spool, leaving: limits.reserve) }

    /// Writes a part of a file, if there is still space for it.
    func append(
        _ bytes: ArraySlice<UInt8>, to file: GrowingFile, on spool: FileSpool,
        then completion: @escaping (Result<Void, FileRefusal>) -> Void
    ) {
        let space = space(on: spool)
        worker.attempt({ () throws(FileRefusal) in try space.append(bytes, to: file) }, then: completion)
    }

    /// Sends how far a file is (FIL-10).
    func notify(
        _ step: ProgressFrame.Step, of file: ItemKey, _ connection: ConnectionNumber?, _ app: ApplicationIdentifier?
    ) {
        if let envelope = try? ProgressFrame(file, step).envelope { notifyApp(envelope, connection, app) }
    }
}

extension FileKey {
    init(_ spoolKey: SpoolKey) {
        self.init(QueueKey(pairing: spoolKey.pairing, app: spoolKey.app, channel: .file), spoolKey.item)
    }

    /// Where its bytes are in a spool.
    var spoolKey: SpoolKey { SpoolKey(pairing: queue.pairing, app: queue.app, item: id) }
}

extension FileSpool {
    /// A spool whose files are hashed as FIL-11 says.
    package convenience init(hashed name: String, in directory: OwnedDirectory) {
        self.init(name, in: directory) { FileHash() }
    }
}

/// SHA-256 of one file's bytes.
private final class FileHash: FileDigest {
    private let stream = SHA256Stream()

    func add(_ bytes: UnsafeRawBufferPointer) { stream.add(bytes) }

    func finish() -> [UInt8] { stream.finish() }
}

extension LogEvent {
    static func files(_ job: StaticString, _ error: FileError) -> LogEvent {
        LogEvent(.warning, "files: a job failed", .text("job", "\(job)"), .text("error", error.textOfFixedPath))
    }

    static func files(_ message: String, _ key: FileKey, _ error: FileError?) -> LogEvent {
        files(message, key, error?.textOfFixedPath ?? "-")
    }

    static func files(_ message: String, _ key: FileKey, _ reason: String) -> LogEvent {
        LogEvent(
            .warning, "files", .text("what", message), .text("pairing", "\(key.queue.pairing)"),
            .text("app", "\(key.queue.app)"), .text("item", "\(key.id)"), .text("error", reason))
    }
}
