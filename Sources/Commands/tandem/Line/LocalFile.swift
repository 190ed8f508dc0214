// Files that a person names on the command line: whole, bounded, and with an error that says which file and why.
// Private ones (keys, join links) must be closed to everybody else, because a warning nobody reads protects nothing.

import Glibc

/// A file named by a person.
struct LocalFile {
    let path: String
    /// More than any key, configuration or link that we read.
    private static let largest = 1 << 20

    /// The file's bytes.
    func read() throws(CommandFailure) -> [UInt8] { try contents(isPrivate: false) }

    /// The bytes of a file that only its owner may read; another mode or owner is refused.
    func readPrivate() throws(CommandFailure) -> [UInt8] { try contents(isPrivate: true) }

    /// Makes a new file; one that exists is never overwritten.
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

    private func contents(isPrivate: Bool) throws(CommandFailure) -> [UInt8] {
        // O_NONBLOCK: a named pipe must not hang us before we see that it is no file.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure("read") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("read") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .refused("\(path) is not a regular file") }
        if isPrivate { try checkPrivate(status) }
        guard status.st_size <= Self.largest else { throw .refused("\(path) is larger than \(Self.largest) bytes") }
        guard let bytes = Self.read(from: descriptor) else { throw failure("read") }
        return bytes
    }

    private func checkPrivate(_ status: stat) throws(CommandFailure) {
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw .refused("\(path) belongs to uid \(status.st_uid); a secret must belong to you or to root")
        }
        guard status.st_mode & 0o077 == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw .refused("\(path) has mode 0\(mode), so others can reach this secret; run: chmod 600 \(path)")
        }
    }

    private func failure(_ what: String) -> CommandFailure {
        .refused("cannot \(what) \(path): \(String(cString: strerror(errno)))")
    }

    private static func read(from descriptor: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count <= largest {
            let room = 65_536
            var count = 0
            let chunk = [UInt8](unsafeUninitializedCapacity: room) { buffer, used in
                count = Glibc.read(descriptor, buffer.baseAddress, room)
                used = max(0, count)
            }
            if count == 0 { return bytes }
            guard count > 0 || errno == EINTR else { return nil }
            bytes += chunk
        }
        return bytes
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard written > 0 || errno == EINTR else { return false }
            rest = rest.dropFirst(max(0, written))
        }
        return true
    }
}
