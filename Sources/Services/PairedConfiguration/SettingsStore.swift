// The state behind a configuration: the layers under one lock, and the notices that leave the lock before anybody is
// called. A batch is one critical section, so a snapshot never shows half of it.

import Synchronization
import TandemSettings

/// The values of one configuration; any thread.
final class SettingsStore: Sendable {
    private struct State {
        var layers = SettingLayers(SettingsSchema([]))
        /// The defaults so far while `reset()` runs.
        var resetting: [SettingValue]?
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

    /// Sets the stored preference, or the default while `reset()` runs.
    func set(_ value: SettingValue, at place: Int) throws(SettingError) {
        try state.withLock { state throws(SettingError) in
            if state.resetting != nil {
                state.resetting?[place] = value
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

    /// An invalid assignment has been ignored.
    func ignored(_ error: SettingError) {
        notices.add(.event(.assignmentIgnored(error)))
        notices.deliver()
    }
}
