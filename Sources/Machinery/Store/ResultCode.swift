// SQLite's result codes as a value: an extended code matches its primary one, so that a decision on `full` or
// `inputOutput` cannot miss one of the thirty ways to spell it.

import CTandemSQLite

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
