// Mark of a store's file: the version of its tables, and which log belongs to it. SQLite opens a file without its
// write-ahead log as if there had never been one, and drops what only the log had. The mark is the file's
// `user_version`, a number in its first page. Read from the file alone and through the log, it shows whether the two
// belong together (DEL-30). The first commit of each turn of the log raises the turn, and a checkpoint moves it into
// the file:
//
//     file alone      through the log   meaning
//     turn n          turn n            the file has everything that is in the log
//     turn n          turn n + 1        the log has commits that the file lacks
//     needs its log   no log            the log was removed, or a copy left it out: refused
//     turn n          another turn      the log is of another time than the file: refused

import CTandemSQLite

/// The number that SQLite keeps for its user: 8 bits for the version, 22 for the turn, and one.
struct StoreMark: Equatable {
    /// The version of the rows that this program writes, and the highest that it reads. Rows of earlier versions are
    /// read as they are.
    /// - 2: a queue's item may have its record and its body in one row (Decisions/0039).
    /// - 3: a row may have several items (Decisions/0040).
    /// - 4: long values are in a separate table (Decisions/0041).
    /// - 5: the record of a file's item has the size of the file.
    /// - 6: the record of a context has the epoch in which it came, once that is over.
    static let newestVersion = 6
    /// A store from this version on has the tables of long values.
    static let firstWithLongValues = 4
    private static let turns = 1 << 22

    let version: Int
    /// The log's turn; it grows by one each time that the log starts over.
    let turn: Int
    /// Whether there may be commits that only the log has.
    let needsLog: Bool

    init(_ version: Int = newestVersion, turn: Int = 0, needsLog: Bool = false) {
        self.version = version
        self.turn = turn % Self.turns
        self.needsLog = needsLog
    }

    /// Nil for a number that no program has written.
    init?(stored: Int64) {
        guard 0..<1 << 31 ~= stored else { return nil }
        version = Int(stored & 0xFF)
        turn = Int(stored >> 8) & (Self.turns - 1)
        needsLog = stored >> 30 & 1 == 1
    }

    /// Reads the mark from the first page of a file; nil if the file is not a store.
    init?(page: [UInt8]) {
        guard page.count >= 72, page.starts(with: "SQLite format 3\0".utf8),
            LogHeader.number(page[68..<72]) == Connection.applicationID
        else { return nil }
        self.init(stored: Int64(LogHeader.number(page[60..<64])))
    }

    var stored: Int64 { Int64(version | turn << 8 | (needsLog ? 1 << 30 : 0)) }

    /// Whether a log that shows this mark belongs to a file with that one.
    func continues(_ file: StoreMark) -> Bool { turn == file.turn || turn == (file.turn + 1) % Self.turns }
}

// Files of a connection beneath SQLite's pages: what a mark and a log are read from, and how a log is made durable.

/// One open file, used by way of SQLite's own descriptor: closing another one would drop the locks of the process.
struct ConnectionFile {
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let methods: sqlite3_io_methods

    /// - Parameter kind: the file-control code for the database's file or its log.
    init?(of handle: OpaquePointer, _ kind: Int32) {
        var found: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(handle, "main", kind, &found) == SQLITE_OK, let file = found,
            let methods = file.pointee.pMethods?.pointee
        else { return nil }
        self.file = file
        self.methods = methods
    }

    /// The bytes there, exactly so many.
    func read(_ count: Int, at offset: Int) throws(ResultCode) -> [UInt8] {
        var code = SQLITE_ERROR
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            code = methods.xRead(file, buffer.baseAddress, Int32(count), Int64(offset))
            initialized = code == SQLITE_OK ? count : 0
        }
        guard code == SQLITE_OK else { throw ResultCode(raw: code) }
        return bytes
    }

    /// Writes the first bytes of the file once more, as they are, and synchronises them. After a sync that failed the
    /// kernel may take pages for written that never reached the disk, and only writing them makes it write them.
    func makeDurable(_ size: Int) throws(ResultCode) {
        var offset = 0
        while offset < size {
            let bytes = try read(min(size - offset, 1 << 16), at: offset)
            try check(methods.xWrite(file, bytes, Int32(bytes.count), Int64(offset)))
            offset += bytes.count
        }
        try check(methods.xSync(file, SQLITE_SYNC_NORMAL))
    }

    /// Writes zeros from the file's end up to this length.
    /// - Returns: false if there is no room.
    func extend(to length: Int) -> Bool {
        var size: Int64 = 0
        guard methods.xFileSize(file, &size) == SQLITE_OK else { return false }
        // SQLite writes nothing of a multiple of 128 KiB at once.
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        while size < length {
            let count = min(zeros.count, length - Int(size))
            guard methods.xWrite(file, zeros, Int32(count), size) == SQLITE_OK else { return false }
            size += Int64(count)
        }
        return true
    }

    private func check(_ code: Int32) throws(ResultCode) {
        guard code == SQLITE_OK else { throw ResultCode(raw: code) }
    }
}
