// A channel's move to another loop: the one gives up its socket, the other goes on with what had been read ahead. Only
// an open channel in the clear moves, and only while nothing of its own waits to be written.

internal import TandemReactor
internal import TandemWire

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
