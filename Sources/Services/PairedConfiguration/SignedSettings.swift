// Signed configuration of an app: whose it is, where its files are, and what is applied. Files are read and signatures
// verified outside the lock that readers take: a slow disk or a long chain of keys does not delay readers of a value.

import Synchronization
package import TandemBase
import TandemFiles
import TandemPropertyList
import TandemReactor
import TandemSettings
import TandemSignedConfiguration

/// The signed layer of one configuration; any thread.
final class SignedSettings: Sendable {
    /// The app's side of a judgement, read before any lock is taken: an app's override may do what it likes.
    struct Rules {
        let primaryKey: String?
        let secondaryKey: String?
        let allowsInvalidSignatures: Bool

        /// The anchor of one side's app (CFG-111).
        func anchor(of role: DeviceRole) -> ConfigurationAnchor {
            switch role {
            case .primary: ConfigurationAnchor(pem: primaryKey)
            case .secondary: ConfigurationAnchor(pem: secondaryKey)
            }
        }

        /// Keys that can verify nothing. The daemon rejects them too, but only its log says so (CFG-17).
        var problems: [DeclarationProblem] {
            let isShared = primaryKey == secondaryKey
            return (isShared ? [.primary] : DeviceRole.allCases).compactMap { role in
                guard case .unusable(let rejection, let detail) = anchor(of: role) else { return nil }
                return .unusableKey(role: isShared ? nil : role, reason: "\(detail) [\(rejection.rawValue)]")
            }
        }
    }

    private struct State {
        var home: SignedHome?
        var applied: AppliedRecord?
        /// The answer to a reload, as of the last load.
        var reloadAnswer = ReloadReply.message(loaded: nil)
        /// The alarm's action.
        var alarm: @Sendable () -> Void = {}
        /// The alarm that counts; those before it are void.
        var alarmNumber: UInt64 = 0
        /// When the app will have lived long enough with what it loaded.
        var proof: MonotonicTime?
        /// This process's part in the account (CFG-65).
        var process = ProcessAccount()
    }

    /// Serialises those that read files, verify and apply: two configurations are judged one after the other. Readers
    /// never take it.
    private let verification = Mutex(())
    private let state = Mutex(State())
    private let store: SettingsStore

    init(_ store: SettingsStore) { self.store = store }

    /// The signed configuration that is applied now; nil for none.
    var applied: AppliedConfiguration? { state.withLock { $0.applied?.description } }

    /// The answer to a reload: what was loaded the last time, or why what the daemon has as applied was not (CFG-42,
    /// CFG-113, CFG-115, CFG-116).
    var reloadAnswer: PropertyListDictionary { state.withLock { $0.reloadAnswer } }

    /// Whether it is known whose configuration this is.
    var isLoaded: Bool { state.withLock { $0.home != nil } }

    /// Whether an envelope says that it is for this app on this side: a claim, which proves nothing.
    func isAddressed(by envelope: UnverifiedEnvelope) throws -> Bool {
        let home = state.withLock { $0.home }
        let fields = try PropertyListReader.readDictionary(envelope.payload)
        return fields["app"]?.stringValue == home?.application.description
            && fields["role"]?.stringValue == home?.role.rawValue
    }

    /// Sets whose configuration it is, and applies what its files hold.
    /// - Parameter alarm: calls ``timePassed(_:)``, on the alarm's thread.
    func load(_ home: SignedHome, _ rules: Rules, alarm: @escaping @Sendable () -> Void) -> ConfigurationLoad {
        verification.withLock { _ in
            state.withLock {
                $0.home = home
                $0.alarm = alarm
            }
            return read(rules)
        }
    }

    /// Reads the files again.
    func reload(_ rules: Rules) -> ConfigurationLoad { verification.withLock { _ in read(rules) } }

    /// Reads, verifies, counts and applies; the caller serialises.
    @discardableResult
    private func read(_ rules: Rules) -> ConfigurationLoad {
        let (home, applied, process) = state.withLock { ($0.home, $0.applied, $0.process) }
        guard let home else { return ConfigurationLoad(applied: nil, failures: []) }
        var files = ConfigurationFiles(home)
        let keys = rules.anchor(of: home.role).followed(in: home)
        if files.isOpen, let failure = keys.failure {
            files.fail(KeySetChainFile.name, failure.detail, name: failure.rejection.rawValue)
        }
        var loading = ConfigurationLoading(files: files, judge: judge(home, rules, keys.anchor), process: process)
        let best = loading.best(known: home.directory == nil ? applied : nil)
        let refusal = loading.files.refusal.map { refused -> PropertyListDictionary in
            // Without its keys a good configuration fails, and the daemon would end its trial for good.
            guard keys.isUnread, refused.mayLackKeySets, let failure = keys.failure else { return refused.message }
            return UnjudgedOffer(ofBytes: refused.digest, because: failure.detail).message
        }
        let unread = loading.files.unread.map { UnreadConfiguration(because: $0).message }
        // The daemon may not have counted to the end of a lifetime yet.
        let loaded: [UInt8]? = loading.hasReverted ? nil : best?.configuration.digest ?? []
        let answer = refusal ?? unread ?? ReloadReply.message(loaded: loaded)
        state.withLock { ($0.process, $0.reloadAnswer) = (loading.process, answer) }
        apply(best)
        prove(best.map { loading.files.isUnproven($0.configuration.digest) } ?? false, home)
        return ConfigurationLoad(applied: best?.description, failures: loading.files.failures)
    }

