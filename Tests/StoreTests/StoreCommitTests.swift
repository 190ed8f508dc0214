// Durability as its users see it: the order of completions, many commits in one fsync, a bounded queue, a close that
// loses nothing. Group commit is gated on counts of transactions, not on time.

import Synchronization
import TandemStore
import TandemTestSupport
import Testing

/// Collects completions in their order, from the store's thread.
final class Completions: Sendable {
    private let list = Mutex<[(number: Int, result: Result<Void, StoreError>)]>([])

    func add(_ number: Int, _ result: Result<Void, StoreError>) { list.withLock { $0.append((number, result)) } }

    var numbers: [Int] { list.withLock { $0.map(\.number) } }
    var failures: [StoreError] {
        list.withLock { $0.compactMap { if case .failure(let error) = $0.result { error } else { nil } } }
    }
}

@Suite struct StoreCommitTests {
    private let directory = TemporaryDirectory()

    @Test func completionsComeInTheOrderOfSubmission() throws {
        let store = try Store(path: directory.path("store"))
        let completions = Completions()
        for number in 0..<500 {
            let changes: [RowChange] =
                number % 7 == 0 ? [] : [.put(space, key: [UInt8(number % 251)], value: [UInt8(number % 256)])]
            store.commit(changes) { completions.add(number, $0) }
        }
        store.close()
        #expect(completions.numbers == Array(0..<500))
        #expect(completions.failures.isEmpty)
        #expect(store.statistics.commits == 500)
    }

    @Test func everythingQueuedWhileACommitRunsIsOneTransaction() throws {
        let store = try Store(path: directory.path("store"))
        // The first completion holds the store's thread until the rest is queued.
        let isQueued = Mutex(false)
        store.commit([.put(space, key: [0], value: [])]) { _ in while !isQueued.withLock({ $0 }) {} }
        while store.statistics.transactions == 0 {}
        for number in 1...64 { store.commit([.put(space, key: [UInt8(number)], value: [1])]) { _ in } }
        isQueued.withLock { $0 = true }
        store.close()
        #expect(store.statistics == StoreStatistics(commits: 65, transactions: 2, failures: 0))
    }

    @Test func `LIM-64: reads between commits neither divide their transaction nor keep them waiting`() throws {
        let store = try Store(path: directory.path("store"))
        let isQueued = Mutex(false)
        store.commit([.put(space, key: [0], value: [])]) { _ in while !isQueued.withLock({ $0 }) {} }
        while store.statistics.transactions == 0 {}
        let order = Mutex<[String]>([])
        for number in 1...32 {
            store.commit([.put(space, key: [UInt8(number)], value: [1])]) { _ in }
            store.fetch(RowRange(space: space)) { rows in
                order.withLock { $0.append("read") }
                #expect((try? rows.get().count) ?? 0 > number)
                guard number == 1 else { return }
                store.commit([.put(space, key: [100], value: [1])]) { _ in order.withLock { $0.append("commit") } }
            }
        }
        isQueued.withLock { $0 = true }
        while !order.withLock({ $0.contains("commit") }) {}
        store.close()
        #expect(store.statistics == StoreStatistics(commits: 34, transactions: 3, failures: 0))
        #expect(order.withLock { $0.firstIndex(of: "commit") } == 8)
    }

    @Test func anEmptyCommitCostsNoTransaction() async throws {
        let store = try Store(path: directory.path("store"))
        try await store.commitAndWait([])
        #expect(store.statistics == StoreStatistics(commits: 1, transactions: 0, failures: 0))
    }

    @Test func whatDoesNotFitTheQueueIsRefusedInItsTurn() throws {
        let store = try Store(path: directory.path("store"), queueLimit: 1000)
        let completions = Completions()
        let isQueued = Mutex(false)
        store.commit([.put(space, key: [0], value: [])]) {
            completions.add(0, $0)
            while !isQueued.withLock({ $0 }) {}
        }
        while store.statistics.transactions == 0 {}
        for number in 1...3 {
            store.commit([.put(space, key: [UInt8(number)], value: Array(repeating: 1, count: 600))]) {
                completions.add(number, $0)
            }
        }
        isQueued.withLock { $0 = true }
        let keys = try store.keys(RowRange(space: space))
        #expect(completions.numbers == [0, 1, 2, 3])
        #expect(completions.failures == Array(repeating: .overloaded(path: store.path, limit: 1000), count: 2))
        #expect(keys == [[0], [1]])
    }

