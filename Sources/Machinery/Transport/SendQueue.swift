// What waits to be written: slices of blocks, shared with whoever else sends the same frame. Slices that follow each other
// in a block become one, so that a burst of forwarded frames leaves as it came. Its array is the loop's while it is
// empty: so it allocates nothing when it is busy and holds nothing when it is idle.

import TandemBytes
import TandemReactor

struct SendQueue {
    /// Slices that stay worth keeping apart when a block is left; smaller ones are gathered, so that what many of them
    /// cost beyond their bytes stays small.
    private static var leastPart: Int { 4096 }

    /// The largest piece that is gathered: written pieces are freed whole.
    private static var mostGathered: Int { 64 * 1024 }

    private var parts: [ByteSlice] = []
    private(set) var byteCount = 0

    var isEmpty: Bool { byteCount == 0 }

    mutating func append(_ bytes: ByteSlice, _ lists: SliceLists) {
        guard !bytes.isEmpty else { return }
        byteCount += bytes.count
        if let last = parts.last, last.isFollowed(by: bytes) {
            parts[parts.count - 1] = last.extended(by: bytes.count)
        } else {
            if parts.isEmpty { parts = lists.take() }
            parts.append(bytes)
        }
    }

    /// The bytes that one call offers the system.
    var byteCountOfNextWrite: Int {
        guard parts.count > Linux.partsPerSend else { return byteCount }
        return parts[..<Linux.partsPerSend].reduce(0) { $0 + $1.count }
    }

    /// Writes as much as one call takes.
    func write(to descriptor: CInt) throws(SystemError) -> Linux.Transfer {
        try Linux.send(descriptor, parts)
    }

    /// Removes what has been written, and lets go of its blocks.
    mutating func remove(_ count: Int, _ lists: SliceLists) {
        guard count < byteCount else { return removeAll(lists) }
        byteCount -= count
        var rest = count
        var written = 0
        while rest >= parts[written].count {
            rest -= parts[written].count
            written += 1
        }
        parts[written] = parts[written].dropFirst(rest)
        parts.removeFirst(written)
    }

    mutating func removeAll(_ lists: SliceLists) {
        lists.giveBack(&parts)
        byteCount = 0
    }

    // MARK: blocks

    /// Calls the body with each block that parts are in; neighbours of one block are told once.
    func forEachBlock(_ body: (ByteBlock) -> Void) {
        var last: ByteBlock?
        for part in parts where part.block !== last {
            last = part.block
            body(part.block)
        }
    }

    /// Copies what is in this block, and small parts beside it, to memory of exactly its size.
    mutating func leave(_ block: ByteBlock) {
        var left: [ByteSlice] = []
        var run = Run()
        for part in parts {
            if part.block === block || part.count < Self.leastPart {
                run.append(part)
                if run.byteCount >= Self.mostGathered { run.gather(into: &left) }
            } else {
                run.gather(into: &left)
                left.append(part)
            }
        }
        run.gather(into: &left)
        parts = left
    }

    /// Neighbours that are copied into one block.
    private struct Run {
        private var parts: [ByteSlice] = []
        private(set) var byteCount = 0

        mutating func append(_ part: ByteSlice) {
            parts.append(part)
            byteCount += part.count
        }

        mutating func gather(into left: inout [ByteSlice]) {
            guard byteCount > 0 else { return }
            let block = ByteBlock(capacity: byteCount)
            for part in parts { block.append(part) }
            left.append(block.taken)
            self = Run()
        }
    }
}
