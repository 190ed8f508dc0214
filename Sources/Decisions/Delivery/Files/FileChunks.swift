// The transfer of a file's bytes (FIL-2 to FIL-10): from an app to its daemon, and from daemon to daemon. Over a link
// the receiver pulls: order and loss are its business alone, the sender only answers.

package import TandemBase

/// The receiving end of one file: it requests bytes from where its partial file ends, takes only the chunk that comes
/// next, and asks again when one is missing or nothing comes. It never requests bytes twice that it has written.
package struct FileReceiver: Sendable, Equatable {
    package enum Step: Sendable, Equatable {
        case nothing
        /// Write the bytes of this chunk, then call ``FileReceiver/wrote(_:at:)``.
        case write
        /// Request more: everything before the offset is written. A restart also says that nothing past it came.
        case fetch(offset: Int64, isRestart: Bool)
        /// All bytes are written: compare the digest.
        case verify
    }

    package let size: Int64
    private let limits: FileLimits
    /// Where the next chunk must begin.
    private var expected: Int64
    /// Bytes that are written.
    package private(set) var written: Int64
    private var lastRequested: Int64
    private var lastChunk: MonotonicTime
    private var isOpen = true
    /// A restart was requested at `expected` and nothing has come since.
    private var hasRequested = true

    /// A file of which `written` bytes exist already; begin with ``first``.
    package init(size: Int64, written: Int64, at now: MonotonicTime, limits: FileLimits = FileLimits()) {
        self.size = size
        self.limits = limits
        expected = written
        self.written = written
        lastRequested = written
        lastChunk = now
    }

    package var first: Step {
        written == size ? .verify : .fetch(offset: written, isRestart: true)
    }

    /// The sender announced the item again: it may have lost its state.
    package mutating func announcedAgain(at now: MonotonicTime) -> Step {
        guard !isOpen else { return .nothing }
        isOpen = true
        return restart(at: now)
    }

    /// The link is gone; what it carried and is not written is lost.
    package mutating func linkClosed() { isOpen = false }

    package mutating func chunk(at offset: Int64, count: Int, at now: MonotonicTime) -> Step {
        guard isOpen else { return .nothing }
        guard offset == expected, count > 0, count <= limits.chunk, Int64(count) <= size - expected else {
            // An earlier chunk is a repetition; a missing one is requested once, and again after a silence.
            guard offset > expected, !hasRequested else { return .nothing }
            return restart(at: now)
        }
        // More than was requested is dropped unread: this side bounds its memory, whatever the sender does.
        guard expected - lastRequested + Int64(count) <= Int64(limits.window),
            // After a missing chunk it requests from where the last one ended, whether that is written or not.
            expected - written + Int64(count) <= 2 * Int64(limits.window)
        else { return .nothing }
        lastChunk = now
        hasRequested = false
        expected += Int64(count)
        return .write
    }

    /// So many bytes more are written.
    package mutating func wrote(_ count: Int, at now: MonotonicTime) -> Step {
        written = min(expected, written + Int64(count))
        if written == size { return .verify }
        guard isOpen, !hasRequested else { return .nothing }
        guard written == expected || written - lastRequested >= Int64(limits.window / 2) else { return .nothing }
        lastRequested = written
        return .fetch(offset: written, isRestart: false)
    }

    /// Time has passed.
    package mutating func timeAdvanced(at now: MonotonicTime) -> Step {
        guard isOpen, written < size, written == expected, let deadline, deadline <= now else { return .nothing }
        return restart(at: now)
    }

    /// When ``timeAdvanced(at:)`` has something to do; nil if nothing depends on time.
    package var deadline: MonotonicTime? { isOpen && written < size ? lastChunk + limits.silence : nil }

    private mutating func restart(at now: MonotonicTime) -> Step {
        hasRequested = true
        lastChunk = now
        // Chunks that are being written need not come again.
        lastRequested = expected
        return .fetch(offset: expected, isRestart: true)
    }
}

