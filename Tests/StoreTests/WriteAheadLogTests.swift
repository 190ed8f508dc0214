// The log is made longer before commits need it, and what lies behind the last commit is never read as one.

import TandemStore
import TandemTestSupport
import Testing

@Suite struct WriteAheadLogTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path("store") }

    @Test func mostCommitsDoNotMakeTheLogLonger() async throws {
        let store = try Store(path: path)
        var sizes: Set<Int> = []
        for number in UInt8(0)..<100 {
            try await store.commitAndWait([.put(space, key: [number], value: [number])]).get()
            sizes.insert(contents(of: path + "-wal").count)
        }
        #expect(sizes.count <= 5, "100 commits of a page or two need about 600 KiB, which is reached by doubling")
        store.close()
    }

    @Test func aLogThatWasMovedIsWrittenOverAndKeepsItsSize() async throws {
        let store = try Store(path: path)
        let value = [UInt8](repeating: 7, count: 1 << 20)
        var sizes: [Int] = []
        for number in 0..<36 {
            try await store.commitAndWait([.put(space, key: [UInt8(number % 2)], value: value)]).get()
            sizes.append(contents(of: path + "-wal").count)
        }
        #expect(Set(sizes.suffix(18)).count == 1, "from its second turn on it has all that it needs")
        #expect(sizes.allSatisfy { $0 < 12 << 20 })
        store.close()
    }

    @Test func whatLiesBehindTheLastCommitIsNothing() async throws {
        let store = try Store(path: path)
        try await store.commitAndWait([.put(space, key: [1], value: [1])]).get()
        // As a process that is killed leaves them.
        let copy = directory.path("copy")
        write(contents(of: path), to: copy)
        write(contents(of: path + "-wal"), to: copy + "-wal")
        let zeros = contents(of: copy + "-wal").suffix(4096)
        #expect(zeros.count == 4096 && zeros.allSatisfy { $0 == 0 })
        let opened = try Store(path: copy, opening: .mustExist)
        #expect(try opened.read(RowRange(space: space)).map(\.value) == [[1]])
        opened.close()
        store.close()
    }
}
