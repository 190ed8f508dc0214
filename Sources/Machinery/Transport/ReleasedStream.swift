// A connection between two loops: given up by one, not yet taken by the other. The descriptor has one owner all the
// way, and is closed if nobody takes it; bytes that were read ahead go along, so that the peer notices nothing.

internal import Synchronization
package import TandemReactor

/// A connected socket and the bytes that were read from it and not used; any thread.
package final class ReleasedStream: Sendable {
    package let peer: PeerDescription
    /// What had come from the peer and was not delivered.
    package let unread: [UInt8]
    private let descriptor: Mutex<OwnedDescriptor?>

    init(_ descriptor: consuming OwnedDescriptor, peer: PeerDescription, unread: [UInt8]) {
        self.descriptor = Mutex(consume descriptor)
        self.peer = peer
        self.unread = unread
    }

    /// The stream on the loop of the caller, to be started there; nil if it was taken before.
    package func take(
        on loop: EventLoop, marks: WaterMarks = .standard, charge: consuming ConnectionCharge? = nil
    ) -> SocketStream? {
        guard let descriptor = descriptor.withLock({ $0.take() }) else { return nil }
        return SocketStream(
            takingOwnership: descriptor, loop: loop, peer: peer, marks: marks, charge: consume charge)
    }
}
