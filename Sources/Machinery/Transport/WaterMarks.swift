// The two fill levels of a send queue: above the high one a writer should pause, at the low one it may go on. Two, so
// that a queue that hovers around one level does not switch its writers on and off with each frame.

/// Fill levels of a send queue, in bytes.
package struct WaterMarks: Sendable, Hashable {
    private let lowMark: UInt32
    private let highMark: UInt32

    package init(low: Int, high: Int) {
        precondition(0 <= low && low <= high, "the low mark is not above the high one")
        lowMark = UInt32(clamping: low)
        highMark = UInt32(clamping: high)
    }

    package var low: Int { Int(lowMark) }
    package var high: Int { Int(highMark) }

    /// High: two of the largest frames, so that one in flight never stops a writer. Low: half a frame, so that a fast
    /// reader never runs dry.
    package static var standard: Self { Self(low: 256 * 1024, high: 1024 * 1024) }
}
