// The blocks of a loop: packed, used again, and never pinned by who holds a few bytes of them.

import TandemBase
import TandemReactor
import Testing

@Suite struct ReadBlocksTests {
    /// Holds a slice until it is asked to leave.
    private final class Holder: BlockTenant {
        var slice: ByteSlice?
        private(set) var asked = 0

        init(_ slice: ByteSlice) { self.slice = slice }

        func leave(_ block: ByteBlock) {
            asked += 1
            if slice?.block === block { slice = slice?.withBytes { ByteSlice(copying: $0) } }
        }
    }

    private let blocks = ReadBlocks()

    /// A read of so many bytes.
    private func read(_ count: Int) -> ByteSlice { blocks.block.take(count) }

    @Test func readsOfATurnArePackedIntoOneBlock() {
        let first = read(1000)
        let second = read(2000)
        #expect(first.isFollowed(by: second))
    }

    @Test func aBlockThatNobodyHoldsIsUsedFromItsBeginning() {
        let start = { read(50_000).start }()
        #expect(start == 0)
        for _ in 0..<100 { #expect(read(50_000).start == 0) }
    }

    @Test func aReadAlwaysHasRoom() {
        var held: [ByteSlice] = []
        for _ in 0..<40 {
            held.append(read(40_000))
            #expect(ReadBlocks.readSize - blocks.block.filled >= ReadBlocks.leastRead)
        }
        #expect(Set(held.map { ObjectIdentifier($0.block) }).count == 8)
    }

    @Test func aTenantIsAskedOnlyWhenTheBlockIsNeeded() {
        let holder = Holder(read(100))
        if let slice = holder.slice { blocks.keep(holder, in: slice.block) }
        for _ in 0..<3 {
            let filler = read(ReadBlocks.readSize - 200)
            _ = read(1)
            _ = filler
        }
        #expect(holder.asked == 0)
        for _ in 0..<12 {
            let filler = Holder(read(ReadBlocks.readSize - 200))
            if let slice = filler.slice { blocks.keep(filler, in: slice.block) }
        }
        #expect(holder.asked == 1)
        #expect(holder.slice?.block.capacity == 100)
    }

    @Test func manyHoldersOfAFewBytesPinNoMoreThanTheBlocksOfTheLoop() {
        var holders: [Holder] = []
        let seen = Seen()
        for _ in 0..<100 {
            let holder = Holder(read(300))
            if let slice = holder.slice { blocks.keep(holder, in: slice.block) }
            holders.append(holder)
            seen.add(read(ReadBlocks.readSize - ReadBlocks.leastRead).block)
        }
        #expect(holders.allSatisfy { $0.slice?.count == 300 })
        #expect(seen.alive <= 4)
    }

    @Test func whoKeepsABlockWithoutLeavingItKeepsItForItself() {
        let held = read(ReadBlocks.readSize)
        for _ in 0..<20 {
            let other = read(ReadBlocks.readSize)
            #expect(other.block !== held.block)
        }
    }

    @Test func aBlockWithVeryManyTenantsIsFull() {
        let first = read(1)
        var holders: [Holder] = [Holder(first)]
        for _ in 0..<2000 {
            let holder = Holder(read(1))
            if let slice = holder.slice { blocks.keep(holder, in: slice.block) }
            holders.append(holder)
        }
        #expect(read(1).block !== first.block)
    }

    /// Blocks without keeping them alive.
    private final class Seen {
        private struct Entry { weak var block: ByteBlock? }
        private var entries: [ObjectIdentifier: Entry] = [:]

        func add(_ block: ByteBlock) { entries[ObjectIdentifier(block)] = Entry(block: block) }
        var alive: Int { entries.values.filter { $0.block != nil }.count }
    }
}
