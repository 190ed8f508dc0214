// Views: values found in the bytes are those of the tree, and nothing is looked into before the whole is validated.

import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct ViewTests {
    static let value: PropertyListDictionary = [
        "array": [1, "two", [3.5, .data([4])]], "big": .unsigned(.max), "data": .data(Array(0..<20)),
        "date": .date(PropertyListDate(millisecondsSinceReferenceDate: 1234)), "false": false, "negative": -1,
        "real": 1.5, "true": true, "\u{e9}": "caf\u{e9}", "\u{1F600}": ["a": ["b": "a long text that is allocated"]],
    ]

    static func view() throws -> PropertyListView { try PropertyListView(PropertyListWriter.write(value)) }

    @Test func scalarsAreThoseOfTheTree() throws {
        let view = try Self.view()
        #expect(view["true"]?.booleanValue == true)
        #expect(view["false"]?.booleanValue == false)
        #expect(view["negative"]?.integerValue == -1)
        #expect(view["big"]?.unsignedValue == .max)
        #expect(view["real"]?.realValue == 1.5)
        #expect(view["date"]?.dateValue?.millisecondsSinceReferenceDate == 1234)
        #expect(view["\u{e9}"]?.stringValue == "caf\u{e9}")
        #expect(view["data"]?.dataBytes.map(Array.init) == Array(0..<20))
    }

    @Test func aValueHasOneTypeOnly() throws {
        let view = try Self.view()
        let real = view["real"]
        #expect(real?.integerValue == nil && real?.booleanValue == nil && real?.stringValue == nil)
        #expect(real?.dateValue == nil && real?.dataBytes == nil && real?.count == 0 && real?["a"] == nil)
        #expect(view["true"]?.integerValue == nil && view["negative"]?.unsignedValue == nil)
        #expect(view["big"]?.integerValue == nil && view["data"]?[0] == nil)
        #expect(view.stringValue == nil && view.isDictionary && !view.isArray)
    }

    @Test func containersAreWalkedByKeyAndPosition() throws {
        let view = try Self.view()
        #expect(view.count == 10)
        #expect((0..<view.count).map { view.key(at: $0) } == Self.value.keys)
        #expect(view["array"]?.isArray == true)
        #expect(view["array"]?[2]?[1]?.dataBytes?.first == 4)
        #expect(view["\u{1F600}"]?["a"]?["b"]?.stringValue == "a long text that is allocated")
        for position in [-1, 10, .min, .max] { #expect(view[position] == nil && view.key(at: position) == nil) }
        for key in ["", "aa", "arra", "arrays", "e\u{301}", "zz", "\u{1F601}"] { #expect(view[key] == nil, "\(key)") }
    }

    @Test func theTreeOfAPartIsThatPart() throws {
        let view = try Self.view()
        #expect(view.value == .dictionary(Self.value))
        for key in Self.value.keys { #expect(view[key]?.value == Self.value[key], "\(key)") }
    }

    @Test func keysOutOfOrderAreFoundAllTheSame() throws {
        // "z", "é", U+1F600, U+FFFD, "a", and values shared by all. Surrogates must sort behind U+FFFD.
        let keys = ["517a", "6100e9", "62d83dde00", "61fffd", "5161"].map(Bytes.hex)
        let list = RawPropertyList([[0xD5, 1, 2, 3, 4, 5, 6, 7, 6, 6, 6]] + keys + [[0x09], [0xA1, 6]])
        let view = try PropertyListView(list.bytes)
        for key in ["z", "\u{1F600}", "\u{FFFD}", "a"] { #expect(view[key]?.booleanValue == true, "\(key)") }
        #expect(view["\u{e9}"]?.value == [true])
        #expect(view["b"] == nil)
        #expect(view.value.dictionaryValue?.keys == ["a", "z", "\u{e9}", "\u{FFFD}", "\u{1F600}"])
        #expect(try PropertyListReader.read(list.bytes) == view.value)
    }

    /// The order of writers that number a container after what it holds.
    @Test func childrenBeforeParentsAndPartsOfThemAreBuilt() throws {
        let list = RawPropertyList([[0x10, 7], [0xA1, 0], [0x51, 0x61], [0xD1, 2, 1], [0xA2, 3, 1]]).with { $0.top = 4 }
        let view = try PropertyListView(list.bytes)
        #expect(try view.value == [["a": [7]], [7]] && PropertyListReader.read(list.bytes) == view.value)
        #expect(view[0]?.value == ["a": [7]])
        #expect(view[1]?.value == [7])
    }

    @Test func aViewOfASliceCountsFromItsStart() throws {
        let bytes = try PropertyListWriter.write(Self.value)
        let view = try PropertyListView(([1, 2, 3] + bytes + [4])[3..<3 + bytes.count])
        #expect(view.value == .dictionary(Self.value))
        #expect(view["data"]?.dataBytes.map(Array.init) == Array(0..<20))
    }

    @Test func bytesThatAreRefusedHaveNoView() throws {
        let bytes = try PropertyListWriter.write(Self.value)
        for count in 0..<bytes.count {
            #expect(throws: PropertyListError.self) { try PropertyListView(bytes.prefix(count)) }
        }
    }
}
