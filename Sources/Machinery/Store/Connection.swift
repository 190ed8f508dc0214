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
    var logEnd = LogEnd.whole
    /// Pages in the log after the last commit, since it was last moved into the file.
    private(set) var logPages = 0

    /// Opens the existing file.
    /// - Parameter fileSystem: the name of the SQLite VFS; nil for the system's.
    init(path: String, fileSystem: String?) throws(ResultCode) {
        let flags =
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE
            | SQLITE_OPEN_NOFOLLOW
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags, GatheringFileSystem.name(over: fileSystem) ?? fileSystem)
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

    /// After a transaction that was rolled back for want of space: what is in the log is moved into the file, so that the log
    /// begins again in its own place. Once for each time that something was committed.
    func makeRoom() throws(ResultCode) {
        confine()
        GatheredLog.rolledBack(on: handle)
        try checkpoint()
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
