// Schema as a document that travels (Protocol/Schema.md): an app writes what it declares, and its daemon, the primary
// and a signer judge values by it as the app does. A document comes from outside: each fault is an error that names its
// location and no value, and what a later version adds is passed over.

import TandemBase
package import TandemPropertyList

/// A schema with the bytes that it was read from, or is written as.
package struct SchemaDocument: Sendable {
    /// Bytes of a document (LIM-100).
    package static let byteLimit = 262_144
    /// Properties of a document (LIM-101).
    package static let propertyLimit = 1024

    /// The exact bytes; their SHA-256 names the document.
    package let bytes: [UInt8]
    package let schema: SettingsSchema
    /// The pages that show them (Protocol/Pages.md); nil for an app without a bundle. It judges nothing.
    package let layout: PropertyListDictionary?
    /// The keys of the buttons that a person on the paired primary may press (SCH-21).
    package let buttons: Set<String>

    /// Writes the document of an app's declarations: equal declarations are equal bytes.
    /// - Parameters:
    ///   - layout: the pages; nil for none.
    ///   - buttons: the keys of the buttons that the app opens to its paired primary.
    ///   - isForeign: the declarations are another program's, which alone judges its defaults and choices.
    package init(
        writing declarations: [SettingDeclaration], layout: PropertyListDictionary? = nil, buttons: Set<String> = [],
        isForeign: Bool = false
    ) throws(SchemaError) {
        guard declarations.count <= Self.propertyLimit else { throw SchemaError("", .tooMany(declarations.count)) }
        let rows = declarations.map { PropertyListValue.dictionary($0.schemaRow) }
        let root = PropertyListDictionary(present: [
            "v": 1, "properties": .array(rows), "layout": layout.map { .dictionary($0) },
            "buttons": buttons.isEmpty ? nil : .array(buttons.sorted().map { .string($0) }),
        ])
        self.buttons = try Self.buttons(root["buttons"])
        do {
            bytes = try PropertyListWriter.write(root)
        } catch {
            throw SchemaError("", .notStorable("\(error)"))
        }
        guard bytes.count <= Self.byteLimit else { throw SchemaError("", .tooLarge(bytes.count)) }
        schema = SettingsSchema(declarations, isForeign: isForeign)
        self.layout = layout
    }

    /// Reads a document; a default or a choice that breaks its own rule is the app's mistake, and no fault of the
    /// document.
    package init(reading bytes: [UInt8]) throws(SchemaError) {
        guard bytes.count <= Self.byteLimit else { throw SchemaError("", .tooLarge(bytes.count)) }
        let root: PropertyListDictionary
        do {
            root = try PropertyListReader.readDictionary(bytes)
        } catch {
            throw SchemaError("", .notStorable("\(error)"))
        }
        guard root["v"]?.integerValue == 1 else { throw SchemaError("v", .expected("1")) }
        layout = root["layout"]?.dictionaryValue
        guard root["layout"] == nil || layout != nil else { throw SchemaError("layout", .expected("a dictionary")) }
        buttons = try Self.buttons(root["buttons"])
        guard let rows = root["properties"]?.arrayValue else {
            throw SchemaError("properties", .expected("an array"))
        }
        guard rows.count <= Self.propertyLimit else { throw SchemaError("properties", .tooMany(rows.count)) }
        var declarations: [SettingDeclaration] = []
        for (index, row) in rows.enumerated() {
            guard let row = row.dictionaryValue else {
                throw SchemaError("properties[\(index)]", .expected("a dictionary"))
            }
            declarations.append(try SchemaRow(row, at: "properties[\(index)]").declaration())
        }
        schema = SettingsSchema(declarations, isForeign: true)
        self.bytes = bytes
        if let problem = schema.problems.first(where: \.endsJudgement) {
            throw SchemaError("properties", .problem(problem))
        }
    }

    private static func buttons(_ value: PropertyListValue?) throws(SchemaError) -> Set<String> {
        guard let value else { return [] }
        let keys = (value.arrayValue ?? []).compactMap(\.stringValue).filter { (1...256).contains($0.utf8.count) }
        guard keys.count == value.arrayValue?.count, keys.count <= propertyLimit else {
            throw SchemaError("buttons", .expected("an array of at most \(propertyLimit) keys of 1-256 bytes"))
        }
        return Set(keys)
    }
}

/// Documents of apps, by digest (LIM-117): a thousand secondaries with one app share one. The document
/// that was used longest ago goes first.
package struct SchemaCache: Sendable {
    package static let documentLimit = 64
    package static let byteLimit = 4 << 20

    /// The one that was used last is the last one.
    private var documents: [(digest: [UInt8], document: SchemaDocument, memory: Int)] = []

    package init() {}

    /// The document of a digest, which counts as used now.
    package mutating func document(_ digest: [UInt8]) -> SchemaDocument? {
        guard let index = documents.firstIndex(where: { $0.digest == digest }) else { return nil }
        documents.append(documents.remove(at: index))
        return documents.last?.document
    }

    /// Keeps a document under its digest, whatever it takes: the next question is about it, too.
    package mutating func insert(_ document: SchemaDocument, _ digest: [UInt8]) {
        documents.removeAll { $0.digest == digest }
        documents.append((digest, document, document.memory))
        var memory = documents.reduce(0) { $0 + $1.memory }
        while documents.count > Self.documentLimit || documents.count > 1 && memory > Self.byteLimit {
            memory -= documents.removeFirst().memory
        }
    }
}

