// Edits of a person on this device or on a primary, as the daemon keeps them in the app's directory (Protocol/Schema.md
// SCH-8): read at each load, and again when the daemon says that the file has changed. The app's own schema judges
// them: it may be newer than the one that the daemon judged them by.

import Synchronization
import TandemFiles
import TandemPropertyList
import TandemSettings

/// The layer of edits of one configuration; any thread.
final class EditedSettings: Sendable {
    private struct State {
        var directory: String?
        /// The faults that were reported already.
        var errors: [SettingError] = []
        var failure: ConfigurationFileFailure?
        /// The indices of what a primary has edited.
        var counterparts: Set<Int> = []
    }

    /// Held while the file is read, so that no older content follows a newer one. Readers of values never take it.
    private let state = Mutex(State())
    private let store: SettingsStore

    init(_ store: SettingsStore) { self.store = store }

    /// Reads the edits in an app's directory; nil has none. The caller delivers the notices.
    func load(from directory: String?) {
        state.withLock { state in
            state.directory = directory
            read(&state)
        }
    }

    /// Reads them again; nothing before ``load(from:)``.
    func reload() { state.withLock { read(&$0) } }

    /// A file that cannot be read leaves the edits as they are.
    private func read(_ state: inout State) {
        let edits: SettingEdits
        do {
            edits = try state.directory.map(Self.edits) ?? SettingEdits()
            state.failure = nil
        } catch {
            let failure = ConfigurationFileFailure(SettingEdits.fileName, "\(error)")
            if state.failure != failure { store.notices.add(.event(.fileRefused(failure))) }
            state.failure = failure
            return
        }
        let taken = store.schema.taken(edits)
        // The end of a primary's edit is a change by the counterpart, too.
        let former = state.counterparts.filter { taken.values[$0] == nil }
        store.replaceEdits(
            taken.values, ofCounterparts: taken.counterparts.union(former), choices: edits.choices)
        for error in taken.errors where !state.errors.contains(error) { store.notices.add(.event(.editIgnored(error))) }
        (state.errors, state.counterparts) = (taken.errors, taken.counterparts)
    }

    private struct Damage: Error, CustomStringConvertible {
        let description = "it is no file of edits"
    }

    private static func edits(in directory: String) throws -> SettingEdits {
        let folder = try OwnedDirectory(existing: directory)
        guard let bytes = try folder.read(SettingEdits.fileName, limit: SettingEdits.byteLimit) else {
            return SettingEdits()
        }
        let file = try PropertyListReader.readDictionary(bytes, limits: SettingEdits.fileLimits)
        guard let edits = SettingEdits(file) else { throw Damage() }
        return edits
    }
}
