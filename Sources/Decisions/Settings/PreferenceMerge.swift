// Synchronisation of an app's stored preferences with the entries of a store that others edit, too: a settings page,
// the shell, a person with a text editor. The editor's entry has the property's name. The app keeps its own copy beside
// it, the shadow: an entry that differs from its shadow was edited. An edit wins, and one that replaces a change of the
// app's own is a conflict that is reported. An entry that is missing, or not valid, never replaces a value.

import TandemCrypto
package import TandemPattern
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
        entries.compactMapValues { removed.contains($0) ? nil : $1 }.merging(values)
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

/// The app's copy of an entry: a list with the form in it, and without one for nil, which no property list has. Of a
/// large form it is the SHA-256, so that no store has a large value twice.
private struct PreferenceShadow {
    /// The largest form that is its own shadow, in bytes and levels (LIM-113).
    private static var formLimit: (bytes: Int, depth: Int) { (1024, 8) }

    /// In the place of a synced property's that the app has removed (SET-77). It is no shadow of any value.
    static let removed: PropertyListValue = "removed"

    let stored: PropertyListValue

    init(_ stored: PropertyListValue) { self.stored = stored }

    /// The shadow of a form; nil for one that cannot be written.
    init?(of form: PropertyListValue?) {
        guard let form else {
            stored = .array([])
            return
        }
        guard let bytes = try? PropertyListWriter.write(form) else { return nil }
        let isSmall = bytes.count <= Self.formLimit.bytes && form.isNested(within: Self.formLimit.depth)
        stored = isSmall ? .array([form]) : .data(SHA256.digest(bytes))
    }

    /// The value in the shadow; nil if it has only the digest, or is not valid.
    func value(at index: Int, _ schema: SettingsSchema) -> SettingValue? {
        guard let content = stored.arrayValue, content.count <= 1 else { return nil }
        guard let form = content.first else {
            return schema.problem(of: .nothing, at: index) == nil ? .nothing : nil
        }
        return try? schema.judge(stored: form, at: index).get()
    }

    /// Whether it is the shadow of the form, byte by byte.
    func stands(for form: PropertyListValue?) -> Bool {
        switch stored {
        case .array(let content): content == (form.map { [$0] } ?? [])
        case .data: PreferenceShadow(of: form)?.stored == stored
        default: false
        }
    }
}

extension PropertyListValue {
    /// Whether it has at most so many levels of containers.
    fileprivate func isNested(within levels: Int) -> Bool {
        switch self {
        case .array(let values): levels > 0 && values.allSatisfy { $0.isNested(within: levels - 1) }
        case .dictionary(let pairs): levels > 0 && pairs.allSatisfy { $0.value.isNested(within: levels - 1) }
        default: true
        }
    }
}

/// The entries of a store as the properties read them. Made without a lock, since a Codable type's own code runs here.
package struct PreferenceEntries: Sendable {
    /// The key of the shadows in a store: a dictionary by name.
    package static var shadowKey: String { "tandem.synced" }

    fileprivate struct Entry: Sendable {
        var bare: PropertyListValue?
        /// The editor's value, if it is one.
        var value: SettingValue?
        var fault: LoadReport.Reason?
        /// The shadow, and its value if it has one.
        var shadowForm: PropertyListValue?
        var shadow: SettingValue?
        /// The entry is as its shadow: no editor has changed it.
        var isShadowed = false
    }

    fileprivate let entries: [Entry]
    fileprivate let shadows: PropertyListDictionary
    /// All entries of the store.
    fileprivate let stored: PropertyListDictionary

    /// - Parameter stored: all entries of the store.
    package init(_ stored: PropertyListDictionary, _ schema: SettingsSchema) {
        let shadows = stored[Self.shadowKey]?.dictionaryValue ?? [:]
        self.shadows = shadows
        self.stored = stored
        entries = schema.declarations.indices.map { index in
            let name = schema.declarations[index].name
            return Self.entry(stored[name], shadows[name].map { PreferenceShadow($0) }, at: index, schema)
        }
    }

    private static func entry(
        _ bare: PropertyListValue?, _ shadow: PreferenceShadow?, at index: Int, _ schema: SettingsSchema
    ) -> Entry {
        var entry = Entry(bare: bare, shadowForm: shadow?.stored, shadow: shadow?.value(at: index, schema))
        guard let bare else { return entry }
        switch schema.judge(stored: bare, at: index) {
        case .success(let value):
            entry.value = value
            // The bytes first: the value of a Codable type may be another one at each reading.
            entry.isShadowed =
                shadow?.stands(for: bare) == true || entry.shadow == value
                || shadow?.stands(for: schema.declarations[index].stored(value)) == true
        case .failure(let error): entry.fault = .invalid(error)
        }
        return entry
    }
}

