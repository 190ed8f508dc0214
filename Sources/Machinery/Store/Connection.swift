// The one SQLite connection. It is opened, used and closed on the store's thread only, and traps when used elsewhere:
// SQLite then needs no mutex of its own, and no other thread can stand between a commit and its fsync.

import CTandemSQLite
import Glibc

/// A connection confined to the thread that made it.
final class Connection {
    let path: String
    private let handle: OpaquePointer
    private let thread = pthread_self()
    private var statements: [String: Statement] = [:]
    private var rowStatements: RowStatements?
    private var isClosed = false
    /// How the log ended when the file was opened.
    private(set) var logEnd = LogEnd.whole
    /// Pages in the log after the last commit, since it was last moved into the file.
    private(set) var logPages = 0
    /// The mark of the last commit.
    private(set) var mark = StoreMark()
    /// Whether the file itself says that it needs its log: until it does, no commit may be in the log alone.
    private(set) var fileNeedsLog = false
    /// The bytes by which the log's file grows at once; too few on a small disk: then it grows with each commit.
    var logStep = 0
    /// The length of the log's file, as far as it was extended here; nil if the disk had no room for that.
    private var logSpace: Int? = 0
    private var pageSize = 4096
    let longValues = LongValues()

    /// Opens the existing file.
    /// - Parameter fileSystem: the name of the SQLite VFS; nil for the system's.
    init(path: String, fileSystem: String?) throws(ResultCode) {
        let flags =
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE
            | SQLITE_OPEN_NOFOLLOW
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags, fileSystem)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw ResultCode(raw: code)
        }
        let defensive = CTandemSQLite_set_defensive(opened)
        guard defensive == SQLITE_OK else {
            sqlite3_close_v2(opened)
            throw ResultCode(raw: defensive)
        }
        self.path = path
        handle = opened
    }

    deinit { if !isClosed { sqlite3_close_v2(handle) } }

    /// Moves the log into the file, finishes the statements and closes.
    /// - Throws: the result if the file could not be closed in good order; the log then stays beside it, so nothing
    ///   that was committed is lost.
    func close() throws(ResultCode) {
        confine()
        rowStatements = nil
        statements = [:]
        defer {
            isClosed = true
            sqlite3_close_v2(handle)
        }
        keepsLogWhenClosed(true)
        if mark.needsLog || fileNeedsLog {
            // The version follows the tables, which come with the first commit.
            let version = longValues.hasTables ? StoreMark.newestVersion : mark.version
            try execute("PRAGMA user_version = \(StoreMark(version, turn: nextTurn).stored)")
        }
        let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        guard code == SQLITE_OK else { throw ResultCode(raw: code) }
        keepsLogWhenClosed(false)
    }

    /// Whether SQLite leaves the log beside the file when it closes.
    private func keepsLogWhenClosed(_ keeps: Bool) {
        confine()
        let code = CTandemSQLite_keep_log(handle, keeps ? 1 : 0)
        precondition(code == SQLITE_OK, "a setting that SQLite knows")
    }

    /// The prepared statement for the text, made once.
    func statement(_ sql: String) throws(ResultCode) -> Statement {
        confine()
        if let known = statements[sql] { return known }
        let made = try Statement(sql, on: handle)
        statements[sql] = made
        return made
    }

    /// The statements that change rows, prepared once.
    func writing() throws(ResultCode) -> RowStatements {
        confine()
        if let rowStatements { return rowStatements }
        let made = try RowStatements(on: self)
        rowStatements = made
        return made
    }

    func execute(_ sql: String) throws(ResultCode) {
        confine()
        try Statement(sql, on: handle).run()
    }

    /// The single integer that a pragma answers; 0 if it answers none.
    func integer(_ sql: String) throws(ResultCode) -> Int64 {
        confine()
        var value: Int64 = 0
        try Statement(sql, on: handle).run { value = $0.integer(at: 0) }
        return value
    }

    /// The first line of text that a pragma answers.
    func text(_ sql: String) throws(ResultCode) -> String {
        confine()
        var lines: [String] = []
        try Statement(sql, on: handle).run { lines.append($0.text(at: 0)) }
        return lines.first ?? ""
    }

    /// The bytes of a file with all that the connection sees.
    func serialised() throws(ResultCode) -> [UInt8] {
        confine()
        var count: Int64 = 0
        guard let bytes = sqlite3_serialize(handle, "main", &count, 0) else { throw ResultCode(raw: SQLITE_NOMEM) }
        defer { sqlite3_free(bytes) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// The bytes of the file's free pages; 0 if that cannot be read.
    var freeBytes: Int {
        guard let pages = try? integer("PRAGMA freelist_count"), let size = try? integer("PRAGMA page_size") else {
            return 0
        }
        return Int(pages * size)
    }

    /// Whether a transaction is open; SQLite ends one by itself after some failures.
    var isInTransaction: Bool {
        confine()
        return sqlite3_get_autocommit(handle) == 0
    }

    /// Moves the log's pages into the file; not left to SQLite, which would ignore a failed fsync there.
    func checkpoint() throws(ResultCode) {
        confine()
        let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        guard code == SQLITE_OK else { throw ResultCode(raw: code) }
        logPages = 0
        fileNeedsLog = mark.needsLog
        logSpace = logSpace ?? 0
    }

    /// Commits what `body` changes, with the mark of the log's turn if it is the first commit of one.
    func transact(_ body: (RowStatements) throws(ResultCode) -> Void) throws(ResultCode) {
        let statements = try writing()
        extendLog()
        let next = StoreMark(turn: nextTurn, needsLog: true)
        try longValues.restoringOnFailure { () throws(ResultCode) in
            try statements.transact { () throws(ResultCode) in
                try longValues.makeTables(on: self)
                try body(statements)
                if next != mark { try execute("PRAGMA user_version = \(next.stored)") }
            }
        }
        mark = next
    }

    /// SQLite's rowid of the last insertion into a table that has one; `row` has none.
    var lastInsertedRowID: Int64 {
        confine()
        return sqlite3_last_insert_rowid(handle)
    }

    /// Whether the last statement changed a row.
    var lastStatementChangedRow: Bool {
        confine()
        return sqlite3_changes(handle) > 0
    }

    /// Writes zeros behind the log before a commit comes near its end. A commit that lengthens the file costs its sync
    /// a second write, of the length (Decisions/0018). Nothing rests on it: without room the commit does it itself.
    private func extendLog() {
        let end = logBytes
        guard logStep >= 1 << 16, let logSpace, end + logStep / 4 > logSpace,
            let log = ConnectionFile(of: handle, SQLITE_FCNTL_JOURNAL_POINTER)
        else { return }
        self.logSpace = log.extend(to: end + logStep) ? end + logStep : nil
    }

    /// The length of the log up to the last commit.
    var logBytes: Int { LogHeader.size + logPages * (LogFrame.headSize + pageSize) }

    private var nextTurn: Int { logPages == 0 ? mark.turn + 1 : mark.turn }

    /// Keeps ``logPages`` from now on. The connection outlives its handle's last commit.
    func countLogPages() {
        confine()
        let own = Unmanaged.passUnretained(self).toOpaque()
        _ = sqlite3_wal_hook(
            handle,
            { own, _, _, pages in
                guard let own else { return SQLITE_ERROR }
                Unmanaged<Connection>.fromOpaque(own).takeUnretainedValue().logPages = Int(pages)
                return SQLITE_OK
            }, own)
    }

    /// The watchdog: a connection used off its thread is our bug.
    func confine() { precondition(pthread_equal(thread, pthread_self()) != 0, "store used off its thread") }
}

// The checks and settings of a store before it is used. Order matters: whose file it is and which version comes before
// anything that could write to it.

extension Connection {
    /// "TNDM": marks the file as ours among SQLite databases.
    static var applicationID: Int64 { 0x544E_444D }
    /// Larger files are not read as a whole when they are opened (LIM-57): each row is checked when it is read.
    private static var wholeCheckLimit: Int64 { 16 << 20 }

    /// Opens the store's file, refusing one that is not a good store of a known version.
    static func checked(path: String, fileSystem: String?) throws(StoreError) -> Connection {
        let connection = try translating(path) { () throws(ResultCode) in
            try Connection(path: path, fileSystem: fileSystem)
        }
        // Whatever is wrong, the files are to be left as they are: closing would move the log and delete it.
        connection.keepsLogWhenClosed(true)
        try connection.checkMarks()
        try connection.checkStructure()
        return connection
    }

    private func checkMarks() throws(StoreError) {
        // First, because SQLite makes a log when there is none.
        let page = try? ConnectionFile(of: handle, SQLITE_FCNTL_FILE_POINTER)?.read(100, at: 0)
        let file = page.flatMap { StoreMark(page: $0) }
        if file?.needsLog == true, !LogEnd.hasLog(path) { throw .logMissing(path: path) }
        let (application, stored) = try Self.translating(path) { () throws(ResultCode) in
            try execute("PRAGMA locking_mode = EXCLUSIVE")
            try execute("PRAGMA cell_size_check = ON")
            try execute("PRAGMA trusted_schema = OFF")
            return (try integer("PRAGMA application_id"), try integer("PRAGMA user_version"))
        }
        guard application == Self.applicationID else { throw .notAStore(path: path) }
        guard let found = StoreMark(stored: stored), found.version > 0 else {
            throw .corrupt(path: path, detail: "version \(stored) was never written")
        }
        guard found.version <= StoreMark.newestVersion else {
            throw .newer(path: path, found: found.version, supported: StoreMark.newestVersion)
        }
        if let file, !found.continues(file) { throw .logOfAnotherTime(path: path) }
        mark = found
        fileNeedsLog = file?.needsLog ?? false
        try Self.translating(path) { () throws(ResultCode) in try longValues.restore(on: self) }
        guard longValues.hasTables || found.version < StoreMark.firstWithLongValues else {
            throw .corrupt(path: path, detail: "it has no tables of long values")
        }
    }

    private func checkStructure() throws(StoreError) {
        let (mode, size, page) = try Self.translating(path) { () throws(ResultCode) in
            let mode = try text("PRAGMA journal_mode = WAL")
            try execute("PRAGMA synchronous = FULL")
            // Some systems build SQLite so that a removed page is written once more, as zeros.
            try execute("PRAGMA secure_delete = FAST")
            try execute("PRAGMA wal_autocheckpoint = 0")
            try execute("PRAGMA temp_store = MEMORY")
            let page = try integer("PRAGMA page_size")
            return (mode, try integer("PRAGMA page_count") * page, page)
        }
        pageSize = Int(page)
        guard mode == "wal" else { throw .unavailable(path: path, detail: "its file system allows no write-ahead log") }
        let isChecked = size <= Self.wholeCheckLimit
        if isChecked {
            let verdict = try Self.translating(path) { () throws(ResultCode) in try text("PRAGMA quick_check(1)") }
            guard verdict == "ok" else {
                // Its verdict has several lines, and this is one.
                throw .corrupt(path: path, detail: verdict.split(whereSeparator: \.isNewline).joined(separator: "; "))
            }
        }
        let log = LogEnd.ofLog(of: path, behind: fileNeedsLog ? mark : nil, pageSize: pageSize)
        if case .damaged(let offset) = log.end {
            throw .corrupt(path: StorePart.log.path(of: path), detail: "its commits from byte \(offset) on")
        }
        logEnd = log.end
        // Behind the setting of automatic checkpoints, which uses the same hook.
        countLogPages()
        try Self.translating(path) { () throws(ResultCode) in
            _ = try (writing(), statement(select(RowRange(space: RowSpace(rawValue: 0)))))
        }
        if isChecked { try verifyRows() }
        try Self.translating(path) { () throws(ResultCode) in try takeOver(log.size) }
    }

    /// Makes the log durable that a former process left behind (DEL-29). It was killed before its sync, or the sync
    /// failed: the commits can be read, and so this process acknowledges them, but a power failure would take them
    /// back.
    private func takeOver(_ size: Int) throws(ResultCode) {
        guard size > LogHeader.size else { return }
        guard let log = ConnectionFile(of: handle, SQLITE_FCNTL_JOURNAL_POINTER) else {
            throw ResultCode(raw: SQLITE_INTERNAL)
        }
        try log.makeDurable(size)
        logPages = 1
        do throws(ResultCode) { try checkpoint() } catch {
            // Without room in the file the commits stay in the log, which is durable now.
            if error.primary != SQLITE_FULL { throw error }
        }
    }

    /// Writes the marks and the tables into an empty file, and closes it.
    static func initialise(path: String, fileSystem: String?) throws(StoreError) {
        try translating(path) { () throws(ResultCode) in
            let connection = try Connection(path: path, fileSystem: fileSystem)
            try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            try connection.execute("PRAGMA application_id = \(applicationID)")
            try connection.execute("PRAGMA user_version = \(StoreMark().stored)")
            try connection.execute(
                """
                CREATE TABLE row(
                    space INTEGER NOT NULL, key BLOB NOT NULL, checksum INTEGER NOT NULL, value BLOB NOT NULL,
                    PRIMARY KEY(space, key)) WITHOUT ROWID
                """)
            try connection.longValues.makeTables(on: connection)
            _ = try connection.text("PRAGMA journal_mode = WAL")
            try connection.close()
        }
    }

    static func translating<T>(_ path: String, _ body: () throws(ResultCode) -> T) throws(StoreError) -> T {
        do throws(ResultCode) { return try body() } catch { throw error.error(path: path) }
    }
}

// Reading rows in SQL. Every value is read with its checksum, so that damage is an error that names the row.

extension Connection {
    private func select(_ range: RowRange) -> String {
        """
        SELECT key, \(longValues.source.columns) FROM \(longValues.source.tables)
        WHERE \(range.condition) ORDER BY key LIMIT ?4
        """
    }

    /// Reads every row once and checks that its bytes are those that were written.
    func verifyRows() throws(StoreError) {
        var damaged: (space: UInt8, key: [UInt8])?
        let source = longValues.source
        try Self.translating(path) { () throws(ResultCode) in
            try statement("SELECT key, \(source.columns), space FROM \(source.tables)").run {
                (row) throws(ResultCode) in
                let space = UInt8(exactly: row.integer(at: 4))
                if space.map({ isSound(row, of: $0) }) ?? false { return }
                damaged = damaged ?? (space ?? 0, row.bytes(at: 0))
            }
        }
        if let damaged { throw .corruptRow(path: path, space: damaged.space, key: damaged.key) }
    }

    /// Whether the row of a query for key and ``LongValues/source`` has the bytes that were written. The checksum does
    /// not cover types. A text would be out of order among bytes: a search for its key misses it, and may miss rows
    /// beside it. Before anything else reads the columns: their types are those of the row until then.
    private func isSound(_ row: Statement, of space: UInt8) -> Bool {
        let isLong = row.integer(at: 3) != 0
        guard row.isBytes(at: 0), !isLong || longValues.mayExist(in: RowSpace(rawValue: space)) else { return false }
        let checksum = row.withBytes(at: 0) { key in
            row.withBytes(at: 2) { RowChecksum.of(space: space, key: key, value: $0, isLong: isLong) }
        }
        return Int64(bitPattern: checksum) == row.integer(at: 1)
    }

    /// The spaces that have rows: one look into the index for each.
    func spaces() throws(StoreError) -> Set<RowSpace> {
        var found: Set<RowSpace> = []
        var last: Int64? = -1
        try Self.translating(path) { () throws(ResultCode) in
            while let space = last {
                last = nil
                let statement = try statement("SELECT space FROM row WHERE space > ?1 ORDER BY space LIMIT 1")
                statement.bind(space, at: 1)
                try statement.run { (row) throws(ResultCode) in last = row.integer(at: 0) }
                if let next = last.flatMap(UInt8.init(exactly:)) { found.insert(RowSpace(rawValue: next)) }
            }
        }
        return found
    }

    /// The key of the row behind the first `count` of the range; nil if there is none.
    func key(after count: Int, in range: RowRange) throws(ResultCode) -> [UInt8]? {
        var key: [UInt8]?
        let statement = try statement(
            """
            SELECT key FROM row WHERE \(range.condition) ORDER BY key LIMIT 1 OFFSET ?4
            """)
        statement.bind(Int64(count), at: 4)
        try statement.binding(range) { () throws(ResultCode) in
            try statement.run { (row) throws(ResultCode) in key = row.bytes(at: 0) }
        }
        return key
    }

    /// The rows of the range.
    /// - Throws: ``StoreError/corruptRow(path:space:key:)`` for the first row whose bytes are not those written, unless
    ///   the range passes it.
    func rows(_ range: RowRange) throws(StoreError) -> [Row] {
        var rows: [Row] = []
        var damaged: [UInt8]?
        try Self.translating(path) { () throws(ResultCode) in
            let statement = try statement(select(range))
            statement.bind(Int64(range.limit ?? -1), at: 4)
            try statement.binding(range) { () throws(ResultCode) in
                try statement.run { (statement) throws(ResultCode) in
                    let isSound = isSound(statement, of: range.space.rawValue)
                    let key = statement.bytes(at: 0)
                    if isSound {
                        rows.append(Row(space: range.space, key: key, value: statement.bytes(at: 2)))
                    } else if range.passesDamaged {
                        rows.append(Row(space: range.space, key: key, value: [], isDamaged: true))
                    } else {
                        damaged = damaged ?? key
                    }
                }
            }
        }
        if let damaged { throw .corruptRow(path: path, space: range.space.rawValue, key: damaged) }
        return rows
    }
}
