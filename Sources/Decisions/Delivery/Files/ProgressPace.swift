// How often a person is told how far a file is: not at every chunk, but always at the end.

package import TandemBase

/// Decides which words of progress are worth a frame.
package struct ProgressPace: Sendable, Equatable {
    private let size: Int64
    private let interval: Duration
    private var last: (offset: Int64, time: MonotonicTime)?

    package init(size: Int64, limits: FileLimits = FileLimits()) {
        self.size = size
        interval = limits.progressInterval
    }

    /// Whether to tell this offset now.
    package mutating func tells(_ offset: Int64, at now: MonotonicTime) -> Bool {
        if let last {
            guard offset != last.offset, offset == size || now.since(last.time) >= interval else { return false }
        }
        last = (offset, now)
        return true
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.size == right.size && left.last?.offset == right.last?.offset
    }
}
