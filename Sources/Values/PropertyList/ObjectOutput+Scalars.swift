// The smallest form of each scalar (FRM-7). Every function gives the number of the object: a new one, or that of an
// equal scalar that was written before.

extension ObjectOutput {
    @inline(__always) mutating func add(_ value: Bool) throws(PropertyListError.Reason) -> Int {
        let start = bytes.count
        bytes.reserve(1)
        bytes.append(UInt8(value ? 0x09 : 0x08))
        return try number(ofScalarFrom: start)
    }

    @inline(__always) mutating func add(_ value: Int64) throws(PropertyListError.Reason) -> Int {
        let start = bytes.count
        bytes.reserve(9)
        if value >= 0 {
            append(UInt64(truncatingIfNeeded: value))
        } else {
            bytes.append(0x13 as UInt8)
            bytes.append(value)
        }
        return try number(ofScalarFrom: start)
    }

    mutating func add(_ value: UInt64) throws(PropertyListError.Reason) -> Int {
        let start = bytes.count
        bytes.reserve(17)
        append(value)
        return try number(ofScalarFrom: start)
    }

    @inline(__always) mutating func add(_ value: Double) throws(PropertyListError.Reason) -> Int {
        guard value.isFinite else { throw .notFinite }
        return try add(marker: 0x23, value)
    }

    @inline(__always) mutating func add(_ value: PropertyListDate) throws(PropertyListError.Reason) -> Int {
        guard PropertyListDate.representable.contains(value.millisecondsSinceReferenceDate) else {
            throw .dateOutOfRange
        }
        return try add(marker: 0x33, value.secondsSinceReferenceDate)
    }

    /// Adds data.
    mutating func add(_ value: Span<UInt8>) throws(PropertyListError.Reason) -> Int {
        let start = bytes.count
        bytes.reserve(10 + value.count)
        append(marker: 0x40, count: value.count)
        bytes.append(value)
        return try number(ofScalarFrom: start)
    }

    /// Adds data of 16 bytes.
    mutating func add(_ high: UInt64, _ low: UInt64) throws(PropertyListError.Reason) -> Int {
        let start = bytes.count
        bytes.reserve(19)
        append(marker: 0x40, count: 16)
        bytes.append(high)
        bytes.append(low)
        return try number(ofScalarFrom: start)
    }

    @inline(__always)
    private mutating func add(marker: UInt8, _ value: Double) throws(PropertyListError.Reason) -> Int {
        let start = bytes.count
        bytes.reserve(9)
        bytes.append(marker)
        bytes.append(value.bitPattern)
        return try number(ofScalarFrom: start)
    }

    /// Appends an integer. Up to four bytes are unsigned and eight are signed, so that the upper half of the range
    /// needs sixteen.
    @inline(__always) private mutating func append(_ value: UInt64) {
        switch value {
        case 0...0xFF: bytes.append(0x1000 | UInt16(truncatingIfNeeded: value))
        case 0...0xFFFF:
            bytes.append(0x11 as UInt8)
            bytes.append(UInt16(truncatingIfNeeded: value))
        case 0...0xFFFF_FFFF:
            bytes.append(0x12 as UInt8)
            bytes.append(UInt32(truncatingIfNeeded: value))
        case 0...UInt64(Int64.max):
            bytes.append(0x13 as UInt8)
            bytes.append(value)
        default:
            bytes.append(0x14 as UInt8)
            bytes.append(0 as UInt64)
            bytes.append(value)
        }
    }

    /// Appends what every object with a count begins with: up to 10 bytes.
    @inline(__always) mutating func append(marker: UInt8, count: Int) {
        guard count >= 0x0F else { return bytes.append(marker | UInt8(truncatingIfNeeded: count)) }
        bytes.append(marker | 0x0F)
        append(UInt64(truncatingIfNeeded: count))
    }
}
