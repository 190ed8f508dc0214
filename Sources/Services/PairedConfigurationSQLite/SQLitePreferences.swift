// Preferences in a SQLite file: for an app that has many of them, or that changes some very often. A change writes its
// own rows, where the property list of FilePreferences is written whole. A row's key is that of the entry, its value
// the binary property list of the entry's.

public import PairedConfiguration
import Synchronization
import TandemFiles
import TandemReactor
import TandemStore

/// Preferences in a SQLite file, which other processes may read and change, too: their keys and values have at most
/// 4 MiB together (LIM-114). A value without room is refused where it is set.
public final class SQLitePreferences: PreferenceStore, BoundedPreferenceStore {
    private let place: PreferencePlace
    private let patience: Duration
    /// The files at the last reading; nil if they may have changed since then without a trace.
    private let seen = Mutex<Files?>(nil)

    /// Everything beside a file that belongs to it while SQLite works.
    private static let parts = ["-journal", "-wal", "-shm"]

    private struct Files: Equatable {
        let file: FileStatus?
        /// The log of a file that another program keeps one for; nil without commits in it.
        let log: FileStatus?

        init(_ name: String, in directory: OwnedDirectory) {
            file = try? directory.trustedStatus(of: name)
            let found = try? directory.trustedStatus(of: name + "-wal")
            log = found.flatMap { $0.size > 0 ? $0 : nil }
        }

        /// Whether a later commit has another time than these.
        var isSettled: Bool {
            // Two commits within one tick of the file system's clock have the same time.
            let tick: UInt64 = 20
            let now = Linux.wallTime.milliseconds
            return [file, log].compactMap(\.self).allSatisfy { ($0.modified / 1_000_000 &- now).magnitude > tick }
        }
    }

    /// The path of the file.
    public var path: String { place.path }

    /// A file, which is made with its directories when there is something to store, for its owner alone.
    /// - Parameter path: its last part is 1-180 of `A-Z a-z 0-9 . _ -` without a leading dot, such as
    ///   `preferences.sqlite`. The directory is the user's own, and no other user may write it. A relative path counts
    ///   from the working directory at this moment.
    public convenience init(_ path: String) { self.init(path, patience: FilePreferences.patience) }

    /// As ``init(_:)``, for a test of another wait.
    package init(_ path: String, patience: Duration) {
        place = PreferencePlace(path)
        self.patience = patience
    }

    public func update(_ change: (PropertyListDictionary?) -> PreferenceEdit) throws(PreferenceStoreError) {
        for _ in 0..<Self.attempts {
            if try updateOnce(change) { return }
        }
        throw PreferenceStoreError(.inUse, store: path, detail: "other programs keep replacing the file")
    }

    /// Times that another process may begin the file between two steps of this one.
    private static var attempts: Int { 8 }

    public func observe(_ changed: @escaping @Sendable () -> Void) -> ConfigurationObservation? {
        // A commit ends with the removal of the journal, or with a writing to the log of a file that has one.
        let names = [place.name, place.name + "-journal", place.name + "-wal"]
        let lookout = FileLookout(in: place.directory, of: names) { [weak self] in
            if self?.isChanged == true { changed() }
        }
        guard let lookout else { return nil }
        lookout.start()
        return ConfigurationObservation { lookout.stop() }
    }

    /// Whether the file is another one than at the last reading: each closing is an event, also of this process's own.
    private var isChanged: Bool {
        guard let directory = try? OwnedDirectory(existing: place.directory) else { return true }
        return seen.withLock(\.self) != Files(place.name, in: directory)
    }

    /// Remembers the files while no other process can change them.
    private func look(at directory: OwnedDirectory) {
        let files = Files(place.name, in: directory)
        seen.withLock { $0 = files.isSettled ? files : nil }
    }

    /// - Returns: false if there is more to read by now: nothing is written then.
    private func updateOnce(
        _ change: (PropertyListDictionary?) -> PreferenceEdit
    ) throws(PreferenceStoreError) -> Bool {
        guard let directory = try place.opened(), try isThere(in: directory) else {
            let edit = change([:])
            if edit.isEmpty { return true }
            return try begin(edit)
        }
        do throws(PreferenceStoreError) {
            try use(directory) { edits, rows throws(PreferenceStoreError) in
                try Self.changes(change(edits), of: rows, store: path)
            }
            return true
        } catch {
            guard error.reason == .damaged else { throw error }
            try replace(error, in: directory, by: change(nil))
            return false
        }
    }

    /// Reads the file, and makes the changes that the closure asks for.
    private func use(
        _ directory: OwnedDirectory,
        _ change: (PropertyListDictionary, [EntryFile.Entry]) throws(PreferenceStoreError) -> EntryChanges
    ) throws(PreferenceStoreError) {
        let folder = try place.trying { () throws(FileError) in try directory.resolvedPath() }
        var fault: PreferenceStoreError?
        do throws(StoreError) {
            try EntryFile("\(folder)/\(place.name)", patience: patience).update { rows in
                look(at: directory)
                do throws(PreferenceStoreError) {
                    return try change(try Self.entries(in: rows, store: path), rows)
                } catch {
                    fault = error
                    return EntryChanges()
                }
            }
        } catch {
            throw PreferenceStoreError(error, store: path)
        }
        if let fault { throw fault }
    }

