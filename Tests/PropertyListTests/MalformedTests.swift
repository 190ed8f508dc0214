// Every way in which bytes can fail to be a property list of the strict profile (FRM-6), with the reason that is given.
// A claimed count or size is never believed, however large.

import TandemPropertyList
import Testing

@Suite struct MalformedTests {
    static let plain = RawPropertyList([[0xA1, 1], [0x10, 42]])

    @Test func theTrailerMustBeThere() {
        let bytes = Self.plain.bytes
        for count in 0..<bytes.count { #expect(refusal(of: Array(bytes.prefix(count))) != nil, "\(count) bytes") }
        #expect(refusal(of: bytes) == nil)
        #expect(refusal(of: bytes + [0]) != nil)
    }

    @Test(arguments: [0, 7, 11, 13, 14, 40, 1 << 32, 1 << 63, .max] as [UInt64])
    func theOffsetTableMustLieDirectlyBeforeTheTrailer(offset: UInt64) {
        #expect(refusal(of: Self.plain.with { $0.tableOffset = offset }.bytes) == .offsetTableMisplaced(offset))
    }

    @Test(arguments: [1 << 31 - 1, 1 << 40, .max] as [UInt64])
    func aClaimedNumberOfObjectsIsNotBelieved(count: UInt64) {
        let limit = Self.plain.bytes.count - 32
        #expect(
            refusal(of: Self.plain.with { $0.count = count }.bytes) == .tooManyObjects(count: count, limit: limit))
        #expect(refusal(of: Self.plain.with { $0.count = 0 }.bytes) == .noObjects)
        #expect(refusal(of: Self.plain.with { $0.count = 3 }.bytes) == .offsetTableMisplaced(12))
        #expect(refusal(of: Self.plain.with { $0.count = 1 }.bytes) == .offsetTableMisplaced(12))
    }

    @Test(arguments: [2, 255, 1 << 32, .max] as [UInt64])
    func theTopObjectMustExist(top: UInt64) {
        #expect(refusal(of: Self.plain.with { $0.top = top }.bytes) == .topObjectOutOfRange(top))
    }

    @Test(arguments: [0, 9, 16, 255])
    func sizesOfReferencesAndOffsetsAreOneToEight(size: Int) {
        let offsets = Self.plain.with { $0.offsetSize = size }.bytes
        #expect(refusal(of: offsets) == .invalidOffsetSize(UInt8(size)))
        let references = Self.plain.with { $0.referenceSize = size }.bytes
        #expect(refusal(of: references) == .invalidReferenceSize(UInt8(size)))
    }

    @Test(arguments: 1...8, 1...8)
    func everySizeFromOneToEightIsRead(offsetSize: Int, referenceSize: Int) throws {
        let list = RawPropertyList([[0xA1] + RawPropertyList.bigEndian(1, size: referenceSize), [0x10, 42]])
            .with { ($0.offsetSize, $0.referenceSize) = (offsetSize, referenceSize) }
        #expect(try PropertyListReader.read(list.bytes) == [42])
    }

    @Test func sizesThatCannotHoldWhatTheyMustAreRefused() {
        let large = RawPropertyList([[0x4F, 0x11, 1, 0] + [UInt8](repeating: 0, count: 256)])
        #expect(refusal(of: large.bytes) == .offsetSizeTooSmall(1))
        #expect(refusal(of: large.with { $0.offsetSize = 2 }.bytes) == nil)
        let many = RawPropertyList(
            [[0xAF, 0x10, 255] + (1...255).map { UInt8($0) }] + [[UInt8]](repeating: [0x08], count: 255)
        ).with { $0.offsetSize = 2 }
        #expect(refusal(of: many.bytes) == .referenceSizeTooSmall(1))
    }