extension SettingsSchema {
    /// The value of a stored entry, or the rule that it breaks.
    package func judge(stored: PropertyListValue, at index: Int) -> Result<SettingValue, SettingError> {
        var steps = PatternSteps.ofSet
        return judge(stored: stored, at: index, within: &steps)
    }

    /// As ``judge(stored:at:)``, of one of the entries that are judged as a set.
    package func judge(
        stored: PropertyListValue, at index: Int, within steps: inout PatternSteps
    ) -> Result<SettingValue, SettingError> {
        guard let value = declarations[index].value(stored: stored) else {
            return .failure(mistype(stored, at: index))
        }
        return problem(of: value, at: index, within: &steps).map { .failure($0) } ?? .success(value)
    }
}

/// The outcome of one synchronisation.
package struct PreferenceOutcome: Sendable {
    /// The stored preferences after it, one or nil for each declaration.
    package fileprivate(set) var values: [SettingValue?]
    /// The changes that the store needs.
    package fileprivate(set) var edit = PreferenceEdit()
    package fileprivate(set) var conflicts: [PreferenceConflict] = []
    /// Entries that are not valid, each reported once.
    package fileprivate(set) var skipped: [LoadReport.Skipped] = []
    fileprivate var written: [Written] = []

    fileprivate struct Written: Sendable {
        let index: Int
        let version: Int
        let value: SettingValue?
        /// The entry, and its shadow; nil for none.
        let form: PropertyListValue?
        let shadow: PropertyListValue?
        /// The store had another shadow before.
        let isNewShadow: Bool
    }
}

