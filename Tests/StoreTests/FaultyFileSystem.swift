// A file system for SQLite whose syncs and writes fail when a test says so: the system's own, with two of its methods
// replaced. Each has its own name and method table, so that tests do not disturb each other; they live as long as the
// process, because SQLite keeps pointers to them.

import CTandemSQLite
import Glibc
import Synchronization

/// A registered file system with faults.
final class FaultyFileSystem: Sendable {
    let name: String
    private let slot: Slot

    /// What SQLite was given for one file system, and what fails there now.
    // @unchecked: the pointer never changes, its target is written before SQLite has it; the tables are under `slots`.
    private final class Slot: @unchecked Sendable {
        let system = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        var tables: [Table] = []
        let failsSync = Atomic<Bool>(false)
        let isFull = Atomic<Bool>(false)
    }

    /// The methods of one open file (a log's locking differs from a database's), and the usual ones.
    // @unchecked: the pointers' targets are written before SQLite has them and never again.
    private struct Table: @unchecked Sendable {
        let methods: UnsafeMutablePointer<sqlite3_io_methods>
        let usual: UnsafePointer<sqlite3_io_methods>
    }

    private static let slots = Mutex<[Slot]>([])

    init() {
        slot = Slot()
        let number = Self.slots.withLock { [slot] slots in
            slots.append(slot)
            return slots.count
        }
        name = "faulty\(number)"
        guard let original = sqlite3_vfs_find(nil) else { preconditionFailure("SQLite has a file system") }
        slot.system.initialize(to: original.pointee)
        slot.system.pointee.pNext = nil
        slot.system.pointee.zName = UnsafePointer(strdup(name))
        slot.system.pointee.xOpen = { FaultyFileSystem.open($0, $1, $2, $3, $4) }
        sqlite3_vfs_register(slot.system, 0)
    }

    func failSyncs(_ fails: Bool) { slot.failsSync.store(fails, ordering: .sequentiallyConsistent) }

    /// From now on (or no more) the disk is full.
    func fill(_ isFull: Bool) { slot.isFull.store(isFull, ordering: .sequentiallyConsistent) }

    // MARK: the methods; C functions capture nothing, so each finds its slot by what it is given

    private static func open(
        _ system: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?,
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        let own = slots.withLock { slots in slots.first { $0.system == system } }
        guard let original = sqlite3_vfs_find(nil), let file, let own else { return SQLITE_ERROR }
        let result = original.pointee.xOpen(original, name, file, flags, outFlags)
        guard result == SQLITE_OK, let usual = file.pointee.pMethods else { return result }
        let table = Table(methods: .allocate(capacity: 1), usual: usual)
        table.methods.initialize(to: usual.pointee)
        table.methods.pointee.xSync = { FaultyFileSystem.sync($0, $1) }
        table.methods.pointee.xWrite = { FaultyFileSystem.write($0, $1, $2, $3) }
        slots.withLock { _ in own.tables.append(table) }
        file.pointee.pMethods = UnsafePointer(table.methods)
        return result
    }

    private static func find(_ file: UnsafeMutablePointer<sqlite3_file>?) -> (slot: Slot, table: Table)? {
        slots.withLock { slots in
            for slot in slots {
                for table in slot.tables where UnsafePointer(table.methods) == file?.pointee.pMethods {
                    return (slot, table)
                }
            }
            return nil
        }
    }

    private static func sync(_ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32) -> Int32 {
        guard let (slot, table) = find(file) else { return SQLITE_ERROR }
        if slot.failsSync.load(ordering: .sequentiallyConsistent) { return SQLITE_IOERR | 4 << 8 }
        return table.usual.pointee.xSync(file, flags)
    }

    private static func write(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: Int64
    ) -> Int32 {
        guard let (slot, table) = find(file) else { return SQLITE_ERROR }
        if slot.isFull.load(ordering: .sequentiallyConsistent) { return SQLITE_FULL }
        return table.usual.pointee.xWrite(file, bytes, count, offset)
    }
}
