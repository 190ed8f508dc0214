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

    /// Names told at once: far more than any app has of sound mind, and little memory.
    private static var toldAtOnce: Int { 10_000 }

    /// What is in it besides the kept names and those that start with a dot. No more than a bounded part is told, for an app
    /// can put any number there: the rest is for the next time, when this part is gone.
    package func others(than kept: Set<String>) throws(FileError) -> [EntryName] {
        let stream = try withDescriptor { (raw) throws(FileError) in try DirectoryNames(in: raw, at: path) }
        var names: [EntryName] = []
        while names.count < Self.toldAtOnce, let name = try stream.next() {
            if !name.isHidden, !kept.contains(name.text) { names.append(name) }
        }
        return names
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

    /// The bytes of the file of this name; 0 if it is missing.
    func size(of name: String) throws(FileError) -> Int64 {
        let place = try safePlace(name)
        var status = tandem_status()
        let result = tandem_file_status_named(place.directory, place.name, &status)
        if result == -ENOENT { return 0 }
        try place.check(result, "fstatat")
        return Int64(clamping: status.size)
    }

    /// Makes the names in it durable.
    func synchronise() throws(FileError) {
        let result = withDescriptor { tandem_file_synchronise($0) }
        try FilePlace(path: path).check(result, "fsync")
    }
}
