// A hash of a scalar's bytes with a secret seed, drawn when the writer's memory is made: nobody can choose scalars that
// all collide and so make writing slow. Two multiplications for a short scalar; it is never stored, sent or compared
// between two writings.

/// A hash function with a secret seed.
struct ScalarHash: Sendable {
    private let seed: UInt64
    private let factor: UInt64

    init() {
        seed = .random(in: .min ... .max)
        factor = .random(in: .min ... .max)
    }

    /// The hash of the bytes from `offset` to the end, at least one.
    @inline(__always)
    func hash(_ output: borrowing OutputBytes, from offset: Int) -> UInt32 {
        unsafe output.withBytes(from: offset) { bytes in
            var state = seed ^ UInt64(truncatingIfNeeded: bytes.count)
            var place = 0
            while bytes.count &- place > 16 {
                state = unsafe mix(word(bytes, place) ^ state, word(bytes, place &+ 8) ^ factor)
                place &+= 16
            }
            let (first, second) = unsafe ends(bytes, from: place)
            state = mix(first ^ state, second ^ factor)
            return UInt32(truncatingIfNeeded: state)
        }
    }

    /// The last 1 to 16 bytes in two words, which may overlap.
    @inline(__always)
    private func ends(_ bytes: UnsafeRawBufferPointer, from place: Int) -> (UInt64, UInt64) {
        switch bytes.count &- place {
        case 8...: return unsafe (word(bytes, place), word(bytes, bytes.count &- 8))
        case 4..<8: return unsafe (half(bytes, place), half(bytes, bytes.count &- 4))
        default:
            let middle = (place &+ bytes.count) >> 1
            return unsafe (UInt64(bytes[place]) | UInt64(bytes[middle]) << 8, UInt64(bytes[bytes.count &- 1]))
        }
    }

    @inline(__always) private func word(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> UInt64 {
        unsafe bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
    }

    @inline(__always) private func half(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> UInt64 {
        unsafe UInt64(bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
    }

    @inline(__always) private func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
