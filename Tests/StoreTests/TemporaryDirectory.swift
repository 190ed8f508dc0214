// A directory of a test's own, removed with everything in it when the test is over.

import Glibc

/// A new directory under the system's temporary one, for one test.
final class TemporaryDirectory {
    let path: String

    init() throws {
        var template = Array("/tmp/tandem-test-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw TemporaryDirectoryError(number: errno) }
        path = String(cString: made)
    }

    deinit { Self.remove(path) }

    /// The path of a name in the directory.
    func file(_ name: String) -> String { path + "/" + name }

    /// Removes a tree; symbolic links are removed, never followed.
    static func remove(_ path: String) {
        for name in names(in: path) { remove(path + "/" + name) }
        if unlink(path) != 0 { rmdir(path) }
    }

    static func names(in path: String) -> [String] {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, let stream = opendir(path) else {
            return []
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}

struct TemporaryDirectoryError: Error { let number: Int32 }

/// The whole content of a file, for tests that look behind the store's back; empty if it cannot be read.
func contents(of path: String) -> [UInt8] {
    let descriptor = open(path, O_RDONLY)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(descriptor, &chunk, chunk.count)
        if count <= 0 { return bytes }
        bytes += chunk[..<count]
    }
}

/// Writes a file as it is, for tests that damage one.
func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o600) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)
    defer { close(descriptor) }
    fchmod(descriptor, mode)
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count <= 0 { return }
        rest = rest.dropFirst(count)
    }
}
