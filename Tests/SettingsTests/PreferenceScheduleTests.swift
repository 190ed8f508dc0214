// Random schedules of an app, an editor, failing writes and crashes over one store, against a model that knows who
// wrote what: a synchronisation takes each edit, loses no change without a conflict, and reports no other conflict.

import TandemPropertyList
import TandemSettings
import TandemTestSupport
import Testing

/// One schedule over two properties.
private struct Schedule {
    private enum Ending: CaseIterable { case written, failed, failedButMade, onlyRead }

    private static let names = ["a", "b"]
    private static let schema = SettingsSchema(
        names.map { name in
            SettingDeclaration(
                name: name, type: .integer, editor: .slider, summary: "", bounds: .integer(0...9), allowsNothing: true,
                initialValue: .integer(0))
        })

    private var generator: SeededGenerator
    private var merge = PreferenceMerge(schema)
    private var values: [SettingValue?] = [nil, nil]
    /// nil while the store cannot be read.
    private var store: PropertyListDictionary? = [:]
    /// The changes of the app that no synchronisation has ended, by index.
    private var pending: Set<Int> = []
    /// The entries as the app has read or written them last, by index.
    private var known: [Int: PropertyListValue?] = [:]
    /// A write has failed, and nobody has looked since then whether it was made.
    private var isUnclear = false

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func run() {
        for _ in 0..<60 {
            switch Int.random(in: 0..<20, using: &generator) {
            case 0...4: appChanges()
            case 5...9: editorChanges()
            // By its shadow alone an app knows whether a write of its own that failed was made.
            case 10: if !isUnclear { store?[PreferenceEntries.shadowKey] = nil }
            case 11: if !isUnclear { store = nil }
            case 12...13: crash()
            default: synchronise(Ending.allCases.randomElement(using: &generator) ?? .written)
            }
        }
        rest()
    }

    private mutating func appChanges() {
        let index = Int.random(in: 0..<2, using: &generator)
        let number = Int.random(in: 0..<12, using: &generator)
        let value: SettingValue? = number == 11 ? nil : number == 10 ? .nothing : .integer(number)
        guard merge.isChange(from: values[index], to: value, at: index) else { return }
        values[index] = value
        merge.changed(at: index, to: value)
        pending.insert(index)
    }

    /// Of a store that cannot be read a person makes a new one.
    private mutating func editorChanges() {
        let number = Int.random(in: 0..<14, using: &generator)
        let entry: PropertyListValue? = number == 12 ? nil : number == 13 ? "no number" : PropertyListValue(number)
        var edited = store ?? [:]
        edited[Self.names[Int.random(in: 0..<2, using: &generator)]] = entry
        store = edited
    }

    /// A process that ends without a write loses its pending changes, and nothing else.
    private mutating func crash() {
        merge = PreferenceMerge(Self.schema)
        values = [nil, nil]
        pending = []
        known = [:]
        isUnclear = false
    }

    private func number(_ form: PropertyListValue?) -> SettingValue? {
        form?.integerValue.flatMap { (0...9).contains($0) ? .integer(Int($0)) : nil }
    }

    /// The value after the look at one index, and whether an editor wrote it.
    private func expected(at index: Int, _ store: PropertyListDictionary) -> (value: SettingValue?, isEdited: Bool) {
        let entry = store[Self.names[index]]
        let shadow = store[PreferenceEntries.shadowKey]?.dictionaryValue?[Self.names[index]]?.arrayValue
        if let last = known[index] {
            guard let edited = number(entry), entry != last else { return (values[index], false) }
            return (edited, true)
        }
        if pending.contains(index) {
            guard let edited = number(entry), shadow != [.integer(Int64(entry?.integerValue ?? 0))] else {
                return (values[index], false)
            }
            return (edited, true)
        }
        return (number(entry) ?? shadow.flatMap { $0.isEmpty ? .nothing : number($0.first) }, false)
    }

    private mutating func synchronise(_ ending: Ending) {
        var conflicts: [PreferenceConflict] = []
        var after = values
        if let store {
            for index in 0..<2 {
                let (value, isEdited) = expected(at: index, store)
                if isEdited, let value, pending.contains(index), values[index] != value {
                    conflicts.append(
                        PreferenceConflict(name: Self.names[index], edited: value, replaced: values[index]))
                }
                if isEdited { pending.remove(index) }
                after[index] = value
                known[index] = .some(store[Self.names[index]])
            }
            isUnclear = false
        }
        let outcome = merge.merge(store.map { PreferenceEntries($0, Self.schema) }, values)
        #expect(outcome.conflicts == conflicts)
        #expect(outcome.values == after)
        values = outcome.values
        if ending == .onlyRead { return }
        if ending != .written, !outcome.edit.isEmpty {
            merge.attempted(outcome)
            isUnclear = true
            return ending == .failedButMade && changesShadows(outcome) ? made(outcome) : ()
        }
        made(outcome)
        merge.wrote(outcome)
        pending = []
        #expect(merge.isPending == !pending.isEmpty)
    }

    /// Whether each entry that is written has a new shadow.
    private func changesShadows(_ outcome: PreferenceOutcome) -> Bool {
        let next = outcome.edit.applied(to: store ?? [:])[PreferenceEntries.shadowKey]?.dictionaryValue ?? [:]
        let last = store?[PreferenceEntries.shadowKey]?.dictionaryValue ?? [:]
        return pending.allSatisfy { next[Self.names[$0]] != last[Self.names[$0]] }
    }

    /// The store has what the outcome asks for, whole.
    private mutating func made(_ outcome: PreferenceOutcome) {
        guard store != nil || !outcome.edit.isEmpty else { return }
        let isNew = store == nil
        let next = outcome.edit.applied(to: store ?? [:])
        for index in 0..<2 where pending.contains(index) || isNew && values[index] != nil {
            #expect(next[Self.names[index]] == values[index]?.propertyListValue)
            known[index] = .some(next[Self.names[index]])
        }
        store = next
    }

    /// Once both sides rest, each entry is the value in force, and a new process has it, too.
    private mutating func rest() {
        synchronise(.written)
        synchronise(.written)
        guard let store else { return }
        let entries = PreferenceEntries(store, Self.schema)
        #expect(merge.merge(entries, values).edit.isEmpty)
        var next = PreferenceMerge(Self.schema)
        let found = next.merge(entries, [nil, nil])
        #expect(found.conflicts.isEmpty)
        for index in 0..<2 {
            guard let value = number(store[Self.names[index]]) else { continue }
            #expect(values[index] == value && found.values[index] == value)
        }
    }
}

@Suite struct PreferenceScheduleTests {
    @Test("SET-25, SET-52: in 2,000 random schedules an edit wins, and no change is lost without a conflict")
    func schedules() {
        for seed in 0..<2_000 {
            var schedule = Schedule(seed: UInt64(seed))
            schedule.run()
        }
    }
}
