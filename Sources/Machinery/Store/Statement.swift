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

    func bind(_ integer: Int64, at place: Int32) { check(sqlite3_bind_int64(handle, place, integer)) }

    func bindNull(at place: Int32) { check(sqlite3_bind_null(handle, place)) }

    /// Binds the bytes while `body` runs; the statement must be reset before they go.
    func binding<T>(
        _ bytes: [UInt8], at place: Int32, _ body: () throws(ResultCode) -> T
    ) throws(ResultCode) -> T {
        try bytes.withUnsafeBufferPointer { (buffer) throws(ResultCode) -> T in
            // An empty array may have no address, and a blob without one would be NULL.
            let code =
                buffer.isEmpty
                ? sqlite3_bind_zeroblob(handle, place, 0)
                : sqlite3_bind_blob64(handle, place, buffer.baseAddress, UInt64(buffer.count), nil)
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

    func bytes(at column: Int32) -> [UInt8] { withBytes(at: column) { Array($0) } }

    /// Lends the bytes of a column of the current row, without copying them.
    func withBytes<T>(at column: Int32, _ body: (UnsafeRawBufferPointer) -> T) -> T {
        let start = sqlite3_column_blob(handle, column)
        return body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    func text(at column: Int32) -> String { String(decoding: bytes(at: column), as: UTF8.self) }

    private func check(_ code: Int32) { precondition(code == SQLITE_OK, "a place that the statement does not have") }
}
