// Mirror of some settings between the two devices of a pairing, as one side has it (SET-70 to SET-79): entries with
// revisions, and how far each side knows the other's edits. A body carries all entries and these two numbers, so that
// merging is the same for bodies that come twice, late, or not at all. An entry whose edit a body knows and that it
// lacks was removed there: nothing is kept for a removed value, and nothing can bring it back.

package import TandemBase
package import TandemPropertyList

/// A mirrored preference. A property without one has none: it was never set, or was removed.
package enum SyncedValue: Sendable, Equatable {
    /// Set to nil.
    case nothing
    /// In the form of property lists.
    case value(PropertyListValue)
}

/// The outcome of a merge besides values to take.
package struct SyncReport: Sendable, Equatable {
    /// Settings with an edit on each side, of which neither knew the other: the primary's counts.
    package fileprivate(set) var conflicts: [String] = []
    /// Edits for which there is no room (LIM-108): they stay on this device.
    package fileprivate(set) var full: [String] = []
}

/// Why a body is refused as a whole.
package struct SyncedSettingsFault: Error, Sendable, Equatable {
    /// For people; never a value.
    package let reason: String
}

/// One side of the mirror.
package struct SyncedSettings: Sendable {
    private let side: DeviceRole
    private let names: Set<SyncedName>
    /// Of these the ones that the stored state does not have yet: a later release has begun to sync them (SET-77).
    private var new: Set<SyncedName> = []
    /// A body of the counterpart's has come; before, nothing is an edit, because its number may have been used.
    private var hasMet = false
    /// The number of this side's last edit.
    private var made: Int64 = 0
    /// The counterpart's last edit that is known here.
    private var seen: Int64 = 0
    /// This side's last edit that the counterpart knew when it sent the last body.
    private var acknowledged: Int64 = 0
    private var entries: [SyncedName: SyncedEntry] = [:]
    /// The app's own values at the last look.
    private var local: [SyncedName: SyncedValue] = [:]
    /// Entries that the app has not taken.
    private var waiting: Set<SyncedName> = []
    /// Of these the ones that the app has refused in this process.
    private var refused: Set<SyncedName> = []
    /// The counterpart has not acknowledged all.
    private var isDue = true
    /// Grows with all that the counterpart has to get.
    private var mark: UInt64 = 0

    /// A side that knows nothing yet, and asks for the counterpart's.
    /// - Parameter names: the properties that this app declares as synced.
    package init(_ side: DeviceRole, names: some Sequence<String>) {
        self.side = side
        self.names = Set(names.map { SyncedName($0) })
    }

    // MARK: the app's values

    /// Compares the app's values with those at the last look; what differs is an edit. A property that begins to be
    /// synced knows as little of the counterpart's value as both sides do of each other's before the first body.
    package mutating func look(at values: [String: SyncedValue]) -> SyncReport {
        var edits: [SyncedName] = []
        var conflicts: [String] = []
        for name in names.sorted() where values[name.text] != local[name] {
            let isNew = new.contains(name) && local[name] == nil
            local[name] = values[name.text]
            if isNew, let entry = entries[name], entry.value != local[name] {
                conflicts.append(name.text)
                // The counterpart's waits.
                if side == .secondary { continue }
            }
            refused.remove(name)
            waiting.remove(name)
            if hasMet, local[name] != entries[name]?.value { edits.append(name) }
        }
        new = []
        return SyncReport(conflicts: conflicts, full: edit(edits))
    }

    /// Makes the app's values entries: one number for all of them, since nobody can know a part.
    private mutating func edit(_ names: [SyncedName]) -> [String] {
        var full: [String] = []
        let number = made + 1
        // Weighed once, and not for each name: a counterpart's body says what this side's entries are at the start.
        var share = SyncedShare(of: side, in: entries)
        for name in names.sorted() {
            let revision = SyncedRevision(side: side, number: number)
            let entry = local[name].map { SyncedEntry(revision: revision, value: $0) }
            let before = entries[name].flatMap { $0.revision.side == side ? $0 : nil }
            if share.replace(before, with: entry, name) {
                entries[name] = entry
                made = number
            } else {
                full.append(name.text)
            }
        }
        if made == number { announce() }
        return full
    }

    /// Declared properties that the counterpart has changed and the app has not taken; nil: it removed the value.
    package var pending: [(name: String, value: SyncedValue?)] {
        waiting.intersection(names).subtracting(refused).sorted().map { ($0.text, entries[$0]?.value) }
    }

    /// The app has taken what was pending.
    package mutating func took(_ name: String) {
        let name = SyncedName(name)
        local[name] = entries[name]?.value
        waiting.remove(name)
    }

    /// The app's value at the last look.
    package func local(_ name: String) -> SyncedValue? { local[SyncedName(name)] }

    /// The value breaks a rule of the app: it is mirrored all the same, and pending again after the next start.
    package mutating func refuse(_ name: String) { refused.insert(SyncedName(name)) }

    /// Preferences that are missing at start and that the app has not removed were lost with their store: they are
    /// pending.
    package mutating func restore(missingFrom values: [String: SyncedValue], except removed: [String] = []) {
        let removed = Set(removed.map { SyncedName($0) })
        for name in local.keys where values[name.text] == nil && !removed.contains(name) {
            local[name] = nil
            // Of one that neither side has told of there is nothing to take.
            if entries[name] != nil { waiting.insert(name) }
        }
    }

    // MARK: the counterpart

    /// The body to send; nil: the counterpart has acknowledged all.
    package var outgoing: (body: PropertyListDictionary, mark: UInt64)? { isDue ? (body, mark) : nil }

    private var body: PropertyListDictionary {
        hasMet ? SyncedBody(clock: made, seen: seen, entries: entries).fields : [:]
    }

    /// The body with this mark is durable on its way.
    package mutating func sent(_ mark: UInt64) {
        if self.mark == mark { isDue = false }
    }

    /// Has the counterpart hear all again.
    package mutating func announce() {
        isDue = true
        mark &+= 1
    }

    /// Merges a body of the counterpart's. An edit gives way to one that knew it; of two that did not know each other
    /// the primary's counts.
    package mutating func merge(_ fields: PropertyListDictionary) throws(SyncedSettingsFault) -> SyncReport {
        if fields.isEmpty {
            announce()
            return hasMet ? SyncReport() : meet(SyncedBody(clock: 0, seen: 0, entries: [:]))
        }
        let body = try SyncedBody(fields, from: side.counterpart)
        guard body.clock - seen <= SyncedShare.ahead, body.seen - made <= SyncedShare.ahead else {
            throw SyncedSettingsFault(reason: "its numbers are too far ahead")
        }
        guard hasMet else { return meet(body) }
        // Something newer has come before; or the counterpart's store was restored, and has to get all.
        guard body.clock >= seen, body.seen >= acknowledged else {
            announce()
            return SyncReport()
        }
        var report = SyncReport()
        var merged: [SyncedName: SyncedEntry] = [:]
        for name in Set(entries.keys).union(body.entries.keys).sorted() {
            let (ours, theirs) = (entries[name], body.entries[name])
            merged[name] = chosen(ours, theirs, body)
            guard let ours, let theirs, ours.value != theirs.value else { continue }
            if !body.knows(ours.revision), !knows(theirs.revision) { report.conflicts.append(name.text) }
        }
        take(merged)
        (made, seen, acknowledged) = (max(made, body.seen), body.clock, body.seen)
        if entries != body.entries { announce() }
        return report
    }

    /// The first body: this side goes on after the edits that the counterpart knows, with what the app has.
    private mutating func meet(_ body: SyncedBody) -> SyncReport {
        hasMet = true
        (made, seen, acknowledged) = (body.seen, body.clock, body.seen)
        take(body.entries)
        let both = local.keys.filter { name in entries[name].map { $0.value != local[name] } ?? false }.sorted()
        let ours = local.keys.filter { entries[$0] == nil } + (side == .primary ? both : [])
        waiting.subtract(ours)
        return SyncReport(conflicts: both.map(\.text), full: edit(ours))
    }

    private func chosen(_ ours: SyncedEntry?, _ theirs: SyncedEntry?, _ body: SyncedBody) -> SyncedEntry? {
        // This side's store is older than what the counterpart has acknowledged.
        if body.seen > made { return theirs }
        switch (ours, theirs) {
        case (let ours?, nil): return body.knows(ours.revision) ? nil : ours
        case (nil, let theirs?): return knows(theirs.revision) ? nil : theirs
        case (let ours?, let theirs?):
            // One number twice: a store was restored between the two.
            if ours.revision == theirs.revision { return side == .primary ? ours : theirs }
            if body.knows(ours.revision) { return theirs }
            if knows(theirs.revision) { return ours }
            return side == .primary ? ours : theirs
        case (nil, nil): return nil
        }
    }

    private func knows(_ revision: SyncedRevision) -> Bool {
        revision.number <= (revision.side == side ? made : seen)
    }

    private mutating func take(_ merged: [SyncedName: SyncedEntry]) {
        for name in Set(entries.keys).union(merged.keys) where entries[name]?.value != merged[name]?.value {
            refused.remove(name)
            if merged[name]?.value == local[name] { waiting.remove(name) } else { waiting.insert(name) }
        }
        entries = merged
    }
}

