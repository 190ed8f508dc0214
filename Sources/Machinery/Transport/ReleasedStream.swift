// A connection between two loops: given up by one, not yet taken by the other. The descriptor has one owner all the
// way, and is closed if nobody takes it; bytes that were read ahead go along, so that the peer notices nothing.

internal import Synchronization
package import TandemReactor
internal import TandemWire

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

extension FrameChannel {
    /// Gives the connection up for a channel on another loop to go on with, without a word to the peer; the delegate
    /// hears nothing any more.
    /// - Returns: nil, and nothing has changed, if the channel is not open, has a filter, is not over a socket, or if
    ///   something that was sent waits to be written.
    package func release() -> ReleasedStream? {
        guard phase == .open, filter == nil, let descriptor = stream.release() else { return nil }
        phase = .closed
        watch?.cancel(on: scheduler)
        delegate = nil
        return ReleasedStream(descriptor, peer: peer, unread: decoder.takeBuffered())
    }

    /// Goes on with bytes that came before the channel was started here.
    package func goOn(with unread: [UInt8]) {
        guard phase == .open, !unread.isEmpty else { return }
        decoder.append(unread)
        watch?.pace.gained(unread.count, now: scheduler.now)
        deliver()
    }
}
