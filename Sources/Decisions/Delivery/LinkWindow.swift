// Window of a link (DEL-27): the bytes of durable delivery that one link carries at once, over all of its queues.
// Without it a device that comes back would queue everything that waits, overrun its own quota on a slow line, and keep
// messages waiting behind it. The peer's `pong` to a marker says that it has read everything before. The window does
// not count items that the peer has stored: one blocked queue there would close it for all others.

package import TandemBase
import TandemWire

/// The bytes under way on one link.
package struct LinkWindow: ~Copyable, Sendable {
    private let capacity: Int
    private let distance: Int
    private let kept: Int
    /// Reserved, or sent and not yet read by the peer.
    private var underWay = 0
    /// Sent behind the last marker.
    private var unmarked = 0
    /// The markers that the peer has not answered, and the bytes in front of each.
    private var markers: [(id: UniqueIdentifier, bytes: Int)] = []

    /// - Parameters:
    ///   - capacity: in bytes (LIM-46).
    ///   - distance: bytes behind which a marker follows (LIM-46).
    ///   - kept: bytes in which only frames without a body go (LIM-46).
    package init(
        capacity: Int = Limits.linkWindow, distance: Int = Limits.linkMark, kept: Int = Limits.linkMark
    ) {
        self.capacity = capacity
        self.distance = distance
        self.kept = kept
    }

    /// Reserves room for a frame. One that is larger than the window gets it when nothing else is under way.
    /// - Returns: false if there is none now.
    package mutating func reserve(_ size: Int, hasBody: Bool) -> Bool {
        guard underWay == 0 || size <= capacity - underWay - (hasBody ? kept : 0) else { return false }
        underWay += size
        return true
    }

    /// A frame for which there was room is not sent after all.
    package mutating func giveBack(_ size: Int) { underWay -= size }

    /// A frame was sent for which room was reserved.
    /// - Parameter marker: a new marker, which nobody can guess: the peer answers it when it has read it.
    /// - Returns: the marker to send behind the frame; nil if none is due.
    package mutating func sent(_ size: Int, marker: @autoclosure () -> UniqueIdentifier) -> UniqueIdentifier? {
        unmarked += size
        guard unmarked >= distance else { return nil }
        let id = marker()
        markers.append((id, unmarked))
        unmarked = 0
        return id
    }

    /// The peer has answered a marker. One that was never sent, or is answered again, changes nothing.
    package mutating func answered(_ marker: UniqueIdentifier) {
        guard let index = markers.firstIndex(where: { $0.id == marker }) else { return }
        for entry in markers[...index] { underWay -= entry.bytes }
        markers.removeFirst(index + 1)
    }
}
