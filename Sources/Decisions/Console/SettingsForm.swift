// An app's settings as a form: the fields of its declared properties, the meaning of their texts, and the judgement of
// a form that came back. A browser's own checks are a convenience; the app's schema judges the whole form again, with
// the texts of every other editor, and then the daemon does.

package import TandemOperations
package import TandemPropertyList
package import TandemSettings

/// One property with its present value.
package struct SettingField: Sendable {
    /// The declaration.
    package let declaration: SettingDeclaration
    /// The layer of the value: `signed`, `user` or `default`.
    package let layer: String
    /// Whether there is an edit that a reset takes back.
    package let isEdited: Bool
    /// The primary that made the edit; nil for a person on the device, and without an edit.
    package let author: String?
    /// The value as text that ``value(of:)`` reads back; empty for nil and for a secret.
    package let text: String
    /// The reason why nobody can edit it here; nil if one can.
    package let lock: String?

    /// The property's key.
    package var key: String { declaration.name }

    /// Whether an empty field means nothing, and no empty text.
    fileprivate var isEmptyNothing: Bool { declaration.allowsNothing && !declaration.isSecret }

    fileprivate init(_ declaration: SettingDeclaration, _ row: PropertyListDictionary?) {
        self.declaration = declaration
        let layer = row?["layer"]?.stringValue ?? "default"
        self.layer = layer
        isEdited = row?["edited"] == true
        author = row?["by"]?.stringValue
        let stored = row?["value"]
        let text = declaration.isSecret ? "" : stored.flatMap { Self.text($0, declaration) } ?? ""
        self.text = text
        lock =
            if layer == "signed" {
                "A signed configuration sets it; only a signed configuration changes it."
            } else if declaration.access == .signed {
                "Only a signed configuration sets it."
            } else if declaration.editor == .preference, declaration.choices.isEmpty {
                "The app sets it itself."
            } else if !declaration.hasText
                || (stored != nil && !declaration.isSecret
                    && Self.value(
                        of: declaration.type == .string ? text : FormFields.lines(text), for: declaration) != stored)
            {
                "This value has no text form; the command line edits it."
            } else { nil }
    }

    /// The stored form that a text of the field means; a text that is no value of the type stays a text, which the
    /// schema refuses by name.
    package func value(of text: String) -> PropertyListValue { Self.value(of: text, for: declaration) }

    /// Whether a person has changed the field in a form.
    func isTouched(in form: FormFields) -> Bool {
        form[SettingsForm.name(key)].map { !isSame($0, form[SettingsForm.shownName(key)] ?? self.text) } ?? false
    }

    /// Whether two texts are the same for a form. Browsers write numbers in their own way, and line ends as LF; of
    /// other texts each byte counts.
    fileprivate func isSame(_ one: String, _ other: String) -> Bool {
        if FormFields.lines(one).utf8.elementsEqual(FormFields.lines(other).utf8) { return true }
        switch declaration.type {
        case .integer, .float, .double: return value(of: one) == value(of: other)
        case .boolean, .string, .data, .date, .url, .coded, .strings, .array, .dictionary, .set: return false
        }
    }

    private static func value(of text: String, for declaration: SettingDeclaration) -> PropertyListValue {
        if let choice = declaration.choices.first(where: { $0.value.text == text }),
            let stored = declaration.stored(choice.value)
        {
            return stored
        }
        let typed: SettingValue? =
            switch declaration.type {
            case .boolean: ["true": .boolean(true), "false": .boolean(false)][text]
            case .string: .string(text)
            case .strings:
                .strings(
                    text.isEmpty
                        ? []
                        : text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map(
                            String.init))
            case .array, .dictionary, .set:
                (try? JSONReader.read(text)).flatMap { SettingValue($0, as: declaration.type) }
            case .integer, .float, .double, .date, .url:
                SettingConversion(dates: .standard).value(.string(text), as: declaration.type)
            case .data, .coded: nil
            }
        return typed.flatMap { declaration.stored($0) } ?? .string(text)
    }

    private static func text(_ stored: PropertyListValue, _ declaration: SettingDeclaration) -> String? {
        guard let value = declaration.value(stored: stored) else { return nil }
        switch value {
        case .boolean, .integer, .float, .double, .string, .url: return value.text
        case .date(let date): return SettingDateFormat.standard.text(date)
        case .strings(let texts): return texts.joined(separator: "\n")
        case .array, .dictionary: return PropertyListJSON.text(stored)
        case .data, .coded, .nothing: return nil
        }
    }
}

