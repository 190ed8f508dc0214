// Why a store cannot be opened, read or written. A store that is not plainly good is refused and left as it is: an
// empty one in its place would forget pairings and versions, and let old configurations in again.

/// A fault of a store; every case names the file.
package enum StoreError: Error, Sendable, Equatable {
    /// The file should exist and does not.
    case missing(path: String)
    /// The file is not a SQLite database, or another program's.
    case notAStore(path: String)
    /// The file was written by a newer version of this program.
    case newer(path: String, found: Int, supported: Int)
    /// The file's structure is damaged.
    case corrupt(path: String, detail: String)
    /// One row's bytes are not those that were written; its value was not used.
    case corruptRow(path: String, space: UInt8, key: [UInt8])
    /// The file has commits in its log only, and the log is not there.
    case logMissing(path: String)
    /// The log is of another time than the file.
    case logOfAnotherTime(path: String)
    /// Another process has the store open.
    case inUse(path: String)
    /// No space left for this commit; nothing of it was written. Later commits may succeed.
    case full(path: String)
    /// This process's user may not use the file, its log or its directory.
    case noAccess(path: String, fault: String, remedy: String)
    /// The file could not be opened: the operating system's reason.
    case unavailable(path: String, detail: String)
    /// Writing or synchronising failed once, so nothing that follows can be trusted to be durable.
    case poisoned(path: String, cause: String)
    /// More bytes wait to be written than the store accepts; nothing of this commit was written.
    case overloaded(path: String, limit: Int)
    /// The store was closed before this was submitted.
    case closed(path: String)
}

extension StoreError {
    /// Whether what was read is not what was written: reading it again gives the same.
    package var isDamage: Bool {
        switch self {
        case .corrupt, .corruptRow, .notAStore: true
        case .missing, .newer, .logMissing, .logOfAnotherTime, .inUse, .full, .noAccess, .unavailable, .poisoned,
            .overloaded, .closed:
            false
        }
    }

    /// Whether the store takes nothing more. After a failed write or sync nobody knows whether the commit is on the
    /// disk: the next start may read it (DEL-29), or not. Every other failure of a commit has written nothing.
    package var endsStore: Bool {
        switch self {
        case .poisoned, .closed: true
        case .missing, .notAStore, .newer, .corrupt, .corruptRow, .logMissing, .logOfAnotherTime, .inUse, .full,
            .noAccess, .unavailable, .overloaded:
            false
        }
    }
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .missing(let path):
            "store \(path) is missing; restore it from a backup, or start with a new state directory"
        case .notAStore(let path):
            "\(path) is not a store of this program; it was left as it is: move it away or name another state directory"
        case .newer(let path, let found, let supported):
            "store \(path) has version \(found), this program knows up to \(supported); use a newer program"
        case .corrupt(let path, let detail):
            "store \(path) is damaged (\(detail)); it was left as it is: restore it from a backup"
        case .corruptRow(let path, let space, let key):
            "store \(path) is damaged (a row of \(key.count) key bytes in space \(space)); restore it from a backup"
        case .logMissing(let path):
            "store \(path) has commits that only its log has, and \(path)-wal is missing or empty; it was left as it is: put "
                + "that file back (copy a state directory as a whole, with its daemon stopped), or restore the directory from a "
                + "backup"
        case .logOfAnotherTime(let path):
            "log \(path)-wal does not belong to the store beside it: the two are of different times; they were left as "
                + "they are: put back the log that belongs to it, or restore the directory from a backup"
        case .inUse(let path): "store \(path) is in use by another process; stop that one first"
        case .full(let path): "no space left for store \(path); free some space and try again"
        case .noAccess(let path, let fault, let remedy): "\(path) cannot be used: \(fault); \(remedy)"
        case .unavailable(let path, let detail): "store \(path) cannot be opened: \(detail)"
        case .poisoned(let path, let cause):
            "store \(path) failed and accepts nothing more (\(cause)); check the disk and restart"
        case .overloaded(let path, let limit):
            "store \(path) has more than \(limit) bytes waiting to be written; try again later"
        case .closed(let path): "store \(path) is closed"
        }
    }
}
