// A file system for SQLite whose syncs and writes fail when a test says so: the system's own, with two of its methods
// replaced. Each has its own name and method table, so that tests do not disturb each other; they live as long as the
// process, because SQLite keeps pointers to them. It can also write down what it is asked for, for tests that let the
// power fail in between; then it does not wait for the disk.

import CTandemSQLite
import Glibc
import Synchronization

/// One request that changes a file of a store, or makes it durable.
enum FileOperation: Sendable {
    case write(isLog: Bool, offset: Int, bytes: [UInt8])
    case truncate(isLog: Bool, size: Int)
    case sync(isLog: Bool)
}

/// A registered file system with faults.
final class FaultyFileSystem: Sendable {
    let name: String
    private let slot: Slot

    /// SQLite's view of one file system, and the faults that it has now.
    ///
    /// `@unchecked`: `system` is immutable, and its target is written before SQLite has it; all other properties are
    /// atomic or behind a mutex.
    private final class Slot: @unchecked Sendable {
        let system = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        let failsSync = Atomic<Bool>(false)
        let failsWrite = Atomic<Bool>(false)
        let isFull = Atomic<Bool>(false)
        let forgetsSync = Atomic<Bool>(false)
        let bytesRead = Atomic<Int>(0)
        /// Nil while nothing is written down.
        let trace = Mutex<[FileOperation]?>(nil)

        /// Writes the operation down; false if nothing is.
        @discardableResult
        func note(_ operation: FileOperation) -> Bool {
            trace.withLock { trace in
                trace?.append(operation)
                return trace != nil
            }
        }
    }

    /// The methods of a file system's files of one kind (a log locks otherwise than a database), and the usual ones.
    ///
    /// `@unchecked`: immutable. The methods are written before SQLite has their pointer, and never again.
    private struct Table: @unchecked Sendable {
        let methods: UnsafeMutablePointer<sqlite3_io_methods>
        let usual: UnsafePointer<sqlite3_io_methods>
        let isLog: Bool
        let slot: Slot
    }

    private struct Registry {
        var slots: [Slot] = []
        /// By the addresses of their methods.
        var tables: [Int: Table] = [:]
    }

    private static let registry = Mutex(Registry())

    init() {
        slot = Slot()
        let number = Self.registry.withLock { [slot] registry in
            registry.slots.append(slot)
            return registry.slots.count
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

    func failWrites(_ fails: Bool) { slot.failsWrite.store(fails, ordering: .sequentiallyConsistent) }

    /// From now on syncs say that they are done, and do nothing.
    func forgetSyncs() { slot.forgetsSync.store(true, ordering: .sequentiallyConsistent) }

    /// How much was read so far.
    var bytesRead: Int { slot.bytesRead.load(ordering: .sequentiallyConsistent) }

    /// Writes every operation down from now on, and waits for no disk.
    func record() { slot.trace.withLock { $0 = $0 ?? [] } }

    /// How much is written down.
    var operationCount: Int { slot.trace.withLock { $0?.count ?? 0 } }

    var operations: [FileOperation] { slot.trace.withLock { $0 ?? [] } }

    /// From now on (or no more) the disk is full.
    func fill(_ isFull: Bool) { slot.isFull.store(isFull, ordering: .sequentiallyConsistent) }

    // MARK: the methods; C functions capture nothing, so each finds its slot by what it is given

    private static func open(
        _ system: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?,
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        let own = registry.withLock { registry in registry.slots.first { $0.system == system } }
        guard let original = sqlite3_vfs_find(nil), let file, let own else { return SQLITE_ERROR }
        let result = original.pointee.xOpen(original, name, file, flags, outFlags)
        guard result == SQLITE_OK, let usual = file.pointee.pMethods else { return result }
        file.pointee.pMethods = methods(of: own, for: usual, isLog: flags & SQLITE_OPEN_WAL != 0)
        return result
    }

    /// The methods of a slot's files of one kind, made at the first such file.
    private static func methods(
        of slot: Slot, for usual: UnsafePointer<sqlite3_io_methods>, isLog: Bool
    ) -> UnsafePointer<sqlite3_io_methods> {
        registry.withLock { registry in
            let known = registry.tables.values.first { $0.slot === slot && $0.usual == usual && $0.isLog == isLog }
            if let known { return UnsafePointer(known.methods) }
            let table = Table(methods: .allocate(capacity: 1), usual: usual, isLog: isLog, slot: slot)
            table.methods.initialize(to: usual.pointee)
            table.methods.pointee.xSync = { FaultyFileSystem.sync($0, $1) }
            table.methods.pointee.xRead = { FaultyFileSystem.read($0, $1, $2, $3) }
            table.methods.pointee.xWrite = { FaultyFileSystem.write($0, $1, $2, $3) }
            table.methods.pointee.xTruncate = { FaultyFileSystem.truncate($0, $1) }
            registry.tables[Int(bitPattern: table.methods)] = table
            return UnsafePointer(table.methods)
        }
    }

    private static func find(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Table? {
        let methods = Int(bitPattern: file?.pointee.pMethods)
        return registry.withLock { $0.tables[methods] }
    }

    private static func sync(_ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32) -> Int32 {
        guard let table = find(file) else { return SQLITE_ERROR }
        if table.slot.failsSync.load(ordering: .sequentiallyConsistent) { return SQLITE_IOERR | 4 << 8 }
        if table.slot.forgetsSync.load(ordering: .sequentiallyConsistent) { return SQLITE_OK }
        if table.slot.note(.sync(isLog: table.isLog)) { return SQLITE_OK }
        return table.usual.pointee.xSync(file, flags)
    }

    private static func read(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeMutableRawPointer?, _ count: Int32, _ offset: Int64
    ) -> Int32 {
        guard let table = find(file) else { return SQLITE_ERROR }
        table.slot.bytesRead.add(Int(count), ordering: .sequentiallyConsistent)
        return table.usual.pointee.xRead(file, bytes, count, offset)
    }

    private static func write(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: Int64
    ) -> Int32 {
        guard let table = find(file) else { return SQLITE_ERROR }
        if table.slot.isFull.load(ordering: .sequentiallyConsistent) { return SQLITE_FULL }
        if table.slot.failsWrite.load(ordering: .sequentiallyConsistent) { return SQLITE_IOERR | 3 << 8 }
        if let bytes {
            let written = Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            table.slot.note(.write(isLog: table.isLog, offset: Int(offset), bytes: written))
        }
        return table.usual.pointee.xWrite(file, bytes, count, offset)
    }

    private static func truncate(_ file: UnsafeMutablePointer<sqlite3_file>?, _ size: Int64) -> Int32 {
        guard let table = find(file) else { return SQLITE_ERROR }
        table.slot.note(.truncate(isLog: table.isLog, size: Int(size)))
        return table.usual.pointee.xTruncate(file, size)
    }
}
