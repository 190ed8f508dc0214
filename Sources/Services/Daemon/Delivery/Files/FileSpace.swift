// Space for files (FIL-13): whether a file may begin, and whether each part of it may be written. There are two
// accounts: the free space of the disk, of which a reserve stays free (LIM-31), and the bytes of one owner's files
// (LIM-43). Without space an app's submission ends. A file from a peer waits, unless it would never fit: its sender
// repeats the item after a pause that is no attempt (DEL-12, ``PeerLink``).

import TandemBase
import TandemDelivery
import TandemFiles

/// The space of the disk under a spool; used on the thread of the files.
struct FileSpace: Sendable {
    private let spool: FileSpool
    /// Bytes that stay free: the store must be able to write how a file ended.
    private let reserve: Int64

    init(on spool: FileSpool, leaving reserve: Int64) {
        self.spool = spool
        self.reserve = reserve
    }

    /// - Throws: ``FileRefusal/noSpace(needed:available:besides:)`` if the bytes and the reserve do not fit.
    func check(for bytes: Int64) throws(FileRefusal) { try check(for: bytes, leaving: reserve) }

    private func check(for bytes: Int64, leaving rest: Int64) throws(FileRefusal) {
        let available = try translating { () throws(FileError) in try spool.availableSpace() }
        let needed = bytes.addingWithSaturation(rest)
        guard needed < .max, needed <= available else {
            throw .noSpace(needed: needed, available: available, besides: needed - bytes)
        }
    }

    /// As ``check(for:)`` for what is missing of a file.
    /// - Throws: ``FileRefusal/neverFits(needed:capacity:)`` if freeing space would not help.
    /// - Parameter promised: bytes that others may write meanwhile.
    func check(for missing: Int64, of size: Int64, besides promised: Int64) throws(FileRefusal) {
        do throws(FileRefusal) { try check(for: missing, leaving: reserve.addingWithSaturation(promised)) } catch {
            // Read only if there is no space; an error of this call must not hide the first one.
            guard case .noSpace = error, let capacity = try? spool.wholeSpace() else { throw error }
            let needed = size.addingWithSaturation(reserve)
            guard needed == .max || needed > capacity else { throw error }
            throw .neverFits(needed: needed, capacity: capacity)
        }
    }

    /// Writes a part of a file. Several files that come at once were each promised the same space, so it is looked at
    /// again before each part: none of them may take the reserve.
    func append(_ bytes: ArraySlice<UInt8>, to file: GrowingFile) throws(FileRefusal) {
        try check(for: Int64(bytes.count))
        try translating { () throws(FileError) in try file.append(bytes) }
    }
}

extension FixedWidthInteger {
    /// The sum with another number, both at least 0; the largest number if it is larger. Sparse files can add up to
    /// that.
    func addingWithSaturation(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

/// The submitter of files: a user of this device, or an app whose user is not known.
enum SpoolOwner: Hashable {
    case user(UInt32)
    case app(ApplicationIdentifier)
}

/// Bytes of files by their owners (LIM-43), as a sum for each owner, so that no check looks at all files. One file may
/// have any size: that is for the disk to say.
struct FileBudget<Owner: Hashable> {
    private var files: [FileKey: (owner: Owner, size: Int64)] = [:]
    private var sums: [Owner: Int64] = [:]
    /// Changes made while the files of an earlier run are being counted, which are newer than that count; nil if no
    /// count is under way.
    private var changes: Changes?

    private struct Changes {
        /// Files that were counted or removed.
        var files: Set<FileKey> = []
        /// Each says of a file whether a removal of many was of it.
        var removals: [(FileKey) -> Bool] = []

        func contains(_ file: FileKey) -> Bool { files.contains(file) || removals.contains { $0(file) } }
    }

    subscript(file: FileKey) -> Int64? { files[file]?.size }

    /// Counts a file; a second time with another size.
    mutating func set(_ file: FileKey, of owner: Owner, size: Int64) {
        remove(file)
        files[file] = (owner, size)
        // A spool of an earlier run says any sizes: they may add up to more than the largest number.
        sums[owner] = sums[owner, default: 0].addingWithSaturation(size)
    }

    mutating func remove(_ file: FileKey) {
        changes?.files.insert(file)
        guard let (owner, size) = files.removeValue(forKey: file), let sum = sums[owner] else { return }
        sums[owner] = sum > size ? sum - size : nil
    }

    mutating func removeAll(where isGone: @escaping (FileKey) -> Bool) {
        changes?.removals.append(isGone)
        for file in files.keys.filter(isGone) { remove(file) }
    }

    /// The files of an earlier run are going to be counted: their disk answers later, with ``restore(_:)``.
    mutating func beginRestoring() { changes = Changes() }

    /// Counts the files of an earlier run, except those that changed since ``beginRestoring()``.
    mutating func restore(_ found: [(file: FileKey, owner: Owner, size: Int64)]) {
        let changes = changes ?? Changes()
        self.changes = nil
        for (file, owner, size) in found where !changes.contains(file) { set(file, of: owner, size: size) }
    }

    /// Why a file does not fit beside its owner's others; nil if it does.
    func refusal(of file: FileKey, of owner: Owner, size: Int64, limit: Int64) -> FileRefusal? {
        let others = (sums[owner] ?? 0) - (files[file].map { $0.owner == owner ? $0.size : 0 } ?? 0)
        return others > 0 && size > limit - others ? .overBudget(actual: others, limit: limit) : nil
    }
}