// MARK: - Stored form, for the next process.
extension SyncedSettings {
    package var stored: PropertyListDictionary {
        let local = local.map { name, value -> (String, PropertyListValue) in
            (name.text, .dictionary(SyncedBody.fields(of: value)))
        }
        return [
            "body": .dictionary(body), "heard": .integer(acknowledged),
            "local": .dictionary(PropertyListDictionary(uniqueKeysWithValues: local)),
            "names": .array(names.subtracting(new).sorted().map { .string($0.text) }),
            "waiting": .array(waiting.sorted().map { .string($0.text) }),
        ]
    }

    /// The side as a former process has stored it, with all of it to be sent again; nil if it is damaged.
    package init?(_ side: DeviceRole, names: some Sequence<String>, stored: PropertyListDictionary) {
        guard let fields = stored["body"]?.dictionaryValue, let acknowledged = stored["heard"]?.integerValue,
            let local = stored["local"]?.dictionaryValue, let waiting = stored["waiting"]?.arrayValue
        else { return nil }
        self.init(side, names: names)
        if !fields.isEmpty {
            guard let body = try? SyncedBody(fields, from: side) else { return nil }
            (hasMet, made, seen, entries) = (true, body.clock, body.seen, body.entries)
        }
        self.acknowledged = acknowledged
        self.waiting = Set(waiting.compactMap(\.stringValue).map { SyncedName($0) })
        // A file of an earlier release has no names: all of them count as known.
        if let known = stored["names"] {
            guard let known = known.arrayValue else { return nil }
            new = self.names.subtracting(known.compactMap(\.stringValue).map { SyncedName($0) })
        }
        for (key, value) in local {
            self.local[SyncedName(key)] = value.dictionaryValue.map { SyncedBody.value(of: $0) }
        }
    }
}

