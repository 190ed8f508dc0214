// The base class of an app's typed configuration. A subclass declares its properties with the wrappers and names its
// compiled trust anchor; everything else is here. Values come from layers: what is signed hides what is set in code,
// and that hides the defaults. It is a class because `reset()` and the anchor are overridden, as in the model it
// follows.

internal import Synchronization
public import TandemSettings

/// The base class of a typed configuration, Appfigurate's `APLConfiguration`; any thread.
///
/// Declare `final class AppConfiguration: Configuration, @unchecked Sendable` whose stored properties are all declared
/// with ``Toggle``, ``Slider``, ``Edit``, ``Choice`` or ``EditableChoice``. Make one instance.
open class Configuration: @unchecked Sendable {
    // @unchecked: every stored property is a constant whose state is behind a Mutex; those of a subclass are wrappers
    // around such constants, which the initialiser checks.
    let store = SettingsStore()
    let signed = Mutex(SignedState())

    /// Mistakes in the declaration, found at start; empty for a sound one.
    public var declarationProblems: [DeclarationProblem] { signed.withLock { $0.declarationProblems } }

    /// Finds the properties, calls ``reset()``, and judges defaults, choices and patterns together.
    public init(problems policy: ProblemPolicy) {
        let discovery = PropertyDiscovery(self)
        let schema = SettingsSchema(discovery.declarations)
        for (place, property) in discovery.properties.enumerated() { property.bind(to: store, at: place) }
        let ofDefaults = store.open(schema) { reset() }
        // The declared defaults that reset() replaced are not asked for; what it left is.
        let ofSchema = schema.problems.filter { if case .defaultValue = $0 { false } else { true } }
        let problems = discovery.problems + ofSchema + ofDefaults
        signed.withLock { $0.declarationProblems = problems }
        policy.judge(problems)
    }

    /// As ``init(problems:)`` with ``ProblemPolicy/stop``.
    public convenience init() { self.init(problems: .stop) }

    /// Override to change defaults by assignment. Called once, by the initialiser; the result must keep all rules.
    /// Appfigurate's `reset`.
    open func reset() {}

    /// Override to return the trust anchor: the PEM text (`PUBLIC KEY`) of the key that signs configuration for this
    /// app. nil, the default, means that no signed configuration is taken. Appfigurate's `publicKey`.
    open var publicKey: String? { nil }

    /// Override to decide whether invalidly signed configuration may be applied when this device's daemon allows it
    /// too. The default is true in a debug build and false in a release build. Appfigurate's `allowInvalidSignatures`.
    open var allowsInvalidSignatures: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }

    /// Override on a primary to target this app's secondaries by a name of its own instead of the device's vendor
    /// identifier: 1-256 bytes of UTF-8 without NUL. Appfigurate's `customIdentifier`.
    open var customIdentifier: String? { nil }
}

extension Configuration {
    /// All properties as declared, in the order of declaration, inherited ones first.
    public var declarations: [SettingDeclaration] { store.schema.declarations }

    /// The effective values of all properties at one moment.
    public var snapshot: SettingsSnapshot { store.snapshot }

    /// What to register with the daemon about this configuration.
    public var registration: ConfigurationRegistration {
        ConfigurationRegistration(
            anchor: publicKey.map { Array($0.utf8) }, identifier: customIdentifier,
            allowsInvalidSignatures: allowsInvalidSignatures)
    }

    /// Calls the observer once for each batch of changes, in their order, without a lock held, on the thread that
    /// caused it. Keep the result: observing ends when it is released.
    public func observe(_ observer: @escaping @Sendable (SettingChanges) -> Void) -> ConfigurationObservation {
        store.notices.observe(observer)
    }

    /// The batches of changes from now on; of those that nobody takes the newest
    /// ``ConfigurationUpdates/bufferLimit`` are kept.
    public var updates: ConfigurationUpdates { ConfigurationUpdates(store.notices) }

    /// As ``observe(_:)``, for what belongs into a log.
    public func observeEvents(
        _ observer: @escaping @Sendable (ConfigurationEvent) -> Void
    ) -> ConfigurationObservation {
        store.notices.observeEvents(observer)
    }
}

/// What a host app tells its daemon about its configuration (Protocol/Session.md SES-5).
public struct ConfigurationRegistration: Sendable, Hashable {
    /// UTF-8 of the PEM text of the compiled anchor.
    public let anchor: [UInt8]?
    /// The custom identifier of this app on this device; nil for none.
    public let identifier: String?
    /// The app's half of that decision; the daemon has the other.
    public let allowsInvalidSignatures: Bool
}
