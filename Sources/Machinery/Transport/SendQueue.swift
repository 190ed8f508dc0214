// What waits to be written: slices of blocks, shared with whoever else sends the same frame. Slices that follow each other
// in a block become one, so that a burst of forwarded frames leaves as it came. Empty, it holds no memory beyond a few slots.

import TandemBytes
import TandemReactor

struct SendQueue {
    /// Kept for the next burst when the queue runs empty; more would be memory for idle connections.
    private static var slotsKept: Int { 8 }

    private var parts: [ByteSlice] = []
    private var first = 0
    private(set) var byteCount = 0

    var isEmpty: Bool { byteCount == 0 }

    mutating func append(_ bytes: ByteSlice) {
        guard !bytes.isEmpty else { return }
        byteCount += bytes.count
        if let last = parts.last, first < parts.count, last.isFollowed(by: bytes) {
            parts[parts.count - 1] = ByteSlice(of: last.block, from: last.start, count: last.count + bytes.count)
        } else {
            parts.append(bytes)
        }
    }

    /// The bytes that one call offers the system.
    var byteCountOfNextWrite: Int {
        guard parts.count - first > Linux.partsPerSend else { return byteCount }
        return parts[first..<first + Linux.partsPerSend].reduce(0) { $0 + $1.count }
    }

    /// Writes as much as one call takes.
    func write(to descriptor: CInt) throws(SystemError) -> Linux.Transfer {
        try Linux.send(descriptor, parts[first...])
    }

    /// Removes what has been written.
    mutating func remove(_ count: Int) {
        byteCount -= count
        var rest = count
        while first < parts.count, rest >= parts[first].count {
            rest -= parts[first].count
            first += 1
        }
        if first == parts.count { return removeAll() }
        parts[first] = parts[first].dropFirst(rest)
        if first > 64, first * 2 > parts.count { compact() }
    }

    mutating func removeAll() {
        parts.removeAll(keepingCapacity: parts.capacity <= Self.slotsKept)
        first = 0
        byteCount = 0
    }

    private mutating func compact() {
        parts.removeFirst(first)
        first = 0
    }
}
