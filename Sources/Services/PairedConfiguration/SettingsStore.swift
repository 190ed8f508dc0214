// The state behind a configuration: the layers under one lock, and the notices that leave the lock before anybody is
// called. A batch is one critical section, so a snapshot never shows half of it.

import Synchronization
import TandemPropertyList
import TandemReactor
import TandemSettings

/// The values of one configuration; any thread.
final class SettingsStore: Sendable {
    private struct State {
        var layers = SettingLayers(SettingsSchema([]))
        /// The defaults so far while `reset()` runs.
        var resetting: [SettingValue]?
        /// The sources that threads are reading: what code assigns on such a thread is part of its source.
        var readings: [UInt64: LayerReading] = [:]
        /// The labelled values that a person has added, by index; empty before the first edits.
        var added: [[SettingChoice]] = []
        /// The changes that the store of preferences lacks.
        var merge = PreferenceMerge(SettingsSchema([]))
        /// The thread on which the hook for defaults runs.
        var defaulting: UInt64?
        /// The store of preferences, if it knows its limit before it writes.
        var room: (any BoundedPreferenceStore)?

        /// Why the store has no room for the value; nil if it has. One that takes no more room than the present value
        /// is never refused by a store that is too full already.
        func roomFault(setting value: SettingValue, at index: Int) -> String? {
            guard let room else { return nil }
            let values = layers.values(in: .storedPreference)
            guard let entries = merge.entriesAfterSetting(value, at: index, values, limit: room.byteLimit),
                let fault = room.fault(of: entries)
            else { return nil }
            return merge.isNoLarger(value, at: index) && room.fault(of: merge.entriesAfterWriting(values)) != nil
                ? nil : fault
        }
    }

    private let state = Mutex(State())
    let notices = NoticeQueue()
    /// Of the app's changes of preferences, and of the first look at their store.
    private let pending = Observers<Void>()

    /// Takes the schema and lets `reset` assign defaults, which are judged together afterwards.
    /// - Parameter defaults: those that `reset` begins with, one for each declaration.
    func open(
        _ schema: SettingsSchema, defaults: [SettingValue], reset: () -> Void
    ) -> [DeclarationProblem] {
        var layers = SettingLayers(schema)
        state.withLock {
            $0.layers = layers
            $0.merge = PreferenceMerge(schema)
            $0.resetting = defaults
        }
        reset()
        let defaults = state.withLock(\.resetting) ?? []
        // Judged without the lock, as everything is: the own code of a Codable type may read the configuration.
        let problems = layers.replaceDefaults(defaults)
        state.withLock { [layers] state in
            state.resetting = nil
            state.layers = layers
        }
        return problems
    }

    var schema: SettingsSchema { state.withLock { $0.layers.schema } }

    var defaults: [SettingValue?] { state.withLock { $0.layers.values(in: .declaredDefault) } }

    var snapshot: SettingsSnapshot { state.withLock { $0.layers.snapshot } }

    /// The declarations with the present defaults.
    var announced: [SettingDeclaration] { state.withLock { $0.layers.declarationsWithDefaults } }

    /// Replaces the edits: the user's as one batch, and those of primaries as another. The caller delivers the notices
    /// when it holds no lock.
    /// - Parameters:
    ///   - values: one or nil for each declaration.
    ///   - counterparts: the indices whose changes are those of primaries.
    ///   - choices: the values that a person has added to lists.
    func replaceEdits(_ values: [SettingValue?], ofCounterparts counterparts: Set<Int>, choices: AddedChoices) {
        let schema = schema
        let added = schema.declarations.indices.map { choices.choices(at: $0, in: schema) }
        state.withLock { state in
            state.added = added
            for (origin, isOfCounterpart) in [(SettingOrigin.user, false), (.counterpart, true)] {
                let edits = values.indices.filter { counterparts.contains($0) == isOfCounterpart }
                    .map { (index: $0, value: values[$0]) }
                notices.add(.changes(state.layers.put(edits, in: .userEdit, origin: origin)))
            }
        }
    }

