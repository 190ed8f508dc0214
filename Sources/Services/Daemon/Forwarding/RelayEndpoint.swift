// What the relay needs of a connection, so that host apps' sockets, device links and test doubles plug in alike. The
// relay never asks what kind of stream is below, and never writes bytes that are not a frame.

package import TandemWire

/// One end of the forwarding path: a host app's connection or a device link. Confined to the relay's loop.
package protocol RelayEndpoint: NumberedConnection {
    /// The bytes accepted and not yet given to the system.
    var queuedBytes: Int { get }

    /// Whether senders to this end should pause; ``RelayPort/drained()`` must follow once it no longer holds.
    var isCongested: Bool { get }

    /// The bytes accepted by ``send(_:)`` and ``write(_:)`` since the connection began. Only a link's count: what an
    /// app has not answered fails in the same way whether it left or not (SES-11), so its connection may say 0.
    var acceptedBytes: UInt64 { get }

    /// How many of the accepted bytes may have left, also after the connection has closed. Who cannot tell says all of
    /// them: a caller that is told "not sent" may send again.
    var departedBytes: UInt64 { get }

    /// Queues the frame as the bytes it is; they leave with the others of this turn. Nothing after a close.
    func send(_ frame: Frame)

    /// Sends whole frames in memory that is only lent: they are given to the system, or copied behind what is queued,
    /// before this returns. Otherwise as ``send(_:)``.
    func write(_ frames: RawSpan)

    /// A frame did not fit the quota (LIM-6) and was not sent. The end closes itself as `slow-consumer` if it should;
    /// it does not call back into the relay before the end of the turn.
    func overflowed()

    /// Stops taking frames from this end's peer, because whom it sends to is congested. Nests not: a flag.
    func pauseReading()

    func resumeReading()
}

extension RelayEndpoint {
    /// Whether a frame of this many bytes fits the quota (LIM-6).
    @inline(__always)
    package func isWritable(_ count: Int) -> Bool { queuedBytes + count <= Limits.queuedBytes }
}
