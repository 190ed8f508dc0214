// Putting a file in place whole. The bytes are written and synchronised under a name of their own and then take the
// file's name in one step, so that a reader sees the old bytes or the new ones, after a crash too.

internal import TandemReactor

/// Mode and owner of a new file.
package struct FileAttributes: Sendable, Equatable {
    package let mode: UInt32
    /// The user who gets the file; only root can give files away. Nil leaves it to the caller.
    package let owner: UInt32?

    package init(mode: UInt32, owner: UInt32? = nil) {
        self.mode = mode
        self.owner = owner
    }

    /// For the owner alone.
    package static var privateFile: FileAttributes { FileAttributes(mode: 0o600) }
}

struct AtomicReplacement {
    /// The steps at which it can fail, in their order.
    enum Step: CaseIterable, Sendable {
        case clear, create, write, attributes, synchronise, rename, synchroniseDirectory
    }

    let entry: DirectoryEntry
    let draft: DirectoryEntry
    /// Called before each step; lets tests fail there.
    var willTake: (Step) throws(FileError) -> Void = { _ throws(FileError) in }

    init(name: String, directory: CInt, path: String) {
        entry = DirectoryEntry(directory: directory, name: name, in: path)
        draft = DirectoryEntry(directory: directory, name: "." + name + ".new", in: path)
    }

    func run(_ bytes: [UInt8], _ attributes: FileAttributes) throws(FileError) {
        do throws(FileError) {
            try fillDraft(bytes, attributes)
            try willTake(.rename)
            try draft.replace(entry)
        } catch {
            _ = try? draft.remove()
            throw error
        }
        try willTake(.synchroniseDirectory)
        try entry.synchronise(entry.directory)
    }

    /// Takes the steps before the rename, and leaves nothing behind.
    func rehearse(_ bytes: [UInt8], _ attributes: FileAttributes) throws(FileError) {
        do throws(FileError) { try fillDraft(bytes, attributes) } catch {
            _ = try? draft.remove()
            throw error
        }
        try draft.remove()
    }

    private func fillDraft(_ bytes: [UInt8], _ attributes: FileAttributes) throws(FileError) {
        try willTake(.clear)
        try draft.remove()
        try willTake(.create)
        let file = try draft.create(mode: 0o600)
        try willTake(.write)
        try draft.writeAll(bytes, to: file.raw)
        try willTake(.attributes)
        if let owner = attributes.owner { try draft.setOwner(of: file, owner) }
        try draft.setMode(of: file, attributes.mode)
        try willTake(.synchronise)
        try draft.synchronise(file.raw)
    }
}
