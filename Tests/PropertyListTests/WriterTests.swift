// The canonical writing (FRM-7), byte for byte, and what the writer refuses with its key path.

import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct WriterTests {
    static func fault(_ value: PropertyListValue) -> PropertyListError? {
        do throws(PropertyListError) {
            _ = try PropertyListWriter.write(value)
            return nil
        } catch {
            return error
        }
    }

    @Test func objectsAreNumberedInTheOrderOfABreadthFirstWalk() throws {
        let value: PropertyListValue = ["b": ["x", 1], "a": ["a": 1], "c": 1]
        // Root: keys a b c as 1 2 3; values {..} 4, [..] 5, 1 as 6; then "x" 7.
        let expected = RawPropertyList([
            [0xD3, 1, 2, 3, 4, 5, 6], [0x51, 0x61], [0x51, 0x62], [0x51, 0x63], [0xD1, 1, 6], [0xA2, 7, 6], [0x10, 1],
            [0x51, 0x78],
        ])
        #expect(try PropertyListWriter.write(value) == expected.bytes)
    }

    @Test func equalScalarsAreWrittenOnceAndUnequalOnesNever() throws {
        let twins: PropertyListValue = [
            1, 1.0, true, "1", .data([1]), .date(PropertyListDate(millisecondsSinceReferenceDate: 1000)), 0.0, -0.0,
            "caf\u{e9}", "cafe\u{301}",
        ]
        let once = try PropertyListValidation(PropertyListWriter.write(twins))
        let twice = try PropertyListValidation(PropertyListWriter.write(.array([twins, twins])))
        #expect(once.objectCount == 11)
        #expect(twice.objectCount == 13)
        #expect(try PropertyListReader.read(PropertyListWriter.write(.array([.unsigned(5), 5]))) == [5, 5])
    }

    @Test(arguments: [
        (254, 1), (255, 2), (65_534 / 4, 2),
    ])
    func referencesGrowWithTheNumberOfObjects(elements: Int, size: UInt8) throws {
        let value = PropertyListValue.array((0..<elements).prefix(16_383).map { PropertyListValue($0) })
        let bytes = try PropertyListWriter.write(value)
        #expect(bytes[bytes.count - 25] == size)
        #expect(try PropertyListReader.read(bytes) == value)
    }

    @Test(arguments: [(14, "4e"), (15, "4f100f"), (255, "4f10ff"), (256, "4f110100"), (65_536, "4f1200010000")])
    func countsUseTheSmallestForm(count: Int, head: String) throws {
        let bytes = try PropertyListWriter.write(.data([UInt8](repeating: 7, count: count)))
        #expect(bytes[8...].starts(with: Bytes.hex(head)))
        #expect(try PropertyListReader.read(bytes).dataValue?.count == count)
    }

    @Test func faultsNameTheirKeyPath() {
        #expect(
            Self.fault(["a": ["b": [1, 2, .real(.nan)]]]) == PropertyListError(.notFinite, at: .path("a.b[2]")))
        #expect(Self.fault(.real(.infinity)) == PropertyListError(.notFinite, at: .path("")))
        #expect(Self.fault([["": 1]]) == PropertyListError(.invalidKeyLength(0), at: .path("[0]")))
        #expect(Self.fault(["x": ["a\0": 1]]) == PropertyListError(.keyContainsNull, at: .path("x")))
        #expect(Self.fault([.date(PropertyListDate(millisecondsSinceReferenceDate: .max))])?.reason == .dateOutOfRange)
        #expect(Self.fault(["a": .real(.nan)])?.description == "real is not finite at a")
    }

    @Test(arguments: [(256, true), (257, false)])
    func longKeysAreRefused(length: Int, isWritten: Bool) {
        let key = String(repeating: "k", count: length)
        #expect((Self.fault([key: 1]) == nil) == isWritten)
    }

    @Test func depthObjectsAndValuesAreLimited() {
        func nested(_ levels: Int) -> PropertyListValue { (1..<levels).reduce([]) { value, _ in [value] } }
        #expect(Self.fault(nested(64)) == nil)
        #expect(Self.fault(nested(65))?.reason == .tooDeep(limit: 64))
        #expect(Self.fault(.array((0..<16_383).map { PropertyListValue($0) })) == nil)
        #expect(
            Self.fault(.array((0..<16_384).map { PropertyListValue($0) }))?.reason
                == .tooManyObjects(count: 16_385, limit: 16_384))
        #expect(Self.fault(.array(Array(repeating: true, count: 65_535))) == nil)
        #expect(Self.fault(.array(Array(repeating: true, count: 65_536)))?.reason == .tooManyValues(limit: 65_536))
    }
}