    @Test func aSingleCommitLargerThanTheQueueIsTaken() async throws {
        let store = try Store(path: directory.path("store"), queueLimit: 1000)
        let value = [UInt8](repeating: 7, count: 400_000)
        try await store.put([1], value)
        #expect(try store.read(.key([1], in: space)).first?.value == value)
    }

    @Test func closingWritesWhatWasSubmittedAndRefusesTheRest() async throws {
        let path = directory.path("store")
        let store = try Store(path: path)
        for number in 0..<100 { store.commit([.put(space, key: [UInt8(number)], value: [])]) { _ in } }
        store.close()
        store.close()
        await #expect(throws: StoreError.closed(path: path)) { try await store.put([200], []) }
        #expect(throws: StoreError.closed(path: path)) { try store.read(RowRange(space: space)) }
        #expect(try Store(path: path).read(RowRange(space: space)).count == 100)
    }

    @Test func aKilledProcessLosesNothingThatWasAcknowledged() async throws {
        let path = directory.path("store")
        let store = try Store(path: path)
        for round in 0..<20 {
            try await store.put([UInt8(round)], [UInt8(round)])
            // A kill leaves the files as they are at this moment.
            let copy = directory.path("copy-\(round)")
            layOut(contents(of: path), log: contents(of: path + "-wal"), at: copy)
            let recovered = try Store(path: copy, opening: .mustExist)
            #expect(try recovered.read(RowRange(space: space)).map(\.value) == (0...round).map { [UInt8($0)] })
        }
    }

    @Test func aTornCommitIsLostWholeAndThoseBeforeItAreNot() async throws {
        let path = directory.path("store")
        let store = try Store(path: path)
        try await store.put([1], [1])
        let before = usedLog(of: path).count
        try await store.commitAndWait((10..<40).map { .put(space, key: [$0], value: [1]) })
        let log = usedLog(of: path)
        for cut in stride(from: before, to: log.count, by: 997) {
            let copy = directory.path("torn-\(cut)")
            layOut(contents(of: path), log: Array(log[..<cut]), at: copy)
            #expect(try Store(path: copy).read(RowRange(space: space)).count == 1)
        }
    }

    @Test func manySmallCommitsDoNotMakeTheLogGrowWithoutEnd() async throws {
        let path = directory.path("store")
        let store = try Store(path: path)
        for number in 0..<1500 {
            try await store.put([1], [UInt8(number % 256)])
        }
        #expect(contents(of: path + "-wal").count < 5 << 20, "each commit adds a page to the log")
    }

    @Test func theFileOfTheLogGrowsInStepsSoThatFewSyncsWriteItsLength() async throws {
        let files = FaultyFileSystem()
        let store = try Store(path: directory.path("store"), fileSystem: files.name)
        try await store.put([0], [0])
        var (length, growth) = (contents(of: store.path + "-wal").count, 0)
        files.record()
        for number in 1...200 {
            try await store.put([UInt8(number)], Array(repeating: 1, count: 300))
        }
        let ends = files.operations.compactMap { operation in
            if case .write(true, let offset, let bytes) = operation { offset + bytes.count } else { nil }
        }
        for end in ends where end > length { (length, growth) = (end, growth + 1) }
        #expect(ends.count > 400 && growth < 40, "\(growth) of \(ends.count) writes")
        store.close()
    }

    @Test func aLongLogIsMovedIntoTheFile() async throws {
        let path = directory.path("store")
        let store = try Store(path: path)
        for round in 0..<12 {
            let value = [UInt8](repeating: UInt8(round), count: 1 << 20)
            try await store.put([1], value)
        }
        _ = try store.read(.key([9], in: space))
        #expect(contents(of: path + "-wal").count < 8 << 20)
        #expect(contents(of: path).count > 1 << 20)
    }
}
