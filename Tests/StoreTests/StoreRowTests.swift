// Rows in, rows out: order, ranges, and commits that are whole.

import TandemStore
import TandemTestSupport
import Testing

let space = RowSpace(rawValue: 1)
let otherSpace = RowSpace(rawValue: 2)

extension Store {
    /// Commits and waits, as only a test may.
    func commitAndWait(_ changes: [RowChange], room: CommitRoom = .ordinary) async throws(StoreError) {
        let result: Result<Void, StoreError> = await withCheckedContinuation { continuation in
            commit(changes, room: room) { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    /// Commits to the store at a path, which is closed before and afterwards.
    static func commit(_ changes: [RowChange], at path: String) async throws(StoreError) {
        let store = try Store(path: path)
        try await store.commitAndWait(changes)
        store.close()
    }

    func put(_ key: [UInt8], _ value: [UInt8]) async throws(StoreError) {
        try await commitAndWait([.put(space, key: key, value: value)])
    }

    func findRoomAndWait() async -> Bool {
        await withCheckedContinuation { continuation in findRoom { continuation.resume(returning: $0) } }
    }

    func keys(_ range: RowRange) throws -> [[UInt8]] { try read(range).map(\.key) }
}

@Suite struct StoreRowTests {
    private let directory: TemporaryDirectory
    private let store: Store

    init() throws {
        directory = TemporaryDirectory()
        store = try Store(path: directory.path("store"))
    }

    @Test func rowsComeBackInTheOrderOfTheirKeysAsBytes() async throws {
        let keys: [[UInt8]] = [[0xFF], [], [0x00], [0x01, 0x00], [0x01], [0x7F, 0xFF], [0x80]]
        try await store.commitAndWait(keys.map { .put(space, key: $0, value: $0 + [9]) })
        let rows = try store.read(RowRange(space: space))
        #expect(rows.map(\.key) == [[], [0], [1], [1, 0], [0x7F, 0xFF], [0x80], [0xFF]])
        #expect(rows.allSatisfy { $0.value == $0.key + [9] && $0.space == space })
        #expect(try store.read(RowRange(space: otherSpace)).isEmpty)
    }

    @Test func rangesHaveBoundsLimitAndDirection() async throws {
        try await store.commitAndWait((0..<10).map { .put(space, key: [$0], value: []) })
        #expect(try store.keys(RowRange(space: space, from: [3], to: [6])) == [[3], [4], [5]])
        #expect(try store.keys(RowRange(space: space, from: [3], limit: 2)) == [[3], [4]])
        #expect(try store.keys(.key([7], in: space)) == [[7]])
    }

    @Test func aPrefixRangeHoldsExactlyTheKeysThatStartWithIt() async throws {
        let keys: [[UInt8]] = [[1], [1, 0], [1, 0xFF], [1, 0xFF, 0xFF], [2], [0xFF], [0xFF, 0xFF, 1]]
        try await store.commitAndWait(keys.map { .put(space, key: $0, value: []) })
        #expect(try store.keys(.prefix([1], in: space)) == [[1], [1, 0], [1, 0xFF], [1, 0xFF, 0xFF]])
        #expect(try store.keys(.prefix([1, 0xFF], in: space)) == [[1, 0xFF], [1, 0xFF, 0xFF]])
        #expect(try store.keys(.prefix([0xFF], in: space)) == [[0xFF], [0xFF, 0xFF, 1]])
        #expect(try store.keys(.prefix([], in: space)).count == 7)
    }

    @Test func changesOfOneCommitTakeEffectInOrder() async throws {
        try await store.commitAndWait([
            .put(space, key: [1], value: [1]), .put(space, key: [1], value: [2]), .put(space, key: [2], value: []),
            .delete(space, key: [2]), .put(otherSpace, key: [1], value: [3]), .delete(otherSpace, key: [9]),
        ])
        #expect(try store.read(RowRange(space: space)) == [Row(space: space, key: [1], value: [2])])
        try await store.commitAndWait([.deleteAll(.prefix([], in: space)), .put(space, key: [5], value: [5])])
        #expect(try store.keys(RowRange(space: space)) == [[5]])
        #expect(try store.keys(RowRange(space: otherSpace)) == [[1]])
    }

    @Test func fetchesSeeEveryCommitSubmittedBeforeThem() async throws {
        let rows = await withCheckedContinuation { continuation in
            store.commit([.put(space, key: [1], value: [1])]) { _ in }
            store.fetch(RowRange(space: space)) { continuation.resume(returning: $0) }
        }
        #expect(try rows.get().count == 1)
    }

    @Test("Rows in memory answer every range as the store does") func inMemory() async throws {
        let memory = MemoryStore()
        var random = SeededGenerator(seed: 7)
        func key() -> [UInt8] {
            (0..<Int.random(in: 0...3, using: &random)).map { _ in [0, 1, 0xFF].randomElement(using: &random) ?? 0 }
        }
        func range() -> RowRange {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: return .key(key(), in: space)
            case 1: return .prefix(key(), in: space)
            default:
                return RowRange(
                    space: space, from: key(), to: Bool.random(using: &random) ? key() : nil,
                    limit: Bool.random(using: &random) ? Int.random(in: 0...4, using: &random) : nil)
            }
        }
        for number in 0..<200 as Range<UInt8> {
            let changes = (0..<4).map { _ -> RowChange in
                switch Int.random(in: 0..<8, using: &random) {
                case 0: .deleteAll(range())
                case 1...2: .delete(space, key: key())
                default: .put(space, key: key(), value: [number])
                }
            }
            try await store.commitAndWait(changes)
            memory.commit(changes, room: .ordinary) { _ in }
            for range in (0..<10).map({ _ in range() }) { #expect(memory.read(range) == (try store.read(range))) }
        }
    }
}