/// The state of synchronisation of all properties of a configuration.
package struct PreferenceMerge: Sendable {
    private struct Record: Sendable {
        /// The entry, and its value if it is valid, when the store was last read or written.
        var seen: (bare: PropertyListValue?, value: SettingValue?) = (nil, nil)
        /// The last write of the app, if it failed: it may have been made all the same.
        var attempted: PreferenceOutcome.Written?
        /// Whether the store was ever read.
        var isKnown = false
        /// The app has changed the value, and the store does not have it yet.
        var isPending = false
        /// The value is of the hook for defaults: any stored value wins.
        var isDefault = false
        /// Counts the app's changes: a write that ends later knows whether it wrote the last one.
        var version = 0
        /// The most bytes of the entry and its shadow in the store.
        var weight = 0

        /// Whether an editor has changed the entry since then.
        func isEdited(_ entry: PreferenceEntries.Entry) -> Bool {
            isKnown ? entry.bare != seen.bare && entry.value != seen.value : !entry.isShadowed
        }

        /// A shadow that only the failed write can have left shows that it was made.
        /// - Returns: whether it was.
        mutating func recognise(_ entry: PreferenceEntries.Entry) -> Bool {
            guard let attempted, attempted.isNewShadow, entry.shadowForm == attempted.shadow else { return false }
            wrote(attempted)
            return true
        }

        mutating func wrote(_ written: PreferenceOutcome.Written) {
            isKnown = true
            seen = (written.form, written.value == .nothing ? nil : written.value)
        }
    }

    private let declarations: [SettingDeclaration]
    private var records: [Record]
    /// The properties whose removal leaves a mark.
    private var marked: Set<Int> = []
    /// All entries when the store was last read or written.
    private var stored: PropertyListDictionary = [:]
    /// The most bytes of the entries that are no property's.
    private var foreignWeight = 0
    /// The store could be read at the last look.
    private var isReadable = true
    /// There was a look at the store, which may have been damaged. Before it a missing value may be a stored one.
    package private(set) var hasLooked = false

    package init(_ schema: SettingsSchema) {
        declarations = schema.declarations
        records = declarations.map { _ in Record() }
    }

    /// From now on the removal of one of these leaves a mark, until it has a value again. Without it a mirror would
    /// take what the app has removed for what the store has lost.
    package mutating func markRemovals(of names: [String]) {
        let names = Set(names)
        marked = Set(declarations.indices.filter { names.contains(declarations[$0].name) })
    }

    /// The properties without a value that the app has removed, in this process or in an earlier one.
    /// - Parameter values: the stored preferences, one or nil for each declaration.
    package func removedNames(_ values: [SettingValue?]) -> [String] {
        let shadows = stored[PreferenceEntries.shadowKey]?.dictionaryValue ?? [:]
        return records.indices.filter { values[$0] == nil }.compactMap { index in
            let name = declarations[index].name
            return records[index].isPending || shadows[name] == PreferenceShadow.removed ? name : nil
        }
    }

    /// Whether the store lacks a change of the app's.
    package var isPending: Bool { records.contains(where: \.isPending) }

    /// The names of the properties whose change the store lacks.
    package var pendingNames: [String] {
        records.indices.filter { records[$0].isPending }.map { declarations[$0].name }
    }

    /// The app has changed a value, or removed it.
    /// - Parameters:
    ///   - value: the new one; nil for none.
    ///   - isDefault: the value is a default, set because the store had none.
    package mutating func changed(at index: Int, to value: SettingValue?, isDefault: Bool = false) {
        records[index].version += 1
        records[index].weight = weight(of: value, at: index)
        records[index].isPending = true
        records[index].isDefault = isDefault
    }

    /// Whether setting a preference, or removing it, changes anything. The store decides as well as the value in force,
    /// which stays where others have removed the entry or made it invalid.
    /// - Parameters:
    ///   - old: the stored preference in force; nil for none.
    ///   - new: nil for a removal.
    ///   - isDefault: the new value is a default, which takes the place of nothing but a default.
    package func isChange(
        from old: SettingValue?, to new: SettingValue?, at index: Int, isDefault: Bool = false
    ) -> Bool {
        let (record, name) = (records[index], declarations[index].name)
        if isDefault { return old != new && (old == nil || record.isPending && record.isDefault) }
        guard old == new else { return true }
        // A default gives way to a value that the store turns out to have; the same value by the app does not.
        guard !record.isPending else { return record.isDefault }
        let shadow = stored[PreferenceEntries.shadowKey]?.dictionaryValue?[name]
        return switch new {
        case nil: !record.isKnown || stored[name] != nil || shadow != shadowOfNone(at: index)
        case .nothing: !isReadable || stored[name] != nil || shadow != .array([])
        case let value: !isReadable || record.seen.value != value
        }
    }

    /// Takes the editor's changes, and names the app's own that the store lacks.
    /// - Parameters:
    ///   - entries: nil if the store cannot be read: then all values are written, once the app has changed one.
    ///   - values: the stored preferences, one or nil for each declaration.
    ///   - isFollowing: whether shadows follow edits; without it the edit has the app's own changes only.
    ///   - only: the one property whose change is written; the others stay pending. nil for all.
    package mutating func merge(
        _ entries: PreferenceEntries?, _ values: [SettingValue?], isFollowing: Bool = true, only: String? = nil
    ) -> PreferenceOutcome {
        var outcome = PreferenceOutcome(values: values)
        var writing = StoreWriting(declarations, entries?.shadows ?? [:], marked)
        // Of what a damaged store had nothing is known any longer.
        let wasReadable = isReadable
        isReadable = entries != nil
        hasLooked = true
        guard entries != nil || records.contains(where: { $0.isPending && !$0.isDefault }) else { return outcome }
        defer { weigh(entries) }
        for index in records.indices {
            if let entry = entries?.entries[index] { take(entry, at: index, wasReadable, &outcome) }
            if only != nil, entries == nil, outcome.values[index] != nil { records[index].isPending = true }
            let record = records[index]
            if record.isPending || (entries == nil && outcome.values[index] != nil) {
                guard only == nil || only == declarations[index].name else { continue }
                outcome.written.append(writing.write(outcome.values[index], version: record.version, at: index))
            } else if isFollowing, let entry = entries?.entries[index] {
                writing.follow(entry, outcome.values[index], at: index)
            }
        }
        outcome.edit = writing.edit
        return outcome
    }

    /// In the place of the shadow of a property that the app has removed; nil for one that leaves no mark.
    private func shadowOfNone(at index: Int) -> PropertyListValue? {
        marked.contains(index) ? PreferenceShadow.removed : nil
    }

    // MARK: room

    /// The entries that the store will have when the app has set the value and all its changes are written; nil if
    /// they certainly fit the limit.
    package func entriesAfterSetting(
        _ value: SettingValue, at index: Int, _ values: [SettingValue?], limit: Int
    ) -> PropertyListDictionary? {
        let others = records.indices.reduce(foreignWeight) { $0 + ($1 == index ? 0 : records[$1].weight) }
        guard others + weight(of: value, at: index) > limit else { return nil }
        return entries(changing: { $0 == index ? .some(value) : records[$0].isPending ? .some(values[$0]) : nil })
    }

    /// The entries that the store will have when all changes so far are written.
    package func entriesAfterWriting(_ values: [SettingValue?]) -> PropertyListDictionary {
        entries(changing: { records[$0].isPending ? .some(values[$0]) : nil })
    }

    /// Whether the value makes the store no larger than the present one does.
    package func isNoLarger(_ value: SettingValue, at index: Int) -> Bool {
        weight(of: value, at: index) <= records[index].weight
    }

    /// - Parameter change: the value that is written, or nothing in the place of one that is removed; nil for none.
    private func entries(changing change: (Int) -> SettingValue??) -> PropertyListDictionary {
        var writing = StoreWriting(declarations, stored[PreferenceEntries.shadowKey]?.dictionaryValue ?? [:], marked)
        for index in records.indices {
            guard let value = change(index) else { continue }
            _ = writing.write(value, version: 0, at: index)
        }
        return writing.edit.applied(to: stored)
    }

    private func weight(of value: SettingValue?, at index: Int) -> Int {
        guard let value else { return weight(nil, shadowOfNone(at: index), at: index) }
        let form = declarations[index].stored(value)
        return weight(form, PreferenceShadow(of: form)?.stored, at: index)
    }

    private func weight(_ form: PropertyListValue?, _ shadow: PropertyListValue?, at index: Int) -> Int {
        let name = declarations[index].name
        return (form?.weight(ofKey: name, indent: 1) ?? 0) + (shadow?.weight(ofKey: name, indent: 2) ?? 0)
    }

    /// Remembers what the store has.
    private mutating func weigh(_ entries: PreferenceEntries?) {
        stored = entries?.stored ?? [:]
        let shadows = stored[PreferenceEntries.shadowKey]?.dictionaryValue ?? [:]
        // The head of a file, and the lines around the shadows.
        foreignWeight = 512
        var names: Set<String> = [PreferenceEntries.shadowKey]
        for index in records.indices {
            let name = declarations[index].name
            names.insert(name)
            if !records[index].isPending { records[index].weight = weight(stored[name], shadows[name], at: index) }
        }
        for (key, value) in stored where !names.contains(key) {
            foreignWeight += value.weight(ofKey: key, indent: 1)
        }
        for (key, value) in shadows where !names.contains(key) {
            foreignWeight += value.weight(ofKey: key, indent: 2)
        }
    }

    private mutating func take(
        _ entry: PreferenceEntries.Entry, at index: Int, _ wasReadable: Bool, _ outcome: inout PreferenceOutcome
    ) {
        var record = records[index]
        let isOwn = record.recognise(entry)
        defer {
            record.isKnown = true
            record.seen = (entry.bare, entry.value)
            record.attempted = nil
            records[index] = record
        }
        // Without a value of the app's own in the way the store's counts when it is first read.
        let isFirst = !record.isKnown && (!record.isPending || record.isDefault)
        // Another process of the library has set nil: it alone leaves such a shadow.
        let isNil =
            (wasReadable || !stored.isEmpty) && record.isKnown && !isOwn && entry.bare == nil
            && entry.shadow == .nothing
            && stored[PreferenceEntries.shadowKey]?.dictionaryValue?[declarations[index].name] != entry.shadowForm
        if let value = isNil ? .nothing : entry.value {
            guard isFirst || isNil || record.isEdited(entry) else { return }
            if record.isPending, !record.isDefault, outcome.values[index] != value {
                outcome.conflicts.append(
                    PreferenceConflict(
                        name: declarations[index].name, edited: value, replaced: outcome.values[index],
                        isSecret: declarations[index].isSecret))
            }
            outcome.values[index] = value
            record.isPending = false
        } else {
            if let bare = entry.bare, let fault = entry.fault, record.seen.bare != bare {
                outcome.skipped.append(LoadReport.Skipped(key: declarations[index].name, reason: fault))
            }
            guard isFirst, let shadow = entry.shadow else { return }
            outcome.values[index] = shadow
            record.isPending = false
        }
    }

    /// The store has the changes of an outcome. Later changes of the app's are still to be written.
    package mutating func wrote(_ outcome: PreferenceOutcome) {
        stored = outcome.edit.applied(to: stored)
        if !outcome.edit.isEmpty { isReadable = true }
        for written in outcome.written {
            records[written.index].wrote(written)
            records[written.index].attempted = nil
            guard records[written.index].version == written.version else { continue }
            records[written.index].isPending = false
        }
    }

    /// The writing of an outcome has failed, perhaps at its very end: the entries may be there.
    package mutating func attempted(_ outcome: PreferenceOutcome) {
        for written in outcome.written { records[written.index].attempted = written }
    }
}

