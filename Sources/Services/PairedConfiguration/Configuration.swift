// Base class of an app's typed configuration. A subclass declares its properties with the wrappers and names its
// compiled trust anchor; everything else is here. Values come from layers: what is signed hides what is set in code,
// and that hides the defaults. It is a class because `reset()` and the anchor are overridden, as in the model it
// follows. Its import brings identifiers, property-list values and the values of settings.

import PairedSession
internal import Synchronization
@_exported public import TandemBase
import TandemFiles
import TandemPages
@_exported public import TandemPropertyList
import TandemReactor
@_exported public import TandemSettings
import TandemSignedConfiguration

/// The base class of a typed configuration, Appfigurate's `APLConfiguration`; any thread.
///
/// Declare `final class AppConfiguration: Configuration, @unchecked Sendable` whose stored properties are all declared
/// with ``Toggle``, ``Slider``, ``Edit``, ``Choice``, ``EditableChoice`` or ``Preference``. Make one instance.
///
/// `@unchecked`: a lock protects the state of each stored property: the mutex `problems`, and those of the store and of
/// the signed settings. A subclass only adds wrappers around the store; the initialiser reports any other property.
open class Configuration: @unchecked Sendable {
    private let store: SettingsStore
    private let signed: SignedSettings
    private let files: FileSettings
    private let edits: EditedSettings
    let installedSession = InstalledSession()
    private let problems = Mutex<[DeclarationProblem]>([])
    /// Opened at the end of the initialiser.
    private let preferences = Mutex<StoredPreferences?>(nil)
    /// Read at the end of the initialiser.
    private let pages = Mutex(PageTree())

    /// Mistakes in the declaration, found at start; empty for a sound one.
    public var declarationProblems: [DeclarationProblem] { problems.withLock { $0 } }

    /// Finds the properties, calls ``reset()``, judges defaults, choices and patterns together, and reads the stored
    /// preferences.
    /// - Parameters:
    ///   - policy: the consequence of mistakes.
    ///   - chosen: the store of preferences; nil for ``preferenceStore``.
    public init(problems policy: ProblemPolicy, preferences chosen: (any PreferenceStore)? = nil) {
        store = SettingsStore()
        signed = SignedSettings(store)
        files = FileSettings(store)
        let manifest = type(of: self).manifest
        if manifest.isLogging { PairedLog.isVerbose = true }
        edits = EditedSettings(store)
        let discovery = PropertyDiscovery(self)
        var pages = settingsBundle.map { SettingsBundleFiles($0).read(region: manifest.region) } ?? SettingsBundle()
        let schema = SettingsSchema(pages.refine(discovery.declarations))
        for (index, property) in discovery.properties.enumerated() { property.bind(to: store, at: index) }
        let pageDefaults = pages.defaults(of: schema)
        let defaultProblems = store.open(schema, defaults: pageDefaults) { reset() }
        pages.compare(store.defaults, with: pageDefaults, of: schema)
        // Faults of declared defaults do not count: `reset()` may have replaced them, and what it left has been judged.
        let schemaProblems = schema.problems.filter { if case .defaultValue = $0 { false } else { true } }
        let sync = SyncRules(self)
        store.markRemovals(of: sync.names)
        let found =
            discovery.problems + schemaProblems + defaultProblems + ConversionRules(self).problems + manifest.problems
            + sync.problems(in: schema) + rules.problems
        problems.withLock { $0 = found }
        policy.judge(found)
        let stored = StoredPreferences(store, chosen ?? preferenceStore, pages)
        stored.open { setDefaultPreferences() }
        preferences.withLock { $0 = stored }
        self.pages.withLock { [tree = pages.tree] in $0 = tree }
    }

    /// As ``init(problems:preferences:)`` with ``ProblemPolicy/stop``.
    public convenience init(preferences chosen: any PreferenceStore) {
        self.init(problems: .stop, preferences: chosen)
    }

    /// As ``init(problems:preferences:)`` with ``ProblemPolicy/stop`` and ``preferenceStore``.
    public required convenience init() { self.init(problems: .stop) }

