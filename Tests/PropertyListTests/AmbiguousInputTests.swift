// Inputs that other readers of property lists understand differently from each other, crash on, or take for ever over
// (FRM-6). Here each has one answer. The bytes are literal, so that another implementation can use them as they are.

import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct AmbiguousInputTests {
    @Test func aDuplicateKeyIsRefusedNotChosenFrom() {
        let bytes =
            Bytes.hex("62706c6973743030d2010203045161516110011002080d0f1113")
            + RawPropertyList.trailer(1, 1, 5, 0, 0x15)
        #expect(refusal(of: bytes) == .duplicateKey)
    }

    @Test func keysThatDifferOnlyInNormalisationAreTwoKeys() throws {
        // "é" composed, "é" as e and a combining accent.
        let bytes = RawPropertyList([
            [0xD2, 1, 2, 3, 4], Bytes.hex("6200650301"), Bytes.hex("6100e9"), [0x10, 1], [0x10, 2],
        ]).bytes
        let dictionary = try PropertyListReader.readDictionary(bytes)
        #expect(dictionary.count == 2)
        #expect(dictionary["e\u{301}"] == 1)
        #expect(dictionary["\u{e9}"] == 2)
    }

    @Test(arguments: ["0000000000000001", "ffffffffffffffff"])
    func anIntegerOfSixteenBytesMustHaveAZeroHighHalf(high: String) throws {
        let bytes = RawPropertyList([Bytes.hex("14" + high + "ffffffffffffffff")]).bytes
        #expect(refusal(of: bytes) == .integerOutOfRange)
        let zero = RawPropertyList([Bytes.hex("140000000000000000ffffffffffffffff")]).bytes
        #expect(try PropertyListReader.read(zero) == .unsigned(.max))
    }

    @Test func anASCIIStringHoldsOnlyASCII() {
        let bytes = Bytes.hex("62706c697374303052c3a908") + RawPropertyList.trailer(1, 1, 1, 0, 0x0B)
        #expect(refusal(of: bytes) == .invalidASCII)
    }

    @Test(arguments: ["61d800", "61dc00", "62dc00d800", "62d800d800", "62d8000061", "620061d800"])
    func aLoneSurrogateIsRefused(object: String) {
        #expect(refusal(of: RawPropertyList([Bytes.hex(object)]).bytes) == .invalidUTF16)
    }

    @Test func aNulIsKeptInTextAndRefusedInKeys() throws {
        #expect(try PropertyListReader.read(RawPropertyList([Bytes.hex("53610062")]).bytes) == "a\0b")
        #expect(try PropertyListReader.read(RawPropertyList([Bytes.hex("62000000e9")]).bytes) == "\0\u{e9}")
        for key in ["53610062", "62000000e9"] {
            #expect(refusal(of: RawPropertyList([[0xD1, 1, 2], Bytes.hex(key), [0x08]]).bytes) == .keyContainsNull)
        }
    }

    @Test func aSetIsRefused() {
        let bytes = Bytes.hex(
            "62706c6973743030c1011001080a"
                + "000000000000010100000000000000020000000000000000000000000000000c")
        #expect(refusal(of: bytes) == .unsupportedType(marker: 0xC1))
    }

    @Test func anArrayThatHoldsItselfIsRefused() {
        let bytes =
            Bytes.hex("62706c6973743030a100080000000000000101") + Bytes.hex("0000000000000001" + "0000000000000000")
        #expect(refusal(of: bytes + Bytes.hex("000000000000000a")) == .cycle)
    }

    @Test(arguments: [("7ff8000000000000"), ("7ff0000000000000"), ("fff0000000000000")])
    func aDateThatIsNoNumberIsRefused(pattern: String) {
        #expect(refusal(of: RawPropertyList([Bytes.hex("33" + pattern)]).bytes) == .notFinite)
        #expect(refusal(of: RawPropertyList([Bytes.hex("23" + pattern)]).bytes) == .notFinite)
    }

    @Test func anIntegerKeyAndANullAreRefused() {
        #expect(refusal(of: RawPropertyList([[0xD1, 1, 2], [0x10, 1], [0x08]]).bytes) == .keyNotString)
        #expect(refusal(of: RawPropertyList.array(of: [0x00]).bytes) == .unsupportedType(marker: 0))
    }

    @Test(arguments: ["bplist01", "bplist15", "bplist0?", "<?xml ve", "{a=1;}  ", "BPLIST00"])
    func onlyOneVersionIsRead(magic: String) {
        let bytes = RawPropertyList([[0x08]]).with { $0.magic = Array(magic.utf8) }.bytes
        #expect(refusal(of: bytes) == .notBinaryPropertyList)
    }

    @Test func textIsNoPropertyListHere() {
        #expect(refusal(of: Array("{a=1;}".utf8)) == .notBinaryPropertyList)
        #expect(refusal(of: Array("bplist00".utf8)) == .tooShort(count: 8))
        #expect(refusal(of: []) == .notBinaryPropertyList)
    }

    @Test func bytesThatNothingUsesAreRefused() {
        let plain = RawPropertyList([[0x08]])
        #expect(refusal(of: plain.with { $0.betweenTableAndTrailer = [0] }.bytes) == .offsetTableMisplaced(9))
        #expect(refusal(of: plain.with { $0.betweenObjectsAndTable = [8] }.bytes) == .bytesAfterLastObject(count: 1))
        #expect(refusal(of: RawPropertyList([[0xA0], [0x08]]).bytes) == .unreferencedObject)
        #expect(refusal(of: plain.with { $0.reserved[5] = 1 }.bytes) == .reservedTrailerByte(1))
        #expect(refusal(of: plain.with { $0.reserved[0] = 7 }.bytes) == .reservedTrailerByte(7))
    }

    @Test func overlappingObjectsAreRefused() {
        // The second object begins inside the first one's data.
        let list = RawPropertyList([[0xA2, 1, 2], [0x41, 0x08], []]).with { $0.offsets = [8, 11, 12] }
        #expect(refusal(of: list.bytes) == .objectMisplaced(expected: 13, found: 12))
        let same = RawPropertyList([[0xA2, 1, 2], [0x08], []]).with { $0.offsets = [8, 11, 11] }
        #expect(refusal(of: same.bytes) == .objectMisplaced(expected: 12, found: 11))
    }
}
