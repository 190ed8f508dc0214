// Mirror of a configuration's synced settings on its session (SET-70 to SET-79): brings the app's edits to the
// counterpart, and the counterpart's to the app. The values are stored before the mirror is, and the mirror before
// anything is sent or acknowledged, so that a process may end between any two steps.

internal import PairedSession
internal import Synchronization
import TandemBase
import TandemFiles
import TandemPropertyList
import TandemSettings
import TandemWire

/// The mirror of one configuration with the pairing that its session talks through; any thread.
final class SettingsMirror: Sendable {
    private struct State {
        var pairing: UniqueIdentifier?
        var side: MirroredSide?
        /// Nothing was restored yet in this process: that is for the first pairing.
        var isFirst = true
        var wasOn = true
        /// The mark of the body that the daemon has not accepted yet.
        var submitting: UInt64?
        /// The edits that this step looks at, until a body has them.
        var edits: [UInt64] = []
        /// A body of a pairing that the session has not named yet.
        var early: (item: DeliveredItem, token: HandlingToken)?
    }

    /// Edits that wait for a look, as the session counts them.
    private struct WaitingEdits {
        /// The edits that no step has looked at yet: one number for all of them.
        var number: UInt64?
        /// Those that no step could store, the oldest first. Each has a time of its own, which may be over.
        var kept: [UInt64] = []

        /// Those of the newest looks. An older one that is dropped counts until its time is over.
        static let keptLimit = 64
    }

    private let state = Mutex(State())
    private let waitingEdits = Mutex(WaitingEdits())
    /// Of the app's changes, and of all others.
    private let observations = Mutex<[ConfigurationObservation]>([])
    private let store: SettingsStore
    private let stored: StoredPreferences
    private let rules: SyncRules
    /// The pairing that the session is bound to; nil: the active one.
    private let bound: UniqueIdentifier?
    private let core: WeakSession

    init(_ store: SettingsStore, _ stored: StoredPreferences, _ rules: SyncRules, on session: PairedSession) {
        self.store = store
        self.stored = stored
        self.rules = rules
        bound = session.pairing
        core = WeakSession(session.core)
    }

    /// Begins, before the session connects.
    func begin() {
        let pending = store.whenPending { [weak self] in self?.lookSoon() }
        let changes = store.notices.observeChanges { [weak self] changes in
            // The app's own are known, whether something hides them or not.
            if changes.origin != .local, changes.origin != .counterpart { self?.lookSoon() }
        }
        observations.withLock { $0 = [pending, changes] }
        core.value?.run { [weak self, bound] core in
            core.handleItems([.settings], pairing: bound) { item, token in
                // An app without synced settings has what there is when it has some.
                guard let self, !self.rules.names.isEmpty else { return token.returned() }
                self.later { $0.received(item, token) }
            }
        }
    }

    /// The session says which devices there are.
    func follow(_ devices: [PairedDevice]) {
        guard !rules.names.isEmpty else { return }
        let device = devices.first { bound == nil ? $0.isActive : $0.pairing == bound }
        // An edit from before the session had a pairing becomes an item now.
        countEdit()
        later { $0.follow(device) }
    }

    /// The app may have edited a value.
    private func lookSoon() {
        guard !rules.names.isEmpty else { return }
        countEdit()
        later { $0.edited() }
    }

    /// From now on `drained` waits for the next step's look (SES-89). Under the lock: a thread that finds a number must
    /// not overtake the call that counts it.
    private func countEdit() {
        waitingEdits.withLock { waiting in
            guard waiting.number == nil else { return }
            let number = UInt64.random(in: .min ... .max)
            waiting.number = number
            core.value?.run { core in core.begin(edit: number) }
        }
    }

    /// Steps run in the order of their causes, on a thread that may wait for a disk.
    private func later(_ step: @escaping @Sendable (SettingsMirror) -> Void) {
        ConfigurationThread.run { step(self) }
    }

    // MARK: steps

    private func follow(_ device: PairedDevice?) {
        let early = state.withLock { state in
            if state.pairing != device?.pairing {
                state.pairing = device?.pairing
                state.side = device.map { opened($0) }
                state.submitting = nil
            }
            defer { state.early = nil }
            return state.early
        }
        if let early { received(early.item, early.token) }
        edited()
    }

    private func opened(_ device: PairedDevice) -> MirroredSide {
        let side = MirroredSide(device, names: rules.names)
        if let fault = side.fault { report(.notStored(fault)) }
        return side
    }

    /// Takes what the store has lost from the mirror of the first pairing.
    private func restore(_ state: inout State) {
        guard state.isFirst, state.side != nil, store.hasLooked else { return }
        state.side?.settings.restore(missingFrom: values, except: store.removedNames)
        state.isFirst = false
    }