    func value(at index: Int) -> SettingValue {
        state.withLock { state in
            if let value = state.resetting?[index] { return value }
            // Code that reads a source on this thread sees what it has taken so far.
            if !state.readings.isEmpty, let value = state.readings[Linux.currentThread]?.value(at: index) {
                return value
            }
            return state.layers.value(at: index)
        }
    }

    /// The labelled values that a person has added to the list of a property.
    func added(at index: Int) -> [SettingChoice] {
        state.withLock { $0.added.indices.contains(index) ? $0.added[index] : [] }
    }

    func layer(at index: Int) -> SettingLayer { state.withLock { $0.layers.layer(at: index) } }

    /// All properties with the values in force and their layers.
    var inForce: [(declaration: SettingDeclaration, value: SettingValue, layer: SettingLayer)] {
        state.withLock { state in
            state.layers.schema.declarations.enumerated().map { index, declaration in
                (declaration, state.layers.value(at: index), state.layers.layer(at: index))
            }
        }
    }

    /// Sets the stored preference; the default while `reset()` runs, and a source's value while this thread reads it.
    /// - Parameter needsRoom: a value for which the store has no room is refused.
    func set(_ value: SettingValue, at index: Int, needsRoom: Bool) throws(SettingError) {
        let (schema, isResetting) = state.withLock { ($0.layers.schema, $0.resetting != nil) }
        if !isResetting, let error = schema.problem(of: value, at: index) { throw error }
        let isPending = try state.withLock { state throws(SettingError) -> Bool in
            if state.resetting != nil {
                state.resetting?[index] = value
                return false
            }
            if !state.readings.isEmpty, state.readings[Linux.currentThread] != nil {
                state.readings[Linux.currentThread]?.put(value, at: index)
                return false
            }
            let old = state.layers.values(in: .storedPreference)[index]
            // Of the hook's values the last one counts, a subclass's behind its superclass's.
            let isDefault = state.defaulting != nil && state.defaulting == Linux.currentThread
            guard state.merge.isChange(from: old, to: value, at: index, isDefault: isDefault) else { return false }
            if needsRoom, let fault = state.roomFault(setting: value, at: index) {
                throw schema.error(of: value, at: index, rule: .notStorable(fault))
            }
            notices.add(.changes(state.layers.put(value, at: index, in: .storedPreference)))
            state.merge.changed(at: index, to: value, isDefault: isDefault)
            return !isDefault
        }
        if isPending { pending.notify(()) }
        notices.deliver()
    }

    func remove(at index: Int) {
        let isPending = state.withLock { state in
            let old = state.layers.values(in: .storedPreference)[index]
            // While `reset()` runs nothing is known of the store, and defaults are not stored.
            guard state.resetting == nil, state.merge.isChange(from: old, to: nil, at: index) else { return false }
            notices.add(.changes(state.layers.removePreference(at: index)))
            state.merge.changed(at: index, to: nil)
            return true
        }
        if isPending { pending.notify(()) }
        notices.deliver()
    }

    // MARK: the store of preferences

    /// Refuses from now on what the store has no room for (SET-43).
    func limit(to room: (any BoundedPreferenceStore)?) { state.withLock { $0.room = room } }

    /// The names of the properties whose change the store lacks.
    var pendingNames: [String] { state.withLock(\.merge.pendingNames) }

    /// Whether the store lacks a change.
    var isPending: Bool { state.withLock { $0.merge.isPending } }

    /// Lets the hook set preferences that have no stored value.
    func fillDefaults(_ hook: () -> Void) {
        state.withLock { $0.defaulting = Linux.currentThread }
        hook()
        state.withLock { $0.defaulting = nil }
    }

    /// The action is called for each change of the app's, which the store lacks, and after the first look at the store,
    /// as long as the observation is there.
    func whenPending(_ action: @escaping @Sendable () -> Void) -> ConfigurationObservation {
        pending.add { action() }
    }

    /// Whether there was a look at the store.
    var hasLooked: Bool { state.withLock(\.merge.hasLooked) }

    /// The first look has ended. The caller is not within a use of the store.
    func looked() { pending.notify(()) }

