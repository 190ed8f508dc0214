// The birth of a store's file. It is made complete under another name and then given its own, so that an empty or
// half-made file under the store's name is always damage, never a beginning.

import Glibc

enum StoreFile {
    /// Makes a new store at `path` if nothing is there.
    static func createIfMissing(path: String, fileSystem: String?) throws(StoreError) {
        guard access(path, F_OK) != 0 else { return }
        let draft = path + ".new"
        unlink(draft)
        let descriptor = open(draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path, "creating \(draft)") }
        close(descriptor)
        try Connection.initialise(path: draft, fileSystem: fileSystem)
        try synchronise(draft)
        guard rename(draft, path) == 0 else { throw failure(path, "renaming \(draft)") }
        try synchronise(directory(of: path))
    }

    private static func synchronise(_ path: String) throws(StoreError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path, "opening") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure(path, "synchronising") }
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func failure(_ path: String, _ step: String) -> StoreError {
        let number = errno
        if number == ENOSPC || number == EDQUOT { return .full(path: path) }
        return .unavailable(path: path, detail: "\(step): \(String(cString: strerror(number)))")
    }
}
