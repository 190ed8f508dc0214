// Bytes as tests write them.

package enum Bytes {
    /// The UTF-8 bytes of a text.
    package static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// The bytes of hexadecimal digits; anything else is left out, so that digits can be grouped.
    package static func hex(_ digits: String) -> [UInt8] {
        let nibbles = digits.compactMap(\.hexDigitValue)
        return stride(from: 0, to: nibbles.count - 1, by: 2).map { (index: Int) -> UInt8 in
            UInt8(nibbles[index] * 16 + nibbles[index + 1])
        }
    }

    /// A number in network order.
    package static func bigEndian(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }

    /// A frame as it travels: length and payload, also of lengths that no frame may have.
    package static func frame(_ payload: [UInt8]) -> [UInt8] { bigEndian(UInt32(payload.count)) + payload }
}
