// Containers that refer to the next one many times: a few bytes that a naive reader expands to hundreds of millions of
// values (FRM-6 k, m). They are counted, never expanded; what is asserted is the work, in references looked at.

import TandemPropertyList
import Testing

@Suite struct SharedReferenceTests {
    /// `levels` arrays of ten references each to the next, and a string at the end.
    static func bomb(levels: Int) -> [UInt8] {
        var objects = (1...levels).map { [0xAA] + [UInt8](repeating: UInt8($0), count: 10) }
        objects.append(Array("\u{53}abc".utf8))
        return RawPropertyList(objects).bytes
    }

    @Test(arguments: [(6, 117), (7, 129), (8, 141)])
    func aBombOfTenfoldSharingIsRefusedAfterAFewVisits(levels: Int, size: Int) throws {
        let bytes = Self.bomb(levels: levels)
        #expect(bytes.count == size)
        #expect(refusal(of: bytes) == .tooManyValues(limit: 65_536))
        let unlimited = PropertyListLimits(depth: 64, objects: 16_384, values: .max, repeatedBytes: .max)
        let validation = try PropertyListValidation(bytes, limits: unlimited)
        let powers = sequence(first: 1) { $0 * 10 }.prefix(levels + 1)
        #expect(validation.expandedValues == powers.reduce(0, +))
        #expect(validation.visits == 10 * levels)
    }

    @Test func sharingWithinTheBudgetIsRead() throws {
        let value = try PropertyListReader.read(Self.bomb(levels: 4))
        #expect(value.arrayValue?.last?.arrayValue?.last?.arrayValue?.first?.arrayValue?[9] == "abc")
    }

    @Test func expansionBeyondTheRangeOfIntegersIsCountedWithoutOverflow() {
        let limits = PropertyListLimits(depth: 1000, objects: 16_384, values: .max, repeatedBytes: .max)
        #expect(throws: PropertyListError.self) { try PropertyListValidation(Self.bomb(levels: 30), limits: limits) }
    }

    @Test func exactlyTheBudgetOfValuesIsRead() throws {
        // The root and 65,535 references to one boolean.
        func list(of count: Int) -> [UInt8] {
            let head: [UInt8] = [0xAF, 0x12] + RawPropertyList.bigEndian(UInt64(count), size: 4)
            return RawPropertyList([head + [UInt8](repeating: 1, count: count), [0x09]])
                .with { $0.offsetSize = 4 }.bytes
        }
        #expect(try PropertyListReader.read(list(of: 65_534)).arrayValue?.count == 65_534)
        #expect(try PropertyListReader.read(list(of: 65_535)).arrayValue?.count == 65_535)
        #expect(refusal(of: list(of: 65_536)) == .tooManyValues(limit: 65_536))
    }

    @Test func depthIsCountedInLevels() throws {
        func nested(_ levels: Int) -> [UInt8] {
            RawPropertyList((1..<levels).map { [0xA1, UInt8($0)] } + [[0xA0]]).bytes
        }
        #expect(refusal(of: nested(63)) == nil)
        #expect(refusal(of: nested(64)) == nil)
        #expect(refusal(of: nested(65)) == .tooDeep(limit: 64))
        #expect(
            refusal(of: RawPropertyList((1...64).map { [0xA1, UInt8($0)] } + [[0x08]]).bytes) == .tooDeep(limit: 64))
    }

    /// An array of `count` references to one string of `length` ASCII bytes, whose object has five bytes more.
    private static func repetitions(of length: Int, count: Int) -> [UInt8] {
        let head: [UInt8] = [0xAF, 0x12] + RawPropertyList.bigEndian(UInt64(count), size: 4)
        let text: [UInt8] = [0x5F, 0x12] + RawPropertyList.bigEndian(UInt64(length), size: 4)
        let objects = [
            head + [UInt8](repeating: 1, count: count), text + [UInt8](repeating: 0x61, count: length),
        ]
        return RawPropertyList(objects).with { $0.offsetSize = 4 }.bytes
    }

    @Test func theBytesThatSharedObjectsRepeatAreLimited() throws {
        let limits = PropertyListLimits(depth: 64, objects: 16_384, values: 65_536, repeatedBytes: 9 * 106)
        for count in 9...11 {
            let isRead = (try? PropertyListReader.read(Self.repetitions(of: 100, count: count), limits: limits)) != nil
            #expect(isRead == (count <= 10), "\(count) references")
        }
        #expect(refusal(of: Self.repetitions(of: 200_000, count: 40)) == nil)
        #expect(refusal(of: Self.repetitions(of: 200_000, count: 60_000)) == .tooManyRepeatedBytes(limit: 8 << 20))
    }

    @Test func theWriterRepeatsNoMoreThanTheReaderTakes() throws {
        let text = PropertyListValue.string(String(repeating: "a", count: 1 << 20))
        let bytes = try PropertyListWriter.write(.array(Array(repeating: text, count: 8)))
        #expect(refusal(of: bytes) == nil)
        #expect(throws: PropertyListError(.tooManyRepeatedBytes(limit: 8 << 20), at: .path(""))) {
            try PropertyListWriter.write(.array(Array(repeating: text, count: 9)))
        }
    }

    @Test func theNumberOfObjectsIsLimited() throws {
        func list(of count: Int) -> [UInt8] {
            let references = (1..<count).flatMap { RawPropertyList.bigEndian(UInt64($0), size: 2) }
            let head: [UInt8] = [0xAF, 0x11] + RawPropertyList.bigEndian(UInt64(count - 1), size: 2) + references
            let booleans = [[UInt8]](repeating: [0x08], count: count - 1)
            return RawPropertyList([head] + booleans).with { ($0.offsetSize, $0.referenceSize) = (4, 2) }.bytes
        }
        #expect(refusal(of: list(of: 16_383)) == nil)
        #expect(refusal(of: list(of: 16_384)) == nil)
        #expect(refusal(of: list(of: 16_385)) == .tooManyObjects(count: 16_385, limit: 16_384))
    }

    @Test func aContainerThatNothingRefersToIsRefused() {
        #expect(refusal(of: RawPropertyList([[0xA0], [0xA0]]).bytes) == .unreferencedObject)
        #expect(refusal(of: RawPropertyList([[0xA1, 2], [0xA1, 2], [0x08]]).bytes) == .unreferencedObject)
        #expect(refusal(of: RawPropertyList([[0xA0], [0xA0]]).with { $0.top = 1 }.bytes) == .unreferencedObject)
    }

    @Test func longerCyclesAreRefusedInWhateverOrder() {
        #expect(refusal(of: RawPropertyList([[0xA1, 1], [0xA1, 0]]).bytes) == .cycle)
        #expect(refusal(of: RawPropertyList([[0xA1, 1], [0xA1, 2], [0xA1, 1]]).bytes) == .cycle)
        #expect(refusal(of: RawPropertyList([[0xA0], [0xA1, 2], [0xA2, 1, 0]]).bytes) == .cycle)
        #expect(refusal(of: RawPropertyList([[0xD1, 1, 0], [0x51, 0x61]]).bytes) == .cycle)
        #expect(refusal(of: RawPropertyList([[0xD1, 0, 1], [0x51, 0x61]]).bytes) == .cycle)
    }
}
