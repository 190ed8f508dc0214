// What a channel with a filter holds beyond a plain one: an object of its own, so that thousands of idle plain channels
// do not carry it.

internal import TandemBase

extension FrameChannel {
    /// A channel's filter and the frames for it: they go through it together at the end of the turn, as few large
    /// records.
    final class Filtering {
        let filter: any StreamFilter
        // Unchecked, because no method here calls out.
        @exclusivity(unchecked) private var frames: [ByteSlice] = []
        @exclusivity(unchecked) private(set) var queuedBytes = 0
        var isFlushDue = false

        init(_ filter: any StreamFilter) { self.filter = filter }

        /// Neighbours become one piece, so that a burst is encrypted where it lies.
        func append(_ bytes: ByteSlice) {
            queuedBytes += bytes.count
            if frames.isEmpty || !frames[frames.count - 1].join(bytes) { frames.append(bytes) }
        }

        /// All frames, for the filter.
        func takeAll() -> [ByteSlice] {
            defer { (frames, queuedBytes) = ([], 0) }
            return frames
        }

        /// Takes back the array: a busy channel keeps its slots; the first quiet turn gives them up.
        func giveBack(_ taken: consuming [ByteSlice]) {
            let isKept = taken.count * 4 >= taken.capacity || taken.capacity <= Self.slotsKept
            taken.removeAll(keepingCapacity: isKept)
            if frames.isEmpty { frames = taken }
        }

        private static var slotsKept: Int { 8 }
    }
}
