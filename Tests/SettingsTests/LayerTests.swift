// Layers and batches: the layer that wins, the changes that observers receive, and that a payload applies whole or not
// at all.

import TandemPattern
import TandemPropertyList
import TandemSettings
import Testing

@Suite struct LayerTests {
    private static let schema = SettingsSchema([
        SettingDeclaration(
            name: "logging", type: .boolean, editor: .toggle, summary: "", initialValue: .boolean(false)),
        SettingDeclaration(
            name: "volume", type: .integer, editor: .slider, summary: "", bounds: .integer(50...100),
            initialValue: .integer(75)),
        SettingDeclaration(
            name: "colour", type: .string, editor: .edit, summary: "", pattern: "^#[a-f0-9]{6}$", allowsNothing: true,
            initialValue: .nothing),
    ])

    @Test("SET-7: the order of layers is the order of precedence") func theOrderOfLayersIsTheOrderOfPrecedence() {
        let expected: [SettingLayer] = [
            .signedOverride, .userEdit, .storedPreference, .commandLine, .environment, .file, .declaredDefault,
        ]
        #expect(SettingLayer.allCases == expected)
        #expect(SettingLayer.allCases.sorted() == expected)
    }

    @Test func aHigherLayerHidesALowerOne() throws {
        var layers = SettingLayers(Self.schema)
        #expect(layers.value(at: 1) == .integer(75))
        let preference = layers.put(.integer(60), at: 1, in: .storedPreference)
        #expect(preference.changes == [SettingChange(name: "volume", old: .integer(75), new: .integer(60))])
        let payload = try Self.schema.payload(["volume": 90, "logging": true])
        let signed = layers.replace(.signedOverride, with: payload, origin: .signed)
        #expect(signed.origin == .signed)
        #expect(signed.changes.map(\.name) == ["logging", "volume"])
        #expect(layers.put(.integer(61), at: 1, in: .storedPreference).changes.isEmpty)
        #expect(layers.value(at: 1) == .integer(90))
        #expect(layers.layer(at: 1) == .signedOverride)
        let emptied = layers.replace(.signedOverride, with: nil, origin: .signed)
        #expect(emptied["volume"] == SettingChange(name: "volume", old: .integer(90), new: .integer(61)))
        #expect(layers.removePreference(at: 1)["volume"]?.new == .integer(75))
        #expect(layers.layer(at: 1) == .declaredDefault)
    }

    @Test("SET-88: what is modified is signed or no default; short names are initials, unless two share them")
    func modifications() throws {
        func declared(_ name: String, _ initial: SettingValue, secret: Bool = false) -> SettingDeclaration {
            SettingDeclaration(
                name: name, type: initial == .string("") ? .string : .integer, editor: .edit, summary: "",
                isSecret: secret, initialValue: initial)
        }
        let names = ["userInteractionTimeout", "debugLevel", "dataLimit", "retries"]
        var layers = SettingLayers(
            SettingsSchema(
                names.map { declared($0, .integer(5)) }
                    + [declared("server", .string("")), declared("pin", .integer(1), secret: true)]))
        #expect(layers.snapshot.modifications.isEmpty)
        #expect(layers.snapshot.shortDescription == "UIT=5, debugLevel=5, dataLimit=5, R=5, S='', P=<redacted>")
        _ = layers.put(.integer(60), at: 0, in: .storedPreference)
        _ = layers.put(.string("a.example"), at: 4, in: .userEdit)
        _ = layers.put(.integer(2), at: 5, in: .userEdit)
        _ = layers.put(.integer(5), at: 2, in: .file)
        #expect(layers.snapshot.modifications == "UIT=60, 'a.example', P=<redacted>")
        let signed = try layers.schema.payload(["debugLevel": 5])
        _ = layers.replace(.signedOverride, with: signed, origin: .signed)
        #expect(layers.snapshot.modifiedNames == ["userInteractionTimeout", "debugLevel", "server", "pin"])
    }

    @Test("SET-88, SET-17: the initials are those of the words that a variable's name has")
    func initials() {
        let names = ["baseURL", "myAPIKey", "max_volume", "debug", "level2", "__"]
        let layers = SettingLayers(
            SettingsSchema(
                names.map {
                    SettingDeclaration(name: $0, type: .integer, editor: .edit, summary: "", initialValue: .integer(1))
                }))
        #expect(layers.snapshot.shortDescription == "BU=1, MAK=1, MV=1, D=1, L=1, __=1")
    }

    @Test func aPayloadWithOneBadValueAppliesNothingAndListsEveryMistake() throws {
        #expect {
            try Self.schema.payload(["logging": true, "volume": 101, "colour": "red", "speed": 1])
        } throws: { error in
            guard let error = error as? SettingsPayloadError else { return false }
            return error.errors.map(\.rule.name) == ["pattern", "unknown-property", "maximum"]
                && error.description.contains("volume: 101 is over the maximum 100")
        }
    }

    @Test func anAbsentKeyHasNoOverride() throws {
        var layers = SettingLayers(Self.schema)
        _ = layers.replace(.signedOverride, with: try Self.schema.payload(["volume": 90]), origin: .signed)
        let changes = layers.replace(.signedOverride, with: try Self.schema.payload(["logging": true]), origin: .signed)
        #expect(changes.changes.map(\.name) == ["logging", "volume"])
        #expect(layers.value(at: 1) == .integer(75))
    }

    @Test func anUnknownKeyIsRefusedUnlessItIsMarkedOptional() throws {
        #expect(throws: SettingsPayloadError.self) { try Self.schema.payload(["speed": 1]) }
        let payload = try Self.schema.payload(["speed": 1, "volume": 51], optional: ["speed", "colour"])
        #expect(payload.ignored == ["speed"])
        // By bytes: the same letter in two spellings is two names.
        #expect(throws: SettingsPayloadError.self) {
            try Self.schema.payload(["caf\u{e9}": 1], optional: ["cafe\u{301}"])
        }
        #expect(payload.values == [nil, .integer(51), nil])
        #expect(throws: SettingsPayloadError.self) { try Self.schema.payload(["volume": 1], optional: ["volume"]) }
    }

    @Test func aValueIsRefusedWithItsRule() {
        let error = SettingError(property: "volume", value: "101", rule: .maximum("100"))
        #expect(Self.schema.problem(of: .integer(101), at: 1) == error)
    }

    @Test func defaultsAreJudgedTogetherAndTheBadOnesKeepWhatWasDeclared() {
        var layers = SettingLayers(Self.schema)
        let problems = layers.replaceDefaults([.boolean(true), .integer(10), .string("blue")])
        #expect(problems.count == 2)
        #expect(problems.first?.description == "default of volume: 10 is under the minimum 50")
        #expect(layers.value(at: 0) == .boolean(true))
        #expect(layers.value(at: 1) == .integer(75))
    }

    @Test func theSnapshotNamesEveryProperty() {
        let snapshot = SettingLayers(Self.schema).snapshot
        #expect(snapshot["volume"] == .integer(75))
        #expect(snapshot["colour"] == .nothing)
        #expect(snapshot["speed"] == nil)
    }
}