/// The edit of a store's entries while it is collected.
private struct StoreWriting {
    private let declarations: [SettingDeclaration]
    private var values: PropertyListDictionary = [:]
    private var removed: Set<String> = []
    private let stored: PropertyListDictionary
    private var shadows: PropertyListDictionary
    private let marked: Set<Int>

    /// - Parameter marked: the properties whose removal leaves a mark.
    init(_ declarations: [SettingDeclaration], _ shadows: PropertyListDictionary, _ marked: Set<Int>) {
        self.declarations = declarations
        self.marked = marked
        stored = shadows
        self.shadows = shadows
    }

    /// Entry and shadow become the value; nil removes both, or leaves the mark of a removal.
    mutating func write(_ value: SettingValue?, version: Int, at index: Int) -> PreferenceOutcome.Written {
        let name = declarations[index].name
        let form = value.flatMap { declarations[index].stored($0) }
        let ofNone = marked.contains(index) ? PreferenceShadow.removed : nil
        let shadow = value == nil ? ofNone : PreferenceShadow(of: form)?.stored
        if let form { values[name] = form } else { removed.insert(name) }
        shadows[name] = shadow
        return PreferenceOutcome.Written(
            index: index, version: version, value: value, form: form, shadow: shadow,
            isNewShadow: shadow != stored[name])
    }

    /// The shadow becomes the editor's value, which is in force.
    mutating func follow(_ entry: PreferenceEntries.Entry, _ value: SettingValue?, at index: Int) {
        guard let value, entry.value == value, !entry.isShadowed else { return }
        shadows[declarations[index].name] = entry.bare.flatMap { PreferenceShadow(of: $0)?.stored }
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
