// The rule by which an app and an editor share preferences: shadows, edits, conflicts, what is never overwritten.

import TandemPropertyList
import TandemSettings
import Testing

/// An app's side of a store: the values that it has, and the state of their synchronisation.
private struct Side {
    static let schema = SettingsSchema([
        SettingDeclaration(
            name: "volume", type: .integer, editor: .slider, summary: "", bounds: .integer(0...100),
            initialValue: .integer(50)),
        SettingDeclaration(
            name: "name", type: .string, editor: .preference, summary: "", allowsNothing: true,
            initialValue: .string("Anna")),
        SettingDeclaration(
            name: "logging", type: .boolean, editor: .toggle, summary: "",
            toggleValues: ToggleValues(on: "on", off: "off"), initialValue: .boolean(false)),
        SettingDeclaration(
            name: "token", type: .string, editor: .edit, summary: "", pattern: "^[a-z]+$", isSecret: true,
            initialValue: .string("a")),
        SettingDeclaration(
            name: "tree", type: .array, editor: .preference, summary: "", initialValue: .array([])),
    ])

    var merge = PreferenceMerge(schema)
    var values: [SettingValue?] = [nil, nil, nil, nil, nil]

    mutating func set(_ value: SettingValue?, at index: Int = 0, isDefault: Bool = false) {
        values[index] = value
        merge.changed(at: index, to: value, isDefault: isDefault)
    }

    /// One synchronisation; the store has the result.
    @discardableResult
    mutating func synchronise(_ store: inout PropertyListDictionary) -> PreferenceOutcome {
        let outcome = merge.merge(PreferenceEntries(store, Self.schema), values)
        values = outcome.values
        store = outcome.edit.applied(to: store)
        merge.wrote(outcome)
        return outcome
    }
}

@Suite final class PreferenceMergeTests {
    private var side = Side()

    private func shadows(_ pairs: PropertyListDictionary) -> PropertyListDictionary {
        ["tandem.synced": .dictionary(pairs)]
    }

