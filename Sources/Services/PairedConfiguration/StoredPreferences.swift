// Stored preferences of one configuration: reads the store at start, writes what the app changes, and takes what others
// change. A change is written at once on the library's thread; changes that come meanwhile are one write. Whatever
// could not be written stays pending, is tried again, and is written when the process exits in order.

internal import Synchronization
import TandemPages
import TandemReactor
import TandemSettings

/// The preferences of a configuration and their store; any thread.
final class StoredPreferences: Sendable {
    private struct State {
        /// Of the app's changes and of the store's.
        var observations: [ConfigurationObservation] = []
        /// Events from before anybody could observe.
        var startEvents: [PreferenceEvent] = []
        var isOpen = false
        var isDue = false
        /// The last fault, so that one that lasts is reported once.
        var fault: PreferenceStoreError?
    }

    /// Serialises the uses of the store; readers of values never take it.
    private let turn = Mutex(())
    private let state: Mutex<State>
    private let values: SettingsStore
    let store: any PreferenceStore

    /// The names of the properties that the settings pages show.
    let settingsKeys: [String]

    init(_ values: SettingsStore, _ store: any PreferenceStore, _ pages: SettingsBundle) {
        self.values = values
        self.store = store
        settingsKeys = pages.names(in: values.schema)
        state = Mutex(State(startEvents: pages.problems.map { .pages($0) }))
        // For the log; nobody observes yet.
        for problem in pages.problems { values.notices.add(.event(.preferences(.pages(problem)))) }
        values.limit(to: store as? any BoundedPreferenceStore)
    }

    /// Reads the store, lets the app set what has no stored value, and follows the store from then on.
    func open(defaults: () -> Void) {
        // A fault is an event; the app starts with its defaults.
        var isInUse = false
        do throws(PreferenceStoreError) { try synchronise() } catch { isInUse = error.reason == .inUse }
        state.withLock { $0.isOpen = true }
        values.fillDefaults(defaults)
        let pending = values.whenPending { [weak self] in self?.pended() }
        let changes = store.observe { [weak self] in
            // Never within the store's own update, which may be the caller.
            if ConfigurationThread.loop != nil { self?.schedule() }
        }
        state.withLock { $0.observations = [pending] + [changes].compactMap(\.self) }
        if values.isPending { pended() }
        // Tried again soon: the process that uses the store may not change it, and then no change would be observed.
        if isInUse { schedule() }
    }

    /// The faults found at start.
    var startEvents: [PreferenceEvent] { state.withLock(\.startEvents) }

    /// The app has changed a value.
    private func pended() {
        UnwrittenPreferences.add(self)
        schedule()
    }

    /// Synchronises soon, on the library's thread: a store may call from within its own update.
    private func schedule() {
        let isNew = state.withLock { state in
            defer { state.isDue = true }
            return !state.isDue
        }
        guard isNew else { return }
        ConfigurationThread.run {
            self.state.withLock { $0.isDue = false }
            // A fault is an event, and is tried again.
            try? self.synchronise()
        }
    }

    /// Takes what others have changed, and writes what the app has, as one.
    /// - Parameter writing: false only reads.
    func synchronise(writing: Bool = true) throws(PreferenceStoreError) {
        let hadLooked = values.hasLooked
        defer {
            if !hadLooked, values.hasLooked { values.looked() }
            values.notices.deliver()
        }
        try turn.withLock { _ throws(PreferenceStoreError) in
            let fault = write(writing)
            ended(fault)
            if let fault { throw fault }
        }
    }

    /// - Returns: the fault, also if a part was written.
    private func write(_ writing: Bool) -> PreferenceStoreError? {
        let first = update(writing: writing, isFollowing: true)
        guard first?.reason == .notStorable else { return first }
        // Shadows of edits, which nobody asked for, must not keep a change of the app's from the store, and no change
        // must keep another from it.
        let second = update(writing: writing, isFollowing: false)
        guard second?.reason == .notStorable else { return second }
        var last: PreferenceStoreError?
        for name in values.pendingNames {
            guard let fault = update(writing: writing, isFollowing: false, only: name) else { continue }
            last =
                fault.reason == .notStorable
                ? PreferenceStoreError(.notStorable, store: fault.store, detail: "\(name): \(fault.detail)") : fault
        }
        return last
    }

    private func update(writing: Bool, isFollowing: Bool, only: String? = nil) -> PreferenceStoreError? {
        var outcome: PreferenceOutcome?
        do throws(PreferenceStoreError) {
            try store.update { entries in
                let merged = values.merge(entries, isFollowing: isFollowing, only: only)
                outcome = merged
                for conflict in merged.conflicts { add(.conflict(conflict)) }
                for skipped in merged.skipped { add(.skipped(skipped)) }
                return writing ? merged.edit : PreferenceEdit()
            }
            if writing, let outcome { values.wrote(outcome) }
            return nil
        } catch {
            guard writing, let outcome else { return error }
            // Damaged content is kept aside, and the new content is stored.
            if error.aside != nil { values.wrote(outcome) } else { values.attempted(outcome) }
            return error
        }
    }

    private func ended(_ fault: PreferenceStoreError?) {
        let isNews = state.withLock { state in
            defer { state.fault = fault }
            return state.fault != fault
        }
        if isNews, let fault { add(.failed(fault)) }
        if let protected = store as? ProtectedPreferences, let weaker = protected.takeWeakerClass() {
            add(.weakerClass(weaker, store: protected.path))
        }
        UnwrittenPreferences.remove(self)
        guard values.isPending else { return }
        // Also a change that came while the last ones were written: its own write follows.
        UnwrittenPreferences.add(self)
    }

    private func add(_ event: PreferenceEvent) {
        values.notices.add(.event(.preferences(event)))
        state.withLock { if !$0.isOpen { $0.startEvents.append(event) } }
    }
}

/// The preferences of this process that are not written, for its exit.
private enum UnwrittenPreferences {
    private static let all = Mutex<[ObjectIdentifier: StoredPreferences]>([:])
    private static let isPrepared: Void = Linux.atExit { UnwrittenPreferences.write() }

    static func add(_ preferences: StoredPreferences) {
        _ = isPrepared
        all.withLock { $0[ObjectIdentifier(preferences)] = preferences }
    }

    static func remove(_ preferences: StoredPreferences) {
        all.withLock { $0[ObjectIdentifier(preferences)] = nil }
    }

    private static func write() {
        // The process ends, and nobody is left to hear of a fault.
        for preferences in all.withLock({ Array($0.values) }) { try? preferences.synchronise() }
    }
}