/// The name of a setting; two are equal if their bytes are.
private struct SyncedName: Hashable, Comparable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    static func < (left: Self, right: Self) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }

    func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}

/// The edit that made an entry: its side, and the number among that side's edits.
private struct SyncedRevision: Equatable {
    let side: DeviceRole
    let number: Int64
}

private struct SyncedEntry: Equatable {
    let revision: SyncedRevision
    let value: SyncedValue
}

/// The entries that one side has made, of which it may have so many. Both shares together fit a body whatever is
/// merged, because merging adds to a share nothing that its side did not send at once.
private struct SyncedShare {
    /// Entries of one side (LIM-108).
    static let entries = 512
    /// Bytes of these in a body, counted so that they are never more (LIM-108).
    static let bytes = 120 * 1024
    /// Edits of a side that the other one has not acknowledged (LIM-109).
    static let ahead: Int64 = 1 << 32
    /// Nobody makes so many edits; a number that a counterpart claims never ends the counting (SET-76).
    static let numbers: ClosedRange<Int64> = 0...(1 << 62)

    private var count = 0
    private var size = 0

    init(of side: DeviceRole, in entries: [SyncedName: SyncedEntry]) {
        for (key, entry) in entries where entry.revision.side == side { add(key, entry, 1) }
    }

    /// - Parameter times: 1, or -1 to take it away.
    private mutating func add(_ name: SyncedName, _ entry: SyncedEntry, _ times: Int) {
        count += times
        size += times * (128 + Self.size(of: name.text))
        if case .value(let value) = entry.value { size += times * Self.size(of: value) }
    }

