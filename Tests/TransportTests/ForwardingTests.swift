// Frames from one socket to another, as a relay passes them on: the same bytes in the same memory, whatever their size
// and however they come, and a receiver that does not read costs what it is sent and no more.

import Glibc
import TandemBase
import TandemReactor
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct ForwardingTests {
    private let loop: EventLoop
    private let source: RawPeer
    private let target: RawPeer
    private let incoming: FrameChannel
    private let outgoing: FrameChannel
    private let recorder = ChannelRecorder()
    private let silent = ChannelRecorder()

    init() throws {
        loop = try EventLoop()
        let (near, source) = try RawPeer.joined(to: loop)
        let (far, target) = try RawPeer.joined(to: loop)
        self.source = source
        self.target = target
        incoming = FrameChannel(stream: near)
        outgoing = FrameChannel(stream: far)
        incoming.delegate = recorder
        outgoing.delegate = silent
        recorder.onFrame = { [outgoing] _, frame in outgoing.send(frame) }
        outgoing.start()
        incoming.start()
    }

    /// Sends the bytes in pieces of these sizes and gives back what arrives at the other end.
    private func pass(_ wire: [UInt8], pieces: () -> Int) throws -> [UInt8] {
        var rest = wire[...]
        var received: [UInt8] = []
        while received.count < wire.count, !recorder.isClosed {
            let piece = Array(rest.prefix(pieces()))
            if !piece.isEmpty { rest = rest.dropFirst(try source.send(piece)) }
            loop.runOnce()
            received += try target.receiveAvailable()
        }
        return received
    }

    @Test(arguments: Repetition.seeds(6, long: 12))
    func `FRM-12: frames of any size, cut anywhere, leave as the bytes that came`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let largest = seed.isMultiple(of: 3) ? Limits.frame : 70_000
        let wire = (0..<12).flatMap { _ in
            Bytes.frame(generator.bytes(Int.random(in: 1...largest, using: &generator)))
        }
        let received = try pass(wire) { Int.random(in: 1...100_000, using: &generator) }
        #expect(received == wire)
    }

    @Test func everySplitOfALargeFrameNearItsBordersGivesItsBytes() throws {
        let wire = Bytes.frame((0..<20_000).map { UInt8(truncatingIfNeeded: $0) }) + Bytes.frame([1, 2, 3])
        for split in Array(1...8) + [255, 256, 300, 2499, 2501, 10_000, 20_003, 20_004, 20_005, 20_008] {
            var sizes = [split, wire.count - split]
            #expect(try pass(wire) { sizes.isEmpty ? 0 : sizes.removeFirst() } == wire, "split at \(split)")
        }
    }

    @Test func framesOfOneReadLieInOneBlockAndLeaveInOneWrite() throws {
        let wire = (0..<200).flatMap { _ in Bytes.frame([UInt8](repeating: 7, count: 300)) }
        try source.send(wire)
        let counts = SystemCallCounter.counting { loop.runOnce() }
        #expect(counts == SystemCallCounts(reads: 1, writes: 1, waits: 1))
        #expect(Set(recorder.frames.map { ObjectIdentifier($0.bytes.block) }).count == 1)
        #expect(try target.receiveAvailable() == wire)
    }

    @Test func aLargeFrameInManyPiecesStaysWhereItBegan() throws {
        let wire = Bytes.frame([UInt8](repeating: 7, count: 65_536))
        var sizes = [20_000] + [Int](repeating: 5_000, count: 10)
        #expect(try pass(wire) { sizes.isEmpty ? 0 : sizes.removeFirst() } == wire)
        let block = try #require(recorder.frames.first).bytes.block
        #expect(block.capacity > 200_000, "not a block of its own: nothing was moved")
    }

    /// In a process of its own, because the memory of all tests is counted together. Not under the thread sanitizer:
    /// its shadow of what is used counts, too.
    @Test(.enabled(if: getenv("TSAN_OPTIONS") == nil))
    func `LIM-6: a receiver that never reads costs its quota and no more`() async {
        await #expect(processExitsWith: .exitCode(42)) {
            let loop = try EventLoop()
            let quota = 2 << 20
            let (near, source) = try RawPeer.joined(to: loop)
            let (far, target) = try RawPeer.joined(to: loop)
            let incoming = FrameChannel(stream: near)
            let outgoing = FrameChannel(
                stream: far, options: FrameChannelOptions(queueQuota: quota))
            let (forward, end) = (Forwarder(to: outgoing), ChannelRecorder())
            incoming.delegate = forward
            outgoing.delegate = end
            outgoing.start()
            incoming.start()
            let frames = (0..<200).flatMap { _ in Bytes.frame([UInt8](repeating: 7, count: 100)) }
            let before = try #require(ResidentMemory.bytes)
            var most = before
            while !end.isClosed {
                _ = try source.send(frames)
                loop.runOnce()
                most = max(most, ResidentMemory.bytes ?? .max)
            }
            #expect(end.closeReasons == [.slowConsumer])
            // The loop's own blocks may have been made meanwhile; small parts cost some bytes each.
            let blocks = 4 * (ReadBlocks.readSize + ReadBlocks.overhang)
            #expect(most - before < quota + quota / 8 + blocks)
            withExtendedLifetime((target, incoming, source)) {}
            exit(42)
        }
    }

    /// Keeps nothing of what it passes on.
    private final class Forwarder: FrameChannelDelegate {
        private let target: FrameChannel

        init(to target: FrameChannel) { self.target = target }

        func channelDidOpen(_ channel: FrameChannel) {}
        func channel(_ channel: FrameChannel, didReceive frame: Frame) { target.send(frame) }
        func channelDidDrain(_ channel: FrameChannel) {}
        func channel(_ channel: FrameChannel, didCloseWith reason: CloseReason) {}
    }
}
