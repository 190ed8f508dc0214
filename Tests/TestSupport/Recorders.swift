// Delegates and a log that remember their calls, in order.

package import TandemBase
package import TandemTransport
package import TandemWire

/// Remembers what a byte stream said.
package final class StreamRecorder: ByteStreamDelegate {
    package private(set) var bytes: [UInt8] = []
    package private(set) var pieces = 0
    package private(set) var drains = 0
    package private(set) var closeReasons: [CloseReason] = []
    /// Called for each piece after it was remembered.
    package var onBytes: ((any ByteStream) -> Void)?
    package var onDrain: ((any ByteStream) -> Void)?

    package init() {}

    package var isClosed: Bool { !closeReasons.isEmpty }

    package func stream(_ stream: any ByteStream, didReceive bytes: ByteSlice) {
        self.bytes += bytes.copied()
        pieces += 1
        onBytes?(stream)
    }

    package func streamDidDrain(_ stream: any ByteStream) {
        drains += 1
        onDrain?(stream)
    }

    package func stream(_ stream: any ByteStream, didCloseWith reason: CloseReason) { closeReasons.append(reason) }
}

/// Remembers what a frame channel said.
package final class ChannelRecorder: FrameChannelDelegate {
    package private(set) var opens = 0
    package private(set) var frames: [Frame] = []
    package private(set) var drains = 0
    package private(set) var closeReasons: [CloseReason] = []
    /// Called for each frame after it was remembered.
    package var onFrame: ((FrameChannel, Frame) -> Void)?

    package init() {}

    package var payloads: [[UInt8]] { frames.map { $0.payload.copied() } }
    package var isClosed: Bool { !closeReasons.isEmpty }

    package func channelDidOpen(_ channel: FrameChannel) { opens += 1 }

    package func channel(_ channel: FrameChannel, didReceive frame: Frame) {
        frames.append(frame)
        onFrame?(channel, frame)
    }

    package func channelDidDrain(_ channel: FrameChannel) { drains += 1 }

    package func channel(_ channel: FrameChannel, didCloseWith reason: CloseReason) { closeReasons.append(reason) }
}

/// Remembers the lines of a log.
package final class LogLines {
    package private(set) var all: [LogEvent] = []

    package init() {}

    package func append(_ line: LogEvent) { all.append(line) }
}