    /// Why a step must wait: before the first look at the store each stored preference seems to be missing.
    private func unread() -> PreferenceStoreError? {
        guard !store.hasLooked, rules.isOn, state.withLock({ $0.side != nil }) else { return nil }
        do throws(PreferenceStoreError) {
            try stored.synchronise()
        } catch {
            if !store.hasLooked { return error }
        }
        return nil
    }

    /// A preference has changed, or something else that may have a body sent.
    private func edited() { step { _ in nil } }

    /// The step looks at the edits that wait.
    private func beginEdits() {
        let edits = waitingEdits.withLock { waiting in
            defer { waiting = WaitingEdits() }
            return waiting.kept + [waiting.number].compactMap(\.self)
        }
        state.withLock { $0.edits = edits }
    }

    /// Nothing of the present edits is left to submit. An observer that is called after this may wait in `drained`.
    private func endEdits() {
        let edits = takeEdits()
        guard !edits.isEmpty else { return }
        core.value?.run { core in core.end(edits: edits) }
    }

    /// The step could not store the edits, which wait for the next look, or until their time is over.
    private func keepEdits() {
        let edits = takeEdits()
        waitingEdits.withLock { $0.kept = Array(edits.suffix(WaitingEdits.keptLimit)) }
    }

    private func takeEdits() -> [UInt64] {
        state.withLock { state in
            defer { state.edits = [] }
            return state.edits
        }
    }

    /// A body has come.
    private func received(_ item: DeliveredItem, _ token: HandlingToken) {
        let isOurs = state.withLock { state -> Bool? in
            if let pairing = state.pairing { return pairing == item.facts.pairing }
            state.early = (item, token)
            return nil
        }
        guard let isOurs else { return }
        guard isOurs, rules.isOn else { return token.returned() }
        step { (settings: inout SyncedSettings) in
            do throws(SyncedSettingsFault) {
                return .success(try settings.merge(item.content))
            } catch {
                return .failure(error)
            }
        } then: { result in
            switch result {
            case .stored: token.returned()
            case .refused(let fault):
                token.threw(.rejected(ItemRejection(.invalidParameter, reason: fault.reason).error))
            case .notStored(let reason): token.threw(.failed(reason))
            case .locked(let reason): putOff(token, because: reason)
            }
        }
    }

    /// Leaves a body with the daemon, where waiting for the unlocking is no attempt (SET-78). For a daemon of an
    /// earlier release it has failed.
    private func putOff(_ token: HandlingToken, because reason: String) {
        core.value?.run { core in token.threw(core.keepsForLater ? .later : .failed(reason)) }
    }

    private enum Outcome {
        case stored
        case refused(SyncedSettingsFault)
        case notStored(reason: String)
        /// The preferences are locked.
        case locked(reason: String)

        init(_ fault: PreferenceStoreError) {
            self =
                fault.reason == .locked ? .locked(reason: fault.description) : .notStored(reason: fault.description)
        }
    }

    /// Looks at the app's values, merges, has the app take what is new, stores all of it, and sends what is due.
    private func step(
        _ merge: (inout SyncedSettings) -> Result<SyncReport, SyncedSettingsFault>?,
        then done: (Outcome) -> Void = { _ in }
    ) {
        beginEdits()
        if let fault = unread() {
            // The look after the first reading counts an edit of its own.
            if store.isPending { keepEdits() } else { endEdits() }
            return done(Outcome(fault))
        }
        let isOn = rules.isOn
        let merged: Outcome? = state.withLock { state in
            defer { state.wasOn = isOn }
            restore(&state)
            guard isOn, var side = state.side else { return nil }
            // Bodies that came meanwhile were let go.
            if !state.wasOn { side.settings.announce() }
            var outcome = Outcome.stored
            report(side.settings.look(at: values))
            switch merge(&side.settings) {
            case .success(let merged)?: report(merged)
            case .failure(let fault)?:
                outcome = .refused(fault)
                report(.refused(reason: fault.reason))
            case nil: break
            }
            take(&side.settings)
            state.side = side
            return outcome
        }
        guard let merged else { return endEdits() }
        let failure = save()
        if failure == nil { endEdits() } else { keepEdits() }
        store.notices.deliver()
        done(failure ?? merged)
    }

    /// Stores the preferences and then the mirror, and sends what is due.
    /// - Returns: the outcome if they cannot be stored; else nil.
    private func save() -> Outcome? {
        do throws(PreferenceStoreError) {
            if store.isPending { try stored.synchronise() }
        } catch {
            return Outcome(error)
        }
        return state.withLock { state in
            state.side?.save()
            if let fault = state.side?.fault {
                report(.notStored(fault))
                return .notStored(reason: fault.rejection.detail)
            }
            submit(&state)
            return nil
        }
    }