extension SchemaDocument {
    /// Bytes of memory that it takes, about. A document of some kilobytes may name one choice or one entry of its pages
    /// thousands of times; their texts lie in memory once, as in its bytes.
    fileprivate var memory: Int {
        let layout = layout.map { PropertyListValue.dictionary($0).memory } ?? 0
        return schema.declarations.reduce(bytes.count + schema.patternBytes + layout) { $0 + $1.memory }
    }
}

extension SettingDeclaration {
    fileprivate var memory: Int {
        choices.reduce(MemoryLayout<Self>.stride + initialValue.memory) { $0 + 64 + $1.value.memory }
    }
}

extension SettingValue {
    fileprivate var memory: Int { propertyListValue?.memory ?? 0 }
}

extension PropertyListValue {
    fileprivate var memory: Int {
        switch self {
        case .array(let values): values.reduce(64) { $0 + $1.memory }
        case .dictionary(let pairs): pairs.reduce(64) { $0 + 32 + $1.value.memory }
        case .boolean, .integer, .unsigned, .real, .date, .data, .string: 32
        }
    }
}

/// Why a schema cannot be written, or a document is none: the location and the fault, and never a value.
package struct SchemaError: Error, Sendable, Equatable {
    package enum Fault: Sendable, Equatable {
        /// Bytes over the limit.
        case tooLarge(Int)
        /// Properties over the limit.
        case tooMany(Int)
        /// No property list, or one that cannot be written.
        case notStorable(String)
        /// Another value than this one at the location in a document.
        case expected(String)
        /// A mistake in the declarations by which nothing can be judged.
        case problem(DeclarationProblem)
    }

    /// The key path; empty for the whole.
    package let location: String
    package let fault: Fault

    package init(_ location: String, _ fault: Fault) {
        self.location = location
        self.fault = fault
    }
}

extension SchemaError: CustomStringConvertible {
    package var description: String {
        let text =
            switch fault {
            case .tooLarge(let count): "\(count) bytes; a schema has at most \(SchemaDocument.byteLimit)"
            case .tooMany(let count): "\(count) properties; a schema has at most \(SchemaDocument.propertyLimit)"
            case .notStorable(let reason): reason
            case .expected(let what): "expected \(what)"
            case .problem(let problem): problem.description
            }
        return location.isEmpty ? text : "\(location): \(text)"
    }
}

extension DeclarationProblem {
    /// Whether values of the schema cannot be told apart or judged.
    fileprivate var endsJudgement: Bool {
        switch self {
        case .duplicateName, .invalidName, .invalidPattern: true
        case .noProperties, .notASetting, .noChoices, .infiniteBound, .equalToggleValues, .duplicateLabel, .choice,
            .invalidDateFormat, .manifest, .invalidSync, .unusableKey, .defaultValue, .notAnnounced:
            false
        }
    }
}

// MARK: - writing

extension SettingDeclaration {
    /// The property in a document. A secret's default stays where it is.
    fileprivate var schemaRow: PropertyListDictionary {
        var row = PropertyListDictionary(present: [
            "key": .string(name), "type": .string(type.rawValue), "editor": .string(editor.rawValue),
            "title": title.map { .string($0) }, "description": summary.isEmpty ? nil : .string(summary),
            "page": page.map { .string($0) },
            "choices": choices.isEmpty ? nil : .array(choices.map { .dictionary($0.schemaRow) }),
            "default": isSecret ? nil : initialValue.propertyListValue, "icon": icon.map { .string($0.rawValue) },
        ])
        for (key, isSet) in [("restart", needsRestart), ("secret", isSecret)] where isSet { row[key] = true }
        if access != .user { row["access"] = .string(access.rawValue) }
        (row["on"], row["off"]) = (toggleValues?.on, toggleValues?.off)
        return row.merging(limits)
    }

    /// The rules beside type and choices, by the keys of a document.
    private var limits: PropertyListDictionary {
        PropertyListDictionary(present: [
            "minimum": bounds?.values.least.propertyListValue, "maximum": bounds?.values.most.propertyListValue,
            "pattern": pattern.map { .string($0) }, "nothing": allowsNothing ? true : nil,
        ])
    }

    /// The rules that say which values of the type are allowed, by the keys of a document, for programs. A secret has
    /// no choices there: one of them is its value.
    package var rules: PropertyListDictionary {
        var row = limits
        if !choices.isEmpty, !isSecret { row["choices"] = .array(choices.map { .dictionary($0.schemaRow) }) }
        return row
    }
}