    /// Override to name another app manifest than that of the process, such as that of the app which an extension
    /// belongs to: `ApplicationManifest(path: ...)`, kept in a constant.
    open class var manifest: ApplicationManifest { .main }

    /// Override to change defaults by assignment. Called once, by the initialiser; the result must keep all rules.
    /// Appfigurate's `reset`.
    open func reset() {}

    /// Override to keep the app's preferences elsewhere than in the app's own file (Protocol/Settings.md SET-21), or in
    /// the protected one that the ``manifest`` asks for (SET-59): ``FilePreferences`` in another place,
    /// ``MemoryPreferences``, or a store of the app's. Called once, by the initialiser.
    open var preferenceStore: any PreferenceStore {
        ApplicationPreferences.store(of: type(of: self).manifest)
    }

    /// Override to set preferences that are not stored yet, by assignment; a property that has a stored value keeps it,
    /// whatever is assigned here. Called by the initialiser after the store is read. In contrast to ``reset()`` the
    /// values are stored. DDGPreferences' `setDefaultPreferences`.
    open func setDefaultPreferences() {}

    /// Override to name the directory of the app's `Settings.bundle`, with `Root.plist`: its pages travel with the
    /// schema, their defaults are those of the properties, before ``reset()``, and they edit a ``Preference``
    /// (Protocol/Settings.md SET-33 and SET-34, Protocol/Pages.md). An `InAppSettings.bundle` beside it hides its
    /// files. Called once, by the initialiser.
    open var settingsBundle: String? { nil }

    /// Override to take part in the pages while the app runs: buttons, checks of typed values, choices and hidden keys.
    /// Called once, when this configuration is installed on a session; the closures are kept as long as that.
    open var pageHooks: PageHooks { PageHooks() }

    /// Override to return the trust anchor: the PEM text (`PUBLIC KEY`) of the key that signs configuration for this
    /// app, or a key set (`TANDEM KEY SET`, from `tandem keyset export --swift`), whose keys can be replaced and
    /// revoked. nil, the default: the app accepts no signed configuration. Text that is neither, or a weak key, is a
    /// mistake in the declaration (``declarationProblems``). Appfigurate's `publicKey`.
    open var publicKey: String? { nil }

    /// Override if the primary's app and the secondary's have different keys, such as one class that both apps share.
    /// The default is ``publicKey`` for both roles. Called again whenever a key is needed, on any thread, and also for
    /// the role that this device does not have.
    /// - Parameter role: the side whose app's configuration the key signs.
    open func publicKey(for role: DeviceRole) -> String? { publicKey }

    /// Override to decide whether invalidly signed configuration may be applied when this device's daemon allows it
    /// too. The default is true in a debug build and false in a release build. Appfigurate's `allowInvalidSignatures`.
    open var allowsInvalidSignatures: Bool { Build.isDebug }

    /// Override on a primary to target this app's secondaries by a name of its own instead of the device's vendor
    /// identifier: 1-256 bytes of UTF-8 without NUL. Appfigurate's `customIdentifier`.
    open var customIdentifier: String? { nil }

    /// Override to mirror some preferences with the counterpart of the session that this configuration is installed on,
    /// such as `[$colour, $volume]` (Protocol/Settings.md SET-70). Each side takes what the other sets or removes, also
    /// without a link meanwhile; signed values and a person's edits hide it as they hide any preference.
    /// DDGPreferences' class for iCloud.
    open var syncedSettings: [any DeclaredProperty] { [] }

    /// Override to name the property by which the app's user decides whether ``syncedSettings`` are mirrored. It is not
    /// mirrored itself. nil, the default: they always are.
    open var syncSwitch: Property<Bool>? { nil }

    /// Override to take the entries of a configuration file by hand, such as `home = file["base_url"]?.stringValue`:
    /// what is assigned here is the file's value, of the layer ``SettingLayer/file``, and one that breaks its rule is
    /// skipped. A property that the file has set so far reads as that value here, and on no other thread yet. Called
    /// for each file that is read, also when it has been edited, on a thread of the library's then. Call `super` for
    /// the automatic loading. CRUConfig's `setPropertiesWithContentsOfConfigDictionary:`.
    open func setProperties(withContentsOf file: PropertyListDictionary) { store.read(file) }

