// Dictionaries whose keys are out of order, in two encodings, or shared: found unique and put in order all the same
// (FRM-6 j).

import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct KeyOrderTests {
    @Test func canonicalOrderIsThatOfTheWriter() throws {
        let value: PropertyListDictionary = ["\u{1F600}": 1, "\u{FFFD}": 2, "\u{e9}": 3, "z": 4, "a": 5, "aa": 6]
        let bytes = try PropertyListWriter.write(value)
        #expect(try PropertyListReader.readDictionary(bytes) == value)
        #expect(value.keys == ["a", "aa", "z", "\u{e9}", "\u{FFFD}", "\u{1F600}"])
    }

    @Test func aCursorFindsWhatASubscriptFindsWhereverItStands() {
        let dictionary: PropertyListDictionary = ["app": 1, "crit": 2, "only": 3, "role": 4, "typ": 5]
        var generator = SeededGenerator(seed: 1)
        let keys = ["", "a", "app", "b", "crit", "only", "onlz", "role", "typ", "zzz"]
        for order in [keys, keys.reversed(), keys.shuffled(using: &generator)] {
            for start in 0...7 {
                var cursor = start
                for key in order { #expect(dictionary.value(of: key, from: &cursor) == dictionary[key], "\(key)") }
            }
        }
        var cursor = 3
        #expect(PropertyListDictionary().value(of: "a", from: &cursor) == nil)
    }

    @Test(arguments: [["5162", "5161", "5162"], ["6100e9", "5161", "6100e9"]])
    func equalKeysInDifferentObjectsAreDuplicates(keys: [String]) {
        let list = RawPropertyList([[0xD3, 1, 2, 3, 4, 4, 4]] + keys.map(Bytes.hex) + [[0x09]])
        #expect(refusal(of: list.bytes) == .duplicateKey)
    }

    @Test func oneKeyObjectTwiceIsADuplicate() {
        #expect(refusal(of: RawPropertyList([[0xD2, 1, 1, 2, 2], [0x51, 0x61], [0x09]]).bytes) == .duplicateKey)
        let unsorted = RawPropertyList([[0xD3, 2, 1, 2, 3, 3, 3], [0x51, 0x61], [0x51, 0x62], [0x09]])
        #expect(refusal(of: unsorted.bytes) == .duplicateKey)
    }

    @Test func manyDictionariesMayShareKeyObjectsInAnyOrder() throws {
        // Keys 4 "b" and 5 "a": the first dictionary in order, the second not.
        let list = RawPropertyList([
            [0xA2, 1, 2], [0xD2, 4, 3, 5, 6], [0xD2, 3, 4, 5, 6], [0x51, 0x62], [0x51, 0x61], [0x10, 1], [0x10, 2],
        ])
        #expect(try PropertyListReader.read(list.bytes) == [["a": 1, "b": 2], ["b": 1, "a": 2]])
    }

    @Test func aStringMayBeKeyAndValue() throws {
        #expect(try PropertyListReader.read(RawPropertyList([[0xD1, 1, 1], [0x51, 0x61]]).bytes) == ["a": "a"])
    }

    /// A key as an object: of ASCII characters, or of UTF-16 code units.
    private static func object(_ key: String) -> [UInt8] {
        let isASCII = key.utf8.allSatisfy { $0 < 0x80 }
        let content = isASCII ? Array(key.utf8) : key.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        return [isASCII ? 0x5F : 0x6F, 0x10, UInt8(isASCII ? content.count : content.count / 2)] + content
    }

    @Test func anyKeysInAnyOrderAreUniqueAndSortedOrRefused() throws {
        var generator = SeededGenerator(seed: 20_261_121)
        let pieces = ["a", "b", "aaaa", "aaaaaaaa", "\u{7F}", "\u{e9}", "\u{FFFD}", "\u{1F600}"]
        var refused = 0
        for _ in 0..<4000 {
            let keys = (0..<Int.random(in: 1...6, using: &generator)).map { _ in
                (0...Int.random(in: 0...4, using: &generator)).map { _ in pieces.randomElement(using: &generator) ?? ""
                }
                .joined()
            }
            let numbers = keys.indices.map { UInt8($0 + 1) }
            let list = RawPropertyList(
                [[0xD0 | UInt8(keys.count)] + numbers + keys.map { _ in UInt8(keys.count + 1) }]
                    + keys.map(Self.object) + [[0x09]]
            ).with { $0.offsetSize = 2 }
            let sorted = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            if zip(sorted, sorted.dropFirst()).contains(where: { $0.utf8.elementsEqual($1.utf8) }) {
                #expect(refusal(of: list.bytes) == .duplicateKey, "\(keys)")
                refused += 1
            } else {
                #expect(try PropertyListReader.readDictionary(list.bytes).keys == sorted, "\(keys)")
                let view = try PropertyListView(list.bytes)
                #expect(keys.allSatisfy { view[$0]?.booleanValue == true }, "\(keys)")
            }
        }
        #expect((100..<3900).contains(refused))
    }

    @Test func settingAndRemovingKeepsTheOrder() {
        var dictionary = PropertyListDictionary()
        dictionary["b"] = 1
        dictionary["a"] = 2
        dictionary["e\u{301}"] = 3
        dictionary["\u{e9}"] = 4
        dictionary["a"] = 5
        #expect(dictionary.keys == ["a", "b", "e\u{301}", "\u{e9}"])
        #expect(dictionary["a"] == 5)
        dictionary["e\u{301}"] = nil
        dictionary["absent"] = nil
        #expect(dictionary == ["a": 5, "b": 1, "\u{e9}": 4])
    }
}
