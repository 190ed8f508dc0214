// Files of a store, by the ends of their names: SQLite and the reserve have files of their own beside the store's.

/// One of the files of a store.
package enum StorePart: String, CaseIterable, Sendable {
    /// The store itself.
    case main = ""
    /// SQLite's log of commits that the store's file does not have yet.
    case log = "-wal"
    /// SQLite's index of that log.
    case logIndex = "-shm"
    /// The room that is kept for commits that make room.
    case reserve = "-reserve"

    /// The names of all files of the store with this name.
    package static func names(of store: String) -> [String] { allCases.map { $0.path(of: store) } }

    /// The path of this file of the store at a path.
    func path(of store: String) -> String { store + rawValue }
}
