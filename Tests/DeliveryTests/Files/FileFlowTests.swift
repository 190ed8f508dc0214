// The way of a file's bytes: it arrives whole, each byte written once, and after a cut no more comes twice than was
// under way.

import TandemBase
import TandemDelivery
import TandemWire
import Testing

@Suite struct FileFlowTests {
    @Test(
        "FIL-6: a file arrives whole, and every byte is sent once",
        arguments: [0, 1, 65_535, 65_536, 65_537, 3_000_000] as [Int64])
    func whole(_ size: Int64) throws {
        var flow = try FileFlow(size: size, seed: 1)
        flow.open()
        while flow.step() {}
        #expect(flow.isVerified)
        #expect(flow.file == size)
        #expect(flow.sentBytes == size)
    }

    @Test("FIL-7, LIM-29: no more than the window is under way", arguments: 0..<5)
    func window(_ seed: Int) throws {
        var flow = try FileFlow(size: 5_000_000, seed: UInt64(seed))
        flow.open()
        while flow.step() { #expect(flow.sentBytes - flow.file <= 262_144) }
        #expect(flow.isVerified)
    }

    @Test("FIL-8: after a cut at any point no more than the window and a chunk comes twice", arguments: 0..<20)
    func cuts(_ place: Int) throws {
        let size: Int64 = 4 << 20
        var flow = try FileFlow(size: size, seed: UInt64(place))
        flow.open()
        var isCut = false
        while !flow.isVerified {
            let isMoving = flow.step()
            if !isCut, flow.file >= size / 20 * Int64(place) {
                isCut = true
                if place % 2 == 0 { flow.crash() } else { flow.cut() }
                flow.open()
            } else if !isMoving {
                Issue.record("stuck at \(flow.file)")
                return
            }
        }
        #expect(isCut)
        #expect(flow.file == size)
        #expect(flow.sentBytes <= size + 262_144 + 65_536)
    }

    @Test("FIL-9, LIM-31: a missing chunk is asked for once, and again after the silence")
    func missingChunk() {
        let (start, chunk) = (reading(0).monotonic, 65_536)
        var receiver = FileReceiver(size: 10 << 20, written: 0, at: start)
        #expect(receiver.first == .fetch(offset: 0, isRestart: true))
        #expect(receiver.chunk(at: 65_536, count: chunk, at: start) == .nothing, "the first fetch is unanswered")
        #expect(receiver.chunk(at: 0, count: chunk, at: start) == .write)
        #expect(receiver.wrote(chunk, at: start) == .fetch(offset: 65_536, isRestart: false))
        let restart = FileReceiver.Step.fetch(offset: 65_536, isRestart: true)
        #expect(receiver.chunk(at: 131_072, count: chunk, at: start) == restart)
        #expect(receiver.chunk(at: 196_608, count: chunk, at: start) == .nothing)
        #expect(receiver.timeAdvanced(at: reading(29).monotonic) == .nothing)
        #expect(receiver.timeAdvanced(at: reading(30).monotonic) == restart)
        #expect(receiver.chunk(at: 65_536, count: chunk, at: reading(30).monotonic) == .write)
        #expect(
            receiver.chunk(at: 196_608, count: chunk, at: reading(30).monotonic)
                == .fetch(offset: 131_072, isRestart: true))
    }

    @Test("FIL-9, LIM-28, LIM-31: a chunk that is empty, too long or beyond the file is dropped, and silence heals it")
    func unfitChunks() {
        let (start, chunk) = (reading(0).monotonic, 65_536)
        var receiver = FileReceiver(size: 100_000, written: 0, at: start)
        #expect(receiver.chunk(at: 0, count: 0, at: start) == .nothing)
        #expect(receiver.chunk(at: 0, count: chunk + 1, at: start) == .nothing)
        #expect(receiver.chunk(at: 0, count: chunk, at: start) == .write)
        #expect(receiver.wrote(chunk, at: start) == .fetch(offset: 65_536, isRestart: false))
        #expect(receiver.chunk(at: 65_536, count: 34_465, at: start) == .nothing, "one byte beyond the end")
        #expect(receiver.timeAdvanced(at: reading(30).monotonic) == .fetch(offset: 65_536, isRestart: true))
        #expect(receiver.chunk(at: 65_536, count: 34_464, at: reading(30).monotonic) == .write)
        receiver.linkClosed()
        #expect(receiver.chunk(at: 0, count: chunk, at: reading(31).monotonic) == .nothing, "no fetch on this link yet")
    }

