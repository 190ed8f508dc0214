// Dictionaries whose keys are out of order, in two encodings, or shared: found unique and put in order all the same
// (FRM-6 j).

import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct KeyOrderTests {
    @Test func keysInAnyOrderAreReadInTheirOrder() throws {
        // "z", "é", U+1F600, U+FFFD, "a": surrogates must sort behind U+FFFD.
        let keys = ["517a", "6100e9", "62d83dde00", "61fffd", "5161"].map(Bytes.hex)
        let list = RawPropertyList([[0xD5, 1, 2, 3, 4, 5, 6, 6, 6, 6, 6]] + keys + [[0x09]])
        let dictionary = try PropertyListReader.readDictionary(list.bytes)
        #expect(dictionary.keys == ["a", "z", "\u{e9}", "\u{FFFD}", "\u{1F600}"])
        #expect(dictionary["\u{1F600}"] == true)
        #expect(dictionary["missing"] == nil)
    }

    @Test func canonicalOrderIsThatOfTheWriter() throws {
        let value: PropertyListDictionary = ["\u{1F600}": 1, "\u{FFFD}": 2, "\u{e9}": 3, "z": 4, "a": 5, "aa": 6]
        let bytes = try PropertyListWriter.write(value)
        #expect(try PropertyListReader.readDictionary(bytes) == value)
        #expect(value.keys == ["a", "aa", "z", "\u{e9}", "\u{FFFD}", "\u{1F600}"])
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
