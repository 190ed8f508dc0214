// One prepared statement. It belongs to its connection's thread and is finalised with its connection; bound bytes are
// lent only for the closure in which the statement runs, so nothing is copied and nothing dangles.

import CTandemSQLite

/// A prepared statement of one connection.
final class Statement {
    private let handle: OpaquePointer

    init(_ sql: String, on connection: OpaquePointer) throws(ResultCode) {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let prepared else { throw ResultCode(raw: code) }
        handle = prepared
    }

    deinit { sqlite3_finalize(handle) }

    func bind(_ integer: Int64, at index: Int32) { check(sqlite3_bind_int64(handle, index, integer)) }

    /// Binds the bytes while `body` runs; the statement must be reset before they go.
    func binding<T>(
        _ bytes: [UInt8], at index: Int32, _ body: () throws(ResultCode) -> T
    ) throws(ResultCode) -> T {
        try bytes.withUnsafeBufferPointer { (buffer) throws(ResultCode) -> T in
            // An empty array may have no address, and a blob without one would be NULL.
            let code =
                buffer.isEmpty
                ? sqlite3_bind_zeroblob(handle, index, 0)
                : sqlite3_bind_blob64(handle, index, buffer.baseAddress, UInt64(buffer.count), nil)
            guard code == SQLITE_OK else { throw ResultCode(raw: code) }
            return try body()
        }
    }

    /// Runs the statement to its end, giving each row to `row`, and resets it.
    func run(_ row: (Statement) throws(ResultCode) -> Void = { _ in }) throws(ResultCode) {
        defer {
            sqlite3_reset(handle)
            sqlite3_clear_bindings(handle)
        }
        while true {
            let code = ResultCode(raw: sqlite3_step(handle))
            if code.isDone { return }
            guard code.isRow else { throw code }
            try row(self)
        }
    }

    func integer(at column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    /// Whether a column of the current row is bytes, and no text, number or nothing.
    func isBytes(at column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_BLOB }

    func bytes(at column: Int32) -> [UInt8] { withBytes(at: column) { Array($0) } }

    /// Lends the bytes of a column of the current row, without copying them.
    func withBytes<T>(at column: Int32, _ body: (UnsafeRawBufferPointer) -> T) -> T {
        let start = sqlite3_column_blob(handle, column)
        return body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    func text(at column: Int32) -> String { String(decoding: bytes(at: column), as: UTF8.self) }

    private func check(_ code: Int32) { precondition(code == SQLITE_OK, "an index that the statement does not have") }
}

// Writing rows in SQL: the statements of every commit, prepared once, so that a store with another table is refused at
// its opening. Every row is written with its checksum, and a long value into a table of its own (``LongValues``).

/// The statements of one connection that change rows.
struct RowStatements {
    private let longValues: LongValues
    private let begin: Statement
    private let commit: Statement
    private let put: Statement
    private let putIfNew: Statement
    private let delete: Statement

    init(on connection: Connection) throws(ResultCode) {
        longValues = connection.longValues
        begin = try connection.statement("BEGIN IMMEDIATE")
        commit = try connection.statement("COMMIT")
        let columns = "INTO row(space, key, checksum, value) VALUES(?1, ?2, ?3, ?4)"
        put = try connection.statement("INSERT OR REPLACE \(columns)")
        putIfNew = try connection.statement("INSERT OR IGNORE \(columns)")
        delete = try connection.statement("DELETE FROM row WHERE space = ?1 AND key = ?2")
    }

    /// Makes what `body` changes one transaction.
    /// - Throws: what failed; the transaction may still be open then.
    func transact(_ body: () throws(ResultCode) -> Void) throws(ResultCode) {
        try begin.run()
        try body()
        try commit.run()
    }

    func apply(_ change: RowChange, on connection: Connection) throws(ResultCode) {
        switch change {
        case .put(let space, let key, let value): try put(space, key, value, on: connection)
        case .delete(let space, let key):
            if longValues.mayExist(in: space) { try longValues.remove(of: space, key, for: nil, on: connection) }
            delete.bind(Int64(space.rawValue), at: 1)
            try delete.binding(key, at: 2) { () throws(ResultCode) in try delete.run() }
        case .deleteAll(let range):
            if longValues.mayExist(in: range.space) { try longValues.removeAll(of: range, on: connection) }
            let deleteAll = try connection.statement("DELETE FROM row WHERE \(range.condition)")
            try deleteAll.binding(range) { () throws(ResultCode) in try deleteAll.run() }
        }
    }

    private func put(
        _ space: RowSpace, _ key: [UInt8], _ value: [UInt8], on connection: Connection
    ) throws(ResultCode) {
        let isLong = LongValues.isLong(key, value)
        let checksum = RowChecksum.of(space: space.rawValue, key: key, value: value, isLong: isLong)
        let long = isLong ? try longValues.insert(value, checksum, in: space, on: connection) : nil
        if longValues.mayExist(in: space) {
            // Most rows are new, and replace no long value.
            try write(putIfNew, space, key, checksum, value, long)
            if connection.lastStatementChangedRow { return }
            try longValues.remove(of: space, key, for: long, on: connection)
        }
        try write(put, space, key, checksum, value, long)
    }

    private func write(
        _ statement: Statement, _ space: RowSpace, _ key: [UInt8], _ checksum: UInt64, _ value: [UInt8], _ long: Int64?
    ) throws(ResultCode) {
        statement.bind(Int64(space.rawValue), at: 1)
        statement.bind(Int64(bitPattern: checksum), at: 3)
        try statement.binding(key, at: 2) { () throws(ResultCode) in
            if let long {
                statement.bind(long, at: 4)
                return try statement.run()
            }
            try statement.binding(value, at: 4) { () throws(ResultCode) in try statement.run() }
        }
    }
}

extension RowRange {
    /// The condition of a statement over the rows of the range. Both bounds are the index's own: a statement looks at
    /// no row behind them.
    var condition: String { "space = ?1 AND key >= ?2" + (upper == nil ? "" : " AND key < ?3") }
}

extension Statement {
    /// Binds the bounds of a range while `body` runs, as ``RowRange/condition`` has them.
    func binding(_ range: RowRange, _ body: () throws(ResultCode) -> Void) throws(ResultCode) {
        bind(Int64(range.space.rawValue), at: 1)
        try binding(range.lower, at: 2) { () throws(ResultCode) in
            guard let upper = range.upper else { return try body() }
            try binding(upper, at: 3) { () throws(ResultCode) in try body() }
        }
    }
}

// SQLite's result codes as a value: an extended code matches its primary one, so that a decision on `full` or
// `inputOutput` cannot miss one of the thirty ways to spell it.

/// A result of SQLite, extended code included.
struct ResultCode: Error, Equatable, CustomStringConvertible {
    let raw: Int32

    var primary: Int32 { raw & 0xFF }
    var isRow: Bool { raw == SQLITE_ROW }
    var isDone: Bool { raw == SQLITE_DONE }

    var description: String { "SQLite \(raw): " + String(cString: sqlite3_errstr(raw)) }

    /// The meaning of the failure for a store at `path` that was good before it.
    func error(path: String) -> StoreError {
        switch primary {
        case SQLITE_FULL: .full(path: path)
        case SQLITE_NOTADB: .notAStore(path: path)
        case SQLITE_CORRUPT: .corrupt(path: path, detail: description)
        case SQLITE_BUSY, SQLITE_LOCKED: .inUse(path: path)
        default: .unavailable(path: path, detail: description)
        }
    }
}
