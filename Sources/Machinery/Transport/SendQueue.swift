// What waits to be written: whole byte arrays, shared with whoever else sends the same frame, and how far the first of
// them has gone. Empty, it holds no memory beyond a few slots.

import TandemReactor

struct SendQueue {
    /// Kept for the next burst when the queue runs empty; more would be memory for idle connections.
    private static var slotsKept: Int { 8 }

    private var parts: [[UInt8]] = []
    private var first = 0
    private var written = 0
    private(set) var byteCount = 0

    var isEmpty: Bool { byteCount == 0 }

    mutating func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        parts.append(bytes)
        byteCount += bytes.count
    }

    /// The bytes that one call offers the system.
    var byteCountOfNextWrite: Int {
        guard parts.count - first > Linux.partsPerSend else { return byteCount }
        return parts[first..<first + Linux.partsPerSend].reduce(-written) { $0 + $1.count }
    }

    /// Writes as much as one call takes.
    func write(to descriptor: CInt) throws(SystemError) -> Linux.Transfer {
        try Linux.send(descriptor, parts[first...], skipping: written)
    }

    /// Removes what has been written, and frees each part as soon as it is through.
    mutating func remove(_ count: Int) {
        byteCount -= count
        written += count
        while first < parts.count, written >= parts[first].count {
            written -= parts[first].count
            parts[first] = []
            first += 1
        }
        if first == parts.count { removeAll() } else if first > 64, first * 2 > parts.count { compact() }
    }

    mutating func removeAll() {
        parts.removeAll(keepingCapacity: parts.capacity <= Self.slotsKept)
        first = 0
        written = 0
        byteCount = 0
    }

    /// All that is queued, as one array.
    func joined() -> [UInt8] {
        Array(parts[first...].joined().dropFirst(written))
    }

    private mutating func compact() {
        parts.removeFirst(first)
        first = 0
    }
}
