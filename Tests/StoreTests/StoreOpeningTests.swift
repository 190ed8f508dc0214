// A store that is not plainly good is refused with its reason, and left as it is.

import Glibc
import TandemStore
import TandemTestSupport
import Testing

@Suite struct StoreOpeningTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path("store") }

    /// A closed store with rows in it.
    private func makeStore(rows: Int = 200) async throws {
        let changes = (0..<rows).map { number in
            RowChange.put(space, key: [UInt8(number)], value: Array(repeating: UInt8(number), count: 100))
        }
        try await Store.commit(changes, at: path)
    }

    /// Opens the store, and expects an error and the same bytes as before.
    private func refusal() throws -> StoreError? {
        let before = contents(of: path)
        defer { #expect(contents(of: path) == before, "a refused store is left as it is") }
        do throws(StoreError) {
            _ = try Store(path: path)
            return nil
        } catch {
            #expect(error.description.contains(path))
            return error
        }
    }

    @Test func aNewStoreIsPrivateAndIsThere() throws {
        let store = try Store(path: path)
        #expect(try store.read(RowRange(space: space)).isEmpty)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(!directory.names.contains("store.new"))
    }

    @Test func theSpacesThatHadRowsAreKnownWhenItIsOpen() async throws {
        let spaces = [0, 1, 7, 255].map { RowSpace(rawValue: $0) }
        let store = try Store(path: path)
        #expect(store.spacesAtOpening.isEmpty)
        let changes = spaces.flatMap { space in (0..<3).map { RowChange.put(space, key: [$0], value: []) } }
        try await store.commitAndWait(changes)
        #expect(store.spacesAtOpening.isEmpty)
        store.close()
        #expect(try Store(path: path).spacesAtOpening == Set(spaces))
    }

    @Test func aStoreThatShouldExistIsNotStartedEmpty() {
        #expect(throws: StoreError.missing(path: path)) { try Store(path: path, opening: .mustExist) }
        #expect(directory.names.isEmpty)
    }

    @Test func aHalfMadeStoreIsMadeAgain() throws {
        write([1, 2, 3], to: path + ".new")
        #expect(try Store(path: path).read(RowRange(space: space)).isEmpty)
    }

    @Test func aNewerStoreIsRefusedWithBothNumbers() async throws {
        try await makeStore()
        edit(path) { $0[60..<64] = [0, 0, 0, 7] }
        #expect(try refusal() == .newer(path: path, found: 7, supported: 6))
        let text = StoreError.newer(path: path, found: 7, supported: 6).description
        #expect(text.contains("7") && text.contains("6"))
    }

    @Test func aStoreOfAnEarlierVersionIsReadAndGetsThisOneWithItsFirstCommit() async throws {
        try await makeStore()
        edit(path) { $0[63] = 1 }
        let reader = try Store(path: path)
        #expect(try reader.read(RowRange(space: space)).count == 200)
        reader.close()
        #expect(contents(of: path)[63] == 1, "an earlier program may still open it")
        try await Store.commit([.delete(space, key: [0])], at: path)
        #expect(contents(of: path)[63] == 6)
        #expect(try Store(path: path).read(RowRange(space: space)).count == 199)
    }

    @Test func anotherProgramsDatabaseIsRefused() async throws {
        try await makeStore()
        edit(path) { $0[68..<72] = [0, 0, 0, 1] }
        #expect(try refusal() == .notAStore(path: path))
    }

    @Test func aVersionThatWasNeverWrittenIsRefused() async throws {
        try await makeStore()
        edit(path) { $0[60..<64] = [0, 0, 0, 0] }
        guard case .corrupt = try refusal() else { throw Unexpected("accepted") }
    }

    @Test(arguments: [
        [UInt8](), [0], Array("not a database, but text of some length".utf8), Array(repeating: 0xA5, count: 9000),
    ])
    func aFileThatIsNoStoreIsRefused(bytes: [UInt8]) throws {
        write(bytes, to: path)
        #expect(try refusal() == .notAStore(path: path))
    }

    @Test func aTruncatedStoreIsRefused() async throws {
        try await makeStore()
        let whole = contents(of: path)
        for length in stride(from: 1, to: whole.count, by: 1021) {
            write(Array(whole[..<length]), to: path)
            #expect(try refusal() != nil, "cut to \(length) of \(whole.count) bytes")
        }
    }

    @Test func aDirectoryOrASymbolicLinkInItsPlaceIsRefused() async throws {
        try await makeStore()
        #expect(rename(path, path + "-elsewhere") == 0)
        #expect(symlink(path + "-elsewhere", path) == 0)
        #expect(throws: StoreError.self) { try Store(path: path) }
        #expect(unlink(path) == 0 && mkdir(path, 0o700) == 0)
        #expect(throws: StoreError.self) { try Store(path: path) }
        rmdir(path)
    }

    @Test func aDirectoryThatIsNotThereIsTold() {
        let missing = directory.path("nowhere/store")
        #expect(throws: StoreError.self) { try Store(path: missing) }
    }

    @Test func aStoreInUseIsRefused() throws {
        let store = try Store(path: path)
        #expect(throws: StoreError.inUse(path: path)) { try Store(path: path) }
        withExtendedLifetime(store) {}
    }

    /// A flipped bit that matters is found when the store is opened; never is another value given out.
    @Test func noFlippedBitIsEverTakenForData() async throws {
        try await makeStore(rows: 60)
        let whole = contents(of: path)
        let good = try Store(path: path).read(RowRange(space: space))
        var schedule = SeededGenerator(seed: 42)
        var found = 0
        for round in 0..<400 {
            let copy = directory.path("flipped-\(round)")
            var bytes = whole
            bytes[Int.random(in: bytes.indices, using: &schedule)] ^= 1 << UInt8.random(in: 0..<8, using: &schedule)
            write(bytes, to: copy)
            do throws(StoreError) {
                #expect(try Store(path: copy).read(RowRange(space: space)) == good)
            } catch {
                found += 1
                #expect(!error.description.contains("\n"), "one line of the log")
            }
            unlink(copy)
        }
        #expect(found > 100, "most of the file is data")
    }

    @Test func aFlippedBitOfAValueNamesItsRow() async throws {
        try await makeStore()
        let run = Array(repeating: UInt8(77), count: 100)
        try edit(path) { bytes in
            let offset = try #require(bytes.firstRange(of: run)).lowerBound
            bytes[offset + 50] ^= 1
        }
        #expect(try refusal() == .corruptRow(path: path, space: space.rawValue, key: [77]))
    }

    @Test func aRangeIsReadInParts() async throws {
        try await makeStore()
        let store = try Store(path: path)
        var (range, keys): (RowRange?, [[UInt8]]) = (RowRange(space: space, limit: 64), [])
        while let next = range {
            let rows = try store.read(next)
            keys += rows.map(\.key)
            range = next.rest(after: rows)
        }
        #expect(keys == (try store.read(RowRange(space: space)).map(\.key)) && keys.count == 200)
    }

    /// A store of 32 MiB in bodies, beside records of 100 bytes.
    private func makeLargeStore() async throws {
        let store = try Store(path: path)
        for start in stride(from: 0, to: 512, by: 64) {
            let changes = (start..<start + 64).flatMap { number in
                let key = [UInt8(number >> 8), UInt8(number & 0xFF)]
                return [
                    RowChange.put(space, key: key, value: Array(repeating: 1, count: 100)),
                    .put(otherSpace, key: key, value: Array(repeating: 77, count: 65_536)),
                ]
            }
            try await store.commitAndWait(changes)
        }
        store.close()
    }

    @Test("LIM-57: the start of a large store reads its records and not its bodies")
    func bodiesAreNotReadAtTheStart() async throws {
        try await makeLargeStore()
        let files = FaultyFileSystem()
        let store = try Store(path: path, opening: .mustExist, fileSystem: files.name)
        #expect(try store.read(RowRange(space: space)).count == 512)
        #expect(files.bytesRead < 2 << 20, "\(files.bytesRead) bytes of \(contents(of: path).count)")
        store.close()
    }

    @Test("LIM-57: a body that is damaged in a large store is never given out")
    func aDamagedBodyIsFoundWhenItIsRead() async throws {
        try await makeLargeStore()
        var bytes = contents(of: path)
        let run = Array(repeating: UInt8(77), count: 4000)
        let middle = bytes.count / 2
        let offset = try #require((middle..<bytes.count - 4000).first { bytes[$0..<$0 + 4000].elementsEqual(run) })
        bytes[offset + 50] ^= 1
        write(bytes, to: path)
        let store = try Store(path: path, opening: .mustExist)
        #expect(try store.read(RowRange(space: space)).count == 512)
        #expect(throws: StoreError.self) { try store.read(RowRange(space: otherSpace)) }
        var range = RowRange(space: otherSpace)
        range.passesDamaged = true
        let rows = try store.read(range)
        #expect(rows.count == 512 && rows.filter(\.isDamaged).map(\.value) == [[]], "or without its value, where asked")
        store.close()
    }
}
