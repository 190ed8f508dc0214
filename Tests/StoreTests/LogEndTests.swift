// A log that a crash left behind is read whole or refused: SQLite alone would drop acknowledged commits at a flipped
// bit in silence. Only a possible commit that was cut off is dropped, and the store reports it.

import TandemStore
import TandemTestSupport
import Testing

@Suite struct LogEndTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path("store") }

    private static let commits: UInt8 = 20

    /// The files of a store as a crash leaves them after commits of one row each, and the log's size before the last of
    /// them.
    private func crashed() async throws -> (file: [UInt8], log: [UInt8], last: Int) {
        let store = try Store(path: path)
        defer { store.close() }
        var last = 0
        for number in 0..<Self.commits {
            last = usedLog(of: path).count
            let value = [UInt8](repeating: number, count: Int(number) * 200)
            try await store.put([number], value)
        }
        return (contents(of: path), usedLog(of: path), last)
    }

    /// Lays the files out and opens them.
    private func open(_ file: [UInt8], _ log: [UInt8]?) throws(StoreError) -> (rows: Int, isCutOff: Bool) {
        let copy = directory.path("copy")
        layOut(file, log: log, at: copy)
        do throws(StoreError) {
            let store = try Store(path: copy, opening: .mustExist)
            defer { store.close() }
            return (try store.read(RowRange(space: space)).count, store.statistics.beganCutOff)
        } catch {
            #expect(
                contents(of: copy) == file && contents(of: copy + "-wal") == log ?? [],
                "a refused store is left as it is")
            throw error
        }
    }

    /// Why the files are refused; nil if they are not.
    private func refusal(_ file: [UInt8], _ log: [UInt8]?) -> StoreError? {
        do throws(StoreError) {
            _ = try open(file, log)
            return nil
        } catch {
            return error
        }
    }

    /// Expects that the log is refused as damaged, by its name.
    private func expectDamage(_ file: [UInt8], _ log: [UInt8], _ change: String) {
        let refusal = refusal(file, log)
        guard case .corrupt(let path, _)? = refusal, path.hasSuffix("copy-wal") else {
            Issue.record("\(change): \(refusal.map { "\($0)" } ?? "opened")")
            return
        }
    }

    @Test func aLogThatACrashLeftIsReadWhole() async throws {
        let (file, log, _) = try await crashed()
        let (rows, isCutOff) = try open(file, log)
        #expect(rows == Int(Self.commits) && !isCutOff)
    }

    @Test func aFlippedBitBeforeTheLastCommitIsAlwaysRefused() async throws {
        let (file, log, last) = try await crashed()
        var generator = SeededGenerator(seed: 7)
        let offsets = Array(0..<56) + (0..<300).map { _ in Int.random(in: 56..<last, using: &generator) }
        for offset in offsets {
            var damaged = log
            damaged[offset] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            expectDamage(file, damaged, "byte \(offset)")
        }
    }

    @Test("DEL-30: a log whose beginning or whole is garbage is refused, and no beginning that was cut off")
    func garbage() async throws {
        let (file, log, _) = try await crashed()
        var generator = SeededGenerator(seed: 9)
        for count in [32, 100, 4_096, log.count] {
            let garbage = (0..<count).map { _ in UInt8.random(in: 1...255, using: &generator) }
            expectDamage(file, garbage + log[count...], "\(count) bytes")
        }
    }

    @Test("DEL-30: a header that was cut off before a page of its turn was written costs nothing")
    func tornHeader() async throws {
        let (file, log, _) = try await crashed()
        layOut(file, log: log, at: path)
        // This start moves the log into the file; the next commit would begin a new turn with a header.
        let store = try Store(path: path, opening: .mustExist)
        let (moved, old) = (contents(of: path), contents(of: path + "-wal"))
        store.close()
        let (rows, isCutOff) = try open(moved, [UInt8](repeating: 0xA5, count: 32) + old[32...])
        #expect(rows == Int(Self.commits) && isCutOff)
    }

    @Test func aLastCommitThatWasCutOffIsDroppedAndTold() async throws {
        let (file, log, last) = try await crashed()
        var generator = SeededGenerator(seed: 8)
        for _ in 0..<40 {
            let cut = last + 24 + Int.random(in: 0..<4_096, using: &generator)
            let torn = log[..<cut] + [UInt8](repeating: 0xA5, count: log.count - cut)
            let (rows, isCutOff) = try open(file, Array(torn))
            #expect(rows == Int(Self.commits) - 1 && isCutOff, "cut at \(cut) of \(log.count)")
        }
    }

    @Test func whatAnEarlierTurnOfTheLogLeftIsNeitherDamageNorCutOff() async throws {
        let fresh = directory.path("fresh")
        let store = try Store(path: fresh)
        for number: UInt8 in 0..<200 {
            let value = [UInt8](repeating: number, count: 30_000)
            try await store.put([number], value)
        }
        let (rows, isCutOff) = try open(contents(of: fresh), contents(of: fresh + "-wal"))
        store.close()
        #expect(rows == 200 && !isCutOff, "the log began again at 4 MiB")
    }

    // MARK: the log of a file

    @Test("DEL-30: a file whose log is gone is refused by name, and opens with all commits once the log is back")
    func missingLog() async throws {
        let (file, log, _) = try await crashed()
        let missing = StoreError.logMissing(path: directory.path("copy"))
        #expect(refusal(file, nil) == missing && refusal(file, []) == missing)
        #expect(refusal(file, Array(repeating: 0, count: 8192)) == missing, "zeros are no log")
        #expect(missing.description.contains("copy-wal is missing or empty"))
        #expect(try open(file, log).rows == Int(Self.commits))
    }

    @Test("DEL-30: a file is not opened with the log of another time")
    func logOfAnotherTime() async throws {
        let first = try await crashed()
        // The first store was closed; this one makes other logs.
        let store = try Store(path: path)
        for number: UInt8 in 0..<3 {
            try await store.commitAndWait([.put(otherSpace, key: [number], value: [1])])
        }
        let (file, log) = (contents(of: path), contents(of: path + "-wal"))
        store.close()
        let refused = StoreError.logOfAnotherTime(path: directory.path("copy"))
        #expect(refusal(file, first.log) == refused && refusal(first.file, log) == refused)
        #expect(refusal(file, log) == nil && refusal(first.file, first.log) == nil)
    }

    @Test("DEL-30: a store that was closed in order needs no log")
    func closedWithoutLog() async throws {
        _ = try await crashed()
        #expect(!directory.names.contains("store-wal"))
        #expect(refusal(contents(of: path), nil) == nil)
        #expect(refusal(contents(of: path), Array(repeating: 0, count: 8192)) == nil, "extended, and not begun")
    }
}