    /// Override to read and write dates that are text in another form. Letters as in Foundation's date formats: `y`,
    /// `M`, `d`, `H`, `m`, `s`, `S`, `z`, `Z`, `X`, and 'quoted text'. CRUConfig's `dateFormat`.
    open var dateFormat: String { "yyyy-MM-dd HH:mm:ss zzz" }

    /// Override to change the zone of dates that are text: `GMT`, `UTC`, `Z`, an offset such as `+01:00`, or
    /// a name that the system's time zone database has, such as `Europe/Berlin`. CRUConfig's `timeZone`.
    open var timeZone: String { "GMT" }
}

extension Configuration {
    /// All properties as declared, in the order of declaration, inherited ones first.
    public var declarations: [SettingDeclaration] { store.schema.declarations }

    /// The effective values of all properties at one moment.
    public var snapshot: SettingsSnapshot { store.snapshot }

    /// The schema for the daemon, with the defaults that `reset()` left; nil if it cannot be written, which is a
    /// mistake in the declaration.
    package var announcedSchema: SchemaDocument? { announcedSchema(opening: pageHooks.openButtons) }

    /// - Parameter buttons: those that a person on the paired primary may press.
    func announcedSchema(opening buttons: Set<String>) -> SchemaDocument? {
        do throws(SchemaError) {
            return try carried(store.announced, buttons)
        } catch {
            let problem = DeclarationProblem.notAnnounced(reason: error.description)
            problems.withLock { if !$0.contains(problem) { $0.append(problem) } }
            store.notices.add(.event(.declarationProblem(problem)))
            store.notices.deliver()
            return nil
        }
    }

    /// The schema with the pages; without some translations, images or pages where they do not fit, which is an event.
    private func carried(
        _ declarations: [SettingDeclaration], _ buttons: Set<String>
    ) throws(SchemaError) -> SchemaDocument {
        let (tree, schema) = (pages.withLock(\.self), store.schema)
        guard !tree.isEmpty else { return try SchemaDocument(writing: declarations, buttons: buttons) }
        let open = declarations.withoutSecrets(of: tree)
        // Parts that do not fit are left out one after the other (PAG-7).
        let bare = tree.withoutTexts
        let attempts: [(PageTree, LayoutTranslations, hasImages: Bool)] = [
            (tree, .all, true), (tree, .ofEntries, true), (bare, .ofEntries, true), (bare, .ofEntries, false),
            (bare, .none, false),
        ]
        for (kept, translations, hasImages) in attempts {
            let layout = kept.layout(for: schema, translations: translations, hasImages: hasImages)
            guard let document = try? SchemaDocument(writing: open, layout: layout, buttons: buttons) else {
                continue
            }
            if kept.pages.count < tree.pages.count { report(.notCarried("pages of headings and footers alone")) }
            if !hasImages, !tree.images.isEmpty { report(.notCarried("images")) }
            switch translations {
            case .all: break
            case _ where tree.strings.isEmpty: break
            case .ofEntries: report(.notCarried("translations of the running app's texts"))
            case .none: report(.notCarried("translations"))
            }
            return document
        }
        // A schema that cannot be written without them either has another fault.
        let document = try SchemaDocument(
            writing: declarations.withoutSecrets(of: tree, hasPages: false), buttons: buttons)
        report(.notCarried("pages"))
        return document
    }

    private func report(_ problem: SettingsBundleProblem) {
        store.notices.add(.event(.preferences(.pages(problem))))
        store.notices.deliver()
    }

    /// Calls the observer as long as the result is kept: observing ends when that is released, or by
    /// ``ConfigurationObservation/cancel()``. In contrast, the observers of a session go on until its end.
    ///
    /// There is one call for each batch of changes, in their order, without a lock held. It comes on the thread that
    /// made the change, or on another one, such as the library's own, that is delivering changes at that moment.
    public func observe(_ observer: @escaping @Sendable (SettingChanges) -> Void) -> ConfigurationObservation {
        store.notices.observeChanges(observer)
    }

