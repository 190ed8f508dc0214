// Messages to every pairing (SES-30), one behind the other as each receiver gets them. They lie in one piece of memory
// for all receivers, because only the sixteen bytes of `pairing` in each frame differ: the receivers' pairings are
// written there one after the other, and a delivery costs two stores and its share of one write. A receiver must have
// finished with the bytes before the next receiver's turn, so they are lent as a span, which cannot be retained.

package import TandemBase
import TandemPropertyList

/// Frames of broadcasts, and where the receiver's pairing stands in each.
package struct BroadcastFrames: Sendable {
    /// All frames, addressed to the last named receiver.
    package private(set) var bytes: [UInt8] = []
    /// Where the frames' pairings begin.
    private var offsets: [Int] = []

    package init() {}

    /// Copies a message's frame behind the others.
    /// - Returns: false, and nothing has changed, if its `pairing` shares its bytes with another value.
    package mutating func append(_ frame: Frame) -> Bool {
        guard let offset = frame.payload.withBytes({ PairingOffset.find(in: $0) }) else { return false }
        offsets.append(bytes.count + Frame.headerCount + offset)
        frame.bytes.append(to: &bytes)
        return true
    }

    /// Writes the pairing of the next receiver into all frames.
    package mutating func address(to pairing: UniqueIdentifier) {
        let (offsets, high, low) = (offsets, pairing.high.bigEndian, pairing.low.bigEndian)
        var span = bytes.mutableSpan
        // Any bytes are numbers from 0 to 255.
        var room = unsafe span.mutableBytes
        for offset in offsets {
            room.storeBytes(of: high, toByteOffset: offset, as: UInt64.self)
            room.storeBytes(of: low, toByteOffset: offset + 8, as: UInt64.self)
        }
    }

    /// Forgets all frames and keeps their room for the next ones.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        offsets.removeAll(keepingCapacity: true)
    }
}

// Where the sixteen bytes of `pairing` lie in a payload: of a broadcast (SES-30) they are all that differs between its
// receivers. A payload in which another value lies in the same bytes has no such offset: to change one would be to
// change both.

/// The search for the bytes of `pairing` in an envelope that has been judged right.
enum PairingOffset {
    /// Where the bytes begin; nil if there are none, or if they are another value's too.
    static func find(in payload: RawSpan) -> Int? {
        EnvelopeHead(plain: payload) == nil ? findInAnyShape(payload) : findInPlainShape(payload)
    }

    /// In a plain payload no object is referred to twice, and all lie apart.
    private static func findInPlainShape(_ payload: RawSpan) -> Int? {
        guard let frame = PlainFrame(payload) else { return nil }
        for pair in 1...frame.pairs {
            let key = frame.offset(at: frame.entry(of: pair), in: payload)
            guard payload.plainWord("pairing", at: key) != nil else { continue }
            // Data with a count of its own: three bytes before the content.
            return frame.offset(at: frame.entry(of: frame.pairs + pair), in: payload) + 3
        }
        return nil
    }

    /// Values that share an object begin at the same offset.
    private static func findInAnyShape(_ payload: RawSpan) -> Int? {
        let bytes = unsafe payload.withUnsafeBytes { unsafe Array($0) }
        guard let pairs = try? FlatDictionary(bytes[...]) else { return nil }
        var (offset, others): (Int?, [Int]) = (nil, [])
        for position in 0..<pairs.count {
            guard case .data(let data) = pairs.value(at: position) else { continue }
            if pairs.key(at: position) == EnvelopeKey.pairing.rawValue {
                offset = data.startIndex
            } else {
                others.append(data.startIndex)
            }
        }
        return offset.flatMap { others.contains($0) ? nil : $0 }
    }
}
