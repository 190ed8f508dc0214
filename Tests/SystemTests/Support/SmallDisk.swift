// A file system in memory that a test makes full; for root only.

import Foundation
import Testing

/// A tmpfs of a given size, gone with the test.
final class SmallDisk {
    private let path: String

    /// - Parameter path: a directory, made if it is not there.
    init(at path: String, size: String) throws {
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try #require(mount("tmpfs", path, "tmpfs", 0, "size=\(size),mode=700") == 0, "cannot mount: errno \(errno)")
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    func grow(to size: String) throws {
        try #require(mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT), "size=\(size)") == 0, "errno \(errno)")
    }

    /// Leaves no free block.
    func fill() throws {
        let descriptor = open("\(path)/ballast", O_WRONLY | O_CREAT, 0o600)
        defer { close(descriptor) }
        let block = [UInt8](repeating: 1, count: 4096)
        while write(descriptor, block, block.count) > 0 {}
        #expect(errno == ENOSPC)
    }

    func free() throws { try FileManager.default.removeItem(atPath: "\(path)/ballast") }
}
