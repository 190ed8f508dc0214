// A configuration's place on a session, in one line. The session registers what the configuration declares, loads it
// before the app hears anything, and hands it each configuration that the daemon brings; the app's own message handlers
// see none of that.

public import PairedSession
internal import Synchronization
import TandemCrypto
import TandemReactor
import TandemSettings

extension PairedSession {
    /// A session with a configuration on it: the whole integration of an app.
    ///
    ///     let configuration = KioskConfiguration()
    ///     let session = try PairedSession("com.example.kiosk", configuration: configuration)
    ///     try await session.activate()
    /// - Parameters:
    ///   - application: the application identifier; nil: the options', else that of the environment's
    ///     `TANDEM_APPLICATION`, else that of the app manifest.
    ///   - options: all else; the configuration's anchor, identifier and policy replace theirs.
    ///   - configuration: the app's one configuration; the session keeps it.
    /// - Throws: as `init(_:)` and `Configuration.install(on:)`.
    public convenience init(
        _ application: String? = nil, options: PairedSessionOptions = PairedSessionOptions(),
        configuration: Configuration
    ) throws(SessionError) {
        var options = options
        options.application = application ?? options.application
        try self.init(options.identified(by: configuration))
        try configuration.install(on: self)
    }
}

extension PairedSessionOptions {
    /// With the identifier in the app manifest, where neither they nor the environment have one (SET-81).
    package func identified(by configuration: Configuration) -> PairedSessionOptions {
        guard application == nil, Linux.environment("TANDEM_APPLICATION") == nil else { return self }
        var options = self
        options.application = type(of: configuration).manifest.identifier
        return options
    }
}

extension Configuration {
    /// Gives the session this configuration, before its first `PairedSession.activate(timeout:)`. From then on
    /// `activate()` returns, and messages and items reach the app, once the stored values are loaded; configurations
    /// from the daemon come here and to no message handler. The session keeps the configuration. One configuration
    /// goes on one session; the sessions bound to a pairing share it.
    ///
    /// The files of the directory that the daemon named at the last activation are loaded here already, so that the
    /// app has its signed values and its user's edits before any daemon answers (CFG-110). An observer that is
    /// registered later hears of later changes alone: ``snapshot`` has the values in force.
    ///
    /// Files that were not applied are events (``observeEvents(_:)``). Appfigurate's start-up functions and its default
    /// session delegate.
    /// - Throws: 7008 `identifier` if ``customIdentifier`` is none; 7008 `configuration` if the session was asked to
    ///   activate already or has another configuration, or a session that has not ended has this one.
    public func install(on session: PairedSession) throws(SessionError) {
        try install(on: session, in: ApplicationPreferences.storage(of: type(of: self).manifest.identifier))
    }

    /// - Parameter storage: the app's directory, where the library remembers what the daemon named.
    package func install(on session: PairedSession, in storage: ApplicationPreferences.Storage) throws(SessionError) {
        try installedSession.claim(session)
        do throws(SessionError) { try begin(on: session, in: storage) } catch {
            installedSession.release()
            throw error
        }
    }

    private func begin(
        on session: PairedSession, in storage: ApplicationPreferences.Storage
    ) throws(SessionError) {
        let application = session.application
        let memory = storage.path.map { folder in
            RememberedHome(application: application, daemon: session.core.settings.daemon, in: folder)
        }
        let mirror = mirror(on: session)
        let hooks = pageHooks
        let schema = announcedSchema(opening: hooks.openButtons).map {
            InstalledConfiguration.Schema(digest: SHA256.digest($0.bytes), document: $0.bytes)
        }
        let runner = runner(hooks)
        try session.core.install(
            InstalledConfiguration(
                anchor: { self.publicKey(for: $0) }, identifier: customIdentifier,
                allowsInvalidSignatures: allowsInvalidSignatures, identity: type(of: self).manifest.identity,
                schema: schema, questions: runner.questions,
                load: { role, directory, loaded in
                    ConfigurationThread.run {
                        self.load(application: application, role: role, directory: directory)
                        if let directory { memory?.write(RememberedHome.Home(role: role, directory: directory)) }
                        loaded()
                    }
                },
                take: { message in
                    // In the order of the thread: no hook is called before the values are loaded.
                    ConfigurationThread.run { if !runner.take(message) { self.answer(message) } }
                }, follow: { mirror?.follow($0) }))
        if let home = memory?.read() { load(application: application, role: home.role, directory: home.directory) }
        mirror?.begin()
    }

    /// A dictionary that this library does not know is let go, which answers it as unhandled.
    private func answer(_ message: ReceivedMessage) {
        guard let reply = message.dictionary.flatMap({ sessionDidReceiveMessage($0) }) else { return }
        do throws(SessionError) { try message.reply(reply) } catch { message.fail(error.reason) }
    }

    /// Takes a URL that the app was opened with, as ``handleOpen(url:submit:)``, and hands its configuration to this
    /// device's daemon through the session that this configuration is installed on.
    /// - Returns: the daemon's verdict, or `malformed` for a damaged link; nil for a URL that is not the app's own.
    /// - Throws: as `PairedSession.submitConfiguration(_:)`.
    public func open(url: String, on session: PairedSession) async throws(SessionError) -> ConfigurationVerdict? {
        switch content(of: url) {
        case nil: nil
        case .success(let envelope): try await session.submitConfiguration(envelope)
        case .failure(let rejection): ConfigurationVerdict(name: rejection.name, text: rejection.detail)
        }
    }
}

/// The session that a configuration is installed on: on two of them the second would take the values of the first.
/// Weak, because the session keeps the configuration. Usable from any thread.
final class InstalledSession: Sendable {
    private struct Reference {
        weak var session: PairedSession?
    }

    private let reference = Mutex(Reference())

    /// - Throws: 7008 `configuration` while a session has it that is not over.
    func claim(_ session: PairedSession) throws(SessionError) {
        let isFree = reference.withLock { reference in
            guard reference.session?.core.hasEnded ?? true else { return false }
            reference.session = session.whole
            return true
        }
        if !isFree { throw .installedElsewhere }
    }

    /// The session has refused it.
    func release() { reference.withLock { $0.session = nil } }
}
