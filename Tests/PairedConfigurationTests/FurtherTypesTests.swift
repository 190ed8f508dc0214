// The Swift types of properties: lists, bytes, dates, URLs, sets, enumerations, optionals, and any Codable type as
// tagged bytes with a version.

import PairedConfiguration
import Testing

/// One preference of each further type.
///
/// `@unchecked`: every property is a wrapper around state behind a mutex.
final class FurtherPreferences: Configuration, @unchecked Sendable {
    @Preference var texts = ["a"]
    @Preference var bytes: [UInt8] = [1, 2]
    @Preference var date = PropertyListDate(millisecondsSinceReferenceDate: 5)
    @Preference var home: SettingURL = "localhost:8080"
    @Preference var names: Set<String> = ["b", "a"]
    @Preference var values: [PropertyListValue] = [1, "a"]
    @Preference var pairs: PropertyListDictionary = ["a": 1]
    @Preference var count: Int?
    @Preference var mode = Mode.quiet
    @Preference var level = Level.low
    @Preference var frame = Frame(width: 3, height: 4)
    @Preference var frames = [Frame(width: 1, height: 1)]
    @Preference var lastFrame: Frame?
    @Preference("Shown elsewhere", key: "isEnabled", restart: true) var enabled = true
    @Choice("Mode") var choice = Mode.fast
    @Toggle("Spoken", on: "on", off: "off") var spoken = false

    enum Mode: String, CaseIterable, SettingRepresentable { case fast, quiet }
    enum Level: Int, SettingRepresentable {
        case low = 1
        case high = 2

        static var settingDefault: Level { .low }
    }
    struct Frame: Codable, Equatable {
        var width: Double
        var height: Double
    }
}

/// A value with every kind of content.
private struct Everything: VersionedSetting, Equatable {
    static let settingTag = "everything"
    static let settingVersion = 3

    struct Empty: Codable, Equatable {}
    enum Shape: Codable, Equatable {
        case circle(radius: Double)
        case none
    }

    var boolean = true
    var small: Int8 = -128
    var large = UInt64.max
    var real = 0.1
    var float: Float = 0.1
    var text = "é\n"
    var bytes: [UInt8] = [0, 255]
    var none: Int?
    var some: Int? = 7
    var list: [Int?] = [1, nil, 3]
    var lists: [[String]] = [[], ["a"]]
    var table: [String: [Int]] = ["a": [1], "b": []]
    var numbered: [Int: String] = [2: "b"]
    var nested: [Empty] = [Empty()]
    var shapes: [Shape] = [.circle(radius: 2), .none]
    var optionals: [String: Int?] = ["x": Int?.none, "y": 1]
}

/// Two releases of one type.
private struct FirstRelease: VersionedSetting {
    static let settingTag = "position"
    var x = 1
}

private struct SecondRelease: VersionedSetting, Hashable {
    static let settingTag = "position"
    static let settingVersion = 2
    let x: Int
    let y: Int

    init(x: Int, y: Int) {
        self.x = x
        self.y = y
    }

    private enum CodingKeys: CodingKey { case x, y }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        x = try values.decode(Int.self, forKey: .x)
        let version = decoder.userInfo[.settingVersion] as? Int
        y = version == 1 ? -1 : try values.decode(Int.self, forKey: .y)
    }
}

/// The second release of the type under another name.
private struct Renamed: VersionedSetting {
    static let settingTag = "position"
    static let settingVersion = 2
    var x = 1
    var y = 2
}

/// A type that refuses to be encoded.
private struct Refusing: VersionedSetting {
    static let settingTag = "refusing"
    static let settingVersion = 2

    init() {}
    init(from decoder: any Decoder) throws { self.init() }
    func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(1, .init(codingPath: [], debugDescription: "no"))
    }
}

@Suite struct FurtherTypesTests {
    @Test("SET-48: a preference of any type needs no more than its declaration")
    func anyTypeNeedsNoCeremony() throws {
        let app = FurtherPreferences()
        #expect(app.declarationProblems.isEmpty)
        #expect(app.texts == ["a"])
        #expect(app.bytes == [1, 2])
        #expect(app.home.text == "localhost:8080")
        #expect(app.names == ["a", "b"])
        #expect(app.count == nil)
        #expect(app.frame == FurtherPreferences.Frame(width: 3, height: 4))
        app.texts.append("b")
        app.names.insert("c")
        app.values = [[1]]
        app.pairs["b"] = 2
        app.count = 3
        app.mode = .fast
        app.level = .high
        app.frame.width = 9
        app.frames.append(FurtherPreferences.Frame(width: 2, height: 2))
        app.lastFrame = app.frame
        app.choice = .quiet
        #expect(app.texts == ["a", "b"])
        #expect(app.names == ["a", "b", "c"])
        #expect(app.values == [[1]])
        #expect(app.pairs == ["a": 1, "b": 2])
        #expect(app.count == 3)
        #expect(app.mode == .fast)
        #expect(app.level == .high)
        #expect(app.frame == FurtherPreferences.Frame(width: 9, height: 4))
        #expect(app.frames.count == 2)
        #expect(app.lastFrame == app.frame)
        #expect(app.choice == .quiet)
        app.lastFrame = nil
        #expect(app.lastFrame == nil)
    }

