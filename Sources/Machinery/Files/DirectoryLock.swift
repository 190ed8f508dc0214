// Locks of directories: one process for each state directory, and turns of several at the files of one directory. The
// locks are the kernel's and end with the process, so that a crash leaves nothing to clean up; the number in the file
// of the first kind is only there to tell people who it is.

internal import Glibc
internal import TandemBase
internal import TandemReactor

/// The exclusive use of a directory; ends when this goes away.
package final class DirectoryLock: Sendable {
    /// The name of the lock's file, which stays.
    package static var fileName: String { "lock" }

    /// More than the longest process number has.
    private static var lineCount: Int { 12 }

    private let file: OwnedDescriptor

    init(directory: CInt, path: String) throws(FileError) {
        let entry = DirectoryEntry(directory: directory, name: Self.fileName, in: path)
        file = try entry.open(O_RDWR | O_CREAT, mode: 0o600)
        let raw = file.raw
        let result = SystemCall.retried { flock(raw, LOCK_EX | LOCK_NB) }
        guard result != -EWOULDBLOCK else { throw .inUse(path: path, process: Self.holder(entry)) }
        try entry.check(result, "flock")
        // Always as long, so that it covers what was there: cutting a file costs a start a millisecond.
        var line = Array("\(getpid())\n".utf8)
        line += Array(repeating: UInt8(ascii: " "), count: max(0, Self.lineCount - line.count))
        try entry.writeAll(line, to: raw)
    }

    deinit { release() }

    /// Gives the directory back now. A child process that was forked and has not yet become its program holds a copy of
    /// every descriptor for a moment: closing ours alone would leave the lock to it.
    package func release() { Linux.unlock(file.raw) }

    private static func holder(_ entry: DirectoryEntry) -> Int32? {
        guard let bytes = try? FileReading.read(entry, limit: 32, trust: .any) else { return nil }
        return Int32(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}

/// A turn at the files of a directory that several processes change; ends when this goes away. The lock is on the
/// directory itself, so that no file of its own stays.
package final class DirectoryTurn {
    private let directory: OwnedDescriptor

    init(_ directory: consuming OwnedDescriptor, path: String, within limit: Duration) throws(FileError) {
        self.directory = directory
        let raw = self.directory.raw
        let deadline = Linux.bootTime + limit
        do throws(SystemError) {
            while try !Linux.tryLock(raw) {
                guard Linux.bootTime < deadline else { throw SystemError(call: "flock", errno: EWOULDBLOCK) }
                // A turn takes some milliseconds, and its end wakes nobody who waits with a limit.
                _ = SystemCall.once { poll(nil, 0, 5) }
            }
        } catch {
            throw error.errno == EWOULDBLOCK ? .inUse(path: path, process: nil) : .system(path: path, error)
        }
    }

    deinit { Linux.unlock(directory.raw) }
}