    /// The batches of changes from now on; of those that no consumer takes the newest
    /// ``ConfigurationUpdates/bufferLimit`` are kept.
    public var updates: ConfigurationUpdates { ConfigurationUpdates(store.notices) }

    /// As ``observe(_:)``, as long as the result is kept, for what belongs into a log. The observer receives the
    /// mistakes in the declaration, and what was wrong with the stored preferences at start, at once.
    public func observeEvents(
        _ observer: @escaping @Sendable (ConfigurationEvent) -> Void
    ) -> ConfigurationObservation {
        let observation = store.notices.observe { if case .event(let event) = $0 { observer(event) } }
        for problem in declarationProblems { observer(.declarationProblem(problem)) }
        for event in preferences.withLock(\.self)?.startEvents ?? [] { observer(.preferences(event)) }
        return observation
    }
}

// MARK: - Stored preferences. They are written and read without a call; these are for an app that wants to know when.
extension Configuration {
    /// Whether a change of this app's is not stored yet. DDGPreferences' `dirty`.
    public var isDirty: Bool { store.isPending }

    /// The names of the properties that the pages of the ``settingsBundle`` show, in their order. DDGPreferences'
    /// `settingsKeys`.
    public var settingsKeys: [String] { preferences.withLock(\.self)?.settingsKeys ?? [] }

    /// Takes what others have changed in the store of preferences, as it happens by itself within a second.
    /// DDGPreferences' `readPreferences`.
    /// - Throws: the store cannot be read; the values in force stay.
    public func readPreferences() throws(PreferenceStoreError) {
        try preferences.withLock(\.self)?.synchronise(writing: false)
    }

    /// Supplies the passphrase of the protected store of preferences. When this returns the stored values apply, and
    /// what the app has set since its start is stored. Nothing happens without a protected store.
    /// - Throws: it is another passphrase than the store's, or the store cannot be read: the values in force stay. Or
    ///   the store cannot be written: the passphrase is taken, the stored values apply, and the app's changes wait.
    ///   The reason ``PreferenceStoreError/Reason/locked`` alone asks for another passphrase.
    public func unlockPreferences(passphrase: String) throws(PreferenceStoreError) {
        guard let protected else { return }
        try protected.unlock(passphrase: passphrase)
        // The observer of the store is called as well, on the library's thread, and may be later than the caller.
        try writePreferences()
    }

    /// As ``ProtectedPreferences/lock()``, if the store of preferences is protected.
    public func lockPreferences() { protected?.lock() }

    private var protected: ProtectedPreferences? { preferences.withLock(\.self)?.store as? ProtectedPreferences }

    /// Stores what is not stored yet, after taking what others have changed. It is durable when this returns; without
    /// this call it is within moments, and when the process exits in order. DDGPreferences' `writePreferences`.
    /// - Throws: the store cannot be read or written; the values in force stay.
    public func writePreferences() throws(PreferenceStoreError) {
        try preferences.withLock(\.self)?.synchronise()
    }
}

// MARK: - Sources of values besides what is signed and what the app sets: files, environment, command line. Each fills
// a layer of its own as one batch. An entry that is no property's, or that its property does not take, is skipped.
extension Configuration {
    /// Loads the configuration file of the environment (Protocol/Settings.md SET-11): `config.<environment>.plist`,
    /// else `config.default.plist`, else `config.plist`; the first that exists counts, whole. It is a property list,
    /// XML or binary, of this process's user or of root. Without a file all properties have the values of the layers
    /// below.
    /// - Parameters:
    ///   - directory: the directory of the files. One that is missing has none.
    ///   - environment: nil for the variable `TANDEM_ENVIRONMENT`, or else `debug` or `release` as the build is. In the
    ///     file's name it is in lower case.
    ///   - watching: whether an edit is read at once, as long as this configuration lives.
    /// - Returns: what was taken and skipped. A file that cannot be read is reported here and as an event; the values
    ///   are then those before.
    @discardableResult
    public func loadFiles(
        in directory: String, environment: String? = nil, watching: Bool = true
    ) -> ConfigurationFileLoad {
        defer { store.notices.deliver() }
        let source = EnvironmentFile(
            directory: AbsolutePath.of(directory), environment: EnvironmentFile.environment(environment))
        let changed: @Sendable () -> Void = { [weak self] in self?.filesChanged() }
        return files.load(source, conversion: conversion, changed: watching ? changed : nil) {
            setProperties(withContentsOf: $0)
        }
    }

