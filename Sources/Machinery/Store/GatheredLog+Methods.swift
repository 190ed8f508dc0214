// A gathered log as SQLite sees it: a table of C functions that find the log by the file they are given.

import CTandemSQLite

extension GatheredLog {
    /// What lies at the beginning of the memory of a file; the file beneath follows after ``headSize``.
    private struct Head {
        var file: sqlite3_file
        let log: Unmanaged<GatheredLog>
    }

    /// Bytes in front of the file beneath, in the memory that SQLite gives for a file: pointers only, so that what follows
    /// is aligned as SQLite's own is.
    static let headSize = MemoryLayout<Head>.stride

    /// Opens a log in memory of SQLite's.
    /// - Parameter openBeneath: opens the file itself in the memory it is given.
    static func open(
        in file: UnsafeMutablePointer<sqlite3_file>, _ openBeneath: (UnsafeMutablePointer<sqlite3_file>) -> Int32
    ) -> Int32 {
        let memory = UnsafeMutableRawPointer(file)
        let beneath = (memory + headSize).assumingMemoryBound(to: sqlite3_file.self)
        // SQLite closes whatever has methods, also after a failure.
        file.pointee.pMethods = nil
        let result = openBeneath(beneath)
        guard let methods = beneath.pointee.pMethods else { return result }
        guard result == SQLITE_OK else {
            _ = methods.pointee.xClose(beneath)
            return result
        }
        let log = Unmanaged.passRetained(GatheredLog(beneath, methods.pointee))
        memory.bindMemory(to: Head.self, capacity: 1)
            .initialize(to: Head(file: sqlite3_file(pMethods: table.methods), log: log))
        return SQLITE_OK
    }

    /// Tells the log of a connection, if it is gathered, that its transaction was rolled back.
    static func rolledBack(on connection: OpaquePointer) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) == SQLITE_OK,
            let file, file.pointee.pMethods == table.methods
        else { return }
        _ = with(file) { log in
            log.rolledBack()
            return SQLITE_OK
        }
    }

    /// - Returns: the log, or nil where SQLite gives no file.
    private static func of(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Unmanaged<GatheredLog>? {
        file.map { UnsafeRawPointer($0).assumingMemoryBound(to: Head.self).pointee.log }
    }

    private static func with(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ body: (GatheredLog) -> Int32
    ) -> Int32 {
        of(file)?._withUnsafeGuaranteedRef(body) ?? SQLITE_ERROR
    }

    private static func close(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Int32 {
        guard let log = of(file) else { return SQLITE_ERROR }
        file?.pointee.pMethods = nil
        return log.takeRetainedValue().close()
    }

    // `@unchecked`: needs no lock and is read on each store's own thread: what it points to is written before SQLite
    // has it, and never again.
    private struct Table: @unchecked Sendable {
        let methods: UnsafePointer<sqlite3_io_methods>
    }

    /// Of the first version: a log has no shared memory and is not mapped.
    private static let table: Table = {
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        methods.initialize(to: sqlite3_io_methods())
        methods.pointee.iVersion = 1
        methods.pointee.xClose = { GatheredLog.close($0) }
        methods.pointee.xRead = { file, bytes, count, offset in
            GatheredLog.with(file) { $0.afterFlush { $0.xRead($1, bytes, count, offset) } }
        }
        methods.pointee.xWrite = { file, bytes, count, offset in
            let new = UnsafeRawBufferPointer(start: bytes, count: Int(count))
            return GatheredLog.with(file) { $0.write(new, at: offset) }
        }
        methods.pointee.xTruncate = { file, size in GatheredLog.with(file) { $0.afterFlush { $0.xTruncate($1, size) } }
        }
        methods.pointee.xSync = { file, flags in GatheredLog.with(file) { $0.synchronise(flags) } }
        methods.pointee.xFileSize = { file, size in GatheredLog.with(file) { $0.afterFlush { $0.xFileSize($1, size) } }
        }
        methods.pointee.xLock = { file, level in GatheredLog.with(file) { $0.ask { $0.xLock($1, level) } } }
        methods.pointee.xUnlock = { file, level in GatheredLog.with(file) { $0.ask { $0.xUnlock($1, level) } } }
        methods.pointee.xCheckReservedLock = { file, isHeld in
            GatheredLog.with(file) { $0.ask { $0.xCheckReservedLock($1, isHeld) } }
        }
        methods.pointee.xFileControl = { file, what, value in
            GatheredLog.with(file) { $0.ask { $0.xFileControl($1, what, value) } }
        }
        methods.pointee.xSectorSize = { file in GatheredLog.with(file) { $0.ask { $0.xSectorSize($1) } } }
        methods.pointee.xDeviceCharacteristics = { file in
            GatheredLog.with(file) { $0.ask { $0.xDeviceCharacteristics($1) } }
        }
        return Table(methods: UnsafePointer(methods))
    }()
}