/// The sending end of all files on one link: the receiver pulls, and each of its requests opens the window again. Files
/// take turns, one chunk each, and share the window of the link, so that ten files queue no more ahead of a message
/// than one does. Nothing is kept of a link that is gone: the receiver knows where to continue.
package struct FileSender: Sendable {
    /// Bytes to read and send now. Answer with ``FileSender/read(_:)`` when they were read.
    package struct Part: Sendable, Equatable {
        package let file: FileKey
        package let offset: Int64
        package let count: Int
    }

    private struct Transfer {
        let size: Int64
        /// Everything before this has arrived.
        var acknowledged: Int64
        /// The next byte to send.
        var next: Int64
        /// Parts being read; those of before a restart too, so that no peer can queue reads without end.
        var reading = 0

        var inFlight: Int64 { next - acknowledged }
    }

    private let limits: FileLimits
    private var transfers: [FileKey: Transfer] = [:]
    /// The order of turns; the first one is next.
    private var turns: [FileKey] = []

    package init(limits: FileLimits = FileLimits()) { self.limits = limits }

    /// The receiver requests the file from this offset on: everything before it is written there. A restart forgets the
    /// parts sent past it.
    /// - Returns: false for an offset that the file does not have.
    package mutating func requested(_ file: FileKey, size: Int64, from offset: Int64, isRestart: Bool) -> Bool {
        guard (0...size).contains(offset) else { return false }
        if var transfer = transfers[file] {
            if isRestart { transfer.next = offset }
            // A late, older request changes nothing.
            transfer.acknowledged = isRestart ? offset : max(transfer.acknowledged, min(offset, transfer.next))
            transfers[file] = transfer
        } else {
            transfers[file] = Transfer(size: size, acknowledged: offset, next: offset)
            turns.append(file)
        }
        return true
    }

    /// The next part to read and send; nil if the windows are full or everything has been sent.
    package mutating func nextPart() -> Part? {
        let inFlight = transfers.values.reduce(0) { $0 + $1.inFlight }
        for (index, file) in turns.enumerated() {
            guard var transfer = transfers[file] else { continue }
            let count = min(Int64(limits.chunk), transfer.size - transfer.next)
            guard count > 0, transfer.inFlight + count <= limits.window, inFlight + count <= limits.linkWindow,
                transfer.reading < limits.window / limits.chunk
            else { continue }
            let part = Part(file: file, offset: transfer.next, count: Int(count))
            transfer.next += count
            transfer.reading += 1
            transfers[file] = transfer
            turns.append(turns.remove(at: index))
            return part
        }
        return nil
    }

    /// A part was read.
    /// - Returns: whether it may still be sent: not after the file ended, nor if a restart came meanwhile.
    package mutating func read(_ part: Part) -> Bool {
        guard var transfer = transfers[part.file] else { return false }
        transfer.reading -= 1
        transfers[part.file] = transfer
        return part.offset >= transfer.acknowledged && part.offset < transfer.next
    }

    /// How much of the file has arrived.
    package func acknowledged(_ file: FileKey) -> Int64? { transfers[file]?.acknowledged }

    /// The file is stored, or is no longer sent.
    package mutating func ended(_ file: FileKey) {
        transfers[file] = nil
        turns.removeAll { $0 == file }
    }
}

/// A file that an app of this device hands over (FIL-2, FIL-3): chunks in order, a few ahead of what the app was told
/// is written. An app that breaks the order has lost count of its own file, so nothing of it may be kept.
package struct FileUpload: Sendable, Equatable {
    package let size: Int64
    private let limits: FileLimits
    /// Bytes that have come, and that have been written.
    package private(set) var received: Int64 = 0
    package private(set) var written: Int64 = 0
    /// Bytes that the app was told are written.
    private var reported: Int64 = 0

    package init(size: Int64, limits: FileLimits = FileLimits()) {
        self.size = size
        self.limits = limits
    }

    /// Whether all bytes have been written; a file of no bytes is complete at once.
    package var isComplete: Bool { written == size }

    /// A chunk has come; false if it is not where the last one ended, past the end, empty, too large or too far ahead.
    package mutating func takes(chunkAt offset: Int64, count: Int) -> Bool {
        guard offset == received, count > 0, count <= limits.chunk, Int64(count) <= size - received,
            received + Int64(count) - reported <= Int64(limits.chunk) * Int64(limits.chunksAhead)
        else { return false }
        received += Int64(count)
        return true
    }

    /// So many bytes more have been written.
    /// - Returns: whether the app has to be told ``written`` now: once all that has come is written, and after each two
    ///   chunks.
    @discardableResult
    package mutating func wrote(_ count: Int) -> Bool {
        written = min(received, written + Int64(count))
        guard written == received || written - reported >= 2 * Int64(limits.chunk) else { return false }
        reported = written
        return true
    }
}

/// Decides which progress of a file is worth a frame: not every chunk, but always the end.
package struct ProgressPace: Sendable {
    private let size: Int64
    private let interval: Duration
    private var last: (offset: Int64, time: MonotonicTime)?

    package init(size: Int64, limits: FileLimits = FileLimits()) {
        self.size = size
        interval = limits.progressInterval
    }

    /// Whether to report this offset now.
    package mutating func isDue(_ offset: Int64, at now: MonotonicTime) -> Bool {
        if let last {
            guard offset != last.offset, offset == size || now.since(last.time) >= interval else { return false }
        }
        last = (offset, now)
        return true
    }
}