    private func filesChanged() {
        defer { store.notices.deliver() }
        files.reload(conversion: conversion) { setProperties(withContentsOf: $0) }
    }

    /// The environment whose configuration file counts, in lower case. CRUConfig's `configurationName`.
    public var configurationName: String { files.name }

    /// Takes the environment variables of all properties: with the prefix `KIOSK` that of `baseURL` is
    /// `KIOSK_BASE_URL`. Values are converted as those of files are; a boolean is `true` or `false`, `yes` or `no`, 1
    /// or 0; the texts of a list have commas between them. An empty variable counts as unset.
    /// - Parameters:
    ///   - environment: nil for the process's own.
    ///   - prefix: before each name, with an underscore between; empty for none.
    /// - Throws: two properties have the same variable; nothing is taken then.
    @discardableResult
    public func load(
        environment: [String: String]? = nil, prefix: String
    ) throws(SettingNameCollision) -> LoadReport {
        try load(.environment, origin: .environment) { reading throws(SettingNameCollision) in
            let all = environment.map { Array($0.keys) } ?? StartEnvironment.names
            try reading.readEnvironment(prefix: prefix, all: all) { name in
                environment.map { $0[name] } ?? Linux.environment(name)
            }
        }
    }

    /// Takes the options of all properties, up to `--`: that of `baseURL` is `--base-url VALUE` or `--base-url=VALUE`,
    /// or spelled `--baseURL`. A boolean is `--logging` or `--no-logging`, or `--logging=` with `true`, `false` or
    /// another word of ``load(environment:prefix:)``; its value is never the next argument. The last option of a
    /// property counts; a list takes all of them. Everything else is left to the app. Reported as skipped are other
    /// options, a value after `--no-logging=`, and a word such as `false` behind `--logging`.
    /// - Parameter arguments: without the name of the program.
    /// - Throws: two properties have the same option; nothing is taken then.
    @discardableResult
    public func load(
        arguments: [String] = Array(CommandLine.arguments.dropFirst())
    ) throws(SettingNameCollision) -> LoadReport {
        try load(.commandLine, origin: .commandLine) { reading throws(SettingNameCollision) in
            try reading.read(arguments: arguments)
        }
    }

    private func load(
        _ layer: SettingLayer, origin: SettingOrigin,
        _ read: (inout LayerReading) throws(SettingNameCollision) -> Void
    ) throws(SettingNameCollision) -> LoadReport {
        var reading = LayerReading(store.schema, conversion)
        try read(&reading)
        store.apply(reading, to: layer, origin: origin)
        store.notices.deliver()
        return reading.report
    }

    private var conversion: SettingConversion { ConversionRules(self).conversion }

    /// The answers to the daemon's questions about the pages.
    func runner(_ hooks: PageHooks) -> PageHookRunner { PageHookRunner(hooks, store, pages.withLock(\.self)) }

    func mirror(on session: PairedSession) -> SettingsMirror? {
        preferences.withLock(\.self).map { SettingsMirror(store, $0, SyncRules(self), on: session) }
    }
}

/// The environment that the process was started with, as the kernel shows it: to find variables without a property.
private enum StartEnvironment {
    /// The most bytes that are looked at; what a shell starts has a few KiB.
    private static var limit: Int { 1 << 20 }

    /// The names of the variables; none if they cannot be read.
    static var names: [String] {
        let bytes = (try? FileReading.read(path: "/proc/self/environ", limit: limit)) ?? []
        return bytes.split(separator: 0).compactMap { entry in
            entry.firstIndex(of: UInt8(ascii: "=")).map { String(decoding: entry[..<$0], as: UTF8.self) }
        }
    }
}