    var isKept: Bool { count <= Self.entries && size <= Self.bytes }

    /// Puts an entry in the place of another one of the side; false, and nothing has changed, if there is no room.
    mutating func replace(_ before: SyncedEntry?, with entry: SyncedEntry?, _ name: SyncedName) -> Bool {
        var sum = self
        if let before { sum.add(name, before, -1) }
        if let entry { sum.add(name, entry, 1) }
        // Taking away is always possible.
        guard entry == nil || sum.isKept else { return false }
        self = sum
        return true
    }

    /// At least the bytes of a value in a binary property list, with its references and its place in the table.
    private static func size(of value: PropertyListValue) -> Int {
        switch value {
        case .boolean, .integer, .unsigned, .real, .date: 32
        case .string(let text): size(of: text)
        case .data(let bytes): 24 + bytes.count
        case .array(let values): values.reduce(24) { $0 + size(of: $1) }
        case .dictionary(let pairs): pairs.reduce(24) { $0 + size(of: $1.key) + size(of: $1.value) }
        }
    }

    private static func size(of text: String) -> Int { 24 + 2 * text.utf16.count }
}

/// A body as it travels: all entries of a side, and how far it knows the edits of both.
private struct SyncedBody {
    /// The sender's last edit.
    let clock: Int64
    /// The receiver's last edit that the sender knows.
    let seen: Int64
    let entries: [SyncedName: SyncedEntry]
    private let sender: DeviceRole?

    init(clock: Int64, seen: Int64, entries: [SyncedName: SyncedEntry]) {
        (self.clock, self.seen, self.entries, sender) = (clock, seen, entries, nil)
    }

    init(_ fields: PropertyListDictionary, from sender: DeviceRole) throws(SyncedSettingsFault) {
        guard let clock = fields["clock"]?.integerValue, let seen = fields["seen"]?.integerValue,
            SyncedShare.numbers.contains(clock), SyncedShare.numbers.contains(seen),
            let values = fields["values"]?.dictionaryValue
        else { throw SyncedSettingsFault(reason: "'clock', 'seen' or 'values' is missing, or is something else") }
        var entries: [SyncedName: SyncedEntry] = [:]
        for (key, value) in values {
            let entry = value.dictionaryValue ?? [:]
            guard let number = entry["revision"]?.integerValue,
                let side = entry["side"]?.stringValue.flatMap({ DeviceRole(word: $0) }),
                number >= 1, number <= (side == sender ? clock : seen)
            else { throw SyncedSettingsFault(reason: "an entry has no revision that its sender can know") }
            let revision = SyncedRevision(side: side, number: number)
            entries[SyncedName(key)] = SyncedEntry(revision: revision, value: Self.value(of: entry))
        }
        for side in DeviceRole.allCases where !SyncedShare(of: side, in: entries).isKept {
            throw SyncedSettingsFault(reason: "it has more entries of one side than a side may have, or larger ones")
        }
        (self.clock, self.seen, self.entries, self.sender) = (clock, seen, entries, sender)
    }

    func knows(_ revision: SyncedRevision) -> Bool { revision.number <= (revision.side == sender ? clock : seen) }

    var fields: PropertyListDictionary {
        let values = entries.map { name, entry -> (String, PropertyListValue) in
            var fields = Self.fields(of: entry.value)
            fields["revision"] = .integer(entry.revision.number)
            fields["side"] = .string(entry.revision.side.rawValue)
            return (name.text, .dictionary(fields))
        }
        return [
            "clock": .integer(clock), "seen": .integer(seen),
            "values": .dictionary(PropertyListDictionary(uniqueKeysWithValues: values)),
        ]
    }

    static func fields(of value: SyncedValue) -> PropertyListDictionary {
        if case .value(let value) = value { ["value": value] } else { [:] }
    }

    static func value(of fields: PropertyListDictionary) -> SyncedValue {
        fields["value"].map { .value($0) } ?? .nothing
    }
}
