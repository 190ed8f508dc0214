// A failing disk: full is an answer for one commit, a failed fsync ends all acknowledging (the kernel may have dropped
// what it could not write, and a second fsync would succeed without it).

import Glibc
import Synchronization
import TandemStore
import TandemTestSupport
import Testing

@Suite struct StoreFailureTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path("store") }

    @Test(arguments: [true, false]) func aFailedSyncOrWritePoisonsTheStore(isSync: Bool) async throws {
        let faults = FaultyFileSystem()
        let fail = isSync ? faults.failSyncs : faults.failWrites
        let store = try Store(path: path, fileSystem: faults.name)
        try await store.put([1], [1])
        fail(true)
        let lost = await #expect(throws: StoreError.self) { try await store.put([2], [2]) }
        guard case .poisoned = lost else { throw Unexpected("a commit that is not on the disk was acknowledged") }
        fail(false)
        for key: UInt8 in 3...5 {
            let late = await #expect(throws: StoreError.self) { try await store.put([key], [2]) }
            guard case .poisoned = late else { throw Unexpected("a poisoned store acknowledged") }
        }
        #expect(throws: StoreError.self) { try store.read(RowRange(space: space)) }
        #expect(store.statistics.commits == 1)
        store.close()
        // A commit that was written and not synced may be there, too.
        let keys = try Store(path: path).keys(RowRange(space: space))
        #expect(isSync ? keys.first == [1] : keys == [[1]], "what was acknowledged is there")
    }

    @Test func aFullDiskIsAnAnswerForOneCommitAndRetriesWork() async throws {
        let faults = FaultyFileSystem()
        let store = try Store(path: path, fileSystem: faults.name)
        try await store.put([1], [1])
        faults.fill(true)
        for _ in 0..<3 {
            await #expect(throws: StoreError.full(path: path)) { try await store.put([2], [2]) }
        }
        #expect(try store.keys(RowRange(space: space)) == [[1]], "it still reads")
        faults.fill(false)
        try await store.put([2], [2])
        store.close()
        #expect(try Store(path: path).keys(RowRange(space: space)) == [[1], [2]])
    }

    private func value(_ number: Int, count: Int) -> [UInt8] { Array(repeating: UInt8(number & 0xFF), count: count) }

    @Test func aCommitOfManyPagesIsWholeInTheLog() async throws {
        let path = directory.path("store")
        let store = try Store(path: path)
        let changes = (0..<40).map { RowChange.put(space, key: [UInt8($0)], value: value($0, count: 20_000 + $0)) }
        try await store.commitAndWait(changes)
        layOut(contents(of: path), log: contents(of: path + "-wal"), at: directory.path("copy"))
        store.close()
        let copy = try Store(path: directory.path("copy"), opening: .mustExist)
        #expect(try copy.read(RowRange(space: space)).map(\.value.count) == (0..<40).map { 20_000 + $0 })
    }

    @Test(arguments: [100, 300_000]) func aFullDiskTakesNothingOfACommitAndAllOfTheNext(count: Int) async throws {
        let files = FaultyFileSystem()
        let store = try Store(path: directory.path("store"), fileSystem: files.name)
        try await store.put([1], [1])
        files.fill(true)
        await #expect(throws: StoreError.full(path: store.path)) { try await store.put([2], value(2, count: count)) }
        files.fill(false)
        try await store.put([3], value(3, count: count))
        store.close()
        #expect(try Store(path: store.path).keys(RowRange(space: space)) == [[1], [3]])
    }

    @Test func inASharedTransactionOnlyTheCommitThatDoesNotFitFails() async throws {
        guard let disk = SmallDisk() else { return }
        let store = try Store(path: disk.path + "/store")
        let results = Mutex<[Int: Bool]>([:])
        let isQueued = Mutex(false)
        store.commit([.put(space, key: [0], value: [])]) { _ in while !isQueued.withLock({ $0 }) {} }
        for number in 1...3 {
            let value = [UInt8](repeating: 1, count: number == 2 ? 600_000 : 10)
            store.commit([.put(space, key: [UInt8(number)], value: value)]) { result in
                if case .success = result { results.withLock { $0[number] = true } }
                if case .failure(.full) = result { results.withLock { $0[number] = false } }
            }
        }
        isQueued.withLock { $0 = true }
        #expect(try store.keys(RowRange(space: space)) == [[0], [1], [3]])
        #expect(results.withLock { $0 } == [1: true, 2: false, 3: true])
        store.close()
    }

    @Test func aLogThatHasFilledTheDiskBeginsAgainInItsOwnPlace() async throws {
        guard let disk = SmallDisk() else { return }
        let path = disk.path + "/store"
        func changes(_ round: Int) -> [RowChange] {
            let value = [UInt8](repeating: UInt8(round), count: 5000)
            return (0..<5).map { .put(space, key: [UInt8($0)], value: value) }
        }
        let first = try Store(path: path)
        try await first.commitAndWait(changes(0))
        // The rows have their places in the file from now on.
        first.close()
        let store = try Store(path: path)
        for round in 1..<100 { try await store.commitAndWait(changes(round)) }
        store.close()
        let rows = try Store(path: path).keys(RowRange(space: space))
        #expect(rows == (0..<5).map { [UInt8($0)] })
    }

    @Test func aDiskThatFillsUpAndIsFreedLosesNothingAcknowledged() async throws {
        guard let disk = SmallDisk() else { return }
        let path = disk.path + "/store"
        let store = try Store(path: path)
        var acknowledged: [[UInt8]] = []
        var isFull = false
        for number in 0..<200 where !isFull {
            let key = [UInt8(number)]
            do throws(StoreError) {
                try await store.put(key, Array(repeating: 1, count: 5000))
                acknowledged.append(key)
            } catch {
                #expect(error == .full(path: path))
                isFull = true
            }
        }
        #expect(isFull, "256 KiB do not hold 200 rows of 5,000 bytes")
        #expect(try store.keys(RowRange(space: space)) == acknowledged)
        #expect(umount2(disk.path, 0) != 0, "the disk is in use")
        #expect(disk.resize("4m"))
        try await store.put([255], Array(repeating: 1, count: 50_000))
        store.close()
        #expect(try Store(path: path).keys(RowRange(space: space)) == acknowledged + [[255]])
    }

    @Test(
        "DEL-31: on a full disk rows can be removed, nothing new takes their room, and the reserve comes back by itself"
    )
    func theReserveIsForWhatMakesRoom() async throws {
        guard let disk = SmallDisk(), disk.resize("4m") else { return }
        let store = try Store(path: disk.path + "/store")
        for number in 0..<40 { try await put(number, in: store) }
        disk.fill()
        // The log has some room of its own.
        var rows = 40
        while (try? await put(rows, in: store)) != nil { rows += 1 }
        await #expect(throws: StoreError.full(path: store.path)) { try await put(rows, in: store) }
        #expect(!(await store.findRoomAndWait()))
        for number in 0..<5 {
            let removed = [
                RowChange.delete(space, key: [UInt8(number)]), .put(otherSpace, key: [UInt8(number)], value: [1]),
            ]
            try await store.commitAndWait(removed, room: .reserve)
            await #expect(throws: StoreError.full(path: store.path)) { try await put(255, in: store) }
        }
        try disk.free()
        #expect(await store.findRoomAndWait())
        try await put(255, in: store)
        disk.fill()
        await #expect(throws: StoreError.full(path: store.path)) {
            for number in 200..<255 { try await put(number, in: store, count: 100_000) }
        }
        try await store.commitAndWait([.delete(space, key: [20])], room: .reserve)
        store.close()
        let reopened = try Store(path: store.path, opening: .mustExist)
        #expect(try reopened.keys(RowRange(space: otherSpace)).count == 5)
        reopened.close()
    }

    @Test("LIM-55: the reserve takes 4 MiB, or a 16th of a smaller disk")
    func sizesOfTheReserve() throws {
        func reserve(at path: String) throws -> Int {
            let store = try Store(path: path)
            defer { store.close() }
            return contents(of: path + "-reserve").count
        }
        #expect(try reserve(at: path) == 4 << 20)
        guard let disk = SmallDisk() else { return }
        for (size, part) in [("4m", 256 << 10), ("64m", 4 << 20), ("128m", 4 << 20)] {
            #expect(disk.resize(size))
            #expect(try reserve(at: disk.path + "/" + size) == part)
        }
    }

    @Test("DEL-31, LIM-55: pages that removed rows leave in the file are room again, though the disk stays full")
    func freePagesAreRoom() async throws {
        guard let disk = SmallDisk(), disk.resize("4m") else { return }
        let store = try Store(path: disk.path + "/store")
        var rows = 0
        while (try? await put(rows, in: store)) != nil { rows += 1 }
        disk.fill()
        for number in 0..<rows {
            try await store.commitAndWait([.delete(space, key: [UInt8(number)])], room: .reserve)
        }
        #expect(await store.findRoomAndWait())
        for number in 0..<rows / 2 { try await put(number, in: store) }
        store.close()
    }

    @Test("DEL-31: a removal that is larger than the reserve makes room on a full disk", arguments: [300, 900, 30_000])
    func largeRemovals(count: Int) async throws {
        guard let disk = SmallDisk(), disk.resize("4m") else { return }
        let store = try Store(path: disk.path + "/store")
        func fill(_ round: Int) -> [RowChange] {
            (0..<30_000 / count).map { .put(space, key: [UInt8(round), UInt8($0)], value: value($0, count: count)) }
        }
        var rounds = 0
        while (try? await store.commitAndWait(fill(rounds))) != nil { rounds += 1 }
        disk.fill()
        try await store.commitAndWait([.put(otherSpace, key: [1], value: [1])], room: .reserve)
        let removal = [RowChange.deleteAll(RowRange(space: space)), .put(otherSpace, key: [2], value: [2])]
        try await store.commitAndWait(removal, room: .reserve)
        #expect(try store.keys(RowRange(space: space)).isEmpty)
        #expect(await store.findRoomAndWait())
        for round in 0..<rounds / 2 { try await store.commitAndWait(fill(round)) }
        store.close()
        let reopened = try Store(path: store.path, opening: .mustExist)
        #expect(try reopened.keys(RowRange(space: otherSpace)) == [[1], [2]])
        #expect(try reopened.keys(RowRange(space: space)).count == rounds / 2 * (30_000 / count))
        reopened.close()
    }

    private func put(_ number: Int, in store: Store, count: Int = 30_000) async throws(StoreError) {
        try await store.put([UInt8(number)], value(number, count: count))
    }
}
