// One process for each state directory. The lock is the kernel's and ends with the process, so that a crash leaves
// nothing to clean up; the number in the file is only there to tell people who it is.

internal import Glibc
internal import TandemReactor

/// The exclusive use of a directory; ends when this goes away.
package final class DirectoryLock: Sendable {
    /// The name of the lock's file, which stays.
    package static var fileName: String { "lock" }

    /// More than the longest process number has.
    private static var lineCount: Int { 12 }

    private let file: OwnedDescriptor

    init(directory: CInt, path: String) throws(FileError) {
        let place = FilePlace(directory: directory, name: Self.fileName, in: path)
        file = try place.open(O_RDWR | O_CREAT, mode: 0o600)
        let raw = file.raw
        let result = SystemCall.retried { flock(raw, LOCK_EX | LOCK_NB) }
        guard result != -EWOULDBLOCK else { throw .inUse(path: path, process: Self.holder(place)) }
        try place.check(result, "flock")
        // Always as long, so that it covers what was there: cutting a file costs a start a millisecond.
        var line = Array("\(getpid())\n".utf8)
        line += Array(repeating: UInt8(ascii: " "), count: max(0, Self.lineCount - line.count))
        try place.writeAll(line, to: raw)
    }

    deinit { release() }

    /// Gives the directory back now. A child process that was forked and has not yet become its program holds a copy of
    /// every descriptor for a moment: closing ours alone would leave the lock to it.
    package func release() { Linux.unlock(file.raw) }

    private static func holder(_ place: FilePlace) -> Int32? {
        guard let bytes = try? FileReading.read(place, limit: 32, trust: .any) else { return nil }
        return Int32(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}
