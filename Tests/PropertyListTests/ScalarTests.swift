// The edges of the scalar types (FRM-6 e to j).

import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct ScalarTests {
    static func read(_ object: String) throws -> PropertyListValue {
        try PropertyListReader.read(RawPropertyList([Bytes.hex(object)]).bytes)
    }

    @Test func shortIntegersAreUnsignedAndEightBytesAreSigned() throws {
        #expect(try Self.read("10ff") == 255)
        #expect(try Self.read("11ffff") == 65_535)
        #expect(try Self.read("12ffffffff") == 4_294_967_295)
        #expect(try Self.read("13ffffffffffffffff") == -1)
        #expect(try Self.read("130000000000000005") == 5)
        #expect(try Self.read("1400000000000000000000000000000005") == 5)
        #expect(try Self.read("1400000000000000008000000000000000") == .unsigned(1 << 63))
        #expect(throws: PropertyListError.self) { try Self.read("15" + String(repeating: "00", count: 32)) }
    }

    @Test func realsOfFourAndEightBytesAreFinite() throws {
        #expect(try Self.read("223fc00000") == 1.5)
        #expect(try Self.read("233ff8000000000000") == 1.5)
        for pattern in ["7f800000", "ff800000", "7fc00000", "7f800001"] {
            #expect(refusal(of: RawPropertyList([Bytes.hex("22" + pattern)]).bytes) == .notFinite)
        }
    }

    @Test func datesAreMillisecondsOfTheYearsOneTo9999() throws {
        func date(_ seconds: Double) -> PropertyListError.Reason? {
            refusal(of: RawPropertyList([[0x33] + RawPropertyList.bigEndian(seconds.bitPattern, size: 8)]).bytes)
        }
        #expect(date(-63_113_904_000) == nil)
        #expect(date(-63_113_904_000.001) == .dateOutOfRange)
        #expect(date(252_423_993_599.999) == nil)
        #expect(date(252_423_993_600) == .dateOutOfRange)
        #expect(date(252_423_993_599.9997) == .dateOutOfRange)
        #expect(date(1e308) == .dateOutOfRange)
        #expect(PropertyListDate(secondsSinceReferenceDate: 0.0006)?.millisecondsSinceReferenceDate == 1)
        #expect(PropertyListDate(secondsSinceReferenceDate: -0.0006)?.millisecondsSinceReferenceDate == -1)
    }

    @Test func utf16HoldsSomethingThatASCIICannot() throws {
        #expect(refusal(of: RawPropertyList([Bytes.hex("620061007a")]).bytes) == .needlessUTF16)
        #expect(refusal(of: RawPropertyList([Bytes.hex("60")]).bytes) == .needlessUTF16)
        #expect(refusal(of: RawPropertyList([Bytes.hex("61007f")]).bytes) == .needlessUTF16)
        #expect(try Self.read("610080") == "\u{80}")
        #expect(try Self.read("62d83dde00") == "\u{1F600}")
        #expect(try Self.read("61ffff") == "\u{FFFF}")
        #expect(try Self.read("50") == "")
    }

    @Test(arguments: [(0, false), (1, true), (255, true), (256, true), (257, false)])
    func keysHaveOneTo256Bytes(length: Int, isRead: Bool) {
        let text = [UInt8](repeating: 0x61, count: length)
        let head: [UInt8] =
            length < 15 ? [0x50 | UInt8(length)] : [0x5F, 0x11, UInt8(length >> 8), UInt8(length & 0xFF)]
        let bytes = RawPropertyList([[0xD1, 1, 2], head + text, [0x08]]).with { $0.offsetSize = 2 }.bytes
        #expect(refusal(of: bytes) == (isRead ? nil : .invalidKeyLength(length)))
    }

    @Test func theLengthOfAKeyIsCountedInUTF8() {
        func key(_ units: [UInt16]) -> PropertyListError.Reason? {
            let text = units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            let head: [UInt8] = [0x6F, 0x11, UInt8(units.count >> 8), UInt8(units.count & 0xFF)]
            return refusal(of: RawPropertyList([[0xD1, 1, 2], head + text, [0x08]]).with { $0.offsetSize = 2 }.bytes)
        }
        #expect(key([UInt16](repeating: 0xE9, count: 128)) == nil)
        #expect(key([UInt16](repeating: 0xE9, count: 129)) == .invalidKeyLength(258))
        #expect(key([UInt16](repeating: 0x20AC, count: 85) + [0x61]) == nil)
        #expect(key([UInt16](repeating: 0x20AC, count: 86)) == .invalidKeyLength(258))
        #expect(key((0..<64).flatMap { _ in [0xD83D, 0xDE00] as [UInt16] }) == nil)
        #expect(key((0..<64).flatMap { _ in [0xD83D, 0xDE00] as [UInt16] } + [0x61]) == .invalidKeyLength(257))
    }
}