    /// Begins a file where none is.
    /// - Returns: false if another process was faster.
    private func begin(_ edit: PreferenceEdit) throws(PreferenceStoreError) -> Bool {
        let bytes = try bytes(after: edit)
        return try place.trying { () throws(FileError) in
            let directory = try OwnedDirectory(path: place.directory)
            let turn = try directory.turn(within: patience)
            defer { withExtendedLifetime(turn) {} }
            guard try directory.trustedStatus(of: place.name) == nil else { return false }
            // SQLite would roll a journal without its file back into the new one.
            for part in Self.parts { try directory.remove(place.name + part) }
            try directory.replace(place.name, with: bytes)
            return true
        }
    }

    /// Begins a new file in the place of a damaged one, which is kept aside.
    /// - Throws: the damage; nothing if another process was faster.
    private func replace(
        _ damage: PreferenceStoreError, in directory: OwnedDirectory, by edit: PreferenceEdit
    ) throws(PreferenceStoreError) {
        guard !edit.isEmpty else { throw damage }
        let bytes = try bytes(after: edit)
        let turn = try place.trying { () throws(FileError) in try directory.turn(within: patience) }
        defer { withExtendedLifetime(turn) {} }
        guard isDamaged(in: directory) else { return }
        let aside = try place.trying { () throws(FileError) in
            let aside = try directory.keepAside(place.name)
            for part in Self.parts { try directory.move(place.name + part, to: aside + part) }
            try directory.replace(place.name, with: bytes)
            return aside
        }
        throw PreferenceStoreError(.damaged, store: path, detail: damage.detail, aside: aside)
    }

    private func isDamaged(in directory: OwnedDirectory) -> Bool {
        do throws(PreferenceStoreError) {
            try use(directory) { _, _ in EntryChanges() }
            return false
        } catch {
            return error.reason == .damaged
        }
    }

    private func isThere(in directory: OwnedDirectory) throws(PreferenceStoreError) -> Bool {
        try place.trying { () throws(FileError) in try directory.trustedStatus(of: place.name) } != nil
    }
}

// MARK: - Rows
extension SQLitePreferences {
    private static func entries(
        in rows: [EntryFile.Entry], store: String
    ) throws(PreferenceStoreError) -> PropertyListDictionary {
        var pairs: [(String, PropertyListValue)] = []
        for row in rows {
            do throws(PropertyListError) {
                pairs.append((row.key, try PropertyListReader.read(row.value)))
            } catch {
                throw PreferenceStoreError(.damaged, store: store, detail: "the value of '\(row.key)': \(error)")
            }
        }
        return PropertyListDictionary(uniqueKeysWithValues: pairs)
    }

    private static func changes(
        _ edit: PreferenceEdit, of rows: [EntryFile.Entry], store: String
    ) throws(PreferenceStoreError) -> EntryChanges {
        var values: [EntryFile.Entry] = []
        for (key, value) in edit.values {
            do throws(PropertyListError) {
                values.append((key, try PropertyListWriter.write(value)))
            } catch {
                throw PreferenceStoreError(.notStorable, store: store, detail: "the value of '\(key)': \(error)")
            }
        }
        let stay = rows.filter { edit.values[$0.key] == nil && !edit.removed.contains($0.key) }
        let count = (stay + values).reduce(0) { $0 + $1.key.utf8.count + $1.value.count }
        // More would be damage to the next reader.
        guard count <= EntryFile.byteLimit else {
            let detail = PreferenceStoreError.tooLarge(count, limit: EntryFile.byteLimit)
            throw PreferenceStoreError(.notStorable, store: store, detail: detail)
        }
        return EntryChanges(values: values, removed: Array(edit.removed))
    }

    /// Below it no entry is encoded to be sure of its room. It is less than the file's limit, because the shadows are
    /// one row: a property list of its own with the budgets of one.
    package var byteLimit: Int { 512 << 10 }

    package func fault(of entries: PropertyListDictionary) -> String? {
        do throws(PreferenceStoreError) {
            _ = try Self.changes(PreferenceEdit(values: entries), of: [], store: path)
            return nil
        } catch {
            return error.detail
        }
    }

    /// The bytes of a new file.
    private func bytes(after edit: PreferenceEdit) throws(PreferenceStoreError) -> [UInt8] {
        let changes = try Self.changes(edit, of: [], store: path)
        do throws(StoreError) {
            return try EntryFile.bytes(of: changes.values)
        } catch {
            throw PreferenceStoreError(error, store: path)
        }
    }
}

extension PreferenceStoreError {
    fileprivate init(_ error: StoreError, store: String) {
        let (reason, detail): (Reason, String) =
            switch error {
            case .notAStore: (.damaged, "it is no SQLite file of preferences")
            case .corrupt(_, let detail): (.damaged, detail)
            case .newer(_, let found, _): (.unavailable, "it is of version \(found), which this library does not know")
            case .inUse: (.inUse, "another process works on it")
            case .full: (.full, "no space is left")
            case .unavailable(_, let detail): (.unavailable, detail)
            default: (.unavailable, error.description)
            }
        self.init(reason, store: store, detail: detail)
    }
}
