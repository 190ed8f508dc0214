// Messages to every pairing (SES-30), one behind the other as each receiver gets them. They lie in one piece of memory
// for all receivers, because only the sixteen bytes of `pairing` in each frame differ: the receivers' pairings are
// written there one after the other, and a delivery costs two stores and its share of one write. Who is given the bytes
// must be done with them before the next receiver's turn, so they are lent as a span, which nobody can keep.

package import TandemBase

/// Frames of broadcasts, and where the receiver's pairing stands in each.
package struct BroadcastFrames: Sendable {
    /// All frames, addressed to who was named last.
    package private(set) var bytes: [UInt8] = []
    /// Where the frames' pairings begin.
    private var places: [Int] = []

    package init() {}

    /// Copies a message's frame behind the others.
    /// - Returns: false, and nothing has changed, if its `pairing` shares its bytes with another value.
    package mutating func append(_ frame: Frame) -> Bool {
        guard let place = frame.payload.withBytes({ PairingPlace.find(in: $0) }) else { return false }
        places.append(bytes.count + Frame.headerCount + place)
        frame.bytes.append(to: &bytes)
        return true
    }

    /// Writes the pairing of the next receiver into all frames.
    package mutating func address(to pairing: UniqueIdentifier) {
        let (places, high, low) = (places, pairing.high.bigEndian, pairing.low.bigEndian)
        var span = bytes.mutableSpan
        // Any bytes are numbers from 0 to 255.
        var room = unsafe span.mutableBytes
        for place in places {
            room.storeBytes(of: high, toByteOffset: place, as: UInt64.self)
            room.storeBytes(of: low, toByteOffset: place + 8, as: UInt64.self)
        }
    }

    /// Forgets all frames and keeps their room for the next ones.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
    }
}
