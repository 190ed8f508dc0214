// The durable store of a daemon: ordered rows in one SQLite file, written on a thread of its own. A commit's completion
// runs after the fsync that covers it, so an acknowledgement sent from there never promises rows that a crash can take
// back. It refuses to guess: a store that is missing, foreign, newer or damaged is an error, never an empty beginning.

import CTandemSQLite
import Glibc
import Synchronization
import TandemBase
import TandemReactor

/// An open store. Any thread may submit; all file access is on the store's own thread.
package final class Store: Sendable {
    /// Behaviour when there is no file.
    package enum Opening: Sendable {
        /// A first start: make one.
        case createIfMissing
        /// The device is known to have had one: its absence is an error.
        case mustExist
    }

    /// The bytes of changes that may wait to be written: 32 of the largest queues' frames, well above a busy second.
    package static var queueLimit: Int { 16 << 20 }

    package let path: String
    /// The spaces that had rows when the store was opened: a start need not ask for all others, and each question is a
    /// switch of threads and back.
    package let spacesAtOpening: Set<RowSpace>
    private let queue: WorkQueue
    private let statisticsBox = StatisticsBox()
    private let thread: StoreThread

    /// Opens the store, waiting until it is checked.
    /// - Parameters:
    ///   - fileSystem: the name of a registered SQLite VFS; nil for the system's files.
    ///   - meanwhile: other work of a start, done while the store's thread opens the file.
    package init(
        path: String, opening: Opening = .createIfMissing, fileSystem: String? = nil,
        queueLimit: Int = Store.queueLimit, meanwhile: () -> Void = {}
    ) throws(StoreError) {
        let queue = WorkQueue(path: path, limit: queueLimit)
        let statistics = statisticsBox
        let spaces = Answer<Set<RowSpace>>()
        self.path = path
        self.queue = queue
        thread = try StoreThread(path: path, meanwhile: meanwhile) { report in
            var commits: CommitThread
            do throws(StoreError) {
                let connection = try Self.connect(path: path, opening: opening, fileSystem: fileSystem)
                statistics.count { $0.beganCutOff = connection.logEnd == .cutOff }
                spaces.give(.success(try connection.spaces()))
                commits = CommitThread(connection: connection, statistics: statistics)
            } catch {
                return report(.failure(error))
            }
            report(.success(()))
            while let batch = queue.takeTurn() { commits.run(batch) }
            commits.close()
        }
        spacesAtOpening = try spaces.wait().get()
    }

    deinit { queue.close() }

    /// The daemon does not use SQLite's totals of memory. Without them a commit of long bodies takes 6 % less processor
    /// time. The setting is here and not in ``Connection``, which also serves preferences: these belong to the process
    /// of a host app, where the totals are the app's.
    private static let countsNoMemory: Void = _ = CTandemSQLite_count_memory(0)

    private static func connect(path: String, opening: Opening, fileSystem: String?) throws(StoreError) -> Connection {
        countsNoMemory
        switch opening {
        case .createIfMissing: try StoreFile.createIfMissing(path: path, fileSystem: fileSystem)
        case .mustExist: guard access(path, F_OK) == 0 else { throw .missing(path: path) }
        }
        try StoreAccess.check(path: path)
        return try Connection.checked(path: path, fileSystem: fileSystem)
    }

    /// Makes the changes durable together. A commit without changes completes in its turn, after those before it.
    /// - Parameters:
    ///   - room: what the commit may use of a full disk.
    ///   - completion: called on the store's thread, in the order of submission, after the fsync; it must not block,
    ///     and must not submit and wait.
    package func commit(
        _ changes: [RowChange], room: CommitRoom, completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        if !queue.submit(.commit(changes, room, completion)) { completion(.failure(.closed(path: path))) }
    }

    package func findRoom(completion: @escaping @Sendable (Bool) -> Void) {
        if !queue.submit(.findRoom(completion)) { completion(false) }
    }

    /// Reads the rows after every commit submitted before, and perhaps after later ones: no commit waits for more than
    /// a few reads. `completion` is called on the store's thread.
    package func fetch(_ range: RowRange, completion: @escaping @Sendable (Result<[Row], StoreError>) -> Void) {
        if !queue.submit(.fetch(range, completion)) { completion(.failure(.closed(path: path))) }
    }

    /// Reads the rows and waits for them: for start-up, before there is a loop to keep waiting.
    package func read(_ range: RowRange) throws(StoreError) -> [Row] {
        precondition(!thread.isCurrent, "a wait for the store on its own thread")
        let answer = Answer<[Row]>()
        fetch(range) { answer.give($0) }
        return try answer.wait().get()
    }

    package var statistics: StoreStatistics { statisticsBox.current }

    /// Writes what was submitted, closes the file and ends the thread. Later submissions fail with `closed`.
    package func close() {
        precondition(!thread.isCurrent, "a wait for the store on its own thread")
        queue.close()
        thread.join()
    }
}

