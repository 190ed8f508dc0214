// Files as bytes, behind the back of what is tested.

import Glibc

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

/// The used part of a new store's log: the file is longer, with zeros at its end.
func usedLog(of path: String) -> [UInt8] {
    let log = contents(of: path + "-wal")
    let page = 24 + 4096
    var end = min(32, log.count)
    while end + page <= log.count, log[end + 8..<end + 16] == log[16..<24] { end += page }
    return Array(log[..<end])
}
