// Synchronisation of an app's stored preferences with the entries of a store that others edit, too: a settings page,
// the shell, a person with a text editor. The editor's entry has the property's name. The app keeps its own copy beside
// it, the shadow: an entry that differs from its shadow was edited. An edit wins, and one that replaces a change of the
// app's own is a conflict that is reported. An entry that is missing, or not valid, never replaces a value.

public import TandemPropertyList

/// The changes of a store's entries that are made as one.
public struct PreferenceEdit: Sendable, Equatable {
    /// The entries that are new or replaced.
    public let values: PropertyListDictionary
    /// The keys whose entries are removed.
    public let removed: Set<String>

    /// An edit; without arguments none.
    public init(values: PropertyListDictionary = [:], removed: Set<String> = []) {
        self.values = values
        self.removed = removed
    }

    /// Whether nothing changes.
    public var isEmpty: Bool { values.isEmpty && removed.isEmpty }

    /// The entries after the edit.
    public func applied(to entries: PropertyListDictionary) -> PropertyListDictionary {
        var result = entries
        for key in removed { result[key] = nil }
        for (key, value) in values { result[key] = value }
        return result
    }
}

/// A property that the app and an editor have both changed since the last synchronisation. The editor's value counts.
public struct PreferenceConflict: Sendable, Equatable {
    /// The property's name.
    public let name: String
    /// The editor's value, which is in force.
    public let edited: SettingValue
    /// The value that the app had set; nil if it had removed the preference.
    public let replaced: SettingValue?
    /// The values are shown nowhere.
    public let isSecret: Bool

    /// A conflict, as an app's own tests may make it.
    public init(name: String, edited: SettingValue, replaced: SettingValue?, isSecret: Bool = false) {
        self.name = name
        self.edited = edited
        self.replaced = replaced
        self.isSecret = isSecret
    }
}

extension PreferenceConflict: CustomStringConvertible, CustomReflectable {
    /// `volume: the edit 80 replaces 70, which the app had set`; a secret value is redacted.
    public var description: String {
        guard !isSecret else { return "\(name): an edit replaces the value that the app had set" }
        guard let replaced else { return "\(name): the edit \(edited) replaces the removal by the app" }
        return "\(name): the edit \(edited) replaces \(replaced), which the app had set"
    }

