// Signed configuration of an app: whose it is, where its files are, and what is applied. Files are read and signatures
// verified outside the lock that readers take: a slow disk or a long chain of keys does not delay readers of a value.

import Synchronization
import TandemBase
import TandemPropertyList
import TandemSettings
import TandemSignedConfiguration

/// The signed layer of one configuration; any thread.
final class SignedSettings: Sendable {
    /// The app's side of a judgement, read before any lock is taken: an app's override may do what it likes.
    struct Rules {
        let anchor: ConfigurationAnchor
        let allowsInvalidSignatures: Bool
    }

    private struct State {
        var home: SignedHome?
        var applied: AppliedRecord?
    }

    /// Serialises those that read files, verify and apply: two configurations are judged one after the other. Readers
    /// never take it.
    private let verification = Mutex(())
    private let state = Mutex(State())
    private let store: SettingsStore

    init(_ store: SettingsStore) { self.store = store }

    /// The signed configuration that is applied now; nil for none.
    var applied: AppliedConfiguration? { state.withLock { $0.applied?.description } }

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
    func load(_ home: SignedHome, _ rules: Rules) -> ConfigurationLoad {
        verification.withLock { _ in
            state.withLock { $0.home = home }
            return read(rules)
        }
    }

    /// Reads the files again.
    func reload(_ rules: Rules) -> ConfigurationLoad { verification.withLock { _ in read(rules) } }

    /// Reads, verifies and applies; the caller serialises.
    private func read(_ rules: Rules) -> ConfigurationLoad {
        let (home, applied) = state.withLock { ($0.home, $0.applied) }
        guard let home else { return ConfigurationLoad(applied: nil, failures: []) }
        var loading = ConfigurationLoading(files: ConfigurationFiles(home), judge: judge(home, rules))
        let best = loading.best(known: home.directory == nil ? applied : nil)
        apply(best)
        return ConfigurationLoad(applied: best?.description, failures: loading.files.failures)
    }

    /// Judges a configuration that was handed over, and applies it; a failure leaves everything as it was.
    func receive(_ offer: ConfigurationOffer, _ rules: Rules) throws(VerificationFailure) -> VerifiedConfiguration {
        try verification.withLock { _ throws(VerificationFailure) -> VerifiedConfiguration in
            let (home, active) = state.withLock { ($0.home, $0.applied) }
            guard let home else {
                throw VerificationFailure(.wrongApplication, "the app has not called load(application:role:directory:)")
            }
            let claim = ConfigurationJudge.Claim(
                envelope: offer.envelope, target: offer.target, device: offer.device,
                allowsInvalid: offer.allowsInvalid)
            let record = try judge(home, rules).judgeNew(claim, mark: offer.mark, active: active)
            if let record { apply(record) }
            guard let applied = record ?? active else {
                preconditionFailure("a configuration is active already only if one is applied")
            }
            return applied.configuration
        }
    }

    private func judge(_ home: SignedHome, _ rules: Rules) -> ConfigurationJudge {
        ConfigurationJudge(
            home: home, anchor: rules.anchor, allowsInvalidSignatures: rules.allowsInvalidSignatures,
            schema: store.schema, now: home.clock())
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
}

/// Chooses which of the files is applied: the staged one if it passes every step, else what was applied before. Each
/// candidate is verified by itself; one that fails never takes another down.
struct ConfigurationLoading {
    private(set) var files: ConfigurationFiles
    let judge: ConfigurationJudge

    init(files: ConfigurationFiles, judge: ConfigurationJudge) {
        self.files = files
        self.judge = judge
    }

    /// - Parameter known: what is applied already where no files are kept.
    mutating func best(known: AppliedRecord?) -> AppliedRecord? {
        let active = known ?? applied(files.active, "configuration.plist")
        if let staged = staged(active) { return staged }
        let waived = applied(files.waived, "waived.plist")
        guard let waived else { return active }
        guard let active else { return waived }
        return waived.configuration.payload.version > active.configuration.payload.version ? waived : active
    }

    private mutating func staged(_ active: AppliedRecord?) -> AppliedRecord? {
        guard let staged = files.staged else { return nil }
        let claim = ConfigurationJudge.Claim(
            envelope: staged.record.envelope, target: staged.record.key.target, device: staged.record.device,
            allowsInvalid: staged.allowsInvalid)
        do {
            return try judge.judgeNew(claim, mark: staged.mark, active: active)
        } catch {
            files.fail("staged.plist", error.detail, name: error.rejection.rawValue)
            return nil
        }
    }

    private mutating func applied(_ file: ActiveConfiguration?, _ name: String) -> AppliedRecord? {
        guard let file else { return nil }
        guard !file.isOver(at: judge.now) else {
            files.fail(name, "its lifetime is over", name: "reverted")
            return nil
        }
        let claim = ConfigurationJudge.Claim(
            envelope: file.record.envelope, target: file.record.key.target, device: file.record.device,
            allowsInvalid: file.isWaived)
        do {
            return try judge.judgeApplied(claim, applied: file.applied)
        } catch {
            files.fail(name, error.detail, name: error.rejection.rawValue)
            return nil
        }
    }
}

/// The owner of a configuration and the place of its files.
struct SignedHome {
    let application: ApplicationIdentifier
    let role: DeviceRole
    /// The app's own directory; nil where nothing is kept (the simulator).
    let directory: String?
    let clock: @Sendable () -> WallTime
}

/// The signed configuration that is applied.
struct AppliedRecord {
    let configuration: VerifiedConfiguration
    let payload: SettingsPayload
    /// When it was applied, as far as that is known.
    let applied: WallTime

    var isWaived: Bool { configuration.waived != nil }

    /// The mark that the next configuration must pass: the daemon's and what is applied here, whichever is higher.
    static func mark(handedOver: UInt64?, active: AppliedRecord?) -> VersionMark? {
        let good = active.flatMap { $0.isWaived ? nil : $0 }
        if let good, good.configuration.payload.version >= handedOver ?? 0 {
            return VersionMark(version: good.configuration.payload.version, digest: good.configuration.digest)
        }
        return handedOver.map { VersionMark(version: $0, digest: nil, isActive: false) }
    }

    /// No clock is right that is below this: the highest `iat` that was applied, but not later than it was then.
    var clockFloor: WallTime {
        isWaived ? WallTime(milliseconds: 0) : min(WallTime(seconds: configuration.payload.issued), applied)
    }

    var description: AppliedConfiguration {
        AppliedConfiguration(
            version: configuration.payload.version, digest: configuration.digest,
            transaction: configuration.payload.transaction, target: configuration.payload.target,
            hasInvalidSignature: isWaived, isSignerRevoked: configuration.isSignerRevoked)
    }
}
