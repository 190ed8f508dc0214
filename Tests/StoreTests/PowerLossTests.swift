// The power fails between any two operations on the store's files: what was acknowledged is there when it is opened
// again, and every commit is there whole or not at all.

import Synchronization
import TandemStore
import TandemTestSupport
import Testing

@Suite struct PowerLossTests {
    private let directory = TemporaryDirectory()

    /// A trace of 2,000 commits: how many operations had been asked for when each was acknowledged.
    private struct Trace {
        var start: [UInt8] = []
        var operations: [FileOperation] = []
        var acknowledged: [Int] = []
    }

    private static let commits = 2000
    private static let rows: UInt64 = 50

    /// Each commit writes the same number into three rows and one of a ring, and removes another of the ring.
    private func changes(_ number: UInt64, _ generator: inout SeededGenerator) -> [RowChange] {
        let value = bytes(number)
        let long =
            value
            + Array(repeating: UInt8(truncatingIfNeeded: number), count: Int.random(in: 0...3000, using: &generator))
        return (0..<3).map { .put(space, key: [$0], value: value) } + [
            .put(otherSpace, key: bytes(number % Self.rows), value: long),
            .delete(otherSpace, key: bytes((number + 7) % Self.rows)),
        ]
    }

    private func bytes(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }

    private func trace(seed: UInt64) async throws -> Trace {
        var generator = SeededGenerator(seed: seed)
        let path = directory.path("traced")
        try Store(path: path).close()
        var trace = Trace(start: contents(of: path))
        let files = FaultyFileSystem()
        let store = try Store(path: path, fileSystem: files.name)
        files.record()
        let counts = Mutex<[Int]>([])
        var number: UInt64 = 0
        while number < Self.commits {
            // Groups, as a busy daemon makes them, and single commits.
            let group = Int.random(in: 1...6, using: &generator)
            for _ in 0..<group {
                number += 1
                store.commit(changes(number, &generator)) { result in
                    if case .success = result { counts.withLock { $0.append(files.operationCount) } }
                }
            }
            try await store.commitAndWait([])
        }
        trace.operations = files.operations
        trace.acknowledged = counts.withLock { $0 }
        store.close()
        return trace
    }

    @Test(arguments: [UInt64(1)]) func nothingAcknowledgedIsLostWhereverThePowerFails(seed: UInt64) async throws {
        let trace = try await trace(seed: seed)
        #expect(trace.acknowledged.count >= Self.commits)
        var generator = SeededGenerator(seed: seed + 100)
        // Points at which the store's own file is written are few and the most delicate: more of them are taken. SQLite
        // writes its log in many pieces.
        let ofLog = Repetition.times(64, long: 8)
        let points = trace.operations.indices.filter { index in
            if Repetition.isExhaustive { return true }
            if case .write(false, _, _) = trace.operations[index] {
                return Int.random(in: 0..<4, using: &generator) == 0
            }
            return Int.random(in: 0..<ofLog, using: &generator) == 0
        }
        var image = DiskImage(file: trace.start)
        var done = 0
        for point in points {
            while done < point {
                image.run(trace.operations[done])
                done += 1
            }
            let survival = DiskImage.Survival.allCases.randomElement(using: &generator) ?? .some
            let (file, log) = image.afterPowerLoss(survival, using: &generator)
            try check(file, log, acknowledged: trace.acknowledged.count { $0 <= point }, point)
        }
        #expect(points.count > 100)
        print("power loss: \(points.count) of \(trace.operations.count) operations on a store, seed \(seed)")
    }

    private func check(_ file: [UInt8], _ log: [UInt8], acknowledged: Int, _ point: Int) throws {
        lay((file, log))
        let files = FaultyFileSystem.quick
        let store = try Store(path: directory.path("image"), opening: .mustExist, fileSystem: files.name)
        defer { store.close() }
        let numbers = try store.read(RowRange(space: space)).map { number($0.value) }
        let last = numbers.first ?? 0
        #expect(Set(numbers).count <= 1 && (numbers.count == 3 || last == 0), "a commit is whole, at \(point)")
        #expect(last >= acknowledged, "acknowledged \(acknowledged), found \(last), at \(point)")
        // The ring holds the numbers of the last commits and nothing else.
        for row in try store.read(RowRange(space: otherSpace)) {
            let written = number(row.value)
            #expect(written <= last && written % Self.rows == number(row.key) && written + Self.rows > last)
        }
    }

    /// The daemon was killed after a write and before its sync, or the sync had failed. The next daemon may acknowledge
    /// the rows that it reads, so the power may fail as soon as it has read them.
    @Test("DEL-29: what a start reads is durable before it is read", arguments: [false, true])
    func whatAKilledProcessLeftIsDurableOnceItIsRead(hasSyncFailed: Bool) async throws {
        let trace = try await trace(seed: 3)
        var generator = SeededGenerator(seed: 4)
        var image = DiskImage(file: trace.start)
        var checked = 0
        for operation in trace.operations {
            image.run(operation)
            guard image.isLogPending, Int.random(in: 0..<200, using: &generator) == 0 else { continue }
            var next = image
            lay(image.cached)
            if hasSyncFailed { next.failLogSync() }
            let files = FaultyFileSystem()
            files.record()
            let store = try Store(path: directory.path("image"), opening: .mustExist, fileSystem: files.name)
            let rows = try store.read(RowRange(space: space)) + store.read(RowRange(space: otherSpace))
            for operation in files.operations { next.run(operation) }
            store.close()
            lay(next.afterPowerLoss(.nothing, using: &generator))
            let last = try Store(path: directory.path("image"), fileSystem: FaultyFileSystem.quick.name)
            #expect(try last.read(RowRange(space: space)) + last.read(RowRange(space: otherSpace)) == rows)
            last.close()
            checked += 1
        }
        #expect(checked > 30)
    }

    private func lay(_ files: (file: [UInt8], log: [UInt8])) {
        layOut(files.file, log: files.log.isEmpty ? nil : files.log, at: directory.path("image"))
    }

    private func number(_ bytes: [UInt8]) -> UInt64 { bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

    @Test func everyTruncationAndFlippedBitIsFoundOrChangesNothing() async throws {
        var generator = SeededGenerator(seed: 9)
        let path = directory.path("whole")
        let store = try Store(path: path)
        for number in 0..<60 as Range<UInt64> { try await store.commitAndWait(changes(number, &generator)) }
        store.close()
        let whole = contents(of: path)
        let rows = try Store(path: path).read(RowRange(space: otherSpace))
        var found = 0
        for round in 0..<400 {
            var damaged = whole
            if round.isMultiple(of: 4) {
                damaged = Array(whole.prefix(Int.random(in: 0..<whole.count, using: &generator)))
            } else {
                damaged[Int.random(in: whole.indices, using: &generator)] ^=
                    1 << UInt8.random(in: 0..<8, using: &generator)
            }
            let copy = directory.path("damaged")
            layOut(damaged, log: nil, at: copy)
            do {
                let store = try Store(path: copy, opening: .mustExist, fileSystem: FaultyFileSystem.quick.name)
                defer { store.close() }
                #expect(try store.read(RowRange(space: otherSpace)) == rows, "round \(round)")
            } catch {
                found += 1
            }
        }
        #expect(found > 200, "most damage is found; the rest is in bytes that mean nothing")
    }
}

extension FaultyFileSystem {
    /// Waits for no disk.
    static let quick: FaultyFileSystem = {
        let files = FaultyFileSystem()
        files.forgetSyncs()
        return files
    }()
}
