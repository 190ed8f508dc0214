// Values too long for their row's page: a separate table (Decisions/0041).

import CTandemSQLite
import TandemStore
import TandemTestSupport
import Testing

@Suite struct LongValueTests {
    private struct TestFailure: Error {}

    private let directory = TemporaryDirectory()
    private var path: String { directory.path("store") }

    private func value(_ number: Int, count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
    }

    /// Runs SQL on a closed store's file, and returns the numbers of the first column.
    @discardableResult
    private func run(_ sql: String) throws -> [Int64] {
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else { throw TestFailure() }
        var statement: OpaquePointer?
        var numbers: [Int64] = []
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw TestFailure() }
        while sqlite3_step(statement) == SQLITE_ROW { numbers.append(sqlite3_column_int64(statement, 0)) }
        guard sqlite3_finalize(statement) == SQLITE_OK else { throw TestFailure() }
        return numbers
    }

    private var longValues: Int64 { get throws { try run("SELECT count(*) FROM long_value")[0] } }

    @Test("Values of every length come back, also after a restart; the longest that stays has 980 bytes with its key")
    func lengths() async throws {
        let counts = [0, 1, 979, 980, 981, 4095, 4096, 8193, 300_000]
        let store = try Store(path: path)
        try await store.commitAndWait(
            counts.enumerated().map { .put(space, key: [UInt8($0)], value: value($0, count: $1)) })
        let expected = counts.enumerated().map { Row(space: space, key: [UInt8($0)], value: value($0, count: $1)) }
        #expect(try store.read(RowRange(space: space)) == expected)
        store.close()
        #expect(try longValues == 6)
        #expect(try Store(path: path).read(RowRange(space: space)) == expected)
    }

    @Test("A long value goes with its row: replaced, removed, or removed with its range")
    func removed() async throws {
        let store = try Store(path: path)
        func put(_ key: UInt8, _ count: Int) -> RowChange { .put(space, key: [key], value: value(1, count: count)) }
        try await store.commitAndWait((0..<10).map { put($0, 5000) })
        try await store.commitAndWait([put(0, 5001), put(1, 3), .delete(space, key: [2]), put(3, 1), put(3, 6000)])
        try await store.commitAndWait([.deleteAll(RowRange(space: space, from: [5], to: [8])), put(9, 5001)])
        for _ in 0..<2 { try await store.commitAndWait([put(9, 5001), put(9, 5001)]) }
        #expect(try store.read(RowRange(space: space)).map(\.value.count) == [5001, 3, 6000, 5000, 5000, 5001])
        store.close()
        #expect(try longValues == 5)
        #expect(try run("SELECT count(*) FROM row WHERE typeof(value) = 'integer'") == [5])
    }

    /// A store of version 3, whose rows have their long values in them.
    private func makeOlderStore() async throws {
        try await Store.commit((0..<5).map { .put(space, key: [$0], value: value(Int($0), count: 900)) }, at: path)
        for table in ["long_value", "long_space"] { try run("DROP TABLE \(table)") }
        let long = value(9, count: 7000)
        try run("INSERT INTO row VALUES(1, x'09', \(olderChecksum(1, [9], long)), x'\(hexadecimal(long))')")
        edit(path) { $0[63] = 3 }
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The checksum of a row of version 3.
    private func olderChecksum(_ space: UInt64, _ key: [UInt8], _ value: [UInt8]) -> Int64 {
        func words(_ bytes: [UInt8]) -> [UInt64] {
            stride(from: 0, to: bytes.count, by: 8).map { start in
                bytes[start..<min(start + 8, bytes.count)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
            }
        }
        let all = [space, UInt64(key.count)] + words(key) + [UInt64(value.count)] + words(value)
        let hash = all.reduce(into: 0xCBF2_9CE4_8422_2325 as UInt64) { hash, word in
            hash = (hash ^ word) &* 0x100_0000_01B3
            hash ^= hash >> 32
        }
        return Int64(bitPattern: hash)
    }

    @Test("A store of version 3 is read as it is, and gets the tables with its first commit")
    func older() async throws {
        try await makeOlderStore()
        let reader = try Store(path: path)
        #expect(try reader.read(.key([9], in: space)).map(\.value) == [value(9, count: 7000)])
        reader.close()
        #expect(contents(of: path)[63] == 3)
        let store = try Store(path: path)
        try await store.put([10], value(10, count: 7000))
        #expect(try store.read(RowRange(space: space)).map(\.value.count) == [900, 900, 900, 900, 900, 7000, 7000])
        try await store.commitAndWait([.delete(space, key: [9]), .put(space, key: [10], value: [1])])
        #expect(try store.read(RowRange(space: space)).map(\.value.count) == [900, 900, 900, 900, 900, 1])
        store.close()
        #expect(contents(of: path)[63] == 6)
        #expect(try longValues == 0)
    }

    @Test("On a full disk an older store keeps its form, and gets the tables once there is room")
    func olderAndFull() async throws {
        try await makeOlderStore()
        let faults = FaultyFileSystem()
        let store = try Store(path: path, fileSystem: faults.name)
        faults.fill(true)
        let long = RowChange.put(space, key: [10], value: value(10, count: 7000))
        await #expect(throws: StoreError.full(path: path)) { try await store.commitAndWait([long]) }
        #expect(try store.read(RowRange(space: space)).count == 6)
        faults.fill(false)
        try await store.commitAndWait([long])
        #expect(try store.read(.key([10], in: space)).map(\.value) == [value(10, count: 7000)])
        store.close()
        #expect(try longValues == 1)
    }

    @Test(
        "A store of this version without one of the tables is refused as damaged",
        arguments: ["long_value", "long_space"])
    func withoutTable(name: String) async throws {
        try await Store.commit([.put(space, key: [1], value: [1])], at: path)
        try run("DROP TABLE \(name)")
        #expect(throws: StoreError.corrupt(path: path, detail: "it has no tables of long values")) {
            try Store(path: path)
        }
    }

    @Test("An edited table of the spaces with long values may list what is no space")
    func editedSpaces() async throws {
        let row = Row(space: space, key: [1], value: value(1, count: 5000))
        try await Store.commit([.put(space, key: row.key, value: row.value)], at: path)
        try run("DROP TABLE long_space")
        // As a text, 1000 is between 0 and 255.
        try run("CREATE TABLE long_space(space TEXT PRIMARY KEY)")
        for number in [Int(space.rawValue), 1000, -1] { try run("INSERT INTO long_space VALUES('\(number)')") }
        #expect(try Store(path: path).read(RowRange(space: space)) == [row])
    }

    @Test(
        "A long value that is missing or changed is damage that names its row",
        arguments: [
            "DELETE FROM long_value WHERE id = 2", "UPDATE long_value SET value = zeroblob(5000) WHERE id = 2",
            "UPDATE row SET value = 3 WHERE key = x'02'", "UPDATE row SET value = zeroblob(8) WHERE key = x'02'",
        ])
    func damaged(sql: String) async throws {
        try await Store.commit((1...3).map { .put(space, key: [$0], value: value(Int($0), count: 5000)) }, at: path)
        try run(sql)
        #expect(throws: StoreError.corruptRow(path: path, space: space.rawValue, key: [2])) { try Store(path: path) }
    }

    @Test(
        "A store of version 3 that was killed, and is only read and closed in order, keeps its version and opens again")
    func olderAndKilled() async throws {
        try await makeOlderStore()
        let killed = directory.path("killed")
        try changeAsOlderProgram { _ in
            for end in ["", "-wal"] { write(contents(of: path + end), to: killed + end) }
        }
        for _ in 0..<2 {
            let reader = try Store(path: killed)
            #expect(try reader.read(RowRange(space: space)).count == 5)
            reader.close()
            #expect(contents(of: killed)[63] == 3)
        }
        try await Store.commit([.delete(space, key: [9])], at: killed)
        #expect(contents(of: killed)[63] == 6)
        #expect(try Store(path: killed).read(RowRange(space: space)).count == 4)
    }

    /// Removes a row in the first commit of a turn of the log, and lends the files with the log.
    private func changeAsOlderProgram(_ body: (OpaquePointer) -> Void) throws {
        let turn = try run("PRAGMA user_version")[0] >> 8 & 0x3F_FFFF
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        let sql = """
            PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; BEGIN;
            DELETE FROM row WHERE key = x'00'; PRAGMA user_version = \(3 | (turn + 1) << 8 | 1 << 30); COMMIT;
            """
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK, let handle,
            sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK
        else { throw TestFailure() }
        body(handle)
    }

    @Test("The first long value of a space that is rolled back leaves no trace")
    func firstLongValueIsRolledBack() async throws {
        let faults = FaultyFileSystem()
        let store = try Store(path: path, fileSystem: faults.name)
        try await store.put([1], [1])
        faults.fill(true)
        await #expect(throws: StoreError.full(path: path)) { try await store.put([2], value(2, count: 100_000)) }
        faults.fill(false)
        try await store.put([2], [2])
        try await store.put([2], value(2, count: 5000))
        try await store.put([3], value(3, count: 5000))
        store.close()
        try await Store.commit([.delete(space, key: [2])], at: path)
        #expect(try longValues == 1)
        #expect(try run("SELECT space FROM long_space") == [Int64(space.rawValue)])
    }

    @Test("A number that damage has changed leads to no other row's value, neither in a read nor in a removal")
    func changedNumber() async throws {
        // Too large for the check at the start, which would find the damage.
        let large = RowChange.put(otherSpace, key: [], value: value(0, count: 17 << 20))
        let changes: [RowChange] = [large] + [1, 2].map { .put(space, key: [$0], value: value(7, count: 5000)) }
        try await Store.commit(changes, at: path)
        try run("UPDATE row SET value = (SELECT value FROM row WHERE key = x'02') WHERE key = x'01'")
        let damaged = try Store(path: path)
        #expect(throws: StoreError.corruptRow(path: path, space: space.rawValue, key: [1])) {
            try damaged.read(.key([1], in: space))
        }
        try await damaged.commitAndWait([.delete(space, key: [1])])
        #expect(try damaged.read(RowRange(space: space)).map(\.value) == [value(7, count: 5000)])
    }

    @Test("A key that one flipped bit has made a text is damage that names its row, wherever that is")
    func textAsKey() async throws {
        func key(_ number: UInt8) -> [UInt8] { Array("row-key".utf8) + [number] }
        try await Store.commit((1...60).map { .put(space, key: key($0), value: [$0]) }, at: path)
        let whole = contents(of: path)
        for number in 1...60 as ClosedRange<UInt8> {
            let start = try #require(whole.firstRange(of: key(number))).lowerBound
            var damaged = whole
            // Before the key are the types of key, checksum and value, each a byte; that of eight bytes is 28.
            #expect(damaged[start - 3] == 28)
            damaged[start - 3] ^= 1
            write(damaged, to: path)
            #expect(throws: StoreError.corruptRow(path: path, space: space.rawValue, key: key(number))) {
                try Store(path: path)
            }
        }
    }

    @Test("A range neither finds nor removes a damaged row that is outside of it")
    func textOutsideOfARange() async throws {
        let store = try Store(path: path)
        func key(_ number: UInt8) -> [UInt8] { Array("row-key".utf8) + [number] }
        try await store.commitAndWait((1...60).map { .put(space, key: key($0), value: [$0]) })
        // Too large for the check at the start, which would find the damage.
        try await store.commitAndWait([.put(otherSpace, key: [], value: value(0, count: 17 << 20))])
        store.close()
        try edit(path) { bytes in
            let start = try #require(bytes.firstRange(of: key(40))).lowerBound
            bytes[start - 3] ^= 1
        }
        let damaged = try Store(path: path)
        let range = RowRange(space: space, from: key(1), to: key(5))
        #expect(try damaged.keys(range) == (1...4).map(key))
        #expect(try damaged.keys(.key(Array("row-key".utf8) + [4, 0], in: space)).isEmpty)
        try await damaged.commitAndWait([.deleteAll(range)])
        #expect(throws: StoreError.corruptRow(path: path, space: space.rawValue, key: key(40))) {
            try damaged.read(RowRange(space: space, from: key(5)))
        }
    }
}