extension SettingChoice {
    fileprivate var schemaRow: PropertyListDictionary {
        PropertyListDictionary(present: ["label": .string(label), "value": value.propertyListValue])
    }
}

extension SettingBounds {
    /// The bounds between two values of one type; nil if no value lies between them, or the type has no order.
    fileprivate init?(_ least: SettingValue, _ most: SettingValue) {
        switch (least, most) {
        case (.integer(let least), .integer(let most)) where least <= most: self = .integer(least...most)
        case (.float(let least), .float(let most)) where least <= most: self = .float(least...most)
        case (.double(let least), .double(let most)) where least <= most: self = .double(least...most)
        default: return nil
        }
    }
}

// MARK: - reading

/// One property of a document that is being read.
private struct SchemaRow {
    private let row: PropertyListDictionary
    private let location: String

    init(_ row: PropertyListDictionary, at location: String) {
        self.row = row
        self.location = location
    }

    func declaration() throws(SchemaError) -> SettingDeclaration {
        let name = try string("key")
        let type: SettingType = try word("type")
        let allowsNothing = try flag("nothing")
        let isSecret = try flag("secret")
        let toggle =
            row["on"] == nil && row["off"] == nil
            ? nil : ToggleValues(on: row["on"] ?? true, off: row["off"] ?? false)
        return SettingDeclaration(
            name: name, type: type, editor: try word("editor"), summary: try optionalString("description") ?? "",
            bounds: try bounds(type), pattern: try optionalString("pattern"), choices: try choices(type, allowsNothing),
            icon: try optionalString("icon").flatMap { SliderIcon(word: $0) }, needsRestart: try flag("restart"),
            isSecret: isSecret, allowsNothing: allowsNothing, toggleValues: toggle,
            title: try optionalString("title"), page: try optionalString("page"),
            access: row["access"] == nil ? .user : try word("access"),
            initialValue: try initial(type, isOptional: allowsNothing || isSecret))
    }

    private func fault(_ key: String, _ expected: String) -> SchemaError {
        SchemaError("\(location).\(key)", .expected(expected))
    }

    private func string(_ key: String) throws(SchemaError) -> String {
        guard let text = try optionalString(key) else { throw fault(key, "a string") }
        return text
    }

    private func optionalString(_ key: String) throws(SchemaError) -> String? {
        guard let value = row[key] else { return nil }
        guard let text = value.stringValue else { throw fault(key, "a string") }
        return text
    }

    private func flag(_ key: String) throws(SchemaError) -> Bool {
        guard let value = row[key] else { return false }
        guard let flag = value.booleanValue else { throw fault(key, "a boolean") }
        return flag
    }

    /// A word that decides about values: one that a later version adds is no rule that this one could pass over.
    private func word<Word: RawRepresentable<String>>(_ key: String) throws(SchemaError) -> Word {
        guard let word = Word(word: try string(key)) else { throw fault(key, "a word of this version") }
        return word
    }

    private func value(_ key: String, _ type: SettingType) throws(SchemaError) -> SettingValue? {
        guard let value = row[key] else { return nil }
        let typed = SettingValue(value, as: type)
        // A real that no float can hold could not be written again.
        let isInfinite = if case .float(let number)? = typed { !number.isFinite } else { false }
        guard let typed, !isInfinite else { throw fault(key, "a value of type \(type.rawValue)") }
        return typed
    }

    private func initial(_ type: SettingType, isOptional: Bool) throws(SchemaError) -> SettingValue {
        if let value = try value("default", type) { return value }
        guard isOptional else { throw fault("default", "a value of type \(type.rawValue)") }
        return .nothing
    }

    private func bounds(_ type: SettingType) throws(SchemaError) -> SettingBounds? {
        switch (try value("minimum", type), try value("maximum", type)) {
        case (nil, nil): return nil
        case (let least?, let most?):
            guard let bounds = SettingBounds(least, most) else {
                throw fault("maximum", "a number not under 'minimum'")
            }
            return bounds
        default: throw fault("minimum", "beside 'maximum'")
        }
    }

    private func choices(_ type: SettingType, _ allowsNothing: Bool) throws(SchemaError) -> [SettingChoice] {
        guard let value = row["choices"] else { return [] }
        guard let rows = value.arrayValue else { throw fault("choices", "an array") }
        var choices: [SettingChoice] = []
        for (number, value) in rows.enumerated() {
            guard let row = value.dictionaryValue else { throw fault("choices[\(number)]", "a dictionary") }
            let choice = SchemaRow(row, at: "\(location).choices[\(number)]")
            guard let value = try choice.value("value", type) ?? (allowsNothing ? .nothing : nil) else {
                throw choice.fault("value", "a value of type \(type.rawValue)")
            }
            choices.append(SettingChoice(label: try choice.string("label"), value: value))
        }
        return choices
    }
}