    /// Takes what others have changed in the store; nil for a store that cannot be read. The caller delivers the
    /// notices when it holds no lock.
    /// - Parameters:
    ///   - isFollowing: whether shadows follow edits.
    ///   - only: the one property whose change is written; nil for all.
    func merge(_ stored: PropertyListDictionary?, isFollowing: Bool, only: String?) -> PreferenceOutcome {
        let schema = schema
        let entries = stored.map { PreferenceEntries($0, schema) }
        return state.withLock { state in
            let outcome = state.merge.merge(
                entries, state.layers.values(in: .storedPreference), isFollowing: isFollowing, only: only)
            notices.add(.changes(state.layers.take(outcome)))
            return outcome
        }
    }

    func wrote(_ outcome: PreferenceOutcome) { state.withLock { $0.merge.wrote(outcome) } }

    /// The store may have the changes of an outcome: its writing failed.
    func attempted(_ outcome: PreferenceOutcome) { state.withLock { $0.merge.attempted(outcome) } }

    // MARK: synced settings

    /// The removal of one of these leaves a mark in the store.
    func markRemovals(of names: [String]) { state.withLock { $0.merge.markRemovals(of: names) } }

    /// Of these the ones without a value that the app has removed.
    var removedNames: [String] {
        state.withLock { $0.merge.removedNames($0.layers.values(in: .storedPreference)) }
    }

    /// The stored preferences, one or nil for each declaration.
    var preferences: [SettingValue?] { state.withLock { $0.layers.values(in: .storedPreference) } }

    /// Takes judged values of the counterpart's as one batch, each unless the app has changed its own meanwhile; the
    /// store lacks them then. The caller delivers the notices when it holds no lock.
    /// - Returns: the names of those that were taken.
    func take(_ changes: [MirroredChange]) -> [String] {
        state.withLock { state in
            let now = state.layers.values(in: .storedPreference)
            let taken = changes.filter { now[$0.index]?.synced == $0.old }
            let values = taken.map { (index: $0.index, value: $0.new) }
            notices.add(.changes(state.layers.put(values, in: .storedPreference, origin: .counterpart)))
            for change in taken { state.merge.changed(at: change.index, to: change.new) }
            return taken.map(\.name)
        }
    }

    /// Replaces the signed layer as one batch; the caller delivers the notices when it holds no lock.
    func replaceSigned(_ payload: SettingsPayload?) {
        state.withLock { state in
            notices.add(.changes(state.layers.replace(.signedOverride, with: payload, origin: .signed)))
        }
    }

    // MARK: sources of values: files, environment, command line

    /// The values of a source that is read by code, which may assign properties, too; nothing is applied.
    func reading(_ conversion: SettingConversion, _ fill: () -> Void) -> LayerReading {
        let thread = Linux.currentThread
        let (outer, begun) = state.withLock { state in
            let begun = LayerReading(state.layers.schema, conversion)
            return (state.readings.updateValue(begun, forKey: thread), begun)
        }
        fill()
        return state.withLock { state in
            defer { state.readings[thread] = outer }
            return state.readings[thread] ?? begun
        }
    }

    /// Takes entries of the source that this thread reads; nothing if it reads none.
    func read(_ entries: PropertyListDictionary) {
        let thread = Linux.currentThread
        guard var reading = state.withLock({ $0.readings[thread] }) else { return }
        reading.read(entries)
        state.withLock { [reading] in $0.readings[thread] = reading }
    }

    /// Replaces a layer as one batch; the caller delivers the notices when it holds no lock.
    func apply(_ reading: LayerReading, to layer: SettingLayer, origin: SettingOrigin) {
        state.withLock { state in
            notices.add(.changes(state.layers.replace(layer, with: reading.payload, origin: origin)))
        }
    }

    /// An invalid assignment has been ignored.
    /// - Returns: whether the value is a source's, so that the mistake is not the app's.
    func ignored(_ error: SettingError) -> Bool {
        let isSource = state.withLock { state in
            state.readings[Linux.currentThread]?.skip(error.property, .invalid(error)) != nil
        }
        guard !isSource else { return true }
        notices.add(.event(.assignmentIgnored(error)))
        notices.deliver()
        return false
    }
}
