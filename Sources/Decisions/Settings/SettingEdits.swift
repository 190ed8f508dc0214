// Edits of an app's properties, as the daemon keeps them: one stored form for each edited key, and the primary that
// made the edit, if one did. The daemon judges each change by the app's schema, and the app judges what it reads again,
// because its schema may be newer.

package import TandemBase
package import TandemPattern
package import TandemPropertyList

/// The person who makes an edit.
package enum SettingAuthor: Sendable, Hashable {
    /// A person on this device.
    case user
    /// A person on the primary of a pairing.
    case primary(UniqueIdentifier)

    /// The least that a property's ``SettingAccess`` must be for this person.
    package var access: SettingAccess { self == .user ? .user : .counterpart }

    fileprivate var pairing: UniqueIdentifier? { if case .primary(let pairing) = self { pairing } else { nil } }
}

package struct SettingEdit: Sendable, Equatable {
    /// The stored form; nil for an edit to nothing.
    package let value: PropertyListValue?
    package let author: SettingAuthor
}

/// The edited values of one app.
package struct SettingEdits: Sendable, Equatable {
    /// The weight of the edits of a person on the device, and of those of one primary (LIM-103).
    package static let (userRoom, primaryRoom) = (131_072, 98_304)
    /// Primaries that have edits at a time (LIM-103).
    package static let primaryLimit = 3
    /// Bytes of the file, which no edits within these limits exceed: with the texts of an answer they fit a frame.
    package static let byteLimit = userRoom + primaryLimit * primaryRoom + 4096
    /// The budgets of the file: each object weighs 12 and more.
    package static let fileLimits = PropertyListLimits(
        depth: 64, objects: 65_536, values: 131_072, repeatedBytes: 16 << 20)
    /// The file in the app's directory.
    package static let fileName = "edits.plist"

    /// The stored forms by key; a key that was edited to nothing has none.
    package private(set) var values: PropertyListDictionary
    /// The keys that were edited to nothing, with true.
    private var nothing: PropertyListDictionary = [:]
    /// The pairings of the primaries that made edits, by key. The other edits are the user's.
    private var authors: PropertyListDictionary = [:]
    /// The values that were added to editable lists.
    package private(set) var choices = AddedChoices()

    package init() { values = [:] }

    /// The form of the file; nil for any other dictionary. An author that is no pairing counts as the user.
    package init?(_ dictionary: PropertyListDictionary) {
        guard dictionary["v"]?.integerValue == 1, let values = dictionary["values"]?.dictionaryValue else { return nil }
        self.values = values
        let empty = Set(dictionary["nothing"]?.arrayValue?.compactMap(\.stringValue) ?? [])
        nothing = PropertyListDictionary(
            uniqueKeysWithValues: empty.filter { values[$0] == nil }.map { ($0, true) })
        choices = AddedChoices(dictionary["choices"]?.dictionaryValue ?? [:])
        authors = (dictionary["by"]?.dictionaryValue ?? [:]).compactMapValues { [self] key, author in
            self[key] == nil ? nil : author.pairing.map { .data($0.bytes) }
        }
    }

    /// Whether a file is that of a later version, and not damaged.
    package static func isLater(_ file: PropertyListDictionary) -> Bool {
        file["v"]?.integerValue.map { $0 > 1 } ?? false
    }

    package var dictionary: PropertyListDictionary {
        PropertyListDictionary(present: [
            "v": 1, "values": .dictionary(values), "by": authors.isEmpty ? nil : .dictionary(authors),
            "nothing": nothing.isEmpty ? nil : .array(nothing.keys.map { .string($0) }),
            "choices": choices.lists.isEmpty ? nil : .dictionary(choices.lists),
        ])
    }

    /// The edited keys, those that the schema no longer has too.
    package var keys: [String] { values.keys + nothing.keys }

    package subscript(key: String) -> SettingEdit? {
        let value = values[key]
        guard value != nil || nothing[key] != nil else { return nil }
        return SettingEdit(value: value, author: authors[key]?.pairing.map { .primary($0) } ?? .user)
    }

    /// Takes values and lists as a whole: either all of them, or none and each mistake is listed.
    /// - Parameters:
    ///   - empty: keys that are set to nothing.
    ///   - choices: the added values of editable lists, by key, in place of those before.
    ///   - isLoose: whether other spellings of a value are converted, as of an imported file.
    /// - Returns: the keys whose values were converted.
    package mutating func set(
        _ changes: PropertyListDictionary, empty: [String] = [], choices: PropertyListDictionary = [:],
        by author: SettingAuthor, isLoose: Bool = false, in schema: SettingsSchema
    ) throws(SettingsPayloadError) -> [String] {
        var (next, steps) = (self, PatternSteps.ofSet)
        try next.choices.replace(choices, in: schema, within: &steps)
        let judged = try schema.judge(changes, empty: empty, by: author.access, isLoose: isLoose, within: &steps)
        for edit in judged { next.put(edit.value, edit.key, by: author) }
        self = next
        return judged.filter(\.isConverted).map(\.key)
    }

    /// Whether a person's edits have their room (SCH-20), or weigh no more than before. It does not depend on what
    /// others have edited: otherwise the room that is left would say how much that is, and the bytes of the file
    /// whether a guess equals a secret in it.
    package func fit(_ author: SettingAuthor, since before: SettingEdits) -> Bool {
        let room = max(author == .user ? Self.userRoom : Self.primaryRoom, before.weight(of: author) ?? .max)
        guard let weight = weight(of: author), weight <= room else { return false }
        return author == .user || primaryCount <= max(Self.primaryLimit, before.primaryCount)
    }

    private var primaryCount: Int { Set(authors.compactMap { $0.value.pairing }).count }

    /// The weight of a person's edits, each by itself; nil for one that no file can have.
    private func weight(of author: SettingAuthor) -> Int? {
        var weight = author == .user ? PropertyListValue.dictionary(choices.lists).weight(atMost: Self.byteLimit) : 0
        for key in keys where (authors[key]?.pairing).map({ .primary($0) }) ?? .user == author {
            guard let others = weight, let own = (values[key] ?? true).weight(atMost: Self.byteLimit) else {
                return nil
            }
            // The key itself, its author, and references to both.
            weight = others + own + key.utf8.count + 40
        }
        return weight
    }

    /// Takes edits back, all of them for nil; those of keys that the schema no longer has, or has closed, too.
    /// - Returns: the keys that had one.
    package mutating func reset(
        _ keys: [String]?, by author: SettingAuthor, in schema: SettingsSchema
    ) throws(SettingsPayloadError) -> [String] {
        let errors = (keys ?? []).compactMap { key -> SettingError? in
            guard !isResettable(key, by: author, in: schema) else { return nil }
            guard let index = schema.index(of: key) else {
                return SettingError(property: key, value: "", rule: .unknownProperty)
            }
            return schema.declarations[index].refusal(of: author.access, value: "")
        }
        guard errors.isEmpty else { throw SettingsPayloadError(errors: errors) }
        return remove((keys ?? self.keys).filter { isResettable($0, by: author, in: schema) })
    }

    /// Whether a person may take back the edit of a key (SCH-8). A later schema may have closed the property, or may
    /// lack it: a person on the device still takes back every edit, and a primary its own, of which alone it knows.
    private func isResettable(_ key: String, by author: SettingAuthor, in schema: SettingsSchema) -> Bool {
        if let declaration = schema[key], declaration.access >= author.access { return true }
        return self[key].map { author == .user || $0.author == author } ?? false
    }

    /// The keys that the primaries of some pairings have edited.
    package func keys(ofPrimaries isMeant: (UniqueIdentifier) -> Bool) -> [String] {
        authors.filter { $0.value.pairing.map(isMeant) ?? false }.map(\.key)
    }

    /// Takes back what the primaries of some pairings have edited; returns the keys.
    package mutating func remove(ofPrimaries isMeant: (UniqueIdentifier) -> Bool) -> [String] {
        remove(keys(ofPrimaries: isMeant))
    }

    private mutating func remove(_ keys: [String]) -> [String] {
        let removed = keys.filter { self[$0] != nil }
        let gone = Set(removed.map { Array($0.utf8) })
        let keep = { (key: String, value: PropertyListValue) in gone.contains(Array(key.utf8)) ? nil : value }
        values = values.compactMapValues(keep)
        nothing = nothing.compactMapValues(keep)
        authors = authors.compactMapValues(keep)
        return removed
    }

    private mutating func put(_ value: PropertyListValue?, _ key: String, by author: SettingAuthor) {
        // Also of a value that is the same: otherwise the room of a primary would say that its guess is right.
        (values[key], nothing[key]) = (value, value == nil ? true : nil)
        authors[key] = author.pairing.map { .data($0.bytes) }
    }
}