    /// The result of an offer that was not rejected.
    enum Reception {
        case applied(VerifiedConfiguration)
        /// The app has not lived with it (CFG-66).
        case failed
        /// It does not pass without the key sets that could not be read, and may pass with them (CFG-93).
        case notJudged(VerificationFailure)
    }

    /// Judges a configuration that was handed over, and applies it; a failure leaves everything as it was.
    func receive(_ offer: ConfigurationOffer, _ rules: Rules) throws(VerificationFailure) -> Reception {
        try verification.withLock { _ throws(VerificationFailure) -> Reception in
            let (home, active, process) = state.withLock { ($0.home, $0.applied, $0.process) }
            guard let home else {
                throw VerificationFailure(.wrongApplication, "the app has not called load(application:role:directory:)")
            }
            let keys = rules.anchor(of: home.role).followed(in: home)
            let judged: AppliedRecord?
            do throws(VerificationFailure) {
                judged = try judge(home, rules, keys.anchor).judgeNew(offer, active: active)
            } catch {
                if keys.isUnread, error.rejection.mayLackKeySets { return .notJudged(keys.failure ?? error) }
                throw error
            }
            guard var record = judged else {
                guard let active else {
                    preconditionFailure("a configuration is active already only if one is applied")
                }
                return .applied(active.configuration)
            }
            let digest = record.configuration.digest
            if process.refused.contains(digest) { return .failed }
            var files = ConfigurationFiles(home)
            record.count(noted: files.attempts.elapsed(of: digest), at: home.time)
            if process.reverted.contains(digest) || record.isOver {
                throw VerificationFailure(.rollback, "its lifetime is over", payload: record.configuration.payload)
            }
            // The daemon has counted this attempt, but the app's next starts may end before they meet the daemon.
            if !process.counted.contains(digest) { try? files.note(digest) { $0.count(digest, known: 0) } }
            state.withLock { _ = $0.process.counted.insert(digest) }
            apply(record)
            prove(false, home)
            return .applied(record.configuration)
        }
    }

    private func judge(_ home: SignedHome, _ rules: Rules, _ anchor: ConfigurationAnchor) -> ConfigurationJudge {
        ConfigurationJudge(
            home: home, anchor: anchor, allowsInvalidSignatures: rules.allowsInvalidSignatures,
            schema: store.schema, now: home.time.wall(), uptime: home.time.boot())
    }

    /// Puts the values into the signed layer; the caller delivers the notices when it holds no lock.
    private func apply(_ record: AppliedRecord?) {
        state.withLock { state in
            let isChange = record?.configuration.digest != state.applied?.configuration.digest
            state.applied = record
            store.replaceSigned(record?.payload)
            guard isChange else { return }
            store.notices.add(.event(record.map { .applied($0.description) } ?? .deactivated))
        }
    }

    // MARK: time

    /// Time has passed: the app has lived with what it loaded, or a lifetime is over (CFG-68). The caller delivers the
    /// notices.
    func timePassed(_ rules: Rules) {
        verification.withLock { _ in
            let (home, known, proof) = state.withLock { ($0.home, $0.applied, $0.proof) }
            guard let home, var applied = known else { return }
            let digest = applied.configuration.digest
            if let proof, home.time.boot() >= proof {
                state.withLock { $0.proof = nil }
                confirm(digest, home)
            }
            if applied.configuration.payload.lifetime != nil {
                var files = ConfigurationFiles(home)
                applied.count(noted: files.attempts.elapsed(of: digest), at: home.time)
                state.withLock { [applied] in $0.applied = applied }
                // A count that cannot be written now is written next time; the daemon counts for itself.
                try? files.note(digest) { $0.use(digest, elapsed: applied.elapsed) }
                if applied.isOver {
                    state.withLock { _ = $0.process.reverted.insert(digest) }
                    read(rules)
                    return
                }
            }
            setAlarm(home)
        }
    }

