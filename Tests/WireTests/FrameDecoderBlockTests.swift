// Where frames lie: cut in the block that they were read into, ended in place, and copied only where they must be. The
// block stands for one that many connections read into.

import TandemBase
import TandemTestSupport
import TandemWire
import Testing

@Suite struct FrameDecoderBlockTests {
    private let block = ByteBlock(capacity: 100_000)
    private let payload = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }

    /// A slice of these bytes at the end of the block, as a read appends it.
    private func read(_ bytes: some Collection<UInt8>) -> ByteSlice { block.append(ByteSlice(copying: Array(bytes))) }

    private func decoder(holding bytes: some Collection<UInt8>) -> FrameDecoder {
        var decoder = FrameDecoder(limit: Limits.frame)
        decoder.append(read(bytes))
        return decoder
    }

    @Test func wholeFramesAreSlicesOfTheBlock() throws {
        var decoder = decoder(holding: Bytes.frame([1]) + Bytes.frame([2, 3]))
        let firstOut = try decoder.next()
        let first = try #require(firstOut)
        let secondOut = try decoder.next()
        let second = try #require(secondOut)
        #expect(first.bytes.block === block && first.bytes.isFollowed(by: second.bytes))
        #expect(decoder.block == nil, "an empty decoder holds nothing")
    }

    @Test func anUnfinishedFrameEndsInPlaceAlthoughOthersWereReadMeanwhile() throws {
        let bytes = Bytes.frame(payload)
        var decoder = decoder(holding: bytes[..<1000])
        #expect(try decoder.next() == nil)
        decoder.reserve()
        _ = read([9, 9, 9])
        let after = decoder.room(before: block)
        let room = try #require(after)
        #expect(room.count == bytes.count - 1000 && room.block === block)
        block.copy(ByteSlice(copying: Array(bytes[1000...])), to: room.start)
        decoder.append(room)
        let out = try decoder.next()
        let frame = try #require(out)
        #expect(frame.payload.copied() == payload && frame.bytes.block === block)
    }

    @Test func aSmallRestMovesToWhereTheNextReadGoes() throws {
        let bytes = Bytes.frame(payload)
        var decoder = decoder(holding: bytes[..<100])
        decoder.reserve()
        let next = ByteBlock(capacity: 100_000)
        #expect(decoder.room(before: next) == nil)
        #expect(decoder.block === next)
        decoder.append(next.append(ByteSlice(copying: Array(bytes[100...]))))
        #expect(try decoder.next()?.payload.copied() == payload)
    }

    @Test func aFrameThatDoesNotFitTheBlockGetsItsOwn() throws {
        let small = ByteBlock(capacity: 2000)
        let bytes = Bytes.frame(payload)
        var decoder = FrameDecoder(limit: Limits.frame)
        decoder.append(small.append(ByteSlice(copying: Array(bytes[..<1500]))))
        decoder.reserve()
        let own = try #require(decoder.block)
        #expect(own !== small && own.capacity == bytes.count)
        let after = decoder.room(before: small)
        let room = try #require(after)
        own.copy(ByteSlice(copying: Array(bytes[1500...])), to: room.start)
        decoder.append(room)
        #expect(try decoder.next()?.payload.copied() == payload)
    }

    @Test(arguments: [300, 9000, 60_000, 65_540])
    func `FRM-3: no more than eight times what came is kept`(received: Int) throws {
        let bytes = Bytes.bigEndian(UInt32(Limits.frame)) + [UInt8](repeating: 1, count: received - 4)
        var decoder = FrameDecoder(limit: Limits.frame)
        decoder.append(ByteSlice(copying: bytes))
        #expect(try decoder.next() == nil)
        decoder.reserve()
        #expect(try #require(decoder.block).capacity <= 8 * received)
    }

    @Test(arguments: [1, 3, 4, 100, 3000])
    func leavingABlockFreesItAndKeepsTheBytes(count: Int) throws {
        let bytes = Bytes.frame(payload)
        weak var left: ByteBlock?
        var decoder = FrameDecoder(limit: Limits.frame)
        do {
            let shared = ByteBlock(capacity: 100_000)
            left = shared
            decoder.append(shared.append(ByteSlice(copying: Array(bytes[..<count]))))
            decoder.reserve()
            decoder.leave(shared)
        }
        #expect(left == nil)
        #expect(decoder.bufferedCount == count)
        _ = decoder.room(before: block)
        decoder.append(ByteSlice(copying: Array(bytes[count...])))
        #expect(try decoder.next()?.payload.copied() == payload)
    }

    @Test(arguments: 0..<20)
    func anyPiecesInAnyPlacesGiveTheSameFrames(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let payloads = (0..<20).map { _ in generator.bytes(Int.random(in: 1...9000, using: &generator)) }
        var wire = payloads.flatMap { Bytes.frame($0) }[...]
        var decoder = FrameDecoder(limit: Limits.frame)
        var shared = ByteBlock(capacity: 40_000)
        var seen: [[UInt8]] = []
        while !wire.isEmpty {
            if shared.room < 12_000 { (decoder, shared) = Self.moved(decoder, shared, generator.next() % 2 == 0) }
            let piece = wire.prefix(Int.random(in: 1...3000, using: &generator))
            wire = wire.dropFirst(piece.count)
            let room = decoder.room(before: shared)
            let placed = piece.prefix(room?.count ?? 0)
            if let room {
                room.block.copy(ByteSlice(copying: Array(placed)), to: room.start)
                decoder.append(room.prefix(placed.count))
                while let frame = try decoder.next() { seen.append(frame.payload.copied()) }
            }
            decoder.append(shared.append(ByteSlice(copying: Array(piece.dropFirst(placed.count)))))
            while let frame = try decoder.next() { seen.append(frame.payload.copied()) }
            decoder.reserve()
        }
        #expect(seen == payloads)
    }

    private static func moved(
        _ decoder: FrameDecoder, _ block: ByteBlock, _ mustLeave: Bool
    ) -> (FrameDecoder, ByteBlock) {
        var decoder = decoder
        if mustLeave { decoder.leave(block) }
        return (decoder, ByteBlock(capacity: 40_000))
    }
}
