// The file of entries below a SQLite store of preferences: transactions, foreign and damaged files, failing disks.

import CTandemSQLite
import TandemTestSupport
import Testing

@testable import TandemStore

@Suite struct EntryFileTests {
    private let place = TemporaryDirectory()

    private var path: String { place.path("entries") }

    private func make(_ values: [EntryFile.Entry]) throws {
        place.write(try EntryFile.bytes(of: values), to: "entries")
    }

    private func rows(_ file: EntryFile) throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        try file.update { rows in
            found = Dictionary(uniqueKeysWithValues: rows.map { ($0.key, $0.value) })
            return EntryChanges()
        }
        return found
    }

    private func file(_ fileSystem: FaultyFileSystem? = nil) -> EntryFile {
        EntryFile(path, patience: .milliseconds(20), fileSystem: fileSystem?.name)
    }

    /// Runs statements as another program does.
    private func run(_ statements: String) {
        var connection: OpaquePointer?
        #expect(sqlite3_open(path, &connection) == SQLITE_OK)
        #expect(sqlite3_exec(connection, statements, nil, nil, nil) == SQLITE_OK)
        sqlite3_close(connection)
    }

    @Test("SET-54: rows are added, replaced and removed in one transaction, and another program reads them")
    func rowsChange() throws {
        try make([("a", [1]), ("b", [2]), ("e\u{301}", [3]), ("\u{e9}", [4])])
        try file().update { rows in
            #expect(rows.count == 4)
            return EntryChanges(values: [("a", [9]), ("c", [])], removed: ["b", "e\u{301}"])
        }
        #expect(try rows(file()) == ["a": [9], "c": [], "\u{e9}": [4]])
        run("UPDATE preference SET value = x'08' WHERE key = 'a'")
        #expect(try rows(file())["a"] == [8])
        #expect(place.names == ["entries"])
    }

    @Test("SET-55, LIM-114: a view in the table's place, and too many bytes, are damage")
    func damage() throws {
        try make([("a", [1])])
        run("DROP TABLE preference; CREATE VIEW preference AS SELECT 'a' AS key, x'01' AS value")
        #expect(throws: StoreError.self) { try rows(file()) }
        try make([("a", [1])])
        run("INSERT INTO preference VALUES('b', zeroblob(\(EntryFile.byteLimit - 2)))")
        #expect(throws: StoreError.self) { try rows(file()) }
        run("UPDATE preference SET value = zeroblob(\(EntryFile.byteLimit - 3)) WHERE key = 'b'")
        #expect(try rows(file()).count == 2)
    }

    @Test("LIM-97: a writer waits for another one's transaction, and is refused after a while")
    func twoWriters() throws {
        try make([("a", [1])])
        var refused: StoreError?
        try file().update { _ in
            do throws(StoreError) {
                try file().update { _ in EntryChanges(values: [("a", [2])]) }
            } catch {
                refused = error
            }
            return EntryChanges(values: [("b", [1])])
        }
        #expect(refused == .inUse(path: path))
        #expect(try rows(file()) == ["a": [1], "b": [1]])
    }

    @Test(
        "SET-55: another program's file, one of a later version, and damaged ones are refused and stay",
        arguments: [
            "PRAGMA application_id = 1", "PRAGMA user_version = 2", "DROP TABLE preference",
            "DROP TABLE preference; CREATE TABLE preference(key, value); "
                + "INSERT INTO preference VALUES('a', 1), ('a', 2)",
            "INSERT INTO preference VALUES(CAST(x'ff' AS TEXT), x'00')",
            "INSERT INTO preference VALUES('large', zeroblob(17000000))",
        ])
    func refusedFiles(_ statements: String) throws {
        try make([("a", [1])])
        run(statements)
        let before = TemporaryDirectory.read(path)
        #expect(throws: StoreError.self) { try rows(file()) }
        #expect(TemporaryDirectory.read(path) == before && place.names == ["entries"])
    }

    @Test("SET-55: a file whose bytes were changed anywhere is refused or read, and never crashes a reader")
    func changedBytes() throws {
        try make((0..<40).map { ("key \($0)", [UInt8](repeating: UInt8($0), count: 100)) })
        let sound = try #require(TemporaryDirectory.read(path))
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<Repetition.times(200, long: 5000) {
            var bytes = sound
            for _ in 0..<4 {
                bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            place.write(bytes, to: "entries")
            try? file().update { _ in EntryChanges(values: [("key 1", [1])], removed: ["key 2"]) }
        }
    }

    @Test("SET-55: a write or sync that fails leaves the old entries, and the next transaction is whole")
    func failingDisk() throws {
        try make([("a", [1]), ("b", [1])])
        let faults = FaultyFileSystem()
        for fail in [faults.failWrites, faults.failSyncs, faults.fill] {
            fail(true)
            let error = #expect(throws: StoreError.self) {
                try file(faults).update { _ in
                    EntryChanges(values: [("a", [UInt8](repeating: 2, count: 50_000)), ("b", [2])])
                }
            }
            if error != nil { #expect(try rows(file()) == ["a": [1], "b": [1]]) }
            fail(false)
        }
        try file(faults).update { _ in EntryChanges(values: [("a", [3])], removed: ["b"]) }
        #expect(try rows(file()) == ["a": [3]])
    }
}
