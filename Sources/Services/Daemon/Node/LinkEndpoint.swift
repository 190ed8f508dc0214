// A device link as the relay sees it: frames in, frames out. What the relay may know of it (how much waits, how much
// has left) is what the link's own stream tells.

import TandemSession
import TandemTransport
import TandemWire

/// The relay's end of a ready link; confined to the loop.
final class LinkEndpoint: RelayEndpoint {
    let number: ConnectionNumber
    private let frames: FrameChannel
    private(set) var acceptedBytes: UInt64 = 0

    init(_ link: Link, number: ConnectionNumber) {
        frames = link.frames
        self.number = number
    }

    var queuedBytes: Int { frames.queuedBytes }
    var isCongested: Bool { frames.isCongested }

    /// What is queued has been enciphered and is larger than what was accepted, by at most the same again: half of it
    /// surely has not left. Never less is told than may have left, for who hears "not sent" may send again.
    var departedBytes: UInt64 {
        let queued = UInt64(clamping: queuedBytes) / 2
        return acceptedBytes > queued ? acceptedBytes - queued : 0
    }

    func send(_ frame: Frame) {
        acceptedBytes += UInt64(frame.count)
        frames.send(frame)
    }

    func write(_ bytes: RawSpan) {
        acceptedBytes += UInt64(bytes.byteCount)
        frames.write(bytes)
    }

    func overflowed() {
        // The link's own quota closes it as a slow consumer; the relay has told the sender.
    }

    func pauseReading() { frames.pauseReading() }

    func resumeReading() { frames.resumeReading() }
}
