// Window of a link (DEL-27): the bytes of durable delivery that one link carries at once, over all of its queues.
// Without it a device that comes back would queue everything that waits, overrun its own quota on a slow line, and keep
// messages waiting behind it. The peer's `pong` to a marker says that it has read everything before. The window does
// not count items that the peer has stored: one blocked queue there would close it for all others. It grows on a line
// that carries more (DEL-45): a fixed one would leave a long fast line empty, or stand for seconds before a message.

package import TandemBase
import TandemWire

/// The bytes under way on one link.
package struct LinkWindow: ~Copyable, Sendable {
    private struct Marker: Sendable {
        let id: UniqueIdentifier
        /// Bytes in front of it, behind the marker before.
        let bytes: Int
        let sentAt: MonotonicTime
        /// The bytes that the peer had read, and the frames that had found no room, when it was sent.
        let readBefore: UInt64
        let refusedBefore: UInt64
    }

    private let least: Int
    private let most: Int
    private let distance: Int
    private let kept: Int
    /// Bytes that may be under way; frames without a body may be more.
    private var capacity: Int
    /// Reserved, or sent and not yet read by the peer.
    private var underWay = 0
    /// Sent behind the last marker.
    private var unmarked = 0
    /// The markers that the peer has not answered.
    private var markers: [Marker] = []
    /// Bytes that the peer has read since the link began.
    private var read: UInt64 = 0
    /// Frames that found no room since then.
    private var refused: UInt64 = 0
    /// Bytes that the line carries in a second, and the shortest time of an answer in microseconds.
    private var rate: UInt64 = 0
    private var shortest = Self.longestAnswer

    /// - Parameters:
    ///   - least: in bytes, at the beginning of a link and on a slow line (LIM-46).
    ///   - most: in bytes, on a fast line (LIM-76).
    ///   - distance: bytes behind which a marker follows (LIM-46).
    ///   - kept: bytes beyond the others in which only frames without a body go (LIM-46).
    package init(
        least: Int = Limits.linkWindow, most: Int = Limits.longLinkWindow, distance: Int = Limits.linkMark,
        kept: Int = Limits.linkMark
    ) {
        self.least = least
        self.most = most
        self.distance = distance
        self.kept = kept
        capacity = least
    }

    /// Reserves room for a frame. One that is larger than the window gets it when nothing else is under way.
    /// - Returns: false if there is none now.
    package mutating func reserve(_ size: Int, hasBody: Bool) -> Bool {
        guard underWay == 0 || size <= capacity - underWay + (hasBody ? 0 : kept) else {
            refused += 1
            return false
        }
        underWay += size
        return true
    }

    /// A frame for which there was room is not sent after all.
    package mutating func giveBack(_ size: Int) { underWay -= size }

    /// A frame was sent for which room was reserved.
    /// - Parameter marker: a new marker, which nobody can guess: the peer answers it when it has read it.
    /// - Returns: the marker to send behind the frame; nil if none is due.
    package mutating func sent(
        _ size: Int, marker: @autoclosure () -> UniqueIdentifier, at time: MonotonicTime
    ) -> UniqueIdentifier? {
        unmarked += size
        guard unmarked >= distance else { return nil }
        let id = marker()
        markers.append(Marker(id: id, bytes: unmarked, sentAt: time, readBefore: read, refusedBefore: refused))
        unmarked = 0
        return id
    }

    /// The peer has answered a marker. One that was never sent, or is answered again, changes nothing.
    package mutating func answered(_ id: UniqueIdentifier, at time: MonotonicTime) {
        guard let index = markers.firstIndex(where: { $0.id == id }) else { return }
        let marker = markers[index]
        for entry in markers[...index] {
            underWay -= entry.bytes
            read += UInt64(entry.bytes)
        }
        markers.removeFirst(index + 1)
        measure(marker, at: time)
    }

    // MARK: the line

    /// Microseconds of the shortest and the longest answer that count: less is the clock's error, and on no line that
    /// carries a link do more pass.
    private static var shortestAnswer: UInt64 { 1000 }
    private static var longestAnswer: UInt64 { 10_000_000 }
    /// Microseconds of the line that may stand before a message (LIM-76).
    private static var longestQueue: UInt64 { 500_000 }

    /// Follows the line: what it carries while an answer is on its way, and as much again, so that the window grows
    /// until the line is full. Behind that frames only queue.
    private mutating func measure(_ marker: Marker, at time: MonotonicTime) {
        let passed = time.nanoseconds > marker.sentAt.nanoseconds ? time.nanoseconds - marker.sentAt.nanoseconds : 0
        let answer = min(max(passed / 1000, Self.shortestAnswer), Self.longestAnswer)
        shortest = min(shortest, answer)
        let carried = (read - marker.readBefore) * 1_000_000 / answer
        // With nothing more to send, a line shows less than it can carry.
        if carried > rate || refused > marker.refusedBefore { rate = carried }
        let bytes = rate * (shortest + min(shortest, Self.longestQueue)) / 1_000_000
        capacity = max(least, Int(min(bytes, UInt64(most))))
    }
}
