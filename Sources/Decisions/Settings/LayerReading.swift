// Reading one source of settings (a file, the environment, the command line) into the values of one layer. An entry
// that no property has, or whose value the property does not take, is skipped and reported; it never keeps the others
// from being read. Only declared properties match, so that no key of a file reaches anything else of an object.

import TandemBase
package import TandemPropertyList

/// The entries that a load took, and those that it skipped, with the reasons.
public struct LoadReport: Sendable, Equatable {
    /// An entry that was skipped; the property keeps the value of the layers below.
    public struct Skipped: Sendable, Equatable {
        /// The key, variable or option as it was written.
        public let key: String
        /// Why it was skipped.
        public let reason: Reason

        /// An entry and its reason, as an app's own tests may make it.
        public init(key: String, reason: Reason) {
            self.key = key
            self.reason = reason
        }
    }

    /// Why an entry was skipped.
    public enum Reason: Sendable, Equatable {
        /// No property has this name.
        case noProperty
        /// A value of this kind is not converted to the property's type, or its text is none of the type.
        case notConvertible(kind: String, SettingType)
        /// The value breaks a rule of its property.
        case invalid(SettingError)
        /// Another entry of the same property takes precedence.
        case hidden(by: String)
        /// An option without its value.
        case missingValue
        /// A value where none is taken: after `--no-` and the name, or as the argument behind a boolean's option.
        case unexpectedValue
    }

    /// The names of the properties that have a value now, in the order of declaration.
    public let loaded: [String]
    /// The entries that were skipped.
    public let skipped: [Skipped]
    /// Of the loaded properties those whose changes take effect at the next start of the application only.
    public let restartNames: Set<String>

    /// A report, as an app's own tests may make it.
    public init(loaded: [String] = [], skipped: [Skipped] = [], restartNames: Set<String> = []) {
        self.loaded = loaded
        self.skipped = skipped
        self.restartNames = restartNames
    }
}

extension LoadReport.Skipped: CustomStringConvertible {
    /// A line for a log; it shows no value of a secret property.
    public var description: String {
        let reason =
            switch reason {
            case .noProperty: "no property has this name"
            case .notConvertible(let kind, let type): "\(kind) is not read as \(type.rawValue)"
            case .invalid(let error): error.description
            case .hidden(let other): "\(OutsideText.quoted(other)) takes precedence"
            case .missingValue: "its value is missing"
            case .unexpectedValue: "no value is taken here; write --NAME, --no-NAME or --NAME=VALUE"
            }
        return "\(OutsideText.quoted(key)) is skipped: \(reason)"
    }
}

