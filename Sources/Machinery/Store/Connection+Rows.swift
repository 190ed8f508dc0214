// Rows in SQL: the only statements that run after opening. Every value is read with its checksum, so that damage is
// an error that names the row.

import CTandemSQLite

extension Connection {
    private static var put: String { "INSERT OR REPLACE INTO row(space, key, checksum, value) VALUES(?1, ?2, ?3, ?4)" }
    private static var delete: String { "DELETE FROM row WHERE space = ?1 AND key = ?2" }
    private static var deleteAll: String {
        "DELETE FROM row WHERE space = ?1 AND key >= ?2 AND (?3 IS NULL OR key < ?3)"
    }
    private static func select(descending: Bool) -> String {
        """
        SELECT key, checksum, value FROM row WHERE space = ?1 AND key >= ?2 AND (?3 IS NULL OR key < ?3)
        ORDER BY key \(descending ? "DESC" : "ASC") LIMIT ?4
        """
    }

    /// Prepares what runs later, so that a store with another table is refused at its opening.
    func prepareStatements() throws(ResultCode) {
        for sql in [Self.put, Self.delete, Self.deleteAll, Self.select(descending: false)] { _ = try statement(sql) }
    }

    func apply(_ change: RowChange) throws(ResultCode) {
        switch change {
        case .put(let space, let key, let value): try put(space, key, value)
        case .delete(let space, let key):
            let statement = try statement(Self.delete)
            statement.bind(Int64(space.rawValue), at: 1)
            try statement.binding(key, at: 2) { () throws(ResultCode) in try statement.run() }
        case .deleteAll(let range):
            let statement = try statement(Self.deleteAll)
            try bind(range, to: statement) { () throws(ResultCode) in try statement.run() }
        }
    }

    private func put(_ space: RowSpace, _ key: [UInt8], _ value: [UInt8]) throws(ResultCode) {
        let statement = try statement(Self.put)
        let checksum = RowChecksum.of(space: space.rawValue, key: key, value: value)
        statement.bind(Int64(space.rawValue), at: 1)
        statement.bind(Int64(bitPattern: checksum), at: 3)
        try statement.binding(key, at: 2) { () throws(ResultCode) in
            try statement.binding(value, at: 4) { () throws(ResultCode) in try statement.run() }
        }
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
            try bind(range, to: statement) { () throws(ResultCode) in
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

    private func bind(
        _ range: RowRange, to statement: Statement, _ body: () throws(ResultCode) -> Void
    ) throws(ResultCode) {
        statement.bind(Int64(range.space.rawValue), at: 1)
        try statement.binding(range.lower, at: 2) { () throws(ResultCode) in
            guard let upper = range.upper else {
                statement.bindNull(at: 3)
                return try body()
            }
            try statement.binding(upper, at: 3) { () throws(ResultCode) in try body() }
        }
    }
}
