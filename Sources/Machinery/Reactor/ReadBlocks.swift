// The memory that a loop reads into. The reads of a turn are packed into one block; when no slice refers to it any
// longer it is used again from its beginning, while it is still in the cache. A connection that retains a slice for
// longer is a tenant: the pool asks it to copy that slice away before the block is needed, so that neither an
// unfinished frame nor a peer that does not read can pin a block for its few bytes.

internal import Synchronization
package import TandemBase

/// Holds slices of read blocks beyond the event that brought them.
package protocol BlockTenant: AnyObject {
    /// The block is needed: the tenant must copy its slices of it now. Nothing else may happen in this call.
    func leave(_ block: ByteBlock)
}

/// The blocks of one loop; confined to its thread.
package final class ReadBlocks {
    /// The bytes of a block that reads may fill: more than a socket's usual receive buffer, few enough for the cache.
    package static var readSize: Int { 256 * 1024 }
    /// The room behind it, in which a frame that began before can end: the largest message and its envelope.
    package static var overhang: Int { 72 * 1024 }
    /// With less room than this a read goes to the next block.
    package static var leastRead: Int { 64 * 1024 }
    /// Blocks that are kept at most; the oldest is cleared for the next one.
    static var count: Int { 4 }
    /// Holders of parts of one block; with more, the next block is used.
    static var mostTenants: Int { 1024 }
    /// After so many turns without a need for them, an older block is given back.
    static var patience: Int { 1000 }

    private struct PooledBlock {
        var block = ByteBlock(capacity: ReadBlocks.readSize + ReadBlocks.overhang)
        var tenants: [any BlockTenant] = []

        /// Whether no slice refers to the block.
        mutating func isFree() -> Bool {
            guard isKnownUniquelyReferenced(&block) else { return false }
            // Another thread's reads before its release must happen before the block is overwritten.
            atomicMemoryFence(ordering: .acquiring)
            return true
        }

        mutating func reset() {
            block.rewind()
            tenants.removeAll(keepingCapacity: true)
        }

        mutating func add(_ tenant: any BlockTenant) {
            if !tenants.contains(where: { $0 === tenant }) { tenants.append(tenant) }
        }

        mutating func clear() {
            for tenant in tenants { tenant.leave(block) }
            if isFree() { reset() } else { self = PooledBlock() }
        }
    }

    /// Unchecked, because nothing is called while it is touched.
    @exclusivity(unchecked) private var current = PooledBlock()
    /// Oldest first. Unchecked, because the tenants that are asked to leave do nothing else.
    @exclusivity(unchecked) private var older: [PooledBlock] = []
    private var rewinds = 0

    package init() {}

    /// The block to read into now, at its end and up to `readSize`; not to be kept.
    package var block: ByteBlock {
        if current.isFree() {
            current.reset()
            if !older.isEmpty { giveBack() }
        } else if isFull || current.tenants.count >= Self.mostTenants {
            advance()
        }
        return current.block
    }

    /// Whether the next read may need another block.
    var isFull: Bool { current.block.filled > Self.readSize - Self.leastRead }

    /// Adds a tenant of the block, which retains a slice; does nothing if it is not one of these blocks.
    package func keep(_ tenant: any BlockTenant, in block: ByteBlock) {
        if block === current.block { return current.add(tenant) }
        for index in older.indices where older[index].block === block { older[index].add(tenant) }
    }

    private func advance() {
        rewinds = 0
        var next = takeFree() ?? PooledBlock()
        swap(&current, &next)
        older.append(next)
    }

    private func takeFree() -> PooledBlock? {
        for index in older.indices where older[index].isFree() {
            older[index].reset()
            return older.remove(at: index)
        }
        guard older.count + 1 >= Self.count else { return nil }
        older[0].clear()
        return older.removeFirst()
    }

    private func giveBack() {
        rewinds += 1
        guard rewinds > Self.patience else { return }
        rewinds = 0
        for index in older.indices where older[index].isFree() {
            older.remove(at: index)
            return
        }
    }
}

/// Spare arrays of one loop's queues, which keep their room between two uses: a queue that fills and drains in every
/// turn allocates nothing, and an idle one has none. Confined to its thread.
package final class SliceLists {
    /// Arrays that are kept, and the room that one of them may have.
    private static var most: Int { 256 }
    private static var mostRoom: Int { 256 }

    /// Unchecked, because nothing is called while it is touched.
    @exclusivity(unchecked) private var spares: [[ByteSlice]] = []

    package init() {}

    /// An empty array, with room if one was given back.
    package func take() -> [ByteSlice] { spares.popLast() ?? [] }

    /// Empties the array and keeps its room for the next queue.
    package func giveBack(_ list: inout [ByteSlice]) {
        defer { list = [] }
        guard list.capacity > 0, list.capacity <= Self.mostRoom, spares.count < Self.most else { return }
        list.removeAll(keepingCapacity: true)
        spares.append(list)
    }
}
