// The log that every commit is written to and synchronised in, kept large enough beforehand: a sync after writing over bytes
// that a file already has is one write to the disk; after making the file longer it is also a commit of the file system's own
// journal, two to three times as slow. What lies behind the last commit is no page that SQLite would take for one.

import CTandemSQLite

/// The write-ahead log of one connection, used on its thread.
final class WriteAheadLog {
    private let connection: OpaquePointer
    /// The pages in it since it last began anew.
    private var pages = 0
    /// Its file's size; nil while that is not known.
    private var size: Int64?

    /// A page and what the log writes in front of it.
    private static var frame: Int64 { 4096 + 24 }
    /// It is moved into the store's file when it has about this many bytes: that costs three syncs, and more to read after a
    /// crash the longer it is.
    private static var limit: Int64 { 8 << 20 }
    /// It grows by what it has, within these bounds: a store that is seldom written stays small.
    private static var growth: ClosedRange<Int64> { 64 << 10...1 << 20 }

    init(of connection: OpaquePointer) { self.connection = connection }

    /// From now on the pages are counted; SQLite is to move nothing by itself.
    func watch() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_wal_hook(
            connection,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                Unmanaged<WriteAheadLog>.fromOpaque(context).takeUnretainedValue().pages = Int(pages)
                return SQLITE_OK
            }, context)
    }

    /// Whether it is to be moved into the store's file.
    var isLong: Bool { Int64(pages) * Self.frame >= Self.limit }

    /// All of it is in the store's file: the next commit begins it anew, over what is there.
    func isMoved() { pages = 0 }

    /// Makes it longer if so many bytes of changes may not fit. Too little costs time only, and so does a disk that is full or
    /// fails here: the commit itself then says so.
    func makeRoom(for bytes: Int) {
        let size = self.size ?? CTandemSQLite_log_size(connection)
        self.size = size
        // Pages fill to two thirds, and every commit touches some that are hardly changed.
        let needed = Int64(pages) * Self.frame + Int64(clamping: bytes) / 2 * 3 + 8 * Self.frame
        guard needed > size, size < 2 * Self.limit else { return }
        let growth = min(max(size, Self.growth.lowerBound), Self.growth.upperBound)
        let end = max(needed, size + growth)
        let code = CTandemSQLite_extend_log(connection, size, end)
        self.size = code == SQLITE_OK ? end : nil
    }
}
