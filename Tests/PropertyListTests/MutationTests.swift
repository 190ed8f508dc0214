// Thousands of damaged property lists, the same ones in every run: none may crash the reader, and whatever it accepts
// must have one meaning: writing it and reading it again gives the same value and the same bytes.

import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct MutationTests {
    static let originals: [PropertyListValue] = [
        [:], ["a": 1], [1, -1, 300, 70_000, 1.5, true, "text", .data([1, 2, 3])],
        ["caf\u{e9}": "\u{1F600}", "date": .date(PropertyListDate(millisecondsSinceReferenceDate: 1234))],
        [
            "kind": "message", "app": "com.example", "id": .data(Array(0..<16)), "body": .data(Array(0..<40)),
            "reply": true,
        ],
        ["a": ["b": ["c": [[], [[:]], 1, 1, 1]]], "long": .string(String(repeating: "x", count: 20))],
        [.unsigned(.max), .integer(.min), -0.0, 0.0],
    ]

    static func mutate(_ bytes: inout [UInt8], using generator: inout SeededGenerator) {
        for _ in 0..<Int.random(in: 1...3, using: &generator) where !bytes.isEmpty {
            let index = Int.random(in: bytes.indices, using: &generator)
            switch Int.random(in: 0..<7, using: &generator) {
            case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 1: bytes[index] = UInt8.random(in: 0...255, using: &generator)
            case 2: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: index)
            case 3: bytes.remove(at: index)
            case 4: bytes.removeLast(Int.random(in: 0...min(8, bytes.count), using: &generator))
            case 5: bytes[index] = [0, 1, 0x0F, 0x7F, 0x80, 0xFF][Int.random(in: 0..<6, using: &generator)]
            // The bytes after the magic: object heads and references, where structure is decided.
            default: if bytes.count > 40 { bytes[8 + index % (bytes.count - 40)] = UInt8(index & 0x0F) }
            }
        }
    }

    static func isConsistent(_ bytes: [UInt8]) throws -> Bool {
        guard let value = try? PropertyListReader.read(bytes) else { return false }
        let canonical = try PropertyListWriter.write(value)
        let again = try PropertyListReader.read(canonical)
        #expect(again == value)
        #expect(try PropertyListWriter.write(again) == canonical)
        return true
    }

    @Test(arguments: originals.indices)
    func damagedBytesAreRefusedOrHaveOneMeaning(index: Int) throws {
        var generator = SeededGenerator(seed: UInt64(index) + 20_261_121)
        let original = try PropertyListWriter.write(Self.originals[index])
        var accepted = 0
        for _ in 0..<2000 {
            var bytes = original
            Self.mutate(&bytes, using: &generator)
            if try Self.isConsistent(bytes) { accepted += 1 }
        }
        #expect(accepted < 2000)
    }

    @Test func everySingleBitFlipIsRefusedOrHasOneMeaning() throws {
        for original in Self.originals {
            let bytes = try PropertyListWriter.write(original)
            var accepted = 0
            for bit in 0..<8 * bytes.count {
                var flipped = bytes
                flipped[bit / 8] ^= 1 << UInt8(bit % 8)
                if try Self.isConsistent(flipped) { accepted += 1 }
            }
            #expect(accepted < 8 * bytes.count)
        }
    }
}
