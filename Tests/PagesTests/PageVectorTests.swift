// Our own reading of bundles and entries against the vectors that are given to others (Protocol/Vectors/pages).

import TandemPages
import TandemPropertyList
import TandemSettings
import TandemTestSupport
import Testing

extension PageFileOrder {
    /// The paths of a page's files beside the bundles.
    static func paths(of page: String, device: DeviceKind, language: String? = nil) -> [String] {
        let directories = bundles.map { bundle in (plain: bundle, localised: language.map { "\(bundle)/\($0).lproj" }) }
        return candidates(for: page, device: device, in: directories).map { "\($0.directory)/\($0.name)" }
    }
}

@Suite struct PageVectorTests {
    static let bundles = VectorCase.all(in: "pages/bundles.json")
    static let specifiers = VectorCase.all(in: "pages/specifiers.json")

    @Test("PAG-1, PAG-3: the vectors are there")
    func areThere() { #expect(Self.bundles.count >= 27 && Self.specifiers.count >= 29) }

    @Test(
        "PAG-1, PAG-4, PAG-5, PAG-6, PAG-12: files, keys, defaults and layout are as the vector says",
        arguments: bundles)
    func bundle(vector: VectorCase) throws {
        let told = try PropertyListReader.readDictionary(try #require(vector.bytes))
        let files = try #require(told["files"]?.dictionaryValue)
        let device = DeviceKind(configured: told["device"]?.stringValue)
        let language = told["language"]?.stringValue
        func path(_ page: String) -> String? {
            PageFileOrder.paths(of: page, device: device, language: language).first { files[$0] != nil }
        }
        let tree = PageTree(device: device) { name throws(SettingsBundleProblem) in
            path(name).flatMap { files[$0]?.dictionaryValue }
        }
        let reads = tree.pages.map { PropertyListValue.array([.string($0.name), .string(path($0.name) ?? "")]) }
        #expect(vector.pairs["reads"] == .array(reads))
        #expect(vector.pairs["keys"] == .array(SettingsBundle(tree).keys.map { .string($0) }))
        #expect(vector.pairs["faults"] == PropertyListValue(tree.problems.count))
        #expect(tree.defaults == TypedNotation.value(vector.pairs["defaults"])?.dictionaryValue)
        let layout = tree.layout(for: SettingsSchema(tree.named.map(\.specifier).declarations))
        #expect(TypedNotation.value(vector.pairs["layout"]) == .dictionary(layout))
    }

    @Test(
        "PAG-3, PAG-4, PAG-9: an entry declares the property and has the faults that its vector says",
        arguments: specifiers)
    func specifier(vector: VectorCase) throws {
        let entries = try PropertyListReader.readDictionary(try #require(vector.bytes))
        let property = try Specifier(entries).declaration().flatMap { declaration in
            let bytes = try SchemaDocument(writing: [declaration]).bytes
            return try PropertyListReader.readDictionary(bytes)["properties"]?.arrayValue?.first
        }
        #expect(TypedNotation.value(vector.pairs["property"]) == property)
        let tree = PageTree { _ throws(SettingsBundleProblem) in
            ["PreferenceSpecifiers": [.dictionary(entries)]]
        }
        let faults = tree.problems.compactMap { problem -> PropertyListValue? in
            guard case .specifier(let place, let fault) = problem, place.index != nil else { return nil }
            return Self.notation(fault)
        }
        #expect(vector.pairs["faults"] == .array(faults))
    }

    private static func notation(_ fault: SpecifierFault) -> PropertyListValue {
        switch fault {
        case .unknownType(let type): ["unknownType", .string(type)]
        case .unknownKey(let key): ["unknownKey", .string(key)]
        case .malformedKey(let key): ["malformedKey", .string(key)]
        case .missingKey(let key): ["missingKey", .string(key)]
        case .unequalLists(let key): ["unequalLists", .string(key)]
        case .repeatedValue(let key): ["repeatedValue", .string(key)]
        case .reversedBounds: ["reversedBounds"]
        case .unsupported(let key): ["unsupported", .string(key)]
        }
    }
}