    /// The app says that it lives with what is applied.
    func confirm() {
        verification.withLock { _ in
            let (home, applied) = state.withLock { ($0.home, $0.applied) }
            guard let home, let digest = applied?.configuration.digest else { return }
            if !state.withLock({ $0.process.confirmed.contains(digest) }) { confirm(digest, home) }
        }
    }

    private func confirm(_ digest: [UInt8], _ home: SignedHome) {
        var files = ConfigurationFiles(home)
        do throws(FileError) {
            if files.isUnproven(digest) { try files.note(digest) { $0.confirm(digest) } }
            state.withLock { _ = $0.process.confirmed.insert(digest) }
        } catch {
            // The next call tries again; the daemon's own observation counts, too.
        }
    }

    /// - Parameter isUnproven: the app was started with it and has yet to live with it.
    private func prove(_ isUnproven: Bool, _ home: SignedHome) {
        state.withLock { $0.proof = isUnproven ? home.time.boot() + ConfigurationLimits.trial : nil }
        setAlarm(home)
    }

    private func setAlarm(_ home: SignedHome) {
        let (number, alarm, proof, applied) = state.withLock { state in
            state.alarmNumber += 1
            return (state.alarmNumber, state.alarm, state.proof, state.applied)
        }
        let delays = [proof.map { $0.since(home.time.boot()) }, applied?.timeLeft(at: home.time)].compactMap(\.self)
        guard let delay = delays.min() else { return }
        home.time.wake(max(.zero, delay)) { [weak self] in
            if self?.state.withLock({ $0.alarmNumber }) == number { alarm() }
        }
    }
}

/// This process's part in the account: each is counted once (CFG-65).
private struct ProcessAccount {
    /// Configurations that this process has begun to apply.
    var counted: Set<[UInt8]> = []
    /// Those that it has said to be good.
    var confirmed: Set<[UInt8]> = []
    /// Those that the app did not live with.
    var refused: Set<[UInt8]> = []
    /// Those whose lifetime has ended.
    var reverted: Set<[UInt8]> = []
}

/// Chooses which of the files is applied: the staged one if it passes every step, else what was applied before, and the
/// last good one in place of one that the app did not live with (CFG-66). Each candidate is verified by itself; one
/// that fails never takes another down.
private struct ConfigurationLoading {
    private(set) var files: ConfigurationFiles
    let judge: ConfigurationJudge
    private(set) var process: ProcessAccount
    /// Whether one of them is not applied because its lifetime is over.
    private(set) var hasReverted = false

    /// - Parameter known: what is applied already where no files are kept.
    mutating func best(known: AppliedRecord?) -> AppliedRecord? {
        let active = present(known) ?? applied(files.active, .active)
        if let staged = staged(active), admits(staged, .staged) { return staged }
        let waived = applied(files.waived, .waived)
        if let waived, judge.shows(waived, above: active), admits(waived, .waived) { return waived }
        guard let active else { return nil }
        return admits(active, .active) ? active : applied(files.trial?.previous, .trial)
    }

    private func present(_ known: AppliedRecord?) -> AppliedRecord? {
        known.flatMap { process.reverted.contains($0.configuration.digest) ? nil : $0 }
    }

    /// Counts a start with a configuration that has not proved to be good, before the app sees it.
    private mutating func admits(_ record: AppliedRecord, _ file: ConfigurationFile) -> Bool {
        let digest = record.configuration.digest
        guard files.isUnproven(digest), !process.counted.contains(digest) else { return true }
        let known = files.trial.flatMap { $0.digest == digest ? $0.attempts : nil } ?? 0
        do {
            if !process.refused.contains(digest) { try files.note(digest) { $0.count(digest, known: known) } }
        } catch {
            files.fail(
                file.rawValue, "this start with it could not be counted: \(error.description)",
                name: Verdict.failed.name)
            return false
        }
        guard files.attempts.starts(of: digest) <= ConfigurationLimits.attempts else {
            process.refused.insert(digest)
            files.fail(
                file.rawValue, "the app ended \(ConfigurationLimits.attempts) times in a row during its trial",
                name: Verdict.failed.name)
            return false
        }
        process.counted.insert(digest)
        return true
    }

    private mutating func staged(_ active: AppliedRecord?) -> AppliedRecord? {
        guard let staged = files.staged, !files.holdsBackStaged else { return nil }
        guard !isOver(staged.record) else {
            hasReverted = true
            return nil
        }
        do {
            var record = try judge.judgeNew(ConfigurationOffer(staged), active: active)
            record?.count(noted: files.attempts.elapsed(of: staged.record.digest), at: judge.home.time)
            return record
        } catch {
            files.fail(ConfigurationFile.staged.rawValue, error.detail, name: error.rejection.rawValue)
            return nil
        }
    }

