// Files as bytes, behind the back of what is tested.

import Glibc
import TandemTestSupport
import Testing

/// The whole content of a file, for tests that look behind the store's back; empty if it cannot be read.
func contents(of path: String) -> [UInt8] { TemporaryDirectory.read(path) ?? [] }

/// Writes a file as it is, for tests that damage one.
func write(_ bytes: [UInt8], to path: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer { close(descriptor) }
    let count = Glibc.write(descriptor, bytes, bytes.count)
    #expect(count == bytes.count, "written to \(path)")
}

func edit(_ path: String, _ change: (inout [UInt8]) throws -> Void) rethrows {
    var bytes = contents(of: path)
    try change(&bytes)
    write(bytes, to: path)
}

/// Lays out the files of a store as a crash leaves them, in the place of any that are there; nil for no log.
func layOut(_ file: [UInt8], log: [UInt8]?, at path: String) {
    for end in ["", "-wal", "-shm"] { unlink(path + end) }
    write(file, to: path)
    if let log { write(log, to: path + "-wal") }
}

/// The used part of a new store's log: the file is longer, with zeros at its end.
func usedLog(of path: String) -> [UInt8] {
    let log = contents(of: path + "-wal")
    let page = 24 + 4096
    var end = min(32, log.count)
    while end + page <= log.count, log[end + 8..<end + 16] == log[16..<24] { end += page }
    return Array(log[..<end])
}
