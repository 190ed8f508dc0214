// Permissions of a store's files, checked before SQLite opens them. SQLite would open a file that it may not write for
// reading only, and report its first lock as a disk error, by a number.

import Glibc
import TandemBase
import TandemReactor

/// The access that a store needs: its file and its log are read and written, and files are made beside them.
enum StoreAccess {
    /// - Throws: ``StoreError/noAccess(path:fault:remedy:)``. Any other fault is left to the opening.
    static func check(path: String) throws(StoreError) {
        for file in [path, StorePart.log.path(of: path)] { try check(file, for: R_OK | W_OK, "read and write it") }
        try check(path.parentPath, for: W_OK | X_OK, "make files in it")
    }

    private static func check(_ place: String, for access: CInt, _ use: String) throws(StoreError) {
        let fault: SystemError
        do throws(SystemError) { return try Linux.checkAccess(path: place, access) } catch { fault = error }
        switch fault.errno {
        case EROFS:
            throw .noAccess(
                path: place, fault: "its file system is mounted read-only",
                remedy: "mount it writable, or name another state directory")
        // Not EPERM: the file may be immutable, and a mode is not to blame.
        case EACCES:
            guard let status = try? Linux.lookAt(path: place) else { return }
            throw refusal(of: place, status, to: Linux.user, use)
        default: return
        }
    }

    private static func refusal(
        of place: String, _ status: FileStatus, to user: UInt32, _ use: String
    ) -> StoreError {
        let isOwn = status.owner == user
        let command = isOwn ? "chmod \(status.isDirectory ? "u+rwx" : "u+rw")" : "chown \(user)"
        let whose = isOwn ? "" : ", as it belongs to user \(status.owner)"
        return .noAccess(
            path: place, fault: "user \(user) may not \(use)\(whose) (mode 0\(String(status.mode, radix: 8)))",
            remedy: "run: \(command) \(ShellWord.quoted(place))")
    }
}