    private mutating func applied(_ file: ActiveConfiguration?, _ name: ConfigurationFile) -> AppliedRecord? {
        guard let file else { return nil }
        guard !file.isOver(at: judge.now), !isOver(file.record) else {
            files.fail(name.rawValue, "its lifetime is over", name: "reverted")
            hasReverted = true
            return nil
        }
        do {
            var record = try judge.judgeApplied(file)
            let noted = max(file.elapsed, files.attempts.elapsed(of: file.record.digest))
            record.count(noted: noted, at: judge.home.time)
            return record
        } catch {
            files.refuse(file.record, in: name, error)
            return nil
        }
    }

    /// Whether the library knows that the lifetime is used up.
    private func isOver(_ record: ConfigurationRecord) -> Bool {
        process.reverted.contains(record.digest)
            || record.payload.isOver(after: files.attempts.elapsed(of: record.digest))
    }
}

/// The owner of a configuration and the place of its files.
struct SignedHome {
    let application: ApplicationIdentifier
    let role: DeviceRole
    /// The app's own directory; nil where nothing is kept.
    let directory: String?
    let time: ConfigurationTime
}

/// The clocks of a configuration, and its alarm.
package struct ConfigurationTime: Sendable {
    let wall: @Sendable () -> WallTime
    let boot: @Sendable () -> MonotonicTime
    /// Calls the action once, no sooner than after the delay, on a thread of its own.
    let wake: @Sendable (_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> Void

    package init(
        wall: @escaping @Sendable () -> WallTime, boot: @escaping @Sendable () -> MonotonicTime,
        wake: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    ) {
        self.wall = wall
        self.boot = boot
        self.wake = wake
    }

    /// The system's clocks.
    static var system: ConfigurationTime {
        ConfigurationTime(wall: { Linux.wallTime }, boot: { Linux.bootTime }, wake: ConfigurationThread.wake)
    }
}

/// The signed configuration that is applied.
struct AppliedRecord {
    let configuration: VerifiedConfiguration
    let payload: SettingsPayload
    /// Its lifetime as of the last count, and when that was.
    private var use: LifetimeUse
    private var counted: MonotonicTime

    init(_ configuration: VerifiedConfiguration, _ payload: SettingsPayload, applied: WallTime, now: MonotonicTime) {
        (self.configuration, self.payload, counted) = (configuration, payload, now)
        use = LifetimeUse(applied: applied)
    }

    var isWaived: Bool { configuration.waived != nil }

    /// Counts what is used of its lifetime, which never decreases, whatever the wall clock shows later (CFG-34).
    /// - Parameter noted: milliseconds that a file says were used.
    mutating func count(noted: Int64, at time: ConfigurationTime) {
        let now = time.boot()
        use.advance(running: now.since(counted), now: time.wall(), known: noted)
        counted = now
    }

    /// Milliseconds of its lifetime that were used at the last count.
    var elapsed: Int64 { use.elapsed }

    /// Whether its lifetime was over at the last count.
    var isOver: Bool { configuration.payload.isOver(after: elapsed) }

    /// Until its lifetime is over, or is to be counted again; nil without one.
    func timeLeft(at time: ConfigurationTime) -> Duration? {
        guard let lifetime = configuration.payload.lifetime else { return nil }
        let used = use.used(running: time.boot().since(counted), now: time.wall())
        let left = Duration.seconds(lifetime) - .milliseconds(used)
        return min(left, Self.countInterval)
    }

    /// A lifetime is counted, and kept for the next start, this often (LIM-89).
    private static var countInterval: Duration { .seconds(600) }

    /// The mark that the next configuration must pass: the daemon's and what is applied here, whichever is higher.
    /// - Parameter keySetVersion: of the set in force, under which both count.
    static func mark(handedOver: UInt64?, active: AppliedRecord?, under keySetVersion: UInt64) -> VersionMark? {
        let good = active.flatMap { $0.isWaived ? nil : $0 }
        if let good, good.configuration.payload.version >= handedOver ?? 0 {
            return VersionMark(
                version: good.configuration.payload.version, digest: good.configuration.digest,
                statement: good.configuration.statement, keySetVersion: keySetVersion)
        }
        return handedOver.map {
            VersionMark(version: $0, digest: nil, isActive: false, keySetVersion: keySetVersion)
        }
    }

    /// No clock is right that is below this (CFG-33).
    var clockFloor: WallTime {
        isWaived ? WallTime(milliseconds: 0) : configuration.payload.clockFloor(applied: use.applied)
    }

    var description: AppliedConfiguration {
        AppliedConfiguration(
            version: configuration.payload.version, digest: configuration.digest,
            transaction: configuration.payload.transaction, target: configuration.payload.target,
            hasInvalidSignature: isWaived, isSignerRevoked: configuration.isSignerRevoked)
    }
}
