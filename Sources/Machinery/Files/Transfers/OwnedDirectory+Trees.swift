// What large files need of a directory besides small ones: names of any script, directories that may be missing, and
// removing a directory with what is in it.

internal import CTandemLinux
internal import Glibc
internal import TandemReactor

extension OwnedDirectory {
    /// The directory of this name, if it is there.
    func existing(_ name: String, owner: UInt32? = nil) throws(FileError) -> OwnedDirectory? {
        do throws(FileError) {
            return try OwnedDirectory(existingAt: try safePlace(name), owner: owner)
        } catch {
            if case .missing = error { return nil }
            throw error
        }
    }

    /// A place whose name may be of any script; it stays in the directory all the same.
    func namedPlace(_ name: String) throws(FileError) -> FilePlace {
        let bytes = name.utf8
        guard (1...255).contains(bytes.count), name != ".", name != "..",
            !bytes.contains(UInt8(ascii: "/")), !bytes.contains(0)
        else { throw .unsafeName(name) }
        return withDescriptor { FilePlace(directory: $0, name: name, in: path, holder: self) }
    }

    /// A place whose name is of the small alphabet.
    func safePlace(_ name: String) throws(FileError) -> FilePlace {
        guard FileName.isSafe(name) else { throw .unsafeName(name) }
        return try namedPlace(name)
    }

    /// Opens the file to read parts of it; nil if it is not there.
    func parts(of name: String) throws(FileError) -> FileParts? {
        do throws(FileError) {
            return try FileParts(try safePlace(name))
        } catch {
            if case .missing = error { return nil }
            throw error
        }
    }

    /// Whether a regular file stands there.
    func holds(_ place: FilePlace) throws(FileError) -> Bool {
        var status = tandem_status()
        let result = tandem_file_status_named(place.directory, place.name, &status)
        if result == -ENOENT { return false }
        try place.check(result, "fstatat")
        return status.is_regular != 0
    }

    /// Makes the names in it durable.
    func synchronise() throws(FileError) {
        let result = withDescriptor { tandem_file_synchronise($0) }
        try FilePlace(path: path).check(result, "fsync")
    }

    /// Removes the directory of this name and what is in it, so many directories deep at most; nothing if it is
    /// missing.
    package func removeDirectory(_ name: String, depth: Int) throws(FileError) {
        let place = try namedPlace(name)
        if depth > 0 { try empty(place, depth: depth) }
        let result = tandem_directory_remove(place.directory, place.name)
        if result == -ENOENT { return }
        if result == -ENOTDIR { return _ = try place.remove() }
        try place.check(result, "unlinkat")
    }

    /// Removes what is in it; only names in a directory that is held open, so that no link can lead elsewhere.
    private func empty(_ place: FilePlace, depth: Int) throws(FileError) {
        let result = tandem_directory_open(place.directory, place.name)
        if result == -ENOENT || result == -ENOTDIR || result == -ELOOP { return }
        let inner = OwnedDescriptor(takingOwnership: try place.check(result, "open"))
        for name in try Self.allNames(in: inner.raw, at: place.path) {
            let entry = FilePlace(directory: inner.raw, name: name, in: place.path)
            let removed = tandem_file_remove(entry.directory, entry.name)
            guard removed == -EISDIR, depth > 1 else {
                if removed != -ENOENT { try entry.check(removed, "unlink") }
                continue
            }
            try emptyAndRemove(entry, depth: depth - 1)
        }
    }

    private func emptyAndRemove(_ place: FilePlace, depth: Int) throws(FileError) {
        try empty(place, depth: depth)
        try place.check(tandem_directory_remove(place.directory, place.name), "unlinkat")
    }
}
