// Removal of directories with their contents, a bounded number of entries at a time: an app's directory may be large,
// nothing must wait for its removal, and its names may not fit in memory. Only names in directories that are open are
// touched, so that no link can lead elsewhere. An entry that cannot be removed stays and stops nothing else; `failure`
// is the first reason.
//
// The list of top entries is fixed when the removal is created: other jobs run between its steps, and an entry that one
// of them creates in the directory must stay. Names are read later only inside of those entries.

internal import Glibc
internal import TandemReactor

/// A removal that is done in steps.
///
/// `@unchecked`: needs no lock. Jobs of one file worker create and step it, one after another on the worker's thread.
/// The loop passes it from one job to the next, and reads `failure` after the last job has ended.
package final class TreeRemoval: @unchecked Sendable {
    private var levels: [TreeLevel]
    private let depth: Int
    /// The first reason why an entry stays; read when the removal is done.
    package private(set) var failure: FileError?

    /// - Parameters:
    ///   - names: the entries to remove, as read from the directory, which itself stays.
    ///   - depth: directories within each other that are entered at most; each is held open meanwhile.
    package init(_ names: [EntryName], in directory: OwnedDirectory, depth: Int) throws(FileError) {
        self.depth = depth
        levels = [TreeLevel(try directory.opened(), directory.path, .these(names[...]))]
    }

    package convenience init(_ names: [String], in directory: OwnedDirectory, depth: Int) throws(FileError) {
        for name in names { _ = try directory.namedEntry(name) }
        try self.init(names.map { EntryName($0) }, in: directory, depth: depth)
    }

    /// Removes what is in the directory now, as far as ``OwnedDirectory/others(than:)`` tells it.
    package convenience init(allIn directory: OwnedDirectory, but kept: Set<String>, depth: Int) throws(FileError) {
        try self.init(directory.others(than: kept), in: directory, depth: depth)
    }

    /// An earlier part of the same removal has failed.
    package func begin(after failure: FileError) { self.failure = failure }

    /// Tries so many entries at most.
    /// - Returns: whether all is done.
    package func step(_ limit: Int) -> Bool {
        var left = limit
        while let level = levels.last {
            guard left > 0 else { return false }
            left -= 1
            do throws(FileError) { try advance(level) } catch { failure = failure ?? error }
        }
        return true
    }

    private func advance(_ level: TreeLevel) throws(FileError) {
        guard let name = try level.next() else { return try leave(level) }
        try remove(name, from: level)
    }

    private func remove(_ name: EntryName, from level: TreeLevel) throws(FileError) {
        let entry = level.entry(named: name)
        let removed = level.unlink(name, 0)
        guard removed == -EISDIR, levels.count <= depth else { return try level.removed(removed, entry, "unlink") }
        let inner = try level.open(name)
        let names = try DirectoryNames(in: inner.raw, at: entry.path)
        levels.append(TreeLevel(inner, entry.path, .all(names), name: name))
    }

    /// All in it was tried.
    private func leave(_ level: TreeLevel) throws(FileError) {
        levels.removeLast()
        guard let name = level.name, let above = levels.last else { return }
        let result = above.unlink(name, AT_REMOVEDIR)
        if result == -ENOTEMPTY, level.startsOver() { return levels.append(level) }
        try above.removed(result, above.entry(named: name), "unlinkat")
    }
}

/// An open directory of a removal and what is left of its names: at the top those that were passed in, below it all,
/// read as their turn comes. Some file systems skip names when others go meanwhile, and an app may add some: a
/// directory that is not empty at the end is read again, a few times, because an app that adds without end must not
/// occupy the thread.
final class TreeLevel {
    /// Where the names come from.
    enum Names {
        /// A slice, from which taking one copies nothing.
        case these(ArraySlice<EntryName>)
        case all(DirectoryNames)
    }

    /// Times that one directory is read.
    private static var passes: Int { 3 }

    /// Its own name in the level above; nil for one that stays.
    let name: EntryName?
    private let descriptor: OwnedDescriptor
    private let path: String
    private var names: Names
    private var hasRemoved = false
    private var pass = 1

    init(_ descriptor: consuming OwnedDescriptor, _ path: String, _ names: Names, name: EntryName? = nil) {
        self.descriptor = descriptor
        self.path = path
        self.names = names
        self.name = name
    }

    func entry(named name: EntryName) -> DirectoryEntry {
        DirectoryEntry(directory: descriptor.raw, name: name.text, in: path)
    }

    /// The next name; nil when all was tried. One that does not read has no more.
    func next() throws(FileError) -> EntryName? {
        switch names {
        case .these(var rest):
            let name = rest.popFirst()
            names = .these(rest)
            return name
        case .all(let stream):
            do throws(FileError) { return try stream.next() } catch {
                names = .these([])
                throw error
            }
        }
    }

    /// Removes what has the name: 0, or minus the error number.
    func unlink(_ name: EntryName, _ flags: CInt) -> CInt {
        let directory = descriptor.raw
        return SystemCall.once { unlinkat(directory, name.bytes, flags) }
    }

    func open(_ name: EntryName) throws(FileError) -> OwnedDescriptor {
        let directory = descriptor.raw
        let result = SystemCall.retried {
            openat(directory, name.bytes, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        }
        return OwnedDescriptor(takingOwnership: try entry(named: name).check(result, "open"))
    }

    /// Takes what came of removing a name.
    func removed(_ result: CInt, _ entry: DirectoryEntry, _ call: StaticString) throws(FileError) {
        if result == 0 { hasRemoved = true }
        if result != -ENOENT { try entry.check(result, call) }
    }

    /// Reads its names once more, if the last time has removed some.
    func startsOver() -> Bool {
        guard case .all(let stream) = names, hasRemoved, pass < Self.passes else { return false }
        pass += 1
        hasRemoved = false
        stream.startOver()
        return true
    }
}
