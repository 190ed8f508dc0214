// Start without a daemon: what the daemon left in the app's directory is verified again and applied (CFG-37). Nothing
// here stops an app from starting; what is wrong is told, and the defaults stand.

import Synchronization
public import TandemBase
import TandemReactor
import TandemSettings
import TandemSignedConfiguration

/// What a load found.
public struct ConfigurationLoad: Sendable {
    /// The signed configuration that is applied now; nil for none.
    public let applied: AppliedConfiguration?
    /// What was there and was not applied.
    public let failures: [ConfigurationFileFailure]
}

extension Configuration {
    /// Says whose configuration this is and applies what its files hold. Call it once, before messages arrive: until
    /// then the hook refuses every configuration as `wrong-app`.
    /// - Parameters:
    ///   - application: the identifier under which the app registers.
    ///   - role: the side whose app this is.
    ///   - directory: the app's own directory, as the daemon told it; nil keeps nothing.
    @discardableResult
    public func load(
        application: ApplicationIdentifier, role: DeviceRole, directory: String?
    ) -> ConfigurationLoad {
        load(application: application, role: role, directory: directory, clock: { Linux.wallTime })
    }

    @discardableResult
    package func load(
        application: ApplicationIdentifier, role: DeviceRole, directory: String?,
        clock: @escaping @Sendable () -> WallTime
    ) -> ConfigurationLoad {
        let home = SignedHome(application: application, role: role, directory: directory, clock: clock)
        signed.withLock { $0.home = home }
        return reload()
    }

    /// Reads the files again: they have changed, or time has passed.
    @discardableResult
    public func reload() -> ConfigurationLoad {
        let anchor = ConfigurationAnchor(pem: publicKey)
        let allowsInvalid = allowsInvalidSignatures
        let outcome = signed.withLock { state -> ConfigurationLoad in
            guard let home = state.home else { return ConfigurationLoad(applied: nil, failures: []) }
            let judge = ConfigurationJudge(
                home: home, anchor: anchor, allowsInvalidSignatures: allowsInvalid, schema: store.schema,
                now: home.clock())
            var loading = ConfigurationLoading(files: ConfigurationFiles(home), judge: judge)
            let applied = loading.best(known: home.directory == nil ? state.applied : nil)
            apply(applied, &state)
            return ConfigurationLoad(applied: applied?.description, failures: loading.files.failures)
        }
        store.notices.deliver()
        return outcome
    }

    /// The signed configuration that is applied now; nil for none.
    public var applied: AppliedConfiguration? { signed.withLock { $0.applied?.description } }

    /// Puts the values into the signed layer and says so; the caller holds the lock and delivers the notices after it.
    func apply(_ record: AppliedRecord?, _ state: inout SignedState) {
        let isChange = record?.configuration.digest != state.applied?.configuration.digest
        state.applied = record
        store.replaceSigned(record?.payload)
        guard isChange else { return }
        store.notices.add(.event(record.map { .applied($0.description) } ?? .deactivated))
    }
}