    @Test("FIL-9: lost, repeated and reordered frames cost time and no byte", arguments: 0..<40)
    func faults(_ seed: Int) throws {
        var flow = try FileFlow(size: 2_000_003, seed: UInt64(seed))
        flow.faults = .init(loss: seed % 4 * 4, repetition: seed % 3 * 10, reordering: seed % 2 == 1)
        flow.open()
        var turns = 0
        while !flow.isVerified, turns < 100_000 {
            turns += 1
            if Int.random(in: 0..<300, using: &flow.generator) == 0 {
                flow.cut()
                flow.open()
            }
            if !flow.step() { flow.wait() }
        }
        #expect(flow.isVerified)
        #expect(flow.file == 2_000_003)
    }
}

@Suite final class FileSenderTests {
    private var sender = FileSender()

    private func key(_ number: UInt8) throws -> FileKey { FileKey(try queueKey(), identifier(number)) }

    private func requests(
        _ number: UInt8, from offset: Int64, size: Int64 = 1 << 30, isRestart: Bool = true
    ) throws -> Bool {
        sender.requested(try key(number), size: size, from: offset, isRestart: isRestart)
    }

    private func allParts() -> [FileSender.Part] {
        var parts: [FileSender.Part] = []
        while let part = sender.nextPart() { parts.append(part) }
        return parts
    }

    private func mayBeSent(_ part: FileSender.Part) -> Bool { sender.read(part) }

    @Test("FIL-7, LIM-29: files take turns and share the link's window")
    func turns() throws {
        for number in UInt8(1)...4 { #expect(try requests(number, from: 0)) }
        let parts = allParts()
        #expect(parts.reduce(0) { $0 + $1.count } == 524_288)
        #expect(try parts.prefix(4).map(\.file) == [key(1), key(2), key(3), key(4)])
        for part in parts { #expect(mayBeSent(part)) }
        #expect(allParts().isEmpty)
        #expect(try requests(3, from: 65_536, isRestart: false))
        #expect(try allParts().map(\.file) == [key(1)])
        sender.ended(try key(2))
        #expect(allParts().count == 2)
    }

    @Test("FIL-7: a peer that keeps starting over queues no more reads than a window has")
    func restarts() throws {
        var reads = 0
        for _ in 0..<1_000 {
            #expect(try requests(1, from: 0))
            reads += allParts().count
        }
        #expect(reads == 4)
    }

    @Test("FIL-6: an offset past the end is refused, and what was read before the file ended is not sent")
    func bounds() throws {
        #expect(try !requests(1, from: 11, size: 10))
        #expect(try !requests(1, from: -1, size: 10))
        #expect(try requests(1, from: 0, size: 10))
        let parts = allParts()
        let part = try #require(parts.first)
        #expect(part.count == 10)
        sender.ended(try key(1))
        #expect(!mayBeSent(part))
        #expect(allParts().isEmpty)
    }

    @Test("FIL-10: progress is told ten times a second at most, and at the end always")
    func progress() {
        var pace = ProgressPace(size: 1_000)
        let told = (0...1_000).filter { offset in
            pace.isDue(Int64(offset), at: MonotonicTime(nanoseconds: UInt64(offset) * 1_000_000))
        }
        #expect(told.count == 11)
        #expect(told.last == 1_000)
        let again = pace.isDue(1_000, at: MonotonicTime(nanoseconds: 10_000_000_000))
        #expect(!again)
    }
}

/// A sender without manners: what it sends beyond what was requested is never kept.
@Suite struct FileReceiverTests {
    @Test("FIL-7, LIM-29: however many holes it is shown, it holds no more than two windows that are not written")
    func holes() {
        let now = MonotonicTime(nanoseconds: 1)
        var receiver = FileReceiver(size: 1 << 30, written: 0, at: now)
        var offset: Int64 = 0
        for _ in 0..<200 {
            if receiver.chunk(at: offset, count: 65_536, at: now) == .write { offset += 65_536 }
            _ = receiver.chunk(at: offset + 131_072, count: 65_536, at: now)
        }
        #expect(offset == 2 * 262_144)
        // Once that is written it goes on.
        for _ in 0..<8 { _ = receiver.wrote(65_536, at: now) }
        #expect(receiver.chunk(at: offset, count: 65_536, at: now) == .write)
    }
}