    @Test(arguments: [0, 7, 9, 12, 255] as [UInt64])
    func anObjectMustBeginWhereTheOneBeforeItEnded(offset: UInt64) {
        let moved = Self.plain.with { $0.offsets = [8, offset] }
        #expect(refusal(of: moved.bytes) == .objectMisplaced(expected: 10, found: offset))
        #expect(refusal(of: Self.plain.with { $0.offsets = [9, 10] }.bytes) == .objectMisplaced(expected: 8, found: 9))
    }

    @Test(
        arguments: [
            [0x4F, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x6F, 0x13, 0x40, 0, 0, 0, 0, 0, 0, 0], [0x6F, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            [0xAF, 0x13, 0x10, 0, 0, 0, 0, 0, 0, 0], [0xDF, 0x13, 0x40, 0, 0, 0, 0, 0, 0, 0],
            [0xDF, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x4F, 0x12, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x42, 0], [0x52, 0x61], [0x61, 0], [0xA1], [0xD1, 0], [0x13, 0, 0], [0x23, 0], [0x33, 0], [0x4F],
            [0x4F, 0x11, 0],
        ] as [[UInt8]])
    func anObjectMustEndBeforeTheOffsetTable(object: [UInt8]) {
        #expect(refusal(of: RawPropertyList([object]).bytes) == .objectTooLong)
    }

    @Test(
        arguments: [
            [0x4F, 0x14] + [UInt8](repeating: 0, count: 16), [0x4F, 0x15] + [UInt8](repeating: 0, count: 32),
            [0x4F, 0x08],
            [0x4F, 0x22, 0, 0, 0, 0], [0x4F, 0x51, 0x61], [0x4F, 0x4F, 0x10, 1],
            [0x4F, 0x13] + [UInt8](repeating: 0xFF, count: 8),
            [0xAF, 0x13, 0x80, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]])
    func aCountIsAnIntegerObjectThatIsNotNegative(object: [UInt8]) {
        #expect(refusal(of: RawPropertyList([object]).bytes) == .invalidCount)
    }

    @Test(arguments: [2, 3, 255] as [UInt8])
    func aReferenceMustNameAnObject(reference: UInt8) {
        let list = RawPropertyList([[0xA1, reference], [0x08]])
        #expect(refusal(of: list.bytes) == .referenceOutOfRange(UInt64(reference)))
        let wide = RawPropertyList([[0xA1] + [UInt8](repeating: 0xFF, count: 8), [0x08]]).with { $0.referenceSize = 8 }
        #expect(refusal(of: wide.bytes) == .referenceOutOfRange(.max))
    }

    @Test func everyMarkerIsReadOrRefusedByName() {
        let types: Set<UInt8> = Set([0x08, 0x09, 0x22, 0x23, 0x33] + Array(0x10...0x14))
        let counted = Set(Array(0x40...0x6F) + Array(0xA0...0xAF) + Array(0xD0...0xDF) as [UInt8])
        let elsewhere = Set([0x00] + Array(0x0C...0x0F) + Array(0x70...0x8F) + Array(0xB0...0xCF) as [UInt8])
        for marker in UInt8.min...UInt8.max where !types.contains(marker) && !counted.contains(marker) {
            let bytes = RawPropertyList([[marker] + [UInt8](repeating: 0, count: 40)]).bytes
            #expect(
                refusal(of: bytes)
                    == (elsewhere.contains(marker) ? .unsupportedType(marker: marker) : .unknownMarker(marker)))
        }
    }

    @Test func aFaultSaysWhereItIs() {
        let bytes = RawPropertyList([[0xA2, 1, 2], [0x09], [0x51, 0x80]]).bytes
        let error = #expect(throws: PropertyListError.self) { try PropertyListReader.read(bytes) }
        #expect(error == PropertyListError(.invalidASCII, at: .object(2, byte: 12)))
        #expect(error?.description == "ASCII string holds another byte at object 2 (byte 12)")
    }

    @Test func aRootThatIsNoDictionaryIsRefusedWhereOneMustBe() {
        let error = #expect(throws: PropertyListError.self) { try PropertyListReader.readDictionary(Self.plain.bytes) }
        #expect(error?.reason == .rootNotDictionary)
    }
}
