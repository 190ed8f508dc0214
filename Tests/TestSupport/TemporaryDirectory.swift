// A directory of a test's own, with a short path (sockets live in it), removed with all it holds when the test lets go.

import Glibc
import Synchronization

/// A directory that exists as long as this value is referenced; mode 0700.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// The paths of those that this process has now.
    private static let living = Mutex<Set<String>>([])

    /// Where the directories are: in memory if there is enough, because a test waits for seconds when somebody else's
    /// writing keeps the disk busy. Tests below the store cover the data that a disk may lose.
    private static let place: String = {
        // ST_NOEXEC, which Swift does not see.
        let noExecution: UInt = 8
        var facts = statvfs()
        guard statvfs("/dev/shm", &facts) == 0, access("/dev/shm", W_OK) == 0, facts.f_flag & noExecution == 0,
            UInt64(facts.f_bavail) * UInt64(facts.f_frsize) > 1 << 30
        else { return "/tmp" }
        return "/dev/shm"
    }()

    /// - Parameter place: an existing directory, for a test that needs a certain file system.
    package init(in place: String? = nil) {
        let place = place ?? Self.place
        var template = Array("\(place)/tandem-XXXXXX".utf8CString)
        path = Self.living.withLock { living in
            let path = template.withUnsafeMutableBufferPointer { template in
                guard let start = template.baseAddress, mkdtemp(start) != nil else {
                    preconditionFailure("cannot make a directory in \(place): errno \(errno)")
                }
                return String(cString: start)
            }
            living.insert(path)
            return path
        }
    }

    deinit {
        Self.remove(path)
        _ = Self.living.withLock { $0.remove(path) }
    }

    /// Removes all of this process: the last thing before its end by a signal.
    /// - Parameter end: ends the process. Until it does, this process can make no other directory.
    package static func removeAll(then end: () -> Void) {
        living.withLock { living in
            for path in living {
                // A program that has just been killed may leave its last file while the others are removed.
                for _ in 0..<100 {
                    Self.remove(path)
                    guard access(path, F_OK) == 0 else { break }
                    usleep(10_000)
                }
            }
            end()
        }
    }

    /// The path of an entry of this directory.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file with the mode; an old one is replaced.
    package func write(_ bytes: [UInt8], to name: String, mode: UInt32 = 0o600) {
        let descriptor = open(path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        precondition(descriptor >= 0, "cannot write \(path(name)): errno \(errno)")
        defer { close(descriptor) }
        precondition(Glibc.write(descriptor, bytes, bytes.count) == bytes.count, "short write to \(path(name))")
    }

    /// The bytes of any file; nil if it cannot be read.
    package static func read(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        return ferror(file) == 0 ? bytes : nil
    }

    /// The names of the entries, sorted.
    package var names: [String] { Self.names(in: path).sorted() }

    /// The names of a directory's entries, hidden ones too, in no order.
    package static func names(in path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    private static func remove(_ path: String) {
        if unlink(path) == 0 { return }
        for name in names(in: path) { remove("\(path)/\(name)") }
        rmdir(path)
    }
}
