// Writing rows in SQL: the statements of every commit, prepared once, so that a store with another table is refused at its
// opening. Every row is written with its checksum.

import CTandemSQLite

/// The statements of one connection that change rows.
struct RowStatements {
    private let begin: Statement
    private let commit: Statement
    private let put: Statement
    private let delete: Statement
    private let deleteAll: Statement

    init(on connection: Connection) throws(ResultCode) {
        begin = try connection.statement("BEGIN IMMEDIATE")
        commit = try connection.statement("COMMIT")
        put = try connection.statement(
            "INSERT OR REPLACE INTO row(space, key, checksum, value) VALUES(?1, ?2, ?3, ?4)")
        delete = try connection.statement("DELETE FROM row WHERE space = ?1 AND key = ?2")
        deleteAll = try connection.statement(
            "DELETE FROM row WHERE space = ?1 AND key >= ?2 AND (?3 IS NULL OR key < ?3)")
    }

    /// Makes what `body` changes one transaction.
    /// - Throws: what failed; the transaction may still be open then.
    func transact(_ body: () throws(ResultCode) -> Void) throws(ResultCode) {
        try begin.run()
        try body()
        try commit.run()
    }

    func apply(_ change: RowChange) throws(ResultCode) {
        switch change {
        case .put(let space, let key, let value): try put(space, key, value)
        case .delete(let space, let key):
            delete.bind(Int64(space.rawValue), at: 1)
            try delete.binding(key, at: 2) { () throws(ResultCode) in try delete.run() }
        case .deleteAll(let range):
            try deleteAll.binding(range) { () throws(ResultCode) in try deleteAll.run() }
        }
    }

    private func put(_ space: RowSpace, _ key: [UInt8], _ value: [UInt8]) throws(ResultCode) {
        let checksum = RowChecksum.of(space: space.rawValue, key: key, value: value)
        put.bind(Int64(space.rawValue), at: 1)
        put.bind(Int64(bitPattern: checksum), at: 3)
        try put.binding(key, at: 2) { () throws(ResultCode) in
            try put.binding(value, at: 4) { () throws(ResultCode) in try put.run() }
        }
    }
}

extension Statement {
    /// Binds the bounds of a range while `body` runs, at the places that all statements over ranges have.
    func binding(_ range: RowRange, _ body: () throws(ResultCode) -> Void) throws(ResultCode) {
        bind(Int64(range.space.rawValue), at: 1)
        try binding(range.lower, at: 2) { () throws(ResultCode) in
            guard let upper = range.upper else {
                bindNull(at: 3)
                return try body()
            }
            try binding(upper, at: 3) { () throws(ResultCode) in try body() }
        }
    }
}
