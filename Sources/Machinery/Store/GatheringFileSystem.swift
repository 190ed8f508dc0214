// The files of a store, opened so that its log is gathered: SQLite writes a commit's pages and their heads one by one, and two
// system calls for each page cost more than the pages. Only the log is: every other file is the file system's own, beneath.
// Registered once for each file system beneath and never taken back, because SQLite keeps pointers to it.

import CTandemSQLite
import Glibc
import Synchronization

/// A registered file system over another one.
struct GatheringFileSystem {
    /// What SQLite gets, and the file system that does the work.
    private var face: sqlite3_vfs
    private let beneath: UnsafeMutablePointer<sqlite3_vfs>

    private static let names = Mutex<[String: String]>([:])

    /// The name of the gathering file system over this one; nil for one that SQLite does not know.
    static func name(over name: String?) -> String? {
        names.withLock { names in
            if let known = names[name ?? ""] { return known }
            guard let beneath = sqlite3_vfs_find(name) else { return nil }
            let made = "gathering-" + String(cString: beneath.pointee.zName)
            guard register(made, over: beneath) else { return nil }
            names[name ?? ""] = made
            return made
        }
    }

    private static func register(_ name: String, over beneath: UnsafeMutablePointer<sqlite3_vfs>) -> Bool {
        let made = UnsafeMutablePointer<GatheringFileSystem>.allocate(capacity: 1)
        made.initialize(to: GatheringFileSystem(face: beneath.pointee, beneath: beneath))
        made.pointee.face.pNext = nil
        made.pointee.face.zName = UnsafePointer(strdup(name))
        made.pointee.face.szOsFile = beneath.pointee.szOsFile + Int32(GatheredLog.headSize)
        made.pointee.face.xOpen = { GatheringFileSystem.open($0, $1, $2, $3, $4) }
        // Its first field is what SQLite knows of it.
        return made.withMemoryRebound(to: sqlite3_vfs.self, capacity: 1) { sqlite3_vfs_register($0, 0) == SQLITE_OK }
    }

    private static func open(
        _ face: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?,
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let face, let file else { return SQLITE_ERROR }
        let beneath = UnsafeRawPointer(face).assumingMemoryBound(to: GatheringFileSystem.self).pointee.beneath
        guard flags & SQLITE_OPEN_WAL != 0 else { return beneath.pointee.xOpen(beneath, name, file, flags, outFlags) }
        return GatheredLog.open(in: file) { beneath.pointee.xOpen(beneath, name, $0, flags, outFlags) }
    }
}
