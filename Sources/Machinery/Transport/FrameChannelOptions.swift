// What a channel allows its peer, with the protocol's numbers as defaults (Protocol/Limits.md).

internal import TandemWire

/// The bounds of a frame channel.
package struct FrameChannelOptions: Sendable {
    /// The largest payload of a frame, in bytes (LIM-1).
    package var limit = Limits.frame
    /// The most bytes that wait for the peer; beyond, it is a slow consumer (LIM-6).
    package var queueQuota = Limits.queuedBytes
    /// The time for a header, and the window in which a payload's rate is judged (LIM-3).
    package var headerTime = Limits.headerTime
    /// The slowest payload, in bytes per second (LIM-3).
    package var payloadRate = Limits.payloadRate
    /// The time until the first frame, handshake included (LIM-4); nil for a side that waits as long as it likes.
    package var firstFrameTime: Duration?

    package init(limit: Int = Limits.frame, firstFrameTime: Duration? = nil) {
        self.limit = limit
        self.firstFrameTime = firstFrameTime
    }
}
