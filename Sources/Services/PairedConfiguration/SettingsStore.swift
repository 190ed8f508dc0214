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
    }

    private let state = Mutex(State())
    let notices = NoticeQueue()

    /// Takes the schema and lets `reset` assign defaults, which are judged together afterwards.
    func open(_ schema: SettingsSchema, reset: () -> Void) -> [DeclarationProblem] {
        state.withLock {
            $0.layers = SettingLayers(schema)
            $0.resetting = schema.declarations.map(\.initialValue)
        }
        reset()
        return state.withLock { state in
            let defaults = state.resetting ?? []
            state.resetting = nil
            return state.layers.replaceDefaults(defaults)
        }
    }

    var schema: SettingsSchema { state.withLock { $0.layers.schema } }

    var snapshot: SettingsSnapshot { state.withLock { $0.layers.snapshot } }

    func value(at place: Int) -> SettingValue {
        state.withLock { $0.resetting?[place] ?? $0.layers.value(at: place) }
    }

    func layer(at place: Int) -> SettingLayer { state.withLock { $0.layers.layer(at: place) } }

    /// Sets the stored preference; the default while `reset()` runs, and a source's value while this thread reads it.
    func set(_ value: SettingValue, at place: Int) throws(SettingError) {
        try state.withLock { state throws(SettingError) in
            if state.resetting != nil {
                state.resetting?[place] = value
            } else if !state.readings.isEmpty, state.readings[Linux.currentThread] != nil {
                try state.readings[Linux.currentThread]?.set(value, at: place)
            } else {
                notices.add(.changes(try state.layers.set(value, at: place, in: .storedPreference)))
            }
        }
        notices.deliver()
    }

    func remove(at place: Int) {
        state.withLock { state in
            notices.add(.changes(state.layers.remove(at: place, from: .storedPreference)))
        }
        notices.deliver()
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
        state.withLock { $0.readings[Linux.currentThread]?.read(entries) }
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
