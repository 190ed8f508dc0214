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

    /// Opens the existing file.
    /// - Parameter fileSystem: the name of the SQLite VFS; nil for the system's.
    init(path: String, fileSystem: String?) throws(ResultCode) {
        let flags =
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE
            | SQLITE_OPEN_NOFOLLOW
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags, fileSystem)
        guard code == SQLITE_OK, let opened, CTandemSQLite_set_defensive(opened) == SQLITE_OK else {
            sqlite3_close_v2(opened)
            throw ResultCode(raw: code)
        }
        self.path = path
        handle = opened
    }

    deinit { if !isClosed { sqlite3_close_v2(handle) } }

    /// Moves the log into the file, finishes the statements and closes.
    /// - Throws: the result if the file could not be closed in good order; nothing that was committed is lost by it.
    func close() throws(ResultCode) {
        confine()
        rowStatements = nil
        statements = [:]
        let moved = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        isClosed = true
        let closed = sqlite3_close_v2(handle)
        guard moved == SQLITE_OK, closed == SQLITE_OK else {
            throw ResultCode(raw: moved == SQLITE_OK ? closed : moved)
        }
    }

    /// Whether closing without ``close()`` leaves the log beside the file.
    func keepsLogWhenClosed(_ keeps: Bool) {
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

    /// Whether a transaction is open; SQLite ends one by itself after some failures.
    var isInTransaction: Bool {
        confine()
        return sqlite3_get_autocommit(handle) == 0
    }

    /// Moves what the log holds into the file; it is not left to SQLite, which would ignore a failed fsync there.
    func checkpoint() throws(ResultCode) {
        confine()
        let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        guard code == SQLITE_OK else { throw ResultCode(raw: code) }
        logPages = 0
    }

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
    /// The version of the tables that this program writes, and the highest that it reads.
    static var version: Int64 { 1 }

    /// Opens the store's file, refusing one that is not a good store of a known version.
    static func checked(path: String, fileSystem: String?) throws(StoreError) -> Connection {
        let connection = try translating(path) { () throws(ResultCode) in
            try Connection(path: path, fileSystem: fileSystem)
        }
        // Whatever is wrong, the files are to be left as they are: closing would move the log and delete it.
        connection.keepsLogWhenClosed(true)
        try connection.checkMarks()
        try connection.checkStructure()
        try connection.verifyRows()
        connection.keepsLogWhenClosed(false)
        return connection
    }

    private func checkMarks() throws(StoreError) {
        let (application, found) = try Self.translating(path) { () throws(ResultCode) in
            try execute("PRAGMA locking_mode = EXCLUSIVE")
            try execute("PRAGMA cell_size_check = ON")
            try execute("PRAGMA trusted_schema = OFF")
            return (try integer("PRAGMA application_id"), try integer("PRAGMA user_version"))
        }
        guard application == Self.applicationID else { throw .notAStore(path: path) }
        guard found <= Self.version else {
            throw .newer(path: path, found: Int(found), supported: Int(Self.version))
        }
        guard found == Self.version else { throw .corrupt(path: path, detail: "version \(found) was never written") }
    }

    private func checkStructure() throws(StoreError) {
        let (mode, verdict) = try Self.translating(path) { () throws(ResultCode) in
            let mode = try text("PRAGMA journal_mode = WAL")
            try execute("PRAGMA synchronous = FULL")
            try execute("PRAGMA wal_autocheckpoint = 0")
            try execute("PRAGMA temp_store = MEMORY")
            return (mode, try text("PRAGMA quick_check(1)"))
        }
        guard mode == "wal" else { throw .unavailable(path: path, detail: "its file system allows no write-ahead log") }
        guard verdict == "ok" else { throw .corrupt(path: path, detail: verdict) }
        logEnd = LogEnd.ofLog(of: path)
        if case .damaged(let place) = logEnd {
            throw .corrupt(path: path + "-wal", detail: "its commits from byte \(place) on")
        }
        // Behind the setting of automatic checkpoints, which uses the same hook.
        countLogPages()
        try Self.translating(path) { () throws(ResultCode) in
            _ = try (writing(), statement(Self.select(descending: false)))
        }
    }

    /// Writes the marks and the one table into an empty file, and closes it.
    static func initialise(path: String, fileSystem: String?) throws(StoreError) {
        try translating(path) { () throws(ResultCode) in
            let connection = try Connection(path: path, fileSystem: fileSystem)
            try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            try connection.execute("PRAGMA application_id = \(applicationID)")
            try connection.execute("PRAGMA user_version = \(version)")
            try connection.execute(
                """
                CREATE TABLE row(
                    space INTEGER NOT NULL, key BLOB NOT NULL, checksum INTEGER NOT NULL, value BLOB NOT NULL,
                    PRIMARY KEY(space, key)) WITHOUT ROWID
                """)
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
    static func select(descending: Bool) -> String {
        """
        SELECT key, checksum, value FROM row WHERE space = ?1 AND key >= ?2 AND (?3 IS NULL OR key < ?3)
        ORDER BY key \(descending ? "DESC" : "ASC") LIMIT ?4
        """
    }

    /// Reads every row once and checks that its bytes are those that were written.
    func verifyRows() throws(StoreError) {
        var damaged: (space: UInt8, key: [UInt8])?
        try Self.translating(path) { () throws(ResultCode) in
            try statement("SELECT space, key, checksum, value FROM row").run { (row) throws(ResultCode) in
                let space = UInt8(truncatingIfNeeded: row.integer(at: 0))
                let checksum = row.withBytes(at: 1) { key in
                    row.withBytes(at: 3) { RowChecksum.of(space: space, key: key, value: $0) }
                }
                if checksum != UInt64(bitPattern: row.integer(at: 2)) { damaged = damaged ?? (space, row.bytes(at: 1)) }
            }
        }
        if let damaged { throw .corruptRow(path: path, space: damaged.space, key: damaged.key) }
    }

    /// The rows of the range.
    /// - Throws: ``StoreError/corruptRow(path:space:key:)`` for the first row whose bytes are not those written.
    func rows(_ range: RowRange) throws(StoreError) -> [Row] {
        var rows: [Row] = []
        var damaged: [UInt8]?
        try Self.translating(path) { () throws(ResultCode) in
            let statement = try statement(Self.select(descending: range.descending))
            statement.bind(Int64(range.limit ?? -1), at: 4)
            try statement.binding(range) { () throws(ResultCode) in
                try statement.run { (statement) throws(ResultCode) in
                    let row = Row(space: range.space, key: statement.bytes(at: 0), value: statement.bytes(at: 2))
                    let checksum = RowChecksum.of(space: row.space.rawValue, key: row.key, value: row.value)
                    if Int64(bitPattern: checksum) != statement.integer(at: 1) { damaged = damaged ?? row.key }
                    rows.append(row)
                }
            }
        }
        if let damaged { throw .corruptRow(path: path, space: range.space.rawValue, key: damaged) }
        return rows
    }
}