    @Test("SET-49: a key is the property's name in the code, unless another one is stated")
    func aKeyIsThePropertysName() {
        let app = FurtherPreferences()
        #expect(app.declarations.map(\.name).prefix(2) == ["texts", "bytes"])
        #expect(app.$enabled.declaration.name == "isEnabled")
        #expect(app.snapshot["isEnabled"] == .boolean(true))
        #expect(app.snapshot["enabled"] == nil)
        #expect(app.snapshot.restartNames == ["isEnabled"])
    }

    @Test("SET-48: an enumeration's cases are its choices")
    func anEnumerationsCasesAreItsChoices() {
        let app = FurtherPreferences()
        let declaration = app.$mode.declaration
        #expect(declaration.type == .string)
        #expect(declaration.choices.map(\.label) == ["fast", "quiet"])
        #expect(app.$choice.declaration.choices.map(\.value) == [.string("fast"), .string("quiet")])
        #expect(app.$level.declaration.type == .integer)
        #expect(app.$spoken.declaration.toggleValues == ToggleValues(on: "on", off: "off"))
    }

    @Test("SET-50: a coded value is read back equal, whatever it holds")
    func aCodedValueIsReadBackEqual() throws {
        let value = Everything()
        let coded = try CodedSetting(encoding: value)
        #expect(coded.tag == "everything")
        #expect(coded.version == 3)
        #expect(try coded.decoded(as: Everything.self) == value)
        #expect(try CodedSetting(encoding: Everything()).bytes == coded.bytes)
        #expect(try CodedSetting(encoding: 5).decoded(as: Int.self) == 5)
        #expect(try CodedSetting(encoding: [Int?]([nil])).decoded(as: [Int?].self) == [nil])
        #expect(try CodedSetting(encoding: [Everything.Shape]()).decoded(as: [Everything.Shape].self) == [])
    }

    @Test("SET-50: a later release reads the bytes of an earlier one and knows their version")
    func aLaterReleaseReadsAnEarlierOnes() throws {
        let first = try CodedSetting(encoding: FirstRelease())
        #expect(try first.decoded(as: SecondRelease.self) == SecondRelease(x: 1, y: -1))
        let second = try CodedSetting(encoding: SecondRelease(x: 1, y: 2))
        #expect(try second.decoded(as: SecondRelease.self) == SecondRelease(x: 1, y: 2))
        #expect(throws: SettingCodingError.self) { try second.decoded(as: FirstRelease.self) }
        #expect(throws: SettingCodingError.self) { try first.decoded(as: Everything.self) }
    }

    @Test("SET-50: an optional, an array, a set and a dictionary of a versioned type have its version and its tag")
    func wrappingTypesHaveTheVersionOfTheWrapped() throws {
        let second = SecondRelease(x: 1, y: 2)
        let optional = try CodedSetting(encoding: SecondRelease?.some(second))
        #expect(optional.tag == "position")
        #expect(optional.version == 2)
        #expect(try optional.decoded(as: SecondRelease?.self) == second)
        #expect(try optional.decoded(as: SecondRelease.self) == second)
        let list = try CodedSetting(encoding: [[second]])
        #expect(list.tag == "Array<Array<position>>")
        #expect(try list.decoded(as: [[SecondRelease]].self) == [[second]])
        let table = try CodedSetting(encoding: ["home": second])
        #expect(table.tag == "Dictionary<String, position>")
        #expect(try table.decoded(as: [String: SecondRelease].self) == ["home": second])
        #expect(try CodedSetting(encoding: Set([second])).decoded(as: Set<SecondRelease>.self) == [second])
        let first = try CodedSetting(encoding: [FirstRelease()])
        #expect(try first.decoded(as: [SecondRelease].self) == [SecondRelease(x: 1, y: -1)])
        #expect(throws: SettingCodingError.self) { try list.decoded(as: [[FirstRelease]].self) }
        #expect(throws: SettingCodingError.self) { try table.decoded(as: SecondRelease.self) }
    }

