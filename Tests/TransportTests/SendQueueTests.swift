// The queue of a stream against a plain list of bytes: whatever is appended, written in short writes and copied out of
// its blocks meanwhile, the socket gets the bytes in their order, once.

import Glibc
import TandemBase
import TandemReactor
import TandemTestSupport
import Testing

@testable import TandemTransport

@Suite struct SendQueueTests {
    private let loop: EventLoop

    init() throws { loop = try EventLoop() }

    /// Cuts blocks as a loop does: pieces that mostly follow each other.
    private struct Source {
        var generator: SeededGenerator
        private var block = ByteBlock(capacity: 200_000)
        private(set) var blocks: [ByteBlock] = []

        init(seed: UInt64) {
            generator = SeededGenerator(seed: seed)
            blocks = [block]
        }

        mutating func piece() -> ByteSlice {
            if Int.random(in: 0..<4, using: &generator) == 0 || block.room < 20_000 {
                block = ByteBlock(capacity: 200_000)
                blocks.append(block)
            }
            return block.append(ByteSlice(copying: generator.bytes(Int.random(in: 0...9_000, using: &generator))))
        }
    }

    /// Two joined sockets with little room between them.
    private static func narrowPair() throws -> DescriptorPair {
        let pair = try DescriptorPair.socketPair()
        var room: CInt = 8192
        setsockopt(pair.first.raw, SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<CInt>.size))
        return pair
    }

    private func received(from descriptor: CInt) -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
            guard count > 0 else { return all }
            all += buffer[..<count]
        }
    }

    @Test(arguments: Repetition.seeds(12, long: 40))
    func whatIsQueuedLeavesInOrderAndOnce(seed: UInt64) throws {
        let pair = try Self.narrowPair()
        var source = Source(seed: seed)
        var queue = SendQueue()
        var (expected, sent): ([UInt8], [UInt8]) = ([], [])
        for _ in 0..<120 {
            switch Int.random(in: 0..<8, using: &source.generator) {
            case 0..<4:
                let piece = source.piece()
                queue.append(piece, loop)
                expected += piece.copied()
            case 4: if let block = source.blocks.randomElement(using: &source.generator) { queue.leave(block) }
            case 5: sent += received(from: pair.second.raw)
            case 6: queue.leaveWrittenBlock()
            default: _ = try queue.write(to: pair.first.raw, loop)
            }
            #expect(queue.byteCount <= expected.count - sent.count)
        }
        while !queue.isEmpty {
            #expect(try queue.write(to: pair.first.raw, loop) != .ended)
            sent += received(from: pair.second.raw)
        }
        #expect(sent + received(from: pair.second.raw) == expected)
    }

    @Test func slicesThatFollowEachOtherAreOnePiece() {
        let block = ByteBlock(capacity: 100)
        var queue = SendQueue()
        for _ in 0..<10 { queue.append(block.append(ByteSlice(copying: [1, 2, 3])), loop) }
        var told = 0
        queue.forEachBlock { _ in told += 1 }
        #expect(queue.byteCount == 30 && told == 1)
    }

    @Test("LIM-48: the rest of a frame that is written for the most part does not hold the frame's memory")
    func leavesWrittenBlock() throws {
        let pair = try Self.narrowPair()
        let frame = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        var queue = SendQueue()
        weak var block: ByteBlock?
        do {
            let slice = ByteSlice(copying: frame)
            block = slice.block
            queue.append(slice, loop)
        }
        var sent: [UInt8] = []
        while queue.byteCount > 50_000 {
            _ = try queue.write(to: pair.first.raw, loop)
            sent += received(from: pair.second.raw)
        }
        #expect(block != nil)
        queue.leaveWrittenBlock()
        #expect(block == nil && queue.byteCount <= 50_000)
        while !queue.isEmpty {
            _ = try queue.write(to: pair.first.raw, loop)
            sent += received(from: pair.second.raw)
        }
        #expect(sent + received(from: pair.second.raw) == frame)
    }

    @Test func aBlockThatWasLeftIsHeldNoMore() throws {
        var queue = SendQueue()
        weak var block: ByteBlock?
        for pieces in 1...3 {
            let left = ByteBlock(capacity: 100)
            block = left
            for _ in 0..<pieces {
                queue.append(left.append(ByteSlice(copying: [1, 2, 3])), loop)
                _ = left.append(ByteSlice(copying: [0]))
            }
            queue.leave(left)
        }
        #expect(block == nil)
        #expect(queue.byteCount == 18)
    }
}