    @Test("SET-23: a change is the entry and its shadow, in one edit, and other entries stay")
    func aChange() {
        var store: PropertyListDictionary = ["other": 1]
        side.set(.integer(60))
        side.set(.boolean(true), at: 2)
        #expect(side.merge.isPending)
        side.synchronise(&store)
        #expect(
            store == [
                "other": 1, "volume": 60, "logging": "on",
                "tandem.synced": ["volume": [60], "logging": ["on"]],
            ])
        #expect(!side.merge.isPending)
        #expect(side.synchronise(&store).edit.isEmpty)
    }

    @Test("SET-23: nil is a shadow without a value and no entry; it is read back as nil")
    func nothing() {
        var store: PropertyListDictionary = [:]
        side.set(.string("Bert"), at: 1)
        side.synchronise(&store)
        side.set(.nothing, at: 1)
        side.synchronise(&store)
        #expect(store == shadows(["name": []]))
        var next = Side()
        next.synchronise(&store)
        #expect(next.values == [nil, .nothing, nil, nil, nil])
        store["name"] = "Carl"
        next.synchronise(&store)
        #expect(next.values[1] == .string("Carl"))
    }

    @Test("SET-23: nil for a property that has no nil is ignored")
    func nothingForAScalar() {
        var store = shadows(["volume": [], "name": 1, "logging": [true, false]])
        let before = store
        let outcome = side.synchronise(&store)
        #expect(side.values == [nil, nil, nil, nil, nil] && outcome.skipped.isEmpty && store == before)
    }

    @Test("SET-24: an entry that differs from its shadow was edited, and entry, value and shadow are one then")
    func anEditBetweenTwoRuns() {
        var store: PropertyListDictionary = ["volume": 80, "tandem.synced": ["volume": [60]]]
        let outcome = side.synchronise(&store)
        #expect(side.values[0] == .integer(80) && outcome.conflicts.isEmpty)
        #expect(store == ["volume": 80, "tandem.synced": ["volume": [80]]])
    }

    @Test("SET-24: entries are compared as values: another spelling of the same one is no edit")
    func spellings() {
        var store: PropertyListDictionary = ["logging": 1, "tandem.synced": ["logging": ["on"]]]
        #expect(side.synchronise(&store).edit.isEmpty)
        #expect(side.values[2] == .boolean(true))
        side.set(.boolean(false), at: 2)
        store["logging"] = true
        #expect(side.synchronise(&store).conflicts.isEmpty)
        #expect(store["logging"] == "off")
    }

    @Test("SET-24: a missing entry never replaces a value")
    func aMissingEntry() {
        var store: PropertyListDictionary = ["volume": 60]
        side.synchronise(&store)
        store["volume"] = nil
        #expect(side.synchronise(&store).edit.isEmpty)
        #expect(side.values[0] == .integer(60))
        var next = Side()
        next.synchronise(&store)
        #expect(next.values[0] == .integer(60))
        side.set(.integer(61))
        side.synchronise(&store)
        #expect(store["volume"] == 61)
    }

    @Test("SET-24, SET-32: a nil that another process has set is an edit, and a missing entry beside it is none")
    func nothingByAnother() {
        var store: PropertyListDictionary = [:]
        var other = Side()
        side.set(.string("Bert"), at: 1)
        side.synchronise(&store)
        other.synchronise(&store)
        other.set(.nothing, at: 1)
        other.synchronise(&store)
        #expect(side.synchronise(&store).conflicts.isEmpty && side.values[1] == .nothing)
        store["name"] = "Carl"
        side.synchronise(&store)
        store["name"] = nil
        side.synchronise(&store)
        #expect(side.values[1] == .string("Carl"))
        // Both have changed it.
        other.set(.nothing, at: 1)
        other.synchronise(&store)
        side.set(.string("Dora"), at: 1)
        #expect(side.synchronise(&store).conflicts.map(\.edited) == [.nothing] && side.values[1] == .nothing)
        // A nil of its own whose writing failed at its very end.
        side.set(.string("Emil"), at: 1)
        side.synchronise(&store)
        side.set(.nothing, at: 1)
        let outcome = side.merge.merge(PreferenceEntries(store, Side.schema), side.values)
        store = outcome.edit.applied(to: store)
        side.merge.attempted(outcome)
        side.set(.string("Fritz"), at: 1)
        #expect(side.synchronise(&store).conflicts.isEmpty && side.values[1] == .string("Fritz"))
    }

    @Test("SET-24, SET-30: a nil that was there before a store was damaged for a moment is no edit")
    func nothingBesideDamage() {
        var store: PropertyListDictionary = [:]
        side.set(.nothing, at: 1)
        side.synchronise(&store)
        side.set(.string("Bert"), at: 1)
        // Its outcome is not written: the store is whole again.
        side.merge.attempted(side.merge.merge(nil, side.values))
        #expect(side.synchronise(&store).conflicts.isEmpty && side.values[1] == .string("Bert"))
        #expect(store["name"] == "Bert" && !side.merge.isPending)
    }

    @Test("SET-24, SET-30: a nil that another process sets is an edit, also after a look at a damaged store")
    func nothingByAnotherAfterDamage() {
        var store: PropertyListDictionary = [:]
        var other = Side()
        side.set(.string("Bert"), at: 1)
        side.synchronise(&store)
        other.synchronise(&store)
        // Without a change to write the damaged store is left as it is, and what it had is known.
        #expect(side.merge.merge(nil, side.values).edit.isEmpty)
        other.set(.nothing, at: 1)
        other.synchronise(&store)
        #expect(side.synchronise(&store).conflicts.isEmpty && side.values[1] == .nothing)
    }

    @Test("SET-25: where both have changed, the edit wins and is a conflict; equal changes are none")
    func bothChanged() {
        var store: PropertyListDictionary = ["volume": 60]
        side.synchronise(&store)
        side.set(.integer(70))
        store["volume"] = 80
        let outcome = side.synchronise(&store)
        #expect(
            outcome.conflicts == [
                PreferenceConflict(name: "volume", edited: .integer(80), replaced: .integer(70))
            ])
        #expect(outcome.conflicts.first?.description == "volume: the edit 80 replaces 70, which the app had set")
        #expect(side.values[0] == .integer(80) && !side.merge.isPending)
        #expect(store == ["volume": 80, "tandem.synced": ["volume": [80]]])
        side.set(.integer(90))
        store["volume"] = 90
        #expect(side.synchronise(&store).conflicts.isEmpty && side.values[0] == .integer(90))
        side.set(nil)
        store["volume"] = 91
        #expect(side.synchronise(&store).conflicts.map(\.replaced) == [nil])
        #expect(side.values[0] == .integer(91))
    }

    @Test("SET-25: a change that comes while another is written stays pending, and an edit meanwhile wins over it")
    func aChangeDuringAWrite() {
        var store: PropertyListDictionary = [:]
        side.set(.integer(60))
        let outcome = side.merge.merge(PreferenceEntries(store, Side.schema), side.values)
        side.set(.integer(61))
        store = outcome.edit.applied(to: store)
        side.merge.wrote(outcome)
        #expect(side.merge.isPending && store["volume"] == 60)
        side.synchronise(&store)
        #expect(store["volume"] == 61 && !side.merge.isPending)
    }

    @Test("SET-25: a write that failed is repeated, and an edit made meanwhile wins")
    func aFailedWrite() {
        var store: PropertyListDictionary = ["volume": 60]
        side.synchronise(&store)
        side.set(.integer(70))
        // Not written: neither the store nor the merge hears of the end.
        side.values = side.merge.merge(PreferenceEntries(store, Side.schema), side.values).values
        #expect(side.merge.isPending)
        store["volume"] = 80
        #expect(side.synchronise(&store).conflicts.count == 1 && store["volume"] == 80)
    }

    @Test("SET-52: a write that failed and was made is no edit; the change that followed it is written")
    func aFailedWriteThatWasMade() {
        var store: PropertyListDictionary = ["volume": 60]
        side.synchronise(&store)
        side.set(.integer(70))
        let outcome = side.merge.merge(PreferenceEntries(store, Side.schema), side.values)
        store = outcome.edit.applied(to: store)
        side.merge.attempted(outcome)
        side.set(.integer(71))
        #expect(side.synchronise(&store).conflicts.isEmpty && store["volume"] == 71)
    }

    @Test("SET-23, LIM-113: a form that is long or deep has a digest for its shadow, which tells an edit as well")
    func digests() {
        let long: [PropertyListValue] = [.data([UInt8](repeating: 1, count: 1024))]
        let deep = (0..<8).reduce([PropertyListValue]()) { inner, _ in [.array(inner)] }
        for value in [long, deep] {
            var side = Side()
            var store: PropertyListDictionary = [:]
            side.set(.array(value), at: 4)
            side.synchronise(&store)
            let shadow = store["tandem.synced"]?.dictionaryValue?["tree"]?.dataValue
            #expect(shadow?.count == 32 && store["tree"] == .array(value))
            var next = Side()
            #expect(next.synchronise(&store).edit.isEmpty && next.values[4] == .array(value))
            // Set before the store was read: an edit is told by the digest.
            for (entry, conflicts) in [(store["tree"], 0), (.array(value + [1]), 1)] {
                store["tree"] = entry
                var late = Side()
                late.set(.array([]), at: 4)
                var copy = store
                #expect(late.synchronise(&copy).conflicts.count == conflicts)
            }
        }
    }

    @Test("SET-53: an edit without the shadows that follow has the app's own changes only")
    func withoutFollowing() {
        let store: PropertyListDictionary = ["name": "Bert"]
        side.set(.integer(60))
        let entries = PreferenceEntries(store, Side.schema)
        let outcome = side.merge.merge(entries, side.values, isFollowing: false)
        #expect(outcome.edit.values == ["volume": 60, "tandem.synced": ["volume": [60]]])
        #expect(
            side.merge.merge(entries, outcome.values).edit.values["tandem.synced"] == [
                "volume": [60], "name": ["Bert"],
            ])
    }

    @Test("SET-22, SET-25: a value in force that others have removed from the store is stored when the app assigns it")
    func assignedAgain() {
        var store: PropertyListDictionary = [:]
        let values: [SettingValue] = [.integer(60), .nothing, .boolean(true)]
        let isChange = { (side: Side, index: Int) in
            side.merge.isChange(from: side.values[index], to: values[index], at: index)
        }
        for (index, value) in values.enumerated() { side.set(value, at: index) }
        // The next write has them.
        for index in values.indices { #expect(!isChange(side, index)) }
        side.synchronise(&store)
        let whole = store
        for index in values.indices { #expect(!isChange(side, index)) }
        for gone: PropertyListDictionary in [[:], ["volume": 500, "name": 1, "logging": "loud"]] {
            store = gone
            side.synchronise(&store)
            for (index, value) in values.enumerated() {
                #expect(side.values[index] == value && isChange(side, index))
                side.set(value, at: index)
            }
            side.synchronise(&store)
            #expect(store == whole)
            for index in values.indices { #expect(!isChange(side, index)) }
        }
        // Another spelling of the editor's is the same value.
        store["logging"] = 1
        side.synchronise(&store)
        #expect(!isChange(side, 2))
        // A damaged store is begun again by any assignment.
        _ = side.merge.merge(nil, side.values)
        for index in values.indices { #expect(isChange(side, index)) }
    }

    @Test("SET-27: the app's own assignment of the hook's value is no default any longer")
    func aDefaultThatIsAssigned() {
        side.set(.integer(60), isDefault: true)
        #expect(!side.merge.isChange(from: .integer(60), to: .integer(60), at: 0, isDefault: true))
        #expect(side.merge.isChange(from: .integer(60), to: .integer(60), at: 0))
        side.set(.integer(60))
        #expect(!side.merge.isChange(from: .integer(60), to: .integer(70), at: 0, isDefault: true))
        var store: PropertyListDictionary = ["volume": 50, "tandem.synced": ["volume": [50]]]
        side.synchronise(&store)
        #expect(side.values[0] == .integer(60) && store["volume"] == 60)
    }

    @Test("SET-26: an entry that is not valid is reported once and stays; the value in force stays, too")
    func anInvalidEntry() {
        var store: PropertyListDictionary = ["volume": 500, "tandem.synced": ["volume": [60]]]
        let before = store
        let outcome = side.synchronise(&store)
        #expect(outcome.skipped.map(\.description) == ["'volume' is skipped: volume: 500 is over the maximum 100"])
        #expect(side.values[0] == .integer(60) && store == before)
        #expect(side.synchronise(&store).skipped.isEmpty)
        store["volume"] = "loud"
        #expect(side.synchronise(&store).skipped.count == 1)
        #expect(side.values[0] == .integer(60))
        side.set(.integer(61))
        side.synchronise(&store)
        #expect(store["volume"] == 61)
    }

    @Test("SET-46: neither a conflict nor a skipped entry shows a secret value")
    func secrets() {
        var store: PropertyListDictionary = ["token": "SWORDFISH"]
        let skipped = side.synchronise(&store).skipped
        side.set(.string("canary"), at: 3)
        store["token"] = "marlin"
        let conflicts = side.synchronise(&store).conflicts
        #expect(skipped.count == 1 && conflicts.count == 1)
        for text in ["\(skipped)", "\(conflicts)", "\(conflicts[0])", String(reflecting: conflicts)] {
            #expect(!text.contains("SWORDFISH") && !text.contains("canary") && !text.contains("marlin"))
        }
    }

    @Test("SET-27: a default of the hook is stored where nothing is, and a stored value wins without a conflict")
    func defaults() {
        var store: PropertyListDictionary = ["volume": 60, "tandem.synced": ["volume": [60], "name": []]]
        side.set(.integer(10), isDefault: true)
        side.set(.string("Dora"), at: 1, isDefault: true)
        side.set(.string("abc"), at: 3, isDefault: true)
        let outcome = side.synchronise(&store)
        #expect(side.values == [.integer(60), .nothing, nil, .string("abc"), nil])
        #expect(outcome.conflicts.isEmpty && store["token"] == "abc" && store["volume"] == 60)
    }

    @Test("SET-28: a removal takes entry and shadow out")
    func removal() {
        var store: PropertyListDictionary = [:]
        side.set(.integer(60))
        side.synchronise(&store)
        side.set(nil)
        side.synchronise(&store)
        #expect(store.isEmpty && !side.merge.isPending)
        var next = Side()
        next.synchronise(&store)
        #expect(next.values[0] == nil)
    }

    @Test("SET-28: a removal takes out an entry that is not taken, and what a store has that could not be read before")
    func removalOfWhatIsNotInForce() {
        #expect(side.merge.isChange(from: nil, to: nil, at: 0))
        var late = side
        var store: PropertyListDictionary = ["volume": 500, "tandem.synced": ["volume": [500]]]
        side.synchronise(&store)
        #expect(side.values[0] == nil && side.merge.isChange(from: nil, to: nil, at: 0))
        #expect(!side.merge.isChange(from: nil, to: nil, at: 1))
        side.set(nil)
        #expect(!side.merge.isChange(from: nil, to: nil, at: 0))
        side.synchronise(&store)
        #expect(store.isEmpty && !side.merge.isChange(from: nil, to: nil, at: 0))
        store = ["volume": 60, "tandem.synced": ["volume": [60]]]
        late.set(nil)
        late.synchronise(&store)
        #expect(late.values[0] == nil && store.isEmpty)
    }

    @Test("SET-23, SET-77: the removal of a synced property leaves a mark, which is no shadow and goes with a value")
    func markedRemoval() {
        var store: PropertyListDictionary = [:]
        side.merge.markRemovals(of: ["volume"])
        side.set(.integer(60))
        side.set(.string("Anna"), at: 1)
        side.synchronise(&store)
        side.set(nil)
        side.set(nil, at: 1)
        #expect(side.merge.removedNames(side.values) == ["volume", "name"])
        side.synchronise(&store)
        #expect(store == shadows(["volume": "removed"]))
        #expect(!side.merge.isChange(from: nil, to: nil, at: 0))
        // Of a process that knows nothing but the store.
        var next = Side()
        next.synchronise(&store)
        #expect(next.merge.removedNames(next.values) == ["volume"] && next.values[0] == nil)
        store["volume"] = 61
        next.synchronise(&store)
        #expect(next.values[0] == .integer(61) && next.merge.removedNames(next.values).isEmpty)
        #expect(store == ["volume": 61, "tandem.synced": ["volume": [61]]])
    }

    @Test("SET-28, SET-77: a removal of what the store lacks leaves a mark, which goes if it is not synced")
    func markOfNone() {
        var store: PropertyListDictionary = [:]
        side.merge.markRemovals(of: ["volume"])
        side.synchronise(&store)
        #expect(side.merge.isChange(from: nil, to: nil, at: 0) && !side.merge.isChange(from: nil, to: nil, at: 1))
        side.set(nil)
        side.synchronise(&store)
        #expect(store == shadows(["volume": "removed"]) && !side.merge.isChange(from: nil, to: nil, at: 0))
        var next = Side()
        next.synchronise(&store)
        #expect(next.merge.isChange(from: nil, to: nil, at: 0))
        next.set(nil)
        next.synchronise(&store)
        #expect(store.isEmpty)
    }

    @Test("SET-30: a store that cannot be read changes nothing, and the next change of the app writes all values")
    func damage() {
        var store: PropertyListDictionary = ["volume": 60, "name": "Emil"]
        side.synchronise(&store)
        #expect(side.merge.merge(nil, side.values).edit.isEmpty)
        side.set(.string("a"), at: 3, isDefault: true)
        #expect(side.merge.merge(nil, side.values).edit.isEmpty)
        side.set(.integer(61))
        let outcome = side.merge.merge(nil, side.values)
        #expect(outcome.values == side.values)
        #expect(
            outcome.edit.values == [
                "volume": 61, "name": "Emil", "token": "a",
                "tandem.synced": ["volume": [61], "name": ["Emil"], "token": ["a"]],
            ])
    }

    @Test("SET-30: changes made before the store could be read win over what was stored, and lose to an edit")
    func aLateStore() {
        side.set(.integer(70))
        side.set(.string("Fritz"), at: 1)
        var store: PropertyListDictionary = [
            "volume": 60, "name": "Gerd", "tandem.synced": ["volume": [60], "name": ["Hans"]],
        ]
        let outcome = side.synchronise(&store)
        #expect(side.values[0] == .integer(70) && side.values[1] == .string("Gerd"))
        #expect(outcome.conflicts.map(\.name) == ["name"] && store["volume"] == 70)
    }
}
