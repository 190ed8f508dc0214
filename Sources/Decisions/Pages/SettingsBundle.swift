// Keys and defaults of a Settings.bundle beside the app's declarations: which property a page shows, and which of its
// rules and defaults are the property's.

package import TandemPropertyList
package import TandemSettings

/// A bundle's pages and the properties that they show.
package struct SettingsBundle: Sendable {
    package let tree: PageTree
    /// All keys, each once, in the order of the pages.
    package private(set) var keys: [String] = []
    /// The first default of each key that has one.
    package let defaults: PropertyListDictionary
    /// The first entry of each key that asks for a property (PAG-4).
    private let propertyPlaces: [[UInt8]: SettingsPageLocation]
    /// The first entry of each key with a default.
    private let defaultPlaces: [[UInt8]: SettingsPageLocation]
    private var faults: PageFaults

    package var problems: [SettingsBundleProblem] { faults.problems }

    /// - Parameter found: faults that came before the pages, such as those of its strings.
    package init(_ tree: PageTree = PageTree(), found: [SettingsBundleProblem] = []) {
        self.tree = tree
        defaults = tree.defaults
        faults = PageFaults()
        for problem in found + tree.problems { faults.add(problem) }
        // Two keys may be equal as texts only.
        var known: Set<[UInt8]> = []
        var ofProperties: [[UInt8]: SettingsPageLocation] = [:]
        var ofDefaults: [[UInt8]: SettingsPageLocation] = [:]
        for (key, specifier, entry) in tree.named {
            let bytes = Array(key.utf8)
            if known.insert(bytes).inserted { keys.append(key) }
            if specifier.kind?.isNamed != true, ofProperties[bytes] == nil { ofProperties[bytes] = entry }
            if specifier[.defaultValue] != nil, ofDefaults[bytes] == nil { ofDefaults[bytes] = entry }
        }
        (propertyPlaces, defaultPlaces) = (ofProperties, ofDefaults)
    }

    /// The names of the properties that the pages show, in the order of the pages.
    package func names(in schema: SettingsSchema) -> [String] { keys.filter { schema.index(of: $0) != nil } }

    /// The declarations with the pages' rules, where code declares none: a preference is edited as its page shows it. A
    /// property that any page shows as a secret is one, however it is declared.
    package mutating func refine(_ declarations: [SettingDeclaration]) -> [SettingDeclaration] {
        var shown: [[UInt8]: [(specifier: Specifier, entry: SettingsPageLocation)]] = [:]
        for (key, specifier, entry) in tree.named { shown[Array(key.utf8), default: []].append((specifier, entry)) }
        // A list with this flag hides its items (PAG-23).
        let secure = tree.opened.flatMap(\.specifiers).filter { $0.isSecure && $0.kind != .listGroup }
        let secrets = Set(secure.compactMap { $0.key.map { Array($0.utf8) } })
        return declarations.map { declaration in
            var declaration = declaration
            if secrets.contains(Array(declaration.name.utf8)) { declaration.isSecret = true }
            let entries = (shown[Array(declaration.name.utf8)] ?? []).map { specifier, entry in
                (kind: specifier.kind, rule: specifier.ruleOfValues, entry: entry)
            }
            if declaration.editor == .preference, let first = entries.lazy.compactMap({ $0.rule }).first {
                declaration = declaration.refined(by: first)
            }
            // The key may stand in further places, each with a rule.
            let other = entries.first { kind, rule, _ in
                kind?.mayEdit(declaration.type) == false || rule.map { declaration.agrees(with: $0) } == false
            }
            if let other { faults.add(.differentRule(key: declaration.name, other.entry)) }
            return declaration
        }
    }

    /// Reports the defaults of the pages that the app has replaced.
    package mutating func compare(_ defaults: [SettingValue?], with pages: [SettingValue], of schema: SettingsSchema) {
        for key in names(in: schema) where self.defaults[key] != nil {
            guard let index = schema.index(of: key), defaults[index] != pages[index],
                let entry = defaultPlaces[Array(key.utf8)]
            else { continue }
            faults.add(.replacedDefault(key: key, entry))
        }
    }

    /// Reports the keys with two defaults that do not mean one value of the property: a bundle has true, "YES" and 1.
    private mutating func reportDifferentDefaults(of schema: SettingsSchema) {
        var different: Set<String> = []
        for (key, specifier, entry) in tree.named {
            guard let value = specifier[.defaultValue], let first = defaults[key], value != first else { continue }
            if let declaration = schema[key], let meant = declaration.value(loose: value),
                meant == declaration.value(loose: first)
            {
                continue
            }
            if different.insert(key).inserted { faults.add(.differentDefaults(key: key, entry)) }
        }
    }

    /// The defaults of all properties: the pages' where they have a valid one, else the declared ones.
    package mutating func defaults(of schema: SettingsSchema) -> [SettingValue] {
        reportDifferentDefaults(of: schema)
        for key in keys where schema.index(of: key) == nil {
            if let entry = propertyPlaces[Array(key.utf8)] { faults.add(.noProperty(key: key, entry)) }
        }
        return schema.declarations.indices.map { index in
            let declaration = schema.declarations[index]
            guard let value = defaults[declaration.name], let entry = defaultPlaces[Array(declaration.name.utf8)]
            else { return declaration.initialValue }
            switch schema.judge(stored: value, at: index) {
            case .success(let value): return value
            case .failure(let error):
                faults.add(.invalidDefault(error, entry))
                return declaration.initialValue
            }
        }
    }
}
