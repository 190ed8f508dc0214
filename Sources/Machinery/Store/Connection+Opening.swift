// The checks and settings of a store before it is used. Order matters: whose file it is and which version comes before
// anything that could write to it.

import CTandemSQLite

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
