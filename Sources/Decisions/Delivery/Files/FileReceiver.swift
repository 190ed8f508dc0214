// The receiver's half of one file (FIL-6 to FIL-9): it pulls from where its partial file ends, takes only the chunk that
// comes next, and asks again when one is missing or nothing comes. Order and loss are its business alone; the sender only
// answers. What it has written it never asks for twice.

package import TandemBase

/// One file that comes over a link.
package struct FileReceiver: Sendable, Equatable {
    /// What to do after an event.
    package enum Step: Sendable, Equatable {
        case nothing
        /// Write the bytes of this chunk, then tell ``FileReceiver/wrote(_:at:)``.
        case write
        /// Ask on: everything before the offset is written. A restart also means that nothing past it came.
        case want(offset: Int64, isRestart: Bool)
        /// All bytes are written: compare the digest.
        case verify
    }

    package let size: Int64
    private let limits: FileLimits
    /// Where the next chunk must begin.
    private var expected: Int64
    /// What is written.
    package private(set) var written: Int64
    private var lastWanted: Int64
    private var lastHeard: MonotonicTime
    private var isOpen = true
    /// A restart was asked for at `expected` and nothing has come since.
    private var hasAsked = true

    /// A file of which `written` bytes are there already; ask for ``first``.
    package init(size: Int64, written: Int64, at now: MonotonicTime, limits: FileLimits = FileLimits()) {
        self.size = size
        self.limits = limits
        expected = written
        self.written = written
        lastWanted = written
        lastHeard = now
    }

    /// What to do first, and again when the sender tells of the item once more.
    package var first: Step {
        written == size ? .verify : .want(offset: written, isRestart: true)
    }

    /// The sender told of the item again: it may have lost what it knew.
    package mutating func toldAgain(at now: MonotonicTime) -> Step {
        guard !isOpen else { return .nothing }
        isOpen = true
        return restart(at: now)
    }

    /// The link is gone; what it carried and is not written is lost.
    package mutating func linkClosed() { isOpen = false }

    /// A chunk has come.
    package mutating func chunk(at offset: Int64, count: Int, at now: MonotonicTime) -> Step {
        guard isOpen else { return .nothing }
        guard offset == expected, count > 0, count <= limits.chunk, Int64(count) <= size - expected else {
            // What was there before is a repetition; a hole is asked for once, and after a silence again.
            guard offset > expected, !hasAsked else { return .nothing }
            return restart(at: now)
        }
        // More than was asked for is dropped unread: memory is bounded by this side, not by the sender's manners.
        guard expected - lastWanted + Int64(count) <= Int64(limits.window),
            // Each hole makes it ask from where the last chunk ended, whether that is written or not.
            expected - written + Int64(count) <= 2 * Int64(limits.window)
        else { return .nothing }
        lastHeard = now
        hasAsked = false
        expected += Int64(count)
        return .write
    }

    /// So many bytes more are written.
    package mutating func wrote(_ count: Int, at now: MonotonicTime) -> Step {
        written = min(expected, written + Int64(count))
        if written == size { return .verify }
        guard isOpen, !hasAsked else { return .nothing }
        guard written == expected || written - lastWanted >= Int64(limits.window / 2) else { return .nothing }
        lastWanted = written
        return .want(offset: written, isRestart: false)
    }

    /// The digest was another: everything comes again.
    package mutating func startOver() {
        expected = 0
        written = 0
        isOpen = false
    }

    /// Time has passed.
    package mutating func timeAdvanced(at now: MonotonicTime) -> Step {
        guard isOpen, written < size, written == expected, let deadline, deadline <= now else { return .nothing }
        return restart(at: now)
    }

    /// When time has to be told; nil if nothing depends on it.
    package var deadline: MonotonicTime? { isOpen && written < size ? lastHeard + limits.silence : nil }

    private mutating func restart(at now: MonotonicTime) -> Step {
        hasAsked = true
        lastHeard = now
        // Chunks that are being written need not come again.
        lastWanted = expected
        return .want(offset: expected, isRestart: true)
    }
}