    /// Only the description, so that a dump shows no secret either.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// The entries of a store as the properties read them. Made without a lock, since a Codable type's own code runs here.
package struct PreferenceEntries: Sendable {
    /// The key of the shadows in a store: a dictionary by name, whose values are arrays with the value in them; an
    /// empty one stands for nil, which no property list has.
    package static var shadowKey: String { "tandem.synced" }

    fileprivate struct Entry: Sendable {
        var bare: PropertyListValue?
        /// The editor's value, if it is one.
        var value: SettingValue?
        var fault: LoadReport.Reason?
        var shadow: SettingValue?
    }

    fileprivate let entries: [Entry]
    fileprivate let shadows: PropertyListDictionary

    /// - Parameter stored: all entries of the store.
    package init(_ stored: PropertyListDictionary, _ schema: SettingsSchema) {
        let shadows = stored[Self.shadowKey]?.dictionaryValue ?? [:]
        self.shadows = shadows
        entries = schema.declarations.indices.map { place in
            let name = schema.declarations[place].name
            var entry = Entry(shadow: Self.shadow(shadows[name], at: place, schema))
            guard let bare = stored[name] else { return entry }
            entry.bare = bare
            switch schema.judge(stored: bare, at: place) {
            case .success(let value): entry.value = value
            case .failure(let error): entry.fault = .invalid(error)
            }
            return entry
        }
    }

    private static func shadow(
        _ stored: PropertyListValue?, at place: Int, _ schema: SettingsSchema
    ) -> SettingValue? {
        guard let content = stored?.arrayValue, content.count <= 1 else { return nil }
        guard let value = content.first else {
            return schema.problem(of: .nothing, at: place) == nil ? .nothing : nil
        }
        return try? schema.judge(stored: value, at: place).get()
    }
}

extension SettingsSchema {
    /// The value of a stored entry, or the rule that it breaks.
    package func judge(stored: PropertyListValue, at place: Int) -> Result<SettingValue, SettingError> {
        guard let value = declarations[place].value(stored: stored) else {
            return .failure(mistype(stored, at: place))
        }
        return problem(of: value, at: place).map { .failure($0) } ?? .success(value)
    }
}

/// The outcome of one synchronisation.
package struct PreferenceOutcome: Sendable {
    /// The stored preferences after it, one or nil for each declaration.
    package fileprivate(set) var values: [SettingValue?]
    /// The changes that the store needs.
    package fileprivate(set) var edit = PreferenceEdit()
    package fileprivate(set) var conflicts: [PreferenceConflict] = []
    /// Entries that are not valid, each told once.
    package fileprivate(set) var skipped: [LoadReport.Skipped] = []
    fileprivate var written: [Written] = []

    fileprivate struct Written: Sendable {
        let place: Int
        let version: Int
        let value: SettingValue?
    }
}

/// The state of synchronisation of all properties of a configuration.
package struct PreferenceMerge: Sendable {
    private struct Record: Sendable {
        /// The editor's value when the store was last read or written; nil without a valid one.
        var seen: SettingValue?
        /// Whether the store was ever read.
        var isKnown = false
        /// The app has changed the value, and the store does not have it yet.
        var isPending = false
        /// The value is of the hook for defaults: any stored value wins.
        var isDefault = false
        /// Counts the app's changes: a write that ends later knows whether it wrote the last one.
        var version = 0
        /// The last entry that was refused.
        var refused: PropertyListValue?
    }

    private let declarations: [SettingDeclaration]
    private var records: [Record]

    package init(_ schema: SettingsSchema) {
        declarations = schema.declarations
        records = declarations.map { _ in Record() }
    }

    /// Whether the store lacks a change of the app's.
    package var isPending: Bool { records.contains(where: \.isPending) }

    /// The app has changed a value, or removed it.
    /// - Parameter isDefault: the value is a default, set because the store had none.
    package mutating func changed(at place: Int, isDefault: Bool = false) {
        records[place].version += 1
        records[place].isPending = true
        records[place].isDefault = isDefault
    }

    /// Takes the editor's changes, and names the app's own that the store lacks.
    /// - Parameters:
    ///   - entries: nil if the store cannot be read: then all values are written, once the app has changed one.
    ///   - values: the stored preferences, one or nil for each declaration.
    package mutating func merge(_ entries: PreferenceEntries?, _ values: [SettingValue?]) -> PreferenceOutcome {
        var outcome = PreferenceOutcome(values: values)
        var writing = StoreWriting(declarations, entries)
        guard entries != nil || records.contains(where: { $0.isPending && !$0.isDefault }) else { return outcome }
        for place in records.indices {
            if let entry = entries?.entries[place] { take(entry, at: place, &outcome) }
            let record = records[place]
            if record.isPending || (entries == nil && outcome.values[place] != nil) {
                writing.write(outcome.values[place], at: place)
                outcome.written.append(
                    PreferenceOutcome.Written(place: place, version: record.version, value: outcome.values[place]))
            } else if let entry = entries?.entries[place] {
                writing.follow(entry, outcome.values[place], at: place)
            }
        }
        outcome.edit = writing.edit
        return outcome
    }

    private mutating func take(_ entry: PreferenceEntries.Entry, at place: Int, _ outcome: inout PreferenceOutcome) {
        var record = records[place]
        defer {
            record.isKnown = true
            record.seen = entry.value
            record.refused = entry.value == nil ? entry.bare : nil
            records[place] = record
        }
        // Without a value of the app's own in the way the store's counts when it is first read.
        let isFirst = !record.isKnown && (!record.isPending || record.isDefault)
        if let value = entry.value {
            let isEdited = value != (record.isKnown ? record.seen : entry.shadow)
            guard isEdited || isFirst else { return }
            if record.isPending, !record.isDefault, outcome.values[place] != value {
                outcome.conflicts.append(
                    PreferenceConflict(
                        name: declarations[place].name, edited: value, replaced: outcome.values[place],
                        isSecret: declarations[place].isSecret))
            }
            outcome.values[place] = value
            record.isPending = false
        } else {
            if let bare = entry.bare, let fault = entry.fault, record.refused != bare {
                outcome.skipped.append(LoadReport.Skipped(key: declarations[place].name, reason: fault))
            }
            guard isFirst, let shadow = entry.shadow else { return }
            outcome.values[place] = shadow
            record.isPending = false
        }
    }

    /// The store has the changes of an outcome. Later changes of the app's are still to be written.
    package mutating func wrote(_ outcome: PreferenceOutcome) {
        for written in outcome.written {
            records[written.place].isKnown = true
            records[written.place].seen = written.value == .nothing ? nil : written.value
            guard records[written.place].version == written.version else { continue }
            records[written.place].isPending = false
        }
    }
}

/// The edit of a store's entries while it is collected.
private struct StoreWriting {
    private let declarations: [SettingDeclaration]
    private var values: PropertyListDictionary = [:]
    private var removed: Set<String> = []
    private let stored: PropertyListDictionary
    private var shadows: PropertyListDictionary

    init(_ declarations: [SettingDeclaration], _ entries: PreferenceEntries?) {
        self.declarations = declarations
        stored = entries?.shadows ?? [:]
        shadows = stored
    }

    /// Entry and shadow become the value; nil removes both.
    mutating func write(_ value: SettingValue?, at place: Int) {
        let name = declarations[place].name
        let form = value.flatMap { declarations[place].stored($0) }
        if let form { values[name] = form } else { removed.insert(name) }
        shadows[name] = value.map { _ in .array(form.map { [$0] } ?? []) }
    }

    /// The shadow becomes the editor's value, which is in force.
    mutating func follow(_ entry: PreferenceEntries.Entry, _ value: SettingValue?, at place: Int) {
        guard let value, entry.value == value, entry.shadow != value else { return }
        shadows[declarations[place].name] = declarations[place].stored(value).map { .array([$0]) }
    }

    var edit: PreferenceEdit {
        var (values, removed) = (values, removed)
        if shadows != stored {
            if shadows.isEmpty {
                removed.insert(PreferenceEntries.shadowKey)
            } else {
                values[PreferenceEntries.shadowKey] = .dictionary(shadows)
            }
        }
        return PreferenceEdit(values: values, removed: removed)
    }
}
