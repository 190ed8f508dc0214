// Slices of shared blocks: cutting and joining move no byte, and what is given out never changes.

import TandemBase
import Testing

@Suite struct ByteSliceTests {
    private func block(_ bytes: [UInt8], capacity: Int) -> (block: ByteBlock, slice: ByteSlice) {
        let block = ByteBlock(capacity: capacity)
        block.bytes.copyBytes(from: bytes)
        return (block, block.take(bytes.count))
    }

    @Test func takingGivesOutTheBytesInOrder() {
        let (block, first) = block([1, 2, 3], capacity: 8)
        let second = block.take(2)
        #expect(first.copied() == [1, 2, 3])
        #expect(first.isFollowed(by: second) && !second.isFollowed(by: first))
        #expect(block.filled == 5 && block.room == 3)
    }

    @Test func aSliceIsCutWithoutCopying() {
        let (block, slice) = block([1, 2, 3, 4, 5], capacity: 5)
        #expect(slice.prefix(2).copied() == [1, 2])
        #expect(slice.dropFirst(2).copied() == [3, 4, 5])
        #expect(slice.dropFirst(2).prefix(2).block === block)
        #expect(slice.dropFirst(5).isEmpty && slice.prefix(0).isEmpty)
    }

    @Test func aCopyStandsAloneInABlockOfItsSize() {
        let (block, slice) = block([1, 2, 3], capacity: 1000)
        let copy = slice.withBytes { ByteSlice(copying: $0) }
        #expect(copy == slice && copy.block !== block)
        #expect(copy.block.capacity == 3 && copy.block.room == 0)
        #expect(ByteSlice(copying: []).isEmpty)
    }

    @Test func slicesAreEqualByTheirBytes() {
        let (_, slice) = block([7, 7, 8], capacity: 3)
        #expect(slice.prefix(1) == slice.dropFirst(1).prefix(1))
        #expect(slice.prefix(1) != slice.dropFirst(2))
        #expect(slice.prefix(1) != slice.prefix(2))
    }

    @Test func theBytesOutliveTheirMaker() {
        let kept = block([4, 5, 6], capacity: 100).slice.dropFirst(1)
        #expect(kept.withBytes { $0.unsafeLoad(as: UInt8.self) } == 5)
    }
}
