// A directory with all that is in it, removed. What an app put there is its own business, so names may be anything, and
// a symbolic link is removed, never followed.

internal import CTandemLinux
internal import Glibc
internal import TandemReactor

enum TreeRemoval {
    /// Directories within directories, each held open meanwhile: no app of sound mind goes deeper.
    private static var deepest: Int { 64 }

    /// - Throws: ``FileError/missing(path:)`` if nothing is there.
    static func remove(_ place: FilePlace, depth: Int = 0) throws(FileError) {
        guard depth < deepest else {
            throw .system(path: place.path, SystemError(call: "rmdir", errno: ENAMETOOLONG))
        }
        let directory = try place.openDirectory()
        for name in try NameList.names(in: directory.raw, place) where name != "." && name != ".." {
            try removeEntry(FilePlace(directory: directory.raw, name: name, in: place.path), depth)
        }
        try place.check(tandem_directory_remove(place.directory, place.name), "rmdir")
    }

    private static func removeEntry(_ entry: FilePlace, _ depth: Int) throws(FileError) {
        switch tandem_file_remove(entry.directory, entry.name) {
        case -EISDIR, -EPERM: try remove(entry, depth: depth + 1)
        case let result: try entry.check(result, "unlink")
        }
    }
}
