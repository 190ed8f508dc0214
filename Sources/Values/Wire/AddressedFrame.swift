// One message for many receivers (SES-30): what differs between their frames are the sixteen bytes of `pairing`, so each
// gets a frame of three parts, of which the long ones are the same memory for all. It is found once for each message where
// the sixteen bytes are; a frame in which another value lies in the same bytes cannot be told apart and is none.

package import TandemBytes
package import TandemIdentity
import TandemPropertyList

/// A message to every pairing, cut at its `pairing`.
package struct BroadcastFrame: Sendable {
    private let before: ByteSlice
    private let after: ByteSlice

    /// nil if the envelope has no `pairing`, or if its bytes are another value's too.
    package init?(_ frame: Frame) {
        guard let place = Self.place(in: frame.payload.copied()) else { return nil }
        let start = Frame.headerCount + place
        before = frame.bytes.prefix(start)
        after = frame.bytes.dropFirst(start + PairingBytes.count)
    }

    /// The bytes of each receiver's frame.
    package var count: Int { before.count + PairingBytes.count + after.count }

    /// The frame for the receiver at the other end of a pairing.
    package func addressed(to pairing: PairingBytes) -> AddressedFrame {
        AddressedFrame(before: before, pairing: pairing.bytes, after: after)
    }

    /// Where the bytes of `pairing` begin in the payload. Values that share an object begin at the same place.
    private static func place(in payload: [UInt8]) -> Int? {
        guard let pairs = try? FlatDictionary(payload[...]) else { return nil }
        var (place, others): (Int?, [Int]) = (nil, [])
        for position in 0..<pairs.count {
            guard case .data(let bytes)? = try? pairs.value(at: position), let key = try? pairs.key(at: position) else {
                continue
            }
            if key == EnvelopeKey.pairing.rawValue { place = bytes.startIndex } else { others.append(bytes.startIndex) }
        }
        return place.flatMap { others.contains($0) ? nil : $0 }
    }
}

/// The sixteen bytes of a pairing as they stand in frames, made once for each pairing.
package struct PairingBytes: Sendable {
    static var count: Int { 16 }

    let bytes: ByteSlice

    package init(_ pairing: UniqueIdentifier) { bytes = ByteSlice(copying: pairing.bytes) }
}

/// One receiver's frame of a broadcast.
package struct AddressedFrame: Sendable {
    package let before: ByteSlice
    package let pairing: ByteSlice
    package let after: ByteSlice

    package var count: Int { before.count + pairing.count + after.count }

    /// The same frame in memory of its own, for who cannot take parts.
    package var joined: Frame {
        Frame(checkedBytes: ByteSlice(copying: before.copied() + pairing.copied() + after.copied()))
    }
}
