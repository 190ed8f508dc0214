// Reading rows in SQL. Every value is read with its checksum, so that damage is an error that names the row.

import CTandemSQLite

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