extension SettingDeclaration {
    fileprivate var hasText: Bool {
        switch type {
        case .data, .coded: false
        case .boolean, .integer, .float, .double, .string, .strings, .date, .url, .array, .dictionary, .set: true
        }
    }
}

/// The changes that a form makes.
package struct FormChanges: Sendable, Equatable {
    /// The stored forms by key.
    package fileprivate(set) var values: PropertyListDictionary = [:]
    /// The keys that are set to nothing.
    package fileprivate(set) var nothing: [String] = []
}

/// A form's mistakes, by the keys of their fields; those without a field of their own have an empty key.
package struct FormMistakes: Error, Sendable, Equatable {
    package let texts: [String: String]
}

/// All settings of an app.
package struct SettingsForm: Sendable {
    /// The app's schema.
    package let schema: SettingsSchema
    /// All properties in the order of declaration.
    package let fields: [SettingField]
    /// Grows with each change; absent for an app of another device.
    package let ordinal: UInt64?

    /// Reads the answers to `settings-schema` and `settings-get`.
    package init(schema: PropertyListDictionary, state: PropertyListDictionary) throws(ControlError) {
        do throws(SchemaError) {
            self.schema = try SchemaDocument(reading: schema["schema"]?.dataValue ?? []).schema
        } catch { throw .failed("the app's schema: \(error)") }
        var rows: [String: PropertyListDictionary] = [:]
        for row in (state["settings"]?.arrayValue ?? []).compactMap(\.dictionaryValue) {
            if let key = row["key"]?.stringValue { rows[key] = row }
        }
        fields = self.schema.declarations.map { SettingField($0, rows[$0.name]) }
        ordinal = state["ordinal"]?.unsignedValue
    }

    /// The names of the pages in the order of declaration; nil for the first one.
    package var pages: [String?] {
        var seen: Set<String> = []
        return [nil] + fields.compactMap(\.declaration.page).filter { seen.insert($0).inserted }
    }

    /// The properties of a page.
    package func fields(ofPage page: String?) -> [SettingField] { fields.filter { $0.declaration.page == page } }

    /// The name of a property's value in a form, and of the value that the form showed.
    package static func name(_ key: String) -> String { "v." + key }
    package static func shownName(_ key: String) -> String { "b." + key }

    /// Judges a form as a whole; returns what a person has changed in it.
    /// - Parameter author: a person on this device, or on the paired one.
    package func changes(in form: FormFields, by author: SettingAuthor) throws(FormMistakes) -> FormChanges {
        var (changes, mistakes): (FormChanges, [String: String]) = (FormChanges(), [:])
        for key in form.names(after: Self.name("")) {
            guard let text = form[Self.name(key)] else { continue }
            guard let place = schema.place(of: key) else {
                mistakes[""] = SettingError(property: key, value: "", rule: .unknownProperty).description
                continue
            }
            let field = fields[place]
            guard field.isTouched(in: form) else { continue }
            if let lock = field.lock {
                mistakes[key] = lock
            } else if !field.isSame(text, field.text) {
                if text.isEmpty, field.isEmptyNothing {
                    changes.nothing.append(key)
                } else {
                    changes.values[key] = field.value(of: text)
                }
            }
        }
        var edits = SettingEdits()
        do throws(SettingsPayloadError) {
            _ = try edits.set(changes.values, empty: changes.nothing, by: author, in: schema)
        } catch {
            for error in error.errors { mistakes[error.property] = error.description }
        }
        guard mistakes.isEmpty else { throw FormMistakes(texts: mistakes) }
        return changes
    }

    /// The keys that a form resets, those with an edit; nil for a form of values.
    package func reset(by form: FormFields, onPage page: String?) -> [String]? {
        if form["reset-all"] != nil { return fields.filter(\.isEdited).map(\.key) }
        if form["reset-page"] != nil { return fields(ofPage: page).filter(\.isEdited).map(\.key) }
        return form["reset"].map { [$0] }
    }

    /// The fields that are not as they were, for pages that are open.
    package func changed(since former: SettingsForm) -> [SettingField] {
        let before = Dictionary(former.fields.map { ($0.key, $0) }) { first, _ in first }
        return fields.filter { field in
            guard let old = before[field.key] else { return true }
            return (old.text, old.layer, old.lock, old.isEdited) != (
                field.text, field.layer, field.lock, field.isEdited
            )
        }
    }
}
