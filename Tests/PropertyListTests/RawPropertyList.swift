// Property lists put together by hand, right or wrong in any place: the tests' own writer, which shares no code with
// the one under test.

import TandemPropertyList

struct RawPropertyList {
    var objects: [[UInt8]]
    var offsetSize = 1
    var referenceSize = 1
    var magic = Array("bplist00".utf8)
    /// The six bytes before the sizes.
    var reserved = [UInt8](repeating: 0, count: 6)
    var count: UInt64?
    var top: UInt64 = 0
    var tableOffset: UInt64?
    /// Replaces the offsets that follow from the objects.
    var offsets: [UInt64]?
    var betweenObjectsAndTable: [UInt8] = []
    var betweenTableAndTrailer: [UInt8] = []

    init(_ objects: [[UInt8]]) { self.objects = objects }

    /// A root array of one element, or a value alone.
    static func array(of element: [UInt8]) -> RawPropertyList { RawPropertyList([[0xA1, 1], element]) }

    var bytes: [UInt8] {
        var bytes = magic
        var own: [UInt64] = []
        for object in objects {
            own.append(UInt64(bytes.count))
            bytes += object
        }
        bytes += betweenObjectsAndTable
        let table = UInt64(bytes.count)
        for offset in offsets ?? own { bytes += Self.bigEndian(offset, size: offsetSize) }
        bytes += betweenTableAndTrailer
        bytes += reserved + [UInt8(truncatingIfNeeded: offsetSize), UInt8(truncatingIfNeeded: referenceSize)]
        for number in [count ?? UInt64(objects.count), top, tableOffset ?? table] {
            bytes += Self.bigEndian(number, size: 8)
        }
        return bytes
    }

    /// This list with one part replaced.
    func with(_ change: (inout RawPropertyList) -> Void) -> RawPropertyList {
        var copy = self
        change(&copy)
        return copy
    }

    static func bigEndian(_ value: UInt64, size: Int) -> [UInt8] {
        (0..<size).reversed().map { $0 >= 8 ? 0 : UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
    }

    static func trailer(_ offsetSize: UInt8, _ referenceSize: UInt8, _ count: UInt64, _ top: UInt64, _ table: UInt64)
        -> [UInt8]
    {
        [0, 0, 0, 0, 0, 0, offsetSize, referenceSize]
            + [count, top, table].flatMap { bigEndian($0, size: 8) }
    }
}

/// The reason for which bytes are refused; nil if they are read.
func refusal(of bytes: [UInt8]) -> PropertyListError.Reason? {
    do throws(PropertyListError) {
        _ = try PropertyListReader.read(bytes)
        return nil
    } catch {
        return error.reason
    }
}
