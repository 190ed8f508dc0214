// Reserve of a store: room on the disk that is kept for the commits that make room (DEL-31). A full disk refuses what
// would keep more; ends, outcomes, cancels, dropped dead letters and removed pairings get the reserve, so an operator
// can free space through the daemon itself. Once the reserve is used, every other commit is refused until there is room
// for it again. It is an allocated file beside the store's. Pages that deletions leave free in the store's file count
// as well: the file never shrinks.

import Glibc
import TandemReactor

/// The reserve of one store; used on the store's thread.
struct Reserve {
    /// The largest reserve, and its part of a small disk (LIM-55). It is as large as a log that is due to be moved into
    /// the file, so that its pages have room there.
    private static let most: UInt64 = 4 << 20
    private static let part: UInt64 = 16

    let size: Int
    private let path: String
    private(set) var isWhole = false

    /// Makes the reserve of the store at `path`, or finds it.
    init(of path: String) {
        self.path = StorePart.reserve.path(of: path)
        var disk = statvfs()
        let found = path.withCString { path in SystemCall.retried { statvfs(path, &disk) } }
        let room = found == 0 ? Linux.bytes(ofBlocks: disk.f_blocks, size: disk.f_frsize) : 0
        size = Int(min(Self.most, room / Self.part))
        restore()
    }

    /// Makes the reserve again if there is room for it.
    /// - Returns: whether it is there.
    @discardableResult
    mutating func restore() -> Bool {
        if !isWhole { isWhole = Self.allocate(path, size) }
        return isWhole
    }

    /// Frees the room of the reserve.
    /// - Returns: whether there was any.
    mutating func release() -> Bool {
        defer { isWhole = false }
        return isWhole && unlink(path) == 0
    }

    /// Whether the disk has as much room again, so that commits are likely to succeed.
    func hasRoomBeside() -> Bool {
        let trial = path + ".trial"
        defer { unlink(trial) }
        return Self.allocate(trial, size)
    }

    /// Allocates a file; leaves none behind if there is no room.
    private static func allocate(_ path: String, _ size: Int) -> Bool {
        guard let file = try? Linux.open(path: path, O_RDWR | O_CREAT) else { return false }
        // For a file that is there already this changes nothing.
        if size == 0 || posix_fallocate(file.raw, 0, size) == 0 { return true }
        unlink(path)
        return false
    }
}
