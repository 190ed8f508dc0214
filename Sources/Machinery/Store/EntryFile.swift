// A small SQLite file of entries that several processes read and change: preferences. In contrast to a daemon's store
// it is opened for each use and closed after it, so that no lock outlasts a use, and its journal is rolled back: at
// rest it is one file. A file that is not plainly good is refused and left as it is.

import CTandemSQLite

/// The changes of a file's entries that are made as one.
package struct EntryChanges: Sendable {
    package let values: [EntryFile.Entry]
    package let removed: [String]

    package init(values: [EntryFile.Entry] = [], removed: [String] = []) {
        self.values = values
        self.removed = removed
    }

    package var isEmpty: Bool { values.isEmpty && removed.isEmpty }
}

/// A SQLite file of entries; any thread, one use at a time.
package struct EntryFile {
    package typealias Entry = (key: String, value: [UInt8])

    /// Bytes of all keys and values (LIM-114).
    package static var byteLimit: Int { 4 << 20 }
    /// Bytes of a file (LIM-114): values that were replaced leave free pages until the next commit.
    private static var fileLimit: Int64 { 16 << 20 }
    /// "TNDP": marks the file as ours among SQLite databases.
    private static var applicationID: Int64 { 0x544E_4450 }
    private static var version: Int64 { 1 }

    private let path: String
    private let patience: Duration
    private let fileSystem: String?

    /// - Parameters:
    ///   - path: of the file, which exists; without symbolic links.
    ///   - patience: the wait for other processes.
    ///   - fileSystem: the name of a SQLite VFS; nil for the system's.
    package init(_ path: String, patience: Duration, fileSystem: String? = nil) {
        self.path = path
        self.patience = patience
        self.fileSystem = fileSystem
    }

    /// Reads all entries, lets `change` choose, and makes the changes in the same transaction: durable when this
    /// returns, and no other process changes the file between.
    package func update(
        _ change: ([Entry]) -> EntryChanges
    ) throws(StoreError) {
        let connection = try translating { () throws(ResultCode) in
            try Connection(path: path, fileSystem: fileSystem)
        }
        // A transaction without its commit ends with the connection.
        try translating { () throws(ResultCode) in try begin(on: connection) }
        let entries = try entries(on: connection)
        let changes = change(entries)
        guard !changes.isEmpty else { return }
        try translating { () throws(ResultCode) in
            try Self.make(changes, on: connection)
            try connection.execute("COMMIT")
        }
    }

    /// The bytes of a new file with these entries.
    package static func bytes(of values: [Entry]) throws(StoreError) -> [UInt8] {
        let path = ":memory:"
        return try Connection.translating(path) { () throws(ResultCode) in
            let connection = try Connection(path: path, fileSystem: nil)
            // The file shrinks when entries go.
            try connection.execute("PRAGMA auto_vacuum = FULL")
            try connection.execute("PRAGMA application_id = \(applicationID)")
            try connection.execute("PRAGMA user_version = \(version)")
            try connection.execute(
                "CREATE TABLE preference(key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID")
            try make(EntryChanges(values: values), on: connection)
            return try connection.serialised()
        }
    }

    private func begin(on connection: Connection) throws(ResultCode) {
        let milliseconds = patience.components.seconds * 1000 + patience.components.attoseconds / 1_000_000_000_000_000
        try connection.execute("PRAGMA busy_timeout = \(milliseconds)")
        // The directory is synchronised, too, when the journal has gone.
        try connection.execute("PRAGMA synchronous = EXTRA")
        try connection.execute("PRAGMA cell_size_check = ON")
        try connection.execute("PRAGMA trusted_schema = OFF")
        try connection.execute("PRAGMA secure_delete = ON")
        do throws(ResultCode) {
            try connection.execute("BEGIN IMMEDIATE")
        } catch {
            // Reading is possible all the same.
            guard error.primary == SQLITE_READONLY else { throw error }
            try connection.execute("BEGIN")
        }
    }

    private func entries(on connection: Connection) throws(StoreError) -> [Entry] {
        let (application, version, size) = try translating { () throws(ResultCode) in
            let pages = try connection.integer("PRAGMA page_count") * connection.integer("PRAGMA page_size")
            return (
                try connection.integer("PRAGMA application_id"), try connection.integer("PRAGMA user_version"), pages
            )
        }
        guard application == Self.applicationID else { throw .notAStore(path: path) }
        guard version <= Self.version else {
            throw .newer(path: path, found: Int(version), supported: Int(Self.version))
        }
        guard size <= Self.fileLimit else { throw .corrupt(path: path, detail: "it has \(size) bytes") }
        var entries: [Entry] = []
        var known: Set<[UInt8]> = []
        var isSound = true
        var bytes = 0
        try translating { () throws(ResultCode) in
            // A view could have rows without end.
            let tables = "SELECT count(*) FROM sqlite_master WHERE name = 'preference' AND type = 'table'"
            isSound = try connection.integer(tables) == 1
            guard isSound else { return }
            let all = try connection.statement("SELECT key, value FROM preference")
            try all.run { row in
                let (key, value) = (row.bytes(at: 0), row.bytes(at: 1))
                bytes += key.count + value.count
                guard bytes <= Self.byteLimit, let text = String(validating: key, as: UTF8.self),
                    known.insert(key).inserted
                else {
                    isSound = false
                    return
                }
                entries.append((text, value))
            }
        }
        guard isSound else {
            throw .corrupt(
                path: path,
                detail: "it has no table of preferences, a key that is no text or there twice, "
                    + "or over \(Self.byteLimit) bytes of them")
        }
        return entries
    }

    private static func make(_ changes: EntryChanges, on connection: Connection) throws(ResultCode) {
        let remove = try connection.statement("DELETE FROM preference WHERE key = CAST(?1 AS TEXT)")
        for key in changes.removed {
            try remove.binding(Array(key.utf8), at: 1) { () throws(ResultCode) in try remove.run() }
        }
        let put = try connection.statement("INSERT OR REPLACE INTO preference VALUES(CAST(?1 AS TEXT), ?2)")
        for (key, value) in changes.values {
            try put.binding(Array(key.utf8), at: 1) { () throws(ResultCode) in
                try put.binding(value, at: 2) { () throws(ResultCode) in try put.run() }
            }
        }
    }

    private func translating<Result>(_ body: () throws(ResultCode) -> Result) throws(StoreError) -> Result {
        do throws(ResultCode) {
            return try body()
        } catch {
            // SQL that is right for the one table fails where another one stands.
            throw error.primary == SQLITE_ERROR ? .notAStore(path: path) : error.error(path: path)
        }
    }
}
