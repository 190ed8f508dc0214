// Queue of bytes to write: slices of blocks, shared with other connections that send the same frame. Slices that follow
// each other in a block become one, so that a burst of forwarded frames leaves as it came; that one needs no array. The
// array of more is the loop's while it is empty: so it allocates nothing when it is busy and holds nothing when it is
// idle.

import TandemBase
import TandemReactor

struct SendQueue {
    /// Slices that stay worth keeping apart when a block is left; smaller ones are gathered, so that what many of them
    /// cost beyond their bytes stays small.
    private static var leastPart: Int { 4096 }

    /// The largest piece that is gathered: written pieces are freed whole.
    private static var mostGathered: Int { 64 * 1024 }

    /// Written bytes that a waiting queue may hold: those of a thousand connections are 16 MiB.
    private static var mostWritten: Int { 16 * 1024 }

    /// All there is, as long as it is one piece.
    private var single: ByteSlice?
    /// All there is otherwise.
    private var parts: [ByteSlice] = []
    // Both counts have half a word, because thousands of streams are idle and each is to be small. The quota of a queue
    // (LIM-6) is far below what half a word holds.
    private var waitingBytes: UInt32 = 0
    /// The bytes of a queue that was dropped: they did not leave, so `SocketStream.queuedBytes` still counts them.
    private(set) var lostBytes: UInt32 = 0

    private(set) var byteCount: Int {
        get { Int(waitingBytes) }
        set { waitingBytes = UInt32(newValue) }
    }

    var isEmpty: Bool { byteCount == 0 }

    mutating func lose(_ count: Int) { lostBytes = UInt32(clamping: count) }

    mutating func append(_ bytes: ByteSlice, _ loop: EventLoop) {
        guard !bytes.isEmpty else { return }
        byteCount += bytes.count
        let hasJoined = parts.isEmpty ? single?.join(bytes) == true : parts[parts.count - 1].join(bytes)
        if !hasJoined { add(bytes, loop) }
    }

    /// Not inlined: what joins is not kept, and the others' reference would be counted for it, too.
    @inline(never)
    private mutating func add(_ bytes: ByteSlice, _ loop: EventLoop) {
        guard byteCount > bytes.count else { return single = bytes }
        if let first = single.take() {
            parts = loop.sliceLists.take()
            parts.append(first)
        }
        parts.append(bytes)
    }

    /// The result of one write.
    enum Progress {
        /// The system took all that it was offered: there may be more.
        case taken
        /// The socket is full.
        case full
        /// The peer is gone.
        case ended
    }

    /// Writes as much as one call takes, and removes that: a short write means a full socket, without a second call to
    /// learn it. Mutating as a whole, so that what is written is borrowed from the queue and not retained.
    mutating func write(to descriptor: CInt, _ loop: EventLoop) throws(SystemError) -> Progress {
        let offered = byteCountOfNextWrite
        switch try transfer(to: descriptor) {
        case .bytes(let count):
            remove(count, loop)
            return count < offered ? .full : .taken
        case .wouldBlock: return .full
        case .ended: return .ended
        }
    }

    /// The bytes that one call offers the system.
    private var byteCountOfNextWrite: Int {
        guard parts.count > Linux.partsPerSend else { return byteCount }
        return parts[..<Linux.partsPerSend].reduce(0) { $0 + $1.count }
    }

    private mutating func transfer(to descriptor: CInt) throws(SystemError) -> Linux.Transfer {
        guard parts.isEmpty else { return try Linux.send(descriptor, parts) }
        let sent = try single?.withBytes { bytes throws(SystemError) in try Linux.send(descriptor, bytes) }
        return sent ?? .bytes(0)
    }

    /// Removes what has been written, and lets go of its blocks.
    private mutating func remove(_ count: Int, _ loop: EventLoop) {
        guard count < byteCount else { return removeAll(loop) }
        byteCount -= count
        if single?.removeFirst(count) != nil { return }
        var rest = count
        var written = 0
        while rest >= parts[written].count {
            rest -= parts[written].count
            written += 1
        }
        parts[written] = parts[written].dropFirst(rest)
        parts.removeFirst(written)
    }

    /// Copies what is left of the first piece out of a block that is written for the most part: the block stays whole
    /// for it, and only what waits is charged to its owner (LIM-48).
    mutating func leaveWrittenBlock() {
        guard let first = single ?? parts.first else { return }
        let written = first.block.capacity - first.count
        guard written >= Self.mostWritten, written >= first.count / 4 else { return }
        let rest = ByteSlice(copying: first.copied())
        if parts.isEmpty { single = rest } else { parts[0] = rest }
    }

    mutating func removeAll(_ loop: EventLoop) {
        byteCount = 0
        single = nil
        if !parts.isEmpty { loop.sliceLists.giveBack(&parts) }
    }

    // MARK: blocks

    /// Calls the body with each block that parts are in; neighbours in one block count once.
    func forEachBlock(_ body: (ByteBlock) -> Void) {
        if let single { return body(single.block) }
        var last: ByteBlock?
        for part in parts where part.block !== last {
            last = part.block
            body(part.block)
        }
    }

    /// Copies what is in this block, and small parts beside it, to memory of exactly its size.
    mutating func leave(_ block: ByteBlock) {
        if let single { return self.single = single.block === block ? ByteSlice(copying: single.copied()) : single }
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