    @Test("SET-50: bytes with the plain name of a wrapping type as their tag are read, as version 1")
    func theFormerTagOfAWrappingTypeIsRead() throws {
        let bytes = try CodedSetting(encoding: [FirstRelease()]).bytes
        let list = CodedSetting(tag: "Array<SecondRelease>", version: 1, bytes: bytes)
        #expect(try list.decoded(as: [SecondRelease].self) == [SecondRelease(x: 1, y: -1)])
        let single = try CodedSetting(encoding: FirstRelease()).bytes
        let optional = CodedSetting(tag: "Optional<SecondRelease>", version: 1, bytes: single)
        #expect(try optional.decoded(as: SecondRelease?.self) == SecondRelease(x: 1, y: -1))
        let other = CodedSetting(tag: "SecondRelease", version: 1, bytes: single)
        #expect(throws: SettingCodingError.self) { try other.decoded(as: SecondRelease.self) }
    }

    @Test("SET-50: a list of a renamed type is read once it has been written under the type's tag")
    func aListOfARenamedTypeIsReadUnderItsTag() throws {
        let written = try CodedSetting(encoding: [SecondRelease(x: 3, y: 4)])
        let list = try written.decoded(as: [Renamed].self)
        #expect(list.map(\.x) == [3] && list.map(\.y) == [4])
        let former = CodedSetting(tag: "Array<SecondRelease>", version: 1, bytes: written.bytes)
        #expect(throws: SettingCodingError.self) { try former.decoded(as: [Renamed].self) }
    }

    @Test("SET-50: a type around one without a version has its plain name, as in earlier releases")
    func aTypeAroundOneWithoutAVersionHasItsPlainName() throws {
        let frame = FurtherPreferences.Frame(width: 1, height: 2)
        #expect(try CodedSetting(encoding: Optional(frame)).tag == "Optional<Frame>")
        #expect(try CodedSetting(encoding: [Optional(frame)]).tag == "Array<Optional<Frame>>")
        #expect(try CodedSetting(encoding: ["a": [frame]]).tag == "Dictionary<String, Array<Frame>>")
        #expect(try CodedSetting(encoding: [Int?]([1])).version == 1)
    }

    @Test("SET-50: a property may become optional, or cease to be")
    func aPropertyMayBecomeOptionalOrCeaseToBe() throws {
        let frame = FurtherPreferences.Frame(width: 1, height: 2)
        let optional = try CodedSetting(encoding: Optional(frame))
        #expect(try optional.decoded(as: FurtherPreferences.Frame.self) == frame)
        let plain = try CodedSetting(encoding: frame)
        #expect(try plain.decoded(as: FurtherPreferences.Frame?.self) == frame)
        #expect(throws: SettingCodingError.self) { try plain.decoded(as: [FurtherPreferences.Frame].self) }
        let single = try CodedSetting(encoding: FirstRelease()).bytes
        let former = CodedSetting(tag: "Optional<SecondRelease>", version: 1, bytes: single)
        #expect(try former.decoded(as: SecondRelease.self) == SecondRelease(x: 1, y: -1))
    }

    @Test("SET-50: damaged bytes are refused at any place, and no reason says a value")
    func damagedBytesAreRefused() throws {
        let coded = try CodedSetting(encoding: Everything())
        for index in coded.bytes.indices {
            for bit: UInt8 in [1, 0x80] {
                var bytes = coded.bytes
                bytes[index] ^= bit
                let damaged = CodedSetting(tag: coded.tag, version: coded.version, bytes: bytes)
                _ = try? damaged.decoded(as: Everything.self)
            }
        }
        let empty = CodedSetting(tag: "everything", version: 3, bytes: [])
        #expect(throws: SettingCodingError.self) { try empty.decoded(as: Everything.self) }
        let text = try CodedSetting(encoding: "correct horse")
        let error = #expect(throws: SettingCodingError.self) {
            try CodedSetting(tag: "Int", version: 1, bytes: text.bytes).decoded(as: Int.self)
        }
        #expect(error?.reason == "another type")
    }

    @Test("SET-43: a value that refuses to be encoded is refused where it is set, and as a default at start")
    func whatRefusesToBeEncodedIsRefused() {
        /// `@unchecked`: its property is a wrapper around state behind a mutex.
        final class Refused: Configuration, @unchecked Sendable {
            @Preference var value = Refusing()
            required init() { super.init(problems: .collect) }
        }
        let app = Refused()
        #expect(app.declarationProblems.count == 1)
        #expect(app.declarationProblems.first?.description.contains("cannot be read") == true)
        let unreadable = CodedSetting(tag: "refusing", version: 2, bytes: [])
        #expect(app.$value.declaration.initialValue == .coded(unreadable))
        let error = #expect(throws: SettingError.self) { try app.$value.set(Refusing()) }
        #expect(error?.rule.name == "not-storable")
        _ = app.value
    }

    @Test("SET-51: an observer of events receives the mistakes in the declaration at once")
    func mistakesInTheDeclarationAreEvents() {
        let broken = BrokenConfiguration()
        let seen = broken.observedEvents()
        #expect(seen.all == broken.declarationProblems.map { .declarationProblem($0) })
        #expect(!broken.declarationProblems.isEmpty)
    }
}