/// A change that a schema takes.
package struct JudgedEdit: Sendable {
    let key: String
    /// The stored form; nil for an edit to nothing.
    let value: PropertyListValue?
    /// Whether another spelling was converted.
    let isConverted: Bool
}

package struct TakenEdits: Sendable {
    /// One value or nil for each declaration, in its order.
    package fileprivate(set) var values: [SettingValue?]
    /// The indices of the values that a paired primary set.
    package fileprivate(set) var counterparts: Set<Int> = []
    /// The errors of the edits that are not taken.
    package fileprivate(set) var errors: [SettingError] = []
}

extension SettingsSchema {
    /// The edits that the schema takes, and the errors of the others.
    package func taken(_ edits: SettingEdits) -> TakenEdits {
        var taken = TakenEdits(values: [SettingValue?](repeating: nil, count: declarations.count))
        // Each author's are judged as a set: those of one leave the others' what they need.
        var steps: [SettingAuthor: PatternSteps] = [:]
        for key in edits.keys {
            guard let found = edits[key] else { continue }
            let author = found.author
            switch edit(
                key, found.value, by: author.access, isLoose: false, within: &steps[author, default: .ofSet])
            {
            case .success(let edit):
                taken.values[edit.index] = edit.value
                if found.author != .user { taken.counterparts.insert(edit.index) }
            case .failure(let error): taken.errors.append(error)
            }
        }
        return taken
    }

