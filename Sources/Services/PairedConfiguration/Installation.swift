// A configuration's place on a session, in one line. The session registers what the configuration declares, loads it
// before the app hears anything, and hands it each configuration that the daemon brings; the app's own message handlers
// see none of that.

public import PairedSession
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
    ///     `TANDEM_APPLICATION`, else that of the manifest.
    ///   - options: all else; the configuration's anchor, identifier and policy replace theirs.
    ///   - configuration: the app's one configuration; the session keeps it.
    /// - Throws: as `init(_:)` and `Configuration.install(on:)`.
    public convenience init(
        _ application: String? = nil, options: PairedSessionOptions = PairedSessionOptions(),
        configuration: Configuration
    ) throws(SessionError) {
        var options = options
        options.application = application ?? options.application
        if options.application == nil, Linux.environment("TANDEM_APPLICATION") == nil {
            options.application = type(of: configuration).manifest.identifier
        }
        try self.init(options)
        try configuration.install(on: self)
    }
}

extension Configuration {
    /// Gives the session this configuration, before its first `PairedSession.activate(timeout:)`. From then on
    /// `activate()` returns, and messages and items reach the app, once the stored values are loaded; configurations
    /// from the daemon come here and to no message handler. The session keeps the configuration. One configuration
    /// goes on one session; the sessions bound to a pairing share it.
    ///
    /// Files that were not applied are events (``observeEvents(_:)``). Appfigurate's start-up functions and its default
    /// session delegate.
    /// - Throws: 7008 `identifier` if ``customIdentifier`` is none.
    public func install(on session: PairedSession) throws(SessionError) {
        let application = session.application
        let mirror = mirror(on: session)
        let schema = announcedSchema.map {
            InstalledConfiguration.Schema(digest: SHA256.digest($0.bytes), document: $0.bytes)
        }
        try session.core.install(
            InstalledConfiguration(
                anchor: publicKey, identifier: customIdentifier, allowsInvalidSignatures: allowsInvalidSignatures,
                identity: type(of: self).manifest.identity,
                schema: schema,
                load: { role, directory, loaded in
                    ConfigurationThread.run {
                        self.load(application: application, role: role, directory: directory)
                        loaded()
                    }
                },
                take: { message in ConfigurationThread.run { self.answer(message) } }, follow: { mirror?.follow($0) }))
        mirror?.begin()
    }

    /// A dictionary that this library does not know is let go, which answers it as unhandled.
    private func answer(_ message: ReceivedMessage) {
        guard let reply = message.dictionary.flatMap({ sessionDidReceiveMessage($0) }) else { return }
        do throws(SessionError) { try message.reply(reply) } catch { message.fail(error.reason) }
    }

    /// Takes a URL that the app was opened with, as ``handleOpen(url:submit:)``, and hands its configuration to this
    /// device's daemon through the session that this configuration is installed on.
    /// - Returns: the daemon's verdict; nil for a URL that is not the app's own, or whose damage is an event.
    /// - Throws: as `PairedSession.submitConfiguration(_:)`.
    public func open(url: String, on session: PairedSession) async throws(SessionError) -> ConfigurationVerdict? {
        var envelope: [UInt8]?
        guard handleOpen(url: url, submit: { envelope = $0 }), let envelope else { return nil }
        return try await session.submitConfiguration(envelope)
    }
}
