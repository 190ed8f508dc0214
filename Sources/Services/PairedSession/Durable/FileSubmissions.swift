// Files on their way to the daemon (FIL-2, FIL-3), until it has accepted them. A worker's thread records the status of
// each file, and reads the file in parts once the daemon asks for it, a few parts ahead of what the daemon has written.
// A file whose status has changed by its opening or its last part is not sent on (FIL-16).

import TandemBase
import TandemFiles
import TandemReactor
import TandemWire

/// The files of one session that the daemon does not have yet; confined to its scheduler.
final class FileSubmissions {
    /// The bytes of one part (LIM-28), and of all that the daemon has not written (LIM-39).
    private static let chunk = 65_536
    private static let ahead: Int64 = 8 * 65_536

    /// One file that the daemon takes.
    private final class Feed {
        enum State {
            case closed, opening
            case open(FileParts)
        }

        let transfer: FileTransfer
        let source: FileSource
        let pairing: UniqueIdentifier
        /// Opened when the daemon asks for the file, which it does for few files at once (LIM-31).
        var state = State.closed
        /// The connection on which the daemon asked for it last.
        var connection: UInt64?
        /// The end of what the worker was asked to read, and of what the daemon has written.
        private var next: Int64 = 0
        private var written: Int64 = 0
        /// Grows each time that the daemon begins at the start, on another daemon.
        private(set) var round = 0

        init(_ transfer: FileTransfer, _ source: FileSource, pairing: UniqueIdentifier) {
            self.transfer = transfer
            self.source = source
            self.pairing = pairing
        }

        /// The daemon has written up to here; 0 also means that it begins.
        func wrote(_ offset: Int64) {
            if offset == 0 {
                next = 0
                round += 1
            }
            written = offset
        }

        /// The next part to read; nil if enough is under way.
        func nextPart() -> (offset: Int64, count: Int)? {
            let count = min(Int64(FileSubmissions.chunk), source.size - next)
            guard count > 0, next + count - written <= FileSubmissions.ahead else { return nil }
            defer { next += count }
            return (next, Int(count))
        }
    }

    private let app: ApplicationIdentifier
    private let daemon: DaemonChannel
    private let queries: QueryTable
    private let transfers: TransferBook
    private let handovers: HandoverBook
    private let scheduler: any Scheduler
    private var worker: FileWorker?
    /// The files that the daemon has neither accepted nor refused.
    private var unanswered: [UniqueIdentifier: Completion<Transfer>] = [:]
    private var inspecting: Set<UniqueIdentifier> = []
    private var feeds: [UniqueIdentifier: Feed] = [:]

    init(
        app: ApplicationIdentifier, daemon: DaemonChannel, queries: QueryTable, transfers: TransferBook,
        handovers: HandoverBook, scheduler: any Scheduler
    ) {
        self.app = app
        self.daemon = daemon
        self.queries = queries
        self.transfers = transfers
        self.handovers = handovers
        self.scheduler = scheduler
    }

    /// Begins the handover of a file.
    /// - Returns: what ends it; to be called once.
    func handOver(_ transfer: FileTransfer) -> Completion<Transfer> {
        unanswered[transfer.id] = handovers.track(transfer.answered)
        return answer(of: transfer.id)
    }

    /// Ends the handover of a file.
    func answer(of id: UniqueIdentifier) -> Completion<Transfer> {
        { [weak self] in self?.answered(id, $0) }
    }

    /// The daemon has accepted the file, or never will.
    private func answered(_ id: UniqueIdentifier, _ result: Result<Transfer, SessionError>) {
        ended(id)
        unanswered.removeValue(forKey: id)?(result)
    }

    /// Records the file's status.
    /// - Parameter found: called unless the file was taken back or cannot be read.
    func inspect(_ transfer: FileTransfer, found: @escaping (FileSource) -> Void) {
        let worker = worker ?? FileWorker(for: scheduler)
        self.worker = worker
        let (path, followsLinks) = (transfer.path, transfer.followsLinks)
        inspecting.insert(transfer.id)
        worker.attempt({ () throws(FileError) in try FileSource(path: path, followsLinks: followsLinks) }) {
            [weak self] result in
            guard let self, inspecting.remove(transfer.id) != nil else { return }
            switch result {
            case .failure(let error): answered(transfer.id, .failure(SessionError(error, messageID: transfer.id)))
            case .success(let source):
                transfer.found(size: source.size)
                found(source)
            }
        }
    }