// Counts that say what the store has done, for status and for tests that gate on numbers of transactions.

/// Counts of a store since it was opened.
package struct StoreStatistics: Sendable, Equatable {
    /// Commits whose changes are durable.
    package internal(set) var commits = 0
    /// Transactions, and so fsyncs, that carried them.
    package internal(set) var transactions = 0
    /// Commits that failed.
    package internal(set) var failures = 0
    /// Whether it ended with a commit that a crash had cut off, which was dropped; it was never acknowledged as
    /// durable.
    package fileprivate(set) var beganCutOff = false

    package init(commits: Int = 0, transactions: Int = 0, failures: Int = 0, beganCutOff: Bool = false) {
        self.commits = commits
        self.transactions = transactions
        self.failures = failures
        self.beganCutOff = beganCutOff
    }
}

// The counts, shared between the store's thread and their readers.

/// Counts that the store's thread changes and any thread reads.
final class StatisticsBox: Sendable {
    private let counts = Mutex(StoreStatistics())

    var current: StoreStatistics { counts.withLock { $0 } }

    func count(_ change: (inout StoreStatistics) -> Void) { counts.withLock { change(&$0) } }
}

/// Creation of a store's file. It is made complete under another name and then renamed, so that an empty or half-made
/// file under the store's name is always damage, never a beginning.
enum StoreFile {
    /// Makes a new store at `path` if nothing is there.
    static func createIfMissing(path: String, fileSystem: String?) throws(StoreError) {
        guard access(path, F_OK) != 0 else { return }
        let draft = path + ".new"
        unlink(draft)
        _ = try open(draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, for: path, "creating \(draft)")
        try Connection.initialise(path: draft, fileSystem: fileSystem)
        try synchronise(draft)
        let renamed = draft.withCString { draft in
            path.withCString { path in SystemCall.once { rename(draft, path) } }
        }
        try check(renamed, path, "renaming \(draft)")
        try synchronise(path.parentPath)
    }

    private static func synchronise(_ path: String) throws(StoreError) {
        let file = try open(path, O_RDONLY, for: path, "opening")
        let raw = file.raw
        let result = SystemCall.once { fsync(raw) }
        _ = consume file
        try check(result, path, "synchronising")
    }

    private static func open(
        _ path: String, _ flags: CInt, for store: String, _ step: String
    ) throws(StoreError) -> OwnedDescriptor {
        let result = path.withCString { path in SystemCall.retried { Glibc.open(path, flags | O_CLOEXEC, 0o600) } }
        return OwnedDescriptor(takingOwnership: try check(result, store, step))
    }

    @discardableResult
    private static func check(_ result: CInt, _ path: String, _ step: String) throws(StoreError) -> CInt {
        if result >= 0 { return result }
        if -result == ENOSPC || -result == EDQUOT { throw .full(path: path) }
        throw .unavailable(path: path, detail: "\(step): \(String(cString: strerror(-result)))")
    }
}