/// The values of one layer while a source is read.
package struct LayerReading: Sendable {
    private let schema: SettingsSchema
    private let conversion: SettingConversion
    private var values: [SettingValue?]
    private var skipped: [LoadReport.Skipped] = []

    package init(_ schema: SettingsSchema, _ conversion: SettingConversion) {
        self.schema = schema
        self.conversion = conversion
        values = [SettingValue?](repeating: nil, count: schema.declarations.count)
    }

    package var payload: SettingsPayload { SettingsPayload(values: values, ignored: []) }

    /// The entries that were taken, and those that were skipped.
    package var report: LoadReport {
        let loaded = values.indices.filter { values[$0] != nil }.map { schema.declarations[$0] }
        return LoadReport(
            loaded: loaded.map(\.name), skipped: skipped,
            restartNames: Set(loaded.filter(\.needsRestart).map(\.name)))
    }

    /// The value that the source has so far.
    package func value(at index: Int) -> SettingValue? { values[index] }

    /// Sets one value that has been judged.
    package mutating func put(_ value: SettingValue, at index: Int) { values[index] = value }

    /// Notes that an entry is not used.
    package mutating func skip(_ key: String, _ reason: LoadReport.Reason) {
        skipped.append(LoadReport.Skipped(key: key, reason: reason))
    }

    private mutating func take(_ value: PropertyListValue, from key: String, at index: Int) {
        let type = schema.declarations[index].type
        guard let converted = conversion.value(value, as: type) else {
            return skip(key, .notConvertible(kind: value.kind, type))
        }
        if let error = schema.problem(of: converted, at: index) { return skip(key, .invalid(error)) }
        put(converted, at: index)
    }

    // MARK: files

    /// Takes the entries of a file: the property of the key's own name, else that of its camel case.
    package mutating func read(_ entries: PropertyListDictionary) {
        var keys: [Int: String] = [:]
        for (key, _) in entries { if let index = schema.index(of: key) { keys[index] = key } }
        for (key, value) in entries {
            guard let index = schema.index(of: key) ?? schema.index(of: SettingSpelling.camelCase(ofSnakeCase: key))
            else {
                skip(key, .noProperty)
                continue
            }
            // The exact name wins over snake case, and of several in snake case the first in the order of their bytes.
            if let other = keys[index], !other.utf8.elementsEqual(key.utf8) {
                skip(key, .hidden(by: other))
                continue
            }
            keys[index] = key
            take(value, from: key, at: index)
        }
    }

    // MARK: environment

    /// Takes the variables of all properties: `PREFIX_BASE_URL` for `baseURL`; without a prefix `BASE_URL`.
    /// - Parameters:
    ///   - all: the names of all variables, so that those with the prefix that no property has are reported.
    ///   - lookup: the value of a variable; an empty one counts as unset.
    package mutating func readEnvironment(
        prefix: String, all: [String] = [], _ lookup: (String) -> String?
    ) throws(SettingNameCollision) {
        let prefix = prefix.isEmpty || prefix.hasSuffix("_") ? prefix : prefix + "_"
        var names = SpelledNames(schema)
        let variables = schema.declarations.map { prefix + SettingSpelling.environmentCase(of: $0.name) }
        for (index, variable) in variables.enumerated() { try names.add(variable, for: index) }
        for (index, variable) in variables.enumerated() {
            guard let text = lookup(variable), !text.isEmpty else { continue }
            take(value(of: [text], at: index), from: variable, at: index)
        }
        guard !prefix.isEmpty else { return }
        for variable in all.sorted() where variable.hasPrefix(prefix) && names.index(of: variable) == nil {
            skip(variable, .noProperty)
        }
    }

    /// The value that texts stand for: words for a boolean, elements with commas between for a list of strings.
    private func value(of texts: [String], at index: Int) -> PropertyListValue {
        let text = texts.last ?? ""
        switch schema.declarations[index].type {
        case .boolean: return ToggleValues().isOn(.string(text)).map { .boolean($0) } ?? .string(text)
        case .strings:
            return .array(texts.flatMap { $0.split(separator: ",").map { .string(String($0)) } })
        case .integer, .float, .double, .string, .data, .date, .url, .array, .dictionary, .set, .coded:
            return .string(text)
        }
    }

    // MARK: command line

    /// Takes the options of all properties, up to `--`: `--base-url VALUE` and `--base-url=VALUE` for `baseURL`, or
    /// with the name itself; `--logging`, `--logging=no` and `--no-logging` for a boolean. The last of several of one
    /// property counts, and all of them for a list. Other arguments are left to the app.
    package mutating func read(arguments: [String]) throws(SettingNameCollision) {
        let names = try optionNames()
        var texts: [Int: [(option: String, text: String)]] = [:]
        var rest = arguments[...]
        while let argument = rest.popFirst(), argument != "--" {
            guard argument.hasPrefix("--") else { continue }
            let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let option = "--\(parts[0])"
            guard let index = names.index(of: option) else {
                skip(option, .noProperty)
                continue
            }
            let isBoolean = schema.declarations[index].type == .boolean
            if parts.count > 1 {
                guard !isBoolean || !isNegation(option, at: index) else {
                    skip(argument, .unexpectedValue)
                    continue
                }
                texts[index, default: []].append((option, String(parts[1])))
            } else if isBoolean {
                texts[index, default: []].append((option, isNegation(option, at: index) ? "no" : "yes"))
                // Left to the app, as every operand is, but a word like this is meant for the option.
                if let next = rest.first, ToggleValues().isOn(.string(next)) != nil { skip(next, .unexpectedValue) }
            } else if let next = rest.first, !next.hasPrefix("--") {
                texts[index, default: []].append((option, next))
                rest = rest.dropFirst()
            } else {
                skip(option, .missingValue)
            }
        }
        for (index, given) in texts.sorted(by: { $0.key < $1.key }) { take(given, at: index) }
    }

    private mutating func take(_ given: [(option: String, text: String)], at index: Int) {
        guard let last = given.last else { return }
        if schema.declarations[index].type != .strings {
            for earlier in given.dropLast() { skip(earlier.option, .hidden(by: last.option)) }
        }
        take(value(of: given.map(\.text), at: index), from: last.option, at: index)
    }

    private func optionNames() throws(SettingNameCollision) -> SpelledNames {
        var names = SpelledNames(schema)
        for (index, declaration) in schema.declarations.enumerated() {
            try names.add("--" + declaration.name, for: index)
            try names.add("--" + SettingSpelling.optionCase(of: declaration.name), for: index)
            if declaration.type == .boolean { try names.add(Self.negation(of: declaration), for: index) }
        }
        return names
    }

    private static func negation(of declaration: SettingDeclaration) -> String {
        "--no-" + SettingSpelling.optionCase(of: declaration.name)
    }

    private func isNegation(_ option: String, at index: Int) -> Bool {
        option == Self.negation(of: schema.declarations[index])
    }
}
