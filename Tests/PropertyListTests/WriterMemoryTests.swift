// The writer works in memory that it uses again and looks at values where they lie: nothing of one writing may show in
// the next, on whatever thread, and what it assumes of layouts is checked here.

import TandemTestSupport
import Testing

@testable import TandemPropertyList

@Suite struct WriterMemoryTests {
    /// Values of several sizes, among them some that cannot be written.
    private static func value(_ index: Int) -> PropertyListValue {
        let count = [0, 1, 20, 254, 255, 256, 700][index % 7]
        let elements = (0..<count).map { PropertyListValue.string("\(index) \($0 % 300) é\($0)") }
        guard index % 5 > 0 else { return .array(elements + [.real(.nan)]) }
        return [
            "key": .array(elements), "\(index)": ["a": 1, "b": [["a": 2, "b": 1], ["a": .integer(Int64(index))]]],
        ]
    }

    @Test func whatWasWrittenBeforeNeverShows() throws {
        let alone = (0..<70).map { index in
            var writer = TreeWriter()
            return try? writer.write(Self.value(index), limits: .standard)
        }
        var writer = TreeWriter()
        for index in Array(0..<70) + (0..<70).reversed() {
            #expect((try? writer.write(Self.value(index), limits: .standard)) == alone[index])
        }
    }

    @Test func threadsDoNotDisturbEachOther() async throws {
        let alone = (0..<70).map { try? PropertyListWriter.write(Self.value($0)) }
        await withTaskGroup(of: Bool.self) { group in
            for start in 0..<16 {
                group.addTask {
                    (0..<200).allSatisfy { step in
                        let index = (start * 31 + step) % 70
                        return (try? PropertyListWriter.write(Self.value(index))) == alone[index]
                    }
                }
            }
            for await isUndisturbed in group { #expect(isUndisturbed) }
        }
    }

    @Test func aBorrowedValueIsLaidOutAsTheValue() {
        #expect(MemoryLayout<BorrowedValue>.size == MemoryLayout<PropertyListValue>.size)
        #expect(MemoryLayout<BorrowedValue>.stride == MemoryLayout<PropertyListValue>.stride)
        #expect(MemoryLayout<BorrowedPair>.size == MemoryLayout<PropertyListPair>.size)
        #expect(MemoryLayout<BorrowedPair>.stride == MemoryLayout<PropertyListPair>.stride)
        #expect(MemoryLayout<BorrowedPair>.alignment == MemoryLayout<PropertyListPair>.alignment)
    }

    /// One value of each type, with texts that are stored in place and on the heap.
    private static let each: [PropertyListValue] = [
        .boolean(true), -7, .unsigned(.max), .real(1.5), .date(PropertyListDate(millisecondsSinceReferenceDate: 3)),
        .data([1, 2, 3]), "short", .string(String(repeating: "long", count: 20)), [1, "two"], ["a": ["b": 2]],
    ]

    @Test func whatIsLentIsWhatLiesThere() {
        let each = Self.each
        var lent: [PropertyListValue] = []
        BorrowedValue.forEach(each.span) { index, element in
            lent.append(element.value)
            let count = lent.count
            #expect(index == count - 1)
        }
        #expect(lent == each)
        let none: [PropertyListValue] = []
        BorrowedValue.forEach(none.span) { _, _ in Issue.record("nothing lies there") }
    }

    @Test func aLentPairIsThePairThatLiesThere() {
        var pairs = PropertyListDictionary()
        for (number, value) in Self.each.enumerated() {
            pairs[number.isMultiple(of: 2) ? "\(number)" : "a key too long to be stored in place \(number)"] = value
        }
        var (keys, values): ([String], [PropertyListValue]) = ([], [])
        pairs.withPairs { span in
            BorrowedPair.forEach(span) { _, pair in
                keys.append(pair.key)
                values.append(pair.value.value)
            }
        }
        #expect(keys == pairs.keys && values == pairs.map(\.value))
        #expect(keys.count == Self.each.count)
    }

    @Test func hashesOfTwoWritersHaveNothingInCommon() {
        var output = OutputBytes(capacity: 64)
        let (one, other) = (ScalarHash(), ScalarHash())
        var isSame = true
        for byte in UInt8(0)..<64 {
            output.append(byte)
            isSame = isSame && one.hash(output, from: 0) == other.hash(output, from: 0)
        }
        #expect(!isSame)
    }

    @Test func thousandsOfScalarsThatDifferInOneByteStayApart() throws {
        let values = (0..<16_000).map { index in
            PropertyListValue.data([UInt8](repeating: 0, count: 40) + [UInt8(index & 0xFF), UInt8(index >> 8)])
        }
        #expect(try PropertyListReader.read(PropertyListWriter.write(.array(values))) == .array(values))
    }

    /// Keys that a dictionary shares with the one before it must be counted (FRM-6 n) and checked like all others.
    @Test func keysRepeatedFromTheLastDictionaryAreCountedAndChecked() throws {
        let twins: PropertyListValue = [["key": 1, "other": 2], ["key": 3, "other": 4], ["key": 5]]
        let bytes = try PropertyListWriter.write(twins)
        #expect(try PropertyListReader.read(bytes) == twins)
        var limits = PropertyListLimits.standard
        limits.repeatedBytes = 13
        #expect(throws: PropertyListError.self) { try PropertyListWriter.write(twins, limits: limits) }
        limits.repeatedBytes = 14
        #expect(try PropertyListWriter.write(twins, limits: limits) == bytes)
    }
}