    /// The daemon may ask for the file from now on.
    func offer(_ transfer: FileTransfer, _ source: FileSource, to pairing: UniqueIdentifier) {
        feeds[transfer.id] = Feed(transfer, source, pairing: pairing)
    }

    /// The daemon needs no more of the file.
    func ended(_ id: UniqueIdentifier) { feeds[id] = nil }

    /// The daemon has written so much of a file; 0 also means that it begins.
    func taken(_ id: UniqueIdentifier, _ offset: Int64) {
        guard let feed = feeds[id], (0...feed.source.size).contains(offset) else { return }
        feed.wrote(offset)
        feed.connection = daemon.number
        feed.transfer.update { $0.handedOver = offset }
        // Of an empty file the daemon wants nothing more, and accepts it without an answer.
        if feed.source.size > 0 { readAhead(feed) }
    }

    private func readAhead(_ feed: Feed) {
        guard let worker else { return }
        guard case .open(let parts) = feed.state else { return open(feed, worker) }
        let round = feed.round
        while let part = feed.nextPart() {
            let isLast = part.offset + Int64(part.count) == parts.size
            worker.attempt({ () throws(FileError) -> [UInt8]? in
                let bytes = try parts.read(at: part.offset, count: part.count)
                guard bytes.count == part.count else { return nil }
                if isLast { guard try parts.isUnchanged() else { return nil } }
                return bytes
            }) { [weak self, weak feed] result in
                guard let self, let feed, isAskedForHere(feed), feed.round == round else { return }
                send(feed, part.offset, result)
            }
        }
    }

    /// Whether the daemon has asked for the file on this connection: on another one it asks again, and from the start.
    private func isAskedForHere(_ feed: Feed) -> Bool {
        feeds[feed.transfer.id] === feed && daemon.isRegistered && feed.connection == daemon.number
    }

    private func open(_ feed: Feed, _ worker: FileWorker) {
        guard case .closed = feed.state else { return }
        feed.state = .opening
        let source = feed.source
        worker.attempt({ () throws(FileError) in try source.open() }) { [weak self, weak feed] result in
            guard let self, let feed, feeds[feed.transfer.id] === feed else { return }
            switch result {
            case .failure(let error): fail(feed, SessionError(error, messageID: feed.transfer.id))
            case .success(nil): fail(feed, .sourceChanged(feed.transfer.path, feed.transfer.id))
            case .success(let parts?):
                feed.state = .open(parts)
                if isAskedForHere(feed) { readAhead(feed) }
            }
        }
    }

    private func send(_ feed: Feed, _ offset: Int64, _ result: Result<[UInt8]?, FileError>) {
        let id = feed.transfer.id
        switch result {
        case .failure(let error): fail(feed, SessionError(error, messageID: id))
        case .success(nil): fail(feed, .sourceChanged(feed.transfer.path, id))
        case .success(let bytes?):
            let queue = QueueKey(pairing: feed.pairing, app: app, channel: .file)
            daemon.send(ChunkFrame(of: ItemKey(queue, id), at: offset, bytes[...]))
        }
    }

    /// The rest of a file cannot be read. The daemon cannot accept it without that, and drops what it has.
    private func fail(_ feed: Feed, _ error: SessionError) {
        let id = feed.transfer.id
        feeds[id] = nil
        queries.ask(.cancel(id), of: feed.pairing, on: .file) { _ in }
        transfers.submissionFailed(id, error)
    }

    /// The app takes back a file of which no daemon has heard.
    /// - Returns: false if it is none.
    func stopInspecting(_ id: UniqueIdentifier) -> Bool {
        guard inspecting.remove(id) != nil else { return false }
        answered(id, .failure(.cancelled(id)))
        return true
    }

    /// Returns when the worker has run what it was asked for; the results come in a later turn. For tests that turn
    /// time by hand.
    func waitUntilIdle() { worker?.waitUntilIdle() }

    /// The session ends. The worker ends with its last job, and nobody waits for it: a disk may hang, and the loop is
    /// that of all sessions of the process.
    func end() {
        inspecting = []
        for id in Array(unanswered.keys) { answered(id, .failure(SessionError(.ended, messageID: id))) }
        feeds = [:]
        worker = nil
    }
}