/// The synced settings as the app declares them.
struct SyncRules: Sendable {
    let names: [String]
    let toggle: Property<Bool>?

    init(_ configuration: Configuration) {
        names = configuration.syncedSettings.map(\.declaration.name)
        toggle = configuration.syncSwitch
    }

    var isOn: Bool { toggle?.value ?? true }

    /// A property of another configuration, one that is named twice, and the switch itself.
    func problems(in schema: SettingsSchema) -> [DeclarationProblem] {
        var known: Set<String> = []
        return names.compactMap { name in
            if schema.index(of: name) == nil { return .invalidSync(property: name, "it is no property of this class") }
            if !known.insert(name).inserted { return .invalidSync(property: name, "it is named twice") }
            guard name == toggle?.declaration.name else { return nil }
            return .invalidSync(property: name, "each device has this switch for itself")
        }
    }
}

/// The conversions as the app has them, and the mistakes in what it overrides.
private struct ConversionRules {
    let conversion: SettingConversion
    let problems: [DeclarationProblem]

    init(_ configuration: Configuration) {
        var problems: [DeclarationProblem] = []
        let zone = SettingTimeZone(configuration.timeZone, lookup: SystemTimeZones.rules)
        if zone == nil {
            let reason =
                "'\(configuration.timeZone)' is no time zone; write GMT, UTC, Z, an offset such as +01:00, or a name that the "
                + "system's time zone database has"
            problems.append(.invalidDateFormat(reason: reason))
        }
        do throws(SettingDateFormatError) {
            let dates = try SettingDateFormat(configuration.dateFormat, zone: zone ?? .gmt)
            conversion = SettingConversion(dates: dates)
        } catch {
            problems.append(.invalidDateFormat(reason: error.description))
            conversion = SettingConversion(dates: .standard)
        }
        self.problems = problems
    }
}

// MARK: - Signed configuration. An app starts without a daemon: the library verifies the files in the app's directory
// again and applies them (CFG-37). No fault stops an app from starting: it is reported, and the defaults apply. A
// daemon's message is verified again from the compiled anchor, so that no process in the daemon's place can change a
// value.
extension Configuration {
    /// Says whose configuration this is and applies what its files hold. Call it once, before messages arrive: until
    /// then the hook refuses every configuration as `wrong-app`.
    /// - Parameters:
    ///   - application: the identifier under which the app registers.
    ///   - role: the side whose app this is.
    ///   - directory: the app's own directory, as the daemon named it; nil stores nothing.
    @discardableResult
    public func load(
        application: ApplicationIdentifier, role: DeviceRole, directory: String?
    ) -> ConfigurationLoad {
        load(application: application, role: role, directory: directory, time: .system)
    }

    @discardableResult
    package func load(
        application: ApplicationIdentifier, role: DeviceRole, directory: String?, time: ConfigurationTime
    ) -> ConfigurationLoad {
        defer { store.notices.deliver() }
        let directory = directory.map(AbsolutePath.of)
        let home = SignedHome(application: application, role: role, directory: directory, time: time)
        // Signed values do not wait until edits, which are others' doing, have been judged.
        defer { edits.load(from: directory) }
        return reported(signed.load(home, rules) { [weak self] in self?.timePassed() })
    }

    private func timePassed() {
        defer { store.notices.deliver() }
        signed.timePassed(rules)
    }

    /// Says that the app works with the signed configuration that is applied now. A new one is on trial: an app that
    /// ends three times before it has lived with it for half a minute gets the last good one back, and the version is
    /// refused from then on (Protocol/SignedConfiguration.md CFG-61 to CFG-63). Every end but
    /// `PairedSession.end()` counts: a crash, `exit()`, Ctrl-C and SIGTERM. An app that exits sooner calls this first;
    /// others need not. Any number of calls.
    public func confirmHealthy() { signed.confirm() }

