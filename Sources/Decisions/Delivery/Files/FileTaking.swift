// The daemon's half of taking a file from one of its apps (FIL-2, FIL-3): chunks in order, a few ahead of what has been
// written. An app that breaks the order has lost count of its own file; nothing of it may be kept.

/// One file that an app hands over.
package struct FileTaking: Sendable, Equatable {
    /// What to do with a chunk.
    package enum Verdict: Sendable, Equatable {
        case write
        /// Not where the last one ended, past the end, too large or too far ahead; the text is for logs.
        case violation(String)
    }

    package let size: Int64
    private let limits: FileLimits
    /// What has come, and what of it has been written and told.
    package private(set) var received: Int64 = 0
    package private(set) var written: Int64 = 0

    package init(size: Int64, limits: FileLimits = FileLimits()) {
        self.size = size
        self.limits = limits
    }

    /// Whether all bytes have been written; a file of no bytes is complete at once.
    package var isComplete: Bool { written == size }

    /// A chunk has come.
    package mutating func chunk(at offset: Int64, count: Int) -> Verdict {
        guard offset == received else { return .violation("offset \(offset) where \(received) comes next") }
        guard count > 0, count <= limits.chunk else { return .violation("a chunk of \(count) bytes") }
        guard Int64(count) <= size - received else { return .violation("more than the \(size) bytes announced") }
        guard received + Int64(count) - written <= Int64(limits.chunk) * Int64(limits.chunksAhead) else {
            return .violation("more than \(limits.chunksAhead) chunks ahead")
        }
        received += Int64(count)
        return .write
    }

    /// So many bytes more have been written; ``written`` may be told to the app.
    package mutating func wrote(_ count: Int) { written = min(received, written + Int64(count)) }
}
