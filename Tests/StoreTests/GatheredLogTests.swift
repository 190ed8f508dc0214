// The log's writes are gathered until a sync or a question needs them: one write for a commit, and no failed write is ever lost
// on the way, whoever asks next.

import CTandemSQLite
import Glibc
import TandemStore
import TandemTestSupport
import Testing

/// A log opened as SQLite opens it, over files that can fail.
private final class OpenLog {
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let path: UnsafeMutablePointer<CChar>

    init?(over faults: FaultyFileSystem, in directory: TemporaryDirectory) throws {
        // A store registers what its log is gathered by; SQLite wants a log to have a store beside it.
        try Store(path: directory.path("other"), fileSystem: faults.name).close()
        guard let system = sqlite3_vfs_find("gathering-\(faults.name)"), let path = strdup(directory.path("other-wal"))
        else {
            return nil
        }
        self.path = path
        let memory = UnsafeMutableRawPointer.allocate(byteCount: Int(system.pointee.szOsFile), alignment: 16)
        file = memory.bindMemory(to: sqlite3_file.self, capacity: 1)
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_WAL
        guard system.pointee.xOpen(system, path, file, flags, nil) == SQLITE_OK else { return nil }
    }

    deinit {
        _ = file.pointee.pMethods.pointee.xClose(file)
        UnsafeMutableRawPointer(file).deallocate()
        free(path)
    }

    func write(_ bytes: [UInt8], at offset: Int64) -> Int32 {
        file.pointee.pMethods.pointee.xWrite(file, bytes, Int32(bytes.count), offset)
    }

    func read(_ count: Int, at offset: Int64) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let code = file.pointee.pMethods.pointee.xRead(file, &bytes, Int32(count), offset)
        return code == SQLITE_OK ? bytes : nil
    }

    func synchronise() -> Int32 { file.pointee.pMethods.pointee.xSync(file, SQLITE_SYNC_NORMAL) }
}

@Suite struct GatheredLogTests {
    private let directory = TemporaryDirectory()

    private func value(_ number: Int, count: Int = 500) -> [UInt8] {
        Array(repeating: UInt8(number & 0xFF), count: count)
    }

    @Test func aCommitOfManyPagesIsOneWriteOfTheLog() async throws {
        let files = FaultyFileSystem()
        let store = try Store(path: directory.path("store"), fileSystem: files.name)
        try await store.commitAndWait([.put(space, key: [0], value: [])]).get()
        files.record()
        try await store.commitAndWait((0..<60).map { .put(space, key: [UInt8($0)], value: value($0)) }).get()
        let sizes = files.operations.compactMap { operation -> Int? in
            if case .write(true, _, let bytes) = operation { bytes.count } else { nil }
        }
        #expect(sizes.count == 1 && sizes[0] > 30_000, "\(sizes)")
        store.close()
    }

    @Test func aCommitLongerThanWhatIsKeptBackIsWhole() async throws {
        let path = directory.path("store")
        let store = try Store(path: path)
        let changes = (0..<40).map { RowChange.put(space, key: [UInt8($0)], value: value($0, count: 20_000 + $0)) }
        try await store.commitAndWait(changes).get()
        write(contents(of: path), to: directory.path("copy"))
        write(contents(of: path + "-wal"), to: directory.path("copy-wal"))
        store.close()
        let copy = try Store(path: directory.path("copy"), opening: .mustExist)
        #expect(try copy.read(RowRange(space: space)).map(\.value.count) == (0..<40).map { 20_000 + $0 })
    }

    @Test(arguments: [100, 300_000]) func aFullDiskTakesNothingOfACommitAndAllOfTheNext(count: Int) async throws {
        let files = FaultyFileSystem()
        let store = try Store(path: directory.path("store"), fileSystem: files.name)
        try await store.commitAndWait([.put(space, key: [1], value: [1])]).get()
        files.fill(true)
        let refused = await store.commitAndWait([.put(space, key: [2], value: value(2, count: count))])
        #expect(throws: StoreError.full(path: store.path)) { try refused.get() }
        files.fill(false)
        try await store.commitAndWait([.put(space, key: [3], value: value(3, count: count))]).get()
        store.close()
        #expect(try Store(path: store.path).keys(RowRange(space: space)) == [[1], [3]])
    }

    @Test func whatIsReadIsWhatWasWritten() throws {
        let log = try #require(try OpenLog(over: FaultyFileSystem(), in: directory))
        var generator = SeededGenerator(seed: 3)
        var expected: [UInt8] = []
        for _ in 0..<2000 {
            // Mostly behind all others, as a log grows, and now and then in place of something.
            let isNew = expected.isEmpty || Int.random(in: 0..<5, using: &generator) > 0
            let place = isNew ? expected.count : Int.random(in: 0..<expected.count, using: &generator)
            let bytes = generator.bytes(Int.random(in: 1...5000, using: &generator))
            #expect(log.write(bytes, at: Int64(place)) == SQLITE_OK)
            expected.replaceSubrange(place..<min(place + bytes.count, expected.count), with: bytes)
            guard Int.random(in: 0..<10, using: &generator) == 0 else { continue }
            let start = Int.random(in: 0..<expected.count, using: &generator)
            let count = min(9000, expected.count - start)
            #expect(log.read(count, at: Int64(start)) == Array(expected[start..<start + count]))
        }
        #expect(log.synchronise() == SQLITE_OK)
        #expect(contents(of: directory.path("other-wal")) == expected)
    }

    @Test func noSyncSucceedsWhileBytesAreMissing() throws {
        let files = FaultyFileSystem()
        let log = try #require(try OpenLog(over: files, in: directory))
        #expect(log.write(value(1), at: 0) == SQLITE_OK && log.synchronise() == SQLITE_OK)
        files.failWrites(true)
        #expect(log.write(value(2), at: 500) == SQLITE_OK, "kept back")
        #expect(log.read(10, at: 0) == nil, "the read needs them written, and hears that they are not")
        files.failWrites(false)
        #expect(log.synchronise() != SQLITE_OK, "the read took the error, the bytes are missing all the same")
        #expect(log.write(value(3), at: 1000) == SQLITE_OK && log.synchronise() != SQLITE_OK, "something behind them")
        #expect(log.write(value(4), at: 500) == SQLITE_OK && log.synchronise() == SQLITE_OK, "written anew")
        #expect(contents(of: directory.path("other-wal")) == value(1) + value(4) + value(3))
    }

    @Test func aFailedWriteFailsTheSync() throws {
        let files = FaultyFileSystem()
        let log = try #require(try OpenLog(over: files, in: directory))
        files.failWrites(true)
        #expect(log.write(value(1), at: 0) == SQLITE_OK && log.synchronise() & 0xFF == SQLITE_IOERR)
        files.failWrites(false)
        files.failSyncs(true)
        #expect(log.write(value(1), at: 0) == SQLITE_OK && log.synchronise() & 0xFF == SQLITE_IOERR)
    }
}
