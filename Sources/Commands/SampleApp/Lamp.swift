// The app itself. The order matters: what belongs to the configuration waits until the configuration knows whose it is,
// because a daemon may hand over a signed one as soon as the app is registered.

import Glibc
import PairedConfiguration
import PairedSession

/// The running app.
struct Lamp {
    private let configuration = LampConfiguration()
    private let session: PairedSession
    private let application: ApplicationIdentifier

    init(_ launch: Launch) throws {
        application = try ApplicationIdentifier(launch.application)
        var options = PairedSessionOptions(application: launch.application, socketPath: launch.device)
        options.anchor = configuration.publicKey
        options.identifier = configuration.customIdentifier
        options.allowsInvalidSignatures = configuration.allowsInvalidSignatures
        options.software = "SampleApp"
        session = try PairedSession(options)
    }

    /// Runs until the process is stopped.
    func run() async throws {
        let observation = configuration.observe(Self.show)
        let events = configuration.observeEvents(Self.show)
        defer { withExtendedLifetime((observation, events)) {} }
        let loading = Task { try await load() }
        session.handleMessages { [configuration] message in
            // Until this is done, a configuration would be refused as another app's.
            try await loading.value
            return Self.answer(message, configuration)
        }
        try await loading.value
        for await status in session.reachabilityUpdates { Output.show("reachable \(status.level) \(status.reason)") }
    }

    private func load() async throws {
        try await session.activate()
        guard let role = session.role else { return }
        let found = configuration.load(application: application, role: role, directory: session.directory)
        for failure in found.failures { Output.show("not applied: \(failure)") }
        for (name, value) in configuration.snapshot.values { Output.show("value \(name) = \(value.text)") }
    }

    /// The hook's answer if the message is a configuration; otherwise the app's own, an echo.
    private static func answer(
        _ message: ReceivedMessage, _ configuration: LampConfiguration
    ) -> PropertyListDictionary? {
        guard let dictionary = message.dictionary else { return nil }
        if message.isConfiguration { return configuration.sessionDidReceiveMessage(dictionary) }
        if configuration.logging { Output.show("message with \(dictionary.count) keys") }
        // It has done its work with these values: nobody needs to wait for half a minute.
        configuration.confirmHealthy()
        return ["echo": .dictionary(dictionary)]
    }

    private static func show(_ changes: SettingChanges) {
        for change in changes.changes {
            Output.show("value \(change.name) = \(change.new.text)")
            if change.name == "volume", change.new.text == Launch.arguments.crash { abort() }
        }
    }

    private static func show(_ event: ConfigurationEvent) {
        switch event {
        case .applied(let applied):
            let warning = applied.hasInvalidSignature ? " WITH AN INVALID SIGNATURE" : ""
            Output.show("configuration \(applied.version) applied\(warning)")
        case .rejected(let rejection): Output.show("configuration refused as \(rejection)")
        case .deactivated: Output.show("no signed configuration is active")
        case .assignmentIgnored(let error): Output.show("ignored: \(error)")
        }
    }
}
