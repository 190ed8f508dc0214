// A disk that a test can fill.

import Glibc
import Testing

/// A file system of 256 KiB in memory; nil (with a visible line) where the tests may not mount one.
package final class SmallDisk {
    private let directory = TemporaryDirectory()
    package var path: String { directory.path }

    package init?() {
        guard mount("tmpfs", path, "tmpfs", 0, "size=256k") == 0 else {
            print("skipped: mounting a small disk needs root")
            return nil
        }
    }

    package func resize(_ size: String) -> Bool { mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT), "size=" + size) == 0 }

    /// Leaves no free block.
    package func fill() {
        let descriptor = open("\(path)/ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        let block = [UInt8](repeating: 1, count: 4096)
        while write(descriptor, block, block.count) > 0 {}
    }

    /// Gives the blocks back. Truncated first: a process that another test forked meanwhile may still hold the file.
    package func free() throws {
        #expect(truncate("\(path)/ballast", 0) == 0)
        #expect(unlink("\(path)/ballast") == 0)
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }
}