    /// Reads the files again, configuration files and stored preferences too: they have changed, or time has passed.
    @discardableResult
    public func reload() -> ConfigurationLoad {
        filesChanged()
        // A store that cannot be read is an event.
        try? readPreferences()
        defer { store.notices.deliver() }
        defer { edits.reload() }
        return reported(signed.reload(rules))
    }

    private func reported(_ load: ConfigurationLoad) -> ConfigurationLoad {
        for failure in load.failures { store.notices.add(.event(.notApplied(failure))) }
        return load
    }

    /// The signed configuration that is applied now; nil for none.
    public var applied: AppliedConfiguration? { signed.applied }

    private var rules: SignedSettings.Rules {
        SignedSettings.Rules(
            primaryKey: publicKey(for: .primary), secondaryKey: publicKey(for: .secondary),
            allowsInvalidSignatures: allowsInvalidSignatures)
    }

    /// Takes a session message if it is a configuration for this app (Protocol/SignedConfiguration.md CFG-41).
    /// Appfigurate's `APLSessionDidReceiveMessage`.
    /// - Returns: the reply to give at once, or nil if the message is not ours and the app handles it itself.
    public func sessionDidReceiveMessage(_ message: PropertyListDictionary) -> PropertyListDictionary? {
        guard ConfigurationOffer.isClaimed(by: message) else { return nil }
        if ConfigurationOffer.isReload(message) {
            reload()
            return signed.reloadAnswer
        }
        defer { store.notices.deliver() }
        let envelope = message["tandem.configuration"]?.dataValue ?? []
        do {
            switch try signed.receive(try ConfigurationOffer(message), rules) {
            case .applied(let configuration):
                let restart = restartNames(in: configuration)
                return OfferReply(applied: configuration, of: envelope, restart: restart).message
            case .failed: return OfferReply(failed: envelope).message
            case .notJudged(let failure):
                let file = ConfigurationFileFailure(
                    KeySetChainFile.name, failure.detail, name: failure.rejection.rawValue)
                store.notices.add(.event(.notApplied(file)))
                return UnjudgedOffer(of: envelope, because: failure.detail).message
            }
        } catch {
            let rejection = ConfigurationRejection(name: error.rejection.rawValue, detail: error.detail)
            store.notices.add(.event(.rejected(rejection)))
            return OfferReply(error, of: envelope).message
        }
    }

    private func restartNames(in configuration: VerifiedConfiguration) -> [String] {
        declarations.filter { $0.needsRestart && configuration.payload.values[$0.name] != nil }.map(\.name)
    }
}

extension Configuration {
    /// Takes a URL that the app was opened with, if it is a link with a configuration for this app
    /// (Protocol/SignedConfiguration.md CFG-60). Call it after ``load(application:role:directory:)``: before, no URL is
    /// the app's own. Appfigurate's `APLApplicationOpenURL`.
    ///
    /// A link has no authority of its own, and nothing is applied here: the configuration comes back through the
    /// message hook once the daemon has verified it.
    /// - Parameters:
    ///   - url: the whole text of the URL.
    ///   - submit: hands the exact bytes to this device's daemon. Not called for a link that is damaged, which is
    ///     reported as an event.
    /// - Returns: whether the URL was the app's own; with any other the app goes on itself.
    public func handleOpen(url: String, submit: (_ envelope: [UInt8]) -> Void) -> Bool {
        switch content(of: url) {
        case nil: return false
        case .success(let envelope): submit(envelope)
        case .failure: break
        }
        return true
    }

    /// The configuration in a URL; nil if the URL is not the app's own. Damage is reported as an event, too.
    func content(of url: String) -> Result<[UInt8], ConfigurationRejection>? {
        guard ApplyLink.isClaimed(by: url), signed.isLoaded else { return nil }
        do {
            let envelope = try ApplyLink.envelope(in: url)
            return try signed.isAddressed(by: UnverifiedEnvelope(envelope)) ? .success(envelope) : nil
        } catch {
            let rejection = ConfigurationRejection(name: Rejection.malformed.rawValue, detail: "the link: \(error)")
            store.notices.add(.event(.rejected(rejection)))
            store.notices.deliver()
            return .failure(rejection)
        }
    }
}
