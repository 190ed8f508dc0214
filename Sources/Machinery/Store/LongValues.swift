// Table of long values (Decisions/0041). SQLite compares keys on its way down the tree of rows, and reads a row that is
// too long for its page as a whole before it compares the key. A long value is therefore in a table ordered by a
// number, and its row has the number in place of the value. All other values are bytes, so the type tells them apart.
// Beside a long value is the checksum of its row: a damaged number leads to no other row's value. Few spaces ever have
// long values. A second table lists them, so that changes in the others need not look for one.

import CTandemSQLite

/// The long values of one connection, and the statements that write them.
final class LongValues {
    private static let schema = [
        "CREATE TABLE long_value(id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, value BLOB NOT NULL)",
        "CREATE TABLE long_space(space INTEGER PRIMARY KEY)",
    ]

    /// Whether the file has the tables: one of an earlier version gets them with its first commit.
    private(set) var hasTables = false
    /// By space, whether it has ever had a long value.
    private var spaces = [Bool](repeating: false, count: 256)

    /// Reads what the file has.
    func restore(on connection: Connection) throws(ResultCode) {
        let found = "SELECT count(*) FROM sqlite_master WHERE name IN ('long_value', 'long_space')"
        hasTables = try connection.integer(found) == 2
        guard hasTables else { return }
        // An edited table may list what is no space, also as texts, which SQLite orders by their letters.
        try connection.statement("SELECT space FROM long_space").run { row in
            if let space = UInt8(exactly: row.integer(at: 0)) { spaces[Int(space)] = true }
        }
    }

    /// Makes the tables in a file that has none.
    func makeTables(on connection: Connection) throws(ResultCode) {
        guard !hasTables else { return }
        for table in Self.schema { try connection.execute(table) }
        hasTables = true
    }

    /// The tables of a query for rows, and its columns after the key: checksum, value, and whether that is a long one.
    /// The join cannot match a short value: in SQLite bytes never equal a number.
    var source: (tables: String, columns: String) {
        guard hasTables else { return ("row", "row.checksum, row.value, 0") }
        return (
            "row LEFT JOIN long_value ON long_value.id = row.value AND long_value.checksum = row.checksum",
            "row.checksum, ifnull(long_value.value, row.value), typeof(row.value) = 'integer'"
        )
    }

    /// Restores this state if the transaction in `body` fails: its rollback removes the tables and entries that it
    /// made.
    func restoringOnFailure(_ body: () throws(ResultCode) -> Void) throws(ResultCode) {
        let before = (hasTables, spaces)
        do throws(ResultCode) { try body() } catch {
            (hasTables, spaces) = before
            throw error
        }
    }

    /// Whether a row of the space may have a long value.
    func mayExist(in space: RowSpace) -> Bool { spaces[Int(space.rawValue)] }

    /// Whether the row would be longer than the 1,002 bytes that SQLite keeps of it in a page of 4 KiB. The lengths,
    /// the space and the checksum take up to 16 of them, and a few are spare.
    static func isLong(_ key: [UInt8], _ value: [UInt8]) -> Bool { key.count + value.count > 980 }

    /// Writes the value of a row with this checksum.
    /// - Returns: its number.
    func insert(
        _ value: [UInt8], _ checksum: UInt64, in space: RowSpace, on connection: Connection
    ) throws(ResultCode) -> Int64 {
        if !mayExist(in: space) {
            try connection.execute("INSERT INTO long_space VALUES(\(space.rawValue))")
            spaces[Int(space.rawValue)] = true
        }
        let insert = try connection.statement("INSERT INTO long_value(checksum, value) VALUES(?2, ?1)")
        insert.bind(Int64(bitPattern: checksum), at: 2)
        try insert.binding(value, at: 1) { () throws(ResultCode) in try insert.run() }
        return connection.lastInsertedRowID
    }

    /// Removes the long value of a row that is about to go or to be replaced, if it has one.
    /// - Parameter next: the number of the value that replaces it, which a damaged row may have already.
    func remove(
        of space: RowSpace, _ key: [UInt8], for next: Int64?, on connection: Connection
    ) throws(ResultCode) {
        let remove = try connection.statement(
            """
            DELETE FROM long_value WHERE (id, checksum) =
                (SELECT value, checksum FROM row WHERE space = ?1 AND key = ?2 AND typeof(value) = 'integer')
                AND id IS NOT ?3
            """)
        if let next { remove.bind(next, at: 3) }
        remove.bind(Int64(space.rawValue), at: 1)
        try remove.binding(key, at: 2) { () throws(ResultCode) in try remove.run() }
    }

    /// Removes the long values of the rows of a range, which are about to go.
    func removeAll(of range: RowRange, on connection: Connection) throws(ResultCode) {
        let remove = try connection.statement(
            """
            DELETE FROM long_value WHERE (id, checksum) IN
                (SELECT value, checksum FROM row WHERE \(range.condition) AND typeof(value) = 'integer')
            """)
        try remove.binding(range) { () throws(ResultCode) in try remove.run() }
    }
}
