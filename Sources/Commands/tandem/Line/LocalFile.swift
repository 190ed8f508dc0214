// Files named on the command line, read whole and bounded, with errors that name the file. Private files (keys, join
// links) must be closed to other users: a warning would protect nothing.

import Glibc
import TandemControl
import TandemFiles

/// A file named by a person.
struct LocalFile {
    let path: String
    /// More than any key, configuration or link that we read.
    private static let largest = 1 << 20

    func read() throws(FileError) -> [UInt8] { try FileReading.read(path: path, limit: Self.largest) }

    /// Standard input to its end; at most one byte more than the largest file.
    static func standardInput() -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= largest {
            let count = Glibc.read(STDIN_FILENO, &chunk, min(chunk.count, largest + 1 - bytes.count))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    /// The bytes of a file that only its owner may read; another mode or owner is refused.
    func readPrivate() throws(FileError) -> [UInt8] {
        try FileReading.read(path: path, limit: Self.largest, trust: .ownAndPrivate)
    }

    /// Makes a new file; one that exists is never overwritten, and a half-written one does not stay.
    func create(_ bytes: [UInt8], mode: mode_t) throws(CommandFailure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            if errno == EEXIST { throw .refused("\(path) exists already; it is not overwritten") }
            throw failure("create")
        }
        defer { close(descriptor) }
        guard Self.write(bytes, to: descriptor), fsync(descriptor) == 0 else {
            let failed = failure("write")
            unlink(path)
            throw failed
        }
    }

    var exists: Bool { access(path, F_OK) == 0 }

    private func failure(_ what: String) -> CommandFailure {
        .refused("cannot \(what) \(path): \(String(cString: strerror(errno)))")
    }

    /// Writes all bytes; false, with the reason in `errno`, if that fails.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard written > 0 || errno == EINTR else { return false }
            rest = rest.dropFirst(max(0, written))
        }
        return true
    }
}