    /// Judges changes as a whole: all of them are taken, or each mistake is listed.
    /// - Parameters:
    ///   - empty: keys that are set to nothing.
    ///   - isLoose: whether other spellings of a value are converted.
    ///   - steps: what judging the set may still cost.
    package func judge(
        _ changes: PropertyListDictionary, empty: [String] = [], by editor: SettingAccess, isLoose: Bool = false,
        within steps: inout PatternSteps
    ) throws(SettingsPayloadError) -> [JudgedEdit] {
        var (judged, errors) = ([JudgedEdit](), [SettingError]())
        let all = changes.map { ($0.key, Optional($0.value)) } + empty.map { ($0, nil) }
        judging: for (key, value) in all {
            switch edit(key, value, by: editor, isLoose: isLoose, within: &steps) {
            case .success(let edit):
                let stored = declarations[edit.index].stored(edit.value)
                judged.append(JudgedEdit(key: key, value: stored, isConverted: edit.isConverted))
            case .failure(let error):
                errors.append(error)
                if error.isCostly { break judging }
            }
        }
        guard errors.isEmpty else { throw SettingsPayloadError(errors: errors) }
        return judged
    }

    func edit(
        _ key: String, _ value: PropertyListValue?, by editor: SettingAccess, isLoose: Bool,
        within steps: inout PatternSteps
    ) -> Result<(index: Int, value: SettingValue, isConverted: Bool), SettingError> {
        guard let index = index(of: key) else {
            return .failure(SettingError(property: key, value: value?.kind ?? "nil", rule: .unknownProperty))
        }
        let declaration = declarations[index]
        guard let value else {
            let refusal = declaration.refusal(of: editor, value: "nil")
            let error = refusal ?? problem(of: .nothing, at: index, within: &steps)
            return error.map { .failure($0) } ?? .success((index, .nothing, false))
        }
        let mistype = mistype(value, at: index)
        if let error = declaration.refusal(of: editor, value: mistype.value) { return .failure(error) }
        let exact = declaration.value(exact: value)
        guard let typed = exact ?? (isLoose ? declaration.value(loose: value) : nil) else { return .failure(mistype) }
        if let error = problem(of: typed, at: index, within: &steps) { return .failure(error) }
        return .success((index, typed, exact == nil))
    }
}

extension SettingDeclaration {
    /// The error of an editor who may not edit the property.
    func refusal(of editor: SettingAccess, value: String) -> SettingError? {
        guard access < editor else { return nil }
        return SettingError(property: name, value: value, rule: access == .signed ? .signedOnly : .notForCounterpart)
    }

    fileprivate func value(exact form: PropertyListValue) -> SettingValue? {
        if let toggleValues, form == toggleValues.on || form == toggleValues.off {
            return .boolean(form == toggleValues.on)
        }
        return SettingValue(form, as: type)
    }

    /// The value that another spelling means, as files of settings have them.
    package func value(loose: PropertyListValue) -> SettingValue? {
        value(stored: loose) ?? SettingConversion(dates: .standard).value(loose, as: type)
    }
}

extension PropertyListValue {
    fileprivate var pairing: UniqueIdentifier? { dataValue.flatMap { UniqueIdentifier(bytes: $0) } }
}

/// Pace of the edits that come over the links of one pairing (LIM-116): a burst, and then one in each interval. An edit
/// costs the device two writes to its disk and the app a reading of all its files.
package struct EditPace: Sendable {
    package static let burst = 16
    package static let interval = Duration.seconds(1)

    /// When the whole burst is free again.
    private var free: MonotonicTime?

    package init() {}

    /// The longest wait for a turn: the edits of links that have ended wait for theirs, too.
    package static let patience = Duration.seconds(8)

    /// Takes the next turn; returns how long it is until the turn begins. Nil, and no turn is taken, if that is longer
    /// than ``patience``.
    package mutating func wait(at now: MonotonicTime) -> Duration? {
        let next = max(free ?? now, now) + Self.interval
        let wait = max(.zero, next.since(now) - Self.interval * Self.burst)
        guard wait <= Self.patience else { return nil }
        free = next
        return wait
    }
}