    /// The app takes what the counterpart has changed, as far as its rules allow, unless it has changed it meanwhile.
    private func take(_ settings: inout SyncedSettings) {
        var changes: [MirroredChange] = []
        for (name, value) in settings.pending {
            guard let index = store.schema.index(of: name) else { continue }
            do throws(SettingError) {
                let new = try setting(value, at: index)
                changes.append(MirroredChange(index: index, name: name, old: settings.local(name), new: new))
            } catch {
                settings.refuse(name)
                report(.notTaken(error))
            }
        }
        for name in store.take(changes) { settings.took(name) }
    }

    private func setting(_ value: SyncedValue?, at index: Int) throws(SettingError) -> SettingValue? {
        let schema = store.schema
        let setting: SettingValue
        switch value {
        case nil: return nil
        case .nothing: setting = .nothing
        case .value(let value):
            guard let read = SettingValue(value, as: schema.declarations[index].type) else {
                throw schema.mistype(value, at: index)
            }
            setting = read
        }
        if let error = schema.problem(of: setting, at: index) { throw error }
        return setting
    }

    /// Gives the daemon the body that is due; without a daemon that takes it now the next change of the session's
    /// state tries again.
    private func submit(_ state: inout State) {
        guard let (body, mark) = state.side?.settings.outgoing, let pairing = state.pairing, state.submitting != mark
        else { return }
        state.submitting = mark
        var submission = Submission(.settings, to: pairing, OutgoingContent(body))
        // The counterpart may have to hear the same again.
        submission.name = SubmitFrame.Word.always.rawValue
        let edits = state.edits
        state.edits = []
        core.value?.run { [weak self, submission] core in
            core.submit(submission, with: edits) { result in
                let isAccepted = if case .success = result { true } else { false }
                self?.later { $0.submitted(mark, through: pairing, isAccepted) }
            }
        }
    }

    private func submitted(_ mark: UInt64, through pairing: UniqueIdentifier, _ isAccepted: Bool) {
        state.withLock { state in
            guard state.pairing == pairing, state.submitting == mark else { return }
            state.submitting = nil
            if isAccepted { state.side?.settings.sent(mark) }
        }
    }

    /// The app's preferences in the form in which they travel.
    private var values: [String: SyncedValue] {
        let stored = store.preferences
        let values = rules.names.compactMap { name -> (String, SyncedValue)? in
            guard let index = store.schema.index(of: name), let value = stored[index] else { return nil }
            return (name, value.synced)
        }
        return Dictionary(values) { first, _ in first }
    }

    // MARK: reports

    private func report(_ event: SyncEvent) { store.notices.add(.event(.sync(event))) }

    private func report(_ merged: SyncReport) {
        for name in merged.conflicts { report(.conflict(name)) }
        for name in merged.full { report(.noRoom(name)) }
    }
}

/// A value of the counterpart's for the app.
struct MirroredChange: Sendable {
    let index: Int
    let name: String
    /// The app's value when it was looked at.
    let old: SyncedValue?
    /// nil: the preference is removed.
    let new: SettingValue?
}

extension SettingValue {
    /// The form in which a preference is mirrored.
    var synced: SyncedValue { propertyListValue.map { .value($0) } ?? .nothing }
}

/// One side of the mirror and its file, in the app's directory for the pairing: it goes with the pairing.
private struct MirroredSide {
    var settings: SyncedSettings
    /// The file could not be read at start, or written last.
    private(set) var fault: ConfigurationFileFailure?
    private let path: String?
    private var directory: OwnedDirectory?
    private var saved: PropertyListDictionary?

    private static let file = "synced-settings.plist"
    /// More than two shares with their names (LIM-108), once as entries and once as the app's values.
    private static let limit = 1 << 20

    init(_ device: PairedDevice, names: [String]) {
        settings = SyncedSettings(device.role, names: names)
        path = device.directory
        do {
            guard let bytes = try opened()?.read(Self.file, limit: Self.limit) else { return }
            let stored = try? PropertyListReader.readDictionary(bytes)
            if let read = stored.flatMap({ SyncedSettings(device.role, names: names, stored: $0) }) {
                (settings, saved) = (read, stored)
            } else {
                fault = ConfigurationFileFailure(Self.file, "it is not as this library writes it")
            }
        } catch {
            fault = ConfigurationFileFailure(Self.file, "\(error)")
        }
    }

    private mutating func opened() throws(FileError) -> OwnedDirectory? {
        if directory == nil, let path { directory = try OwnedDirectory(existing: path) }
        return directory
    }

    /// Stores what has changed; without a directory nothing is stored, and the counterpart sends all at each start.
    mutating func save() {
        let stored = settings.stored
        do {
            if stored != saved {
                try opened()?.replace(Self.file, with: try PropertyListWriter.write(.dictionary(stored)))
            }
            (saved, fault) = (stored, nil)
        } catch {
            fault = ConfigurationFileFailure(Self.file, "\(error)")
        }
    }
}
