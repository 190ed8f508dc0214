// What a channel allows its peer, with the protocol's numbers as defaults (Protocol/Limits.md). One object for all
// channels of a listener, so that a channel that is idle does not carry them.

internal import TandemBase
internal import TandemWire

/// The bounds of frame channels.
package final class FrameChannelOptions: Sendable {
    /// The largest payload of a frame, in bytes (LIM-1).
    package let limit: Int
    /// The most bytes that wait for the peer; beyond, it is a slow consumer (LIM-6).
    package let queueQuota: Int
    /// The time for a header, and the window in which a payload's rate is judged (LIM-3).
    package let headerTime: Duration
    /// The time until the first frame, handshake included (LIM-4); nil for a side that waits as long as it likes.
    package let firstFrameTime: Duration?
    /// The bytes that an unfinished payload gains at least in one window (LIM-3).
    let leastGain: Int

    /// - Parameter payloadRate: the slowest payload, in bytes per second (LIM-3).
    package init(
        limit: Int = Limits.frame, queueQuota: Int = Limits.queuedBytes, headerTime: Duration = Limits.headerTime,
        payloadRate: Int = Limits.payloadRate, firstFrameTime: Duration? = nil
    ) {
        self.limit = limit
        self.queueQuota = queueQuota
        self.headerTime = headerTime
        self.firstFrameTime = firstFrameTime
        let gain = headerTime.saturatingMilliseconds.multipliedReportingOverflow(by: Int64(payloadRate)).0 / 1000
        leastGain = Int(clamping: gain)
    }
}
