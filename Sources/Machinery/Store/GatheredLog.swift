// A store's log whose writes wait in memory until they must be in the file: before each sync, read, cut and question for the
// size. A commit is then one write. What could not be written fails the call that needed it, and every sync until SQLite
// has written that place anew: no sync may say that bytes are durable which the file never got.

import CTandemSQLite

/// The open log behind SQLite's methods; used on its store's thread only, as the connection is.
final class GatheredLog {
    /// More than this is not kept back, and a large commit is written in parts: SQLite's own file systems take less than
    /// 128 KiB in one write.
    private static let mostBytes = 124 << 10

    private let file: UnsafeMutablePointer<sqlite3_file>
    private let methods: sqlite3_io_methods
    private var bytes: [UInt8] = []
    /// Where the gathered bytes begin in the file.
    private var start: Int64 = 0
    /// From where on bytes are missing in the file, and why.
    private var missing: (from: Int64, code: Int32)?

    init(_ file: UnsafeMutablePointer<sqlite3_file>, _ methods: sqlite3_io_methods) {
        self.file = file
        self.methods = methods
    }

    func write(_ new: UnsafeRawBufferPointer, at offset: Int64) -> Int32 {
        // SQLite begins again where the last good commit ended, and from there writes on without a gap to the next sync: what is
        // behind the hole's beginning is written anew, too, and no end of the hole need be known.
        if let missing, offset <= missing.from { self.missing = nil }
        if replace(new, at: offset) { return SQLITE_OK }
        if offset != start + Int64(bytes.count) || bytes.count + new.count > Self.mostBytes {
            let code = flush()
            guard code == SQLITE_OK else {
                note(code, from: offset)
                return code
            }
        }
        if bytes.isEmpty { start = offset }
        bytes.append(contentsOf: new)
        return SQLITE_OK
    }

    /// A page that a transaction changes again is written in its place.
    private func replace(_ new: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
        guard offset >= start, offset + Int64(new.count) <= start + Int64(bytes.count) else { return false }
        let place = Int(offset - start)
        bytes.replaceSubrange(place..<place + new.count, with: new)
        return true
    }

    /// Writes what was gathered.
    func flush() -> Int32 {
        guard !bytes.isEmpty else { return SQLITE_OK }
        let code = bytes.withUnsafeBytes { methods.xWrite(file, $0.baseAddress, Int32($0.count), start) }
        if code != SQLITE_OK { note(code, from: start) }
        bytes.removeAll(keepingCapacity: true)
        return code
    }

    private func note(_ code: Int32, from offset: Int64) { missing = (min(offset, missing?.from ?? offset), code) }

    /// What is missing was part of no commit: nobody reads it, or asks for it.
    func rolledBack() { missing = nil }

    func synchronise(_ flags: Int32) -> Int32 {
        let code = flush()
        if let missing { return missing.code }
        return code == SQLITE_OK ? methods.xSync(file, flags) : code
    }

    /// Asks the file for something that depends on what is in it.
    func afterFlush(
        _ ask: (sqlite3_io_methods, UnsafeMutablePointer<sqlite3_file>) -> Int32
    ) -> Int32 {
        let code = flush()
        return code == SQLITE_OK ? ask(methods, file) : code
    }

    /// Closes the file, also if what was gathered could not be written: nobody was told that it was durable.
    func close() -> Int32 {
        let (flushed, closed) = (flush(), methods.xClose(file))
        return flushed == SQLITE_OK ? closed : flushed
    }

    /// What does not touch the bytes.
    func ask(_ question: (sqlite3_io_methods, UnsafeMutablePointer<sqlite3_file>) -> Int32) -> Int32 {
        question(methods, file)
    }
}
