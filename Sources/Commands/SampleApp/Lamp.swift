// The app itself: a configuration, a session with it, and an echo for every message. The session loads the
// configuration before `activate()` returns, and hands it each one that the daemon brings.

import Glibc
import PairedConfiguration
import PairedSession

/// The running app.
struct Lamp {
    private let configuration = LampConfiguration()
    private let session: PairedSession

    init(_ launch: Launch) throws {
        var options = PairedSessionOptions(socketPath: launch.device)
        options.software = "SampleApp"
        session = try PairedSession(launch.application, options: options, configuration: configuration)
    }

    /// Runs until the process is stopped.
    func run() async throws {
        let observation = configuration.observe(Self.show)
        let events = configuration.observeEvents(Self.show)
        defer { withExtendedLifetime((observation, events)) {} }
        session.handleMessages { [configuration] message in Self.echo(message, configuration) }
        // Values that were applied before are in force already.
        Self.use(volume: configuration.snapshot["volume"])
        try configuration.edit()
        try await session.activate()
        for (name, value) in configuration.snapshot.values { Output.show("value \(name) = \(value.text)") }
        for await status in session.reachabilityUpdates { Output.show("reachable \(status.level) \(status.reason)") }
    }

    private static func echo(
        _ message: ReceivedMessage, _ configuration: LampConfiguration
    ) -> PropertyListDictionary? {
        guard let dictionary = message.dictionary else { return nil }
        if configuration.logging { Output.show("message with \(dictionary.count) keys") }
        // It has done its work with these values: nobody needs to wait for half a minute.
        configuration.confirmHealthy()
        return ["echo": .dictionary(dictionary)]
    }

    private static func show(_ changes: SettingChanges) {
        for change in changes.changes {
            Output.show("value \(change.name) = \(change.new.text)")
            if change.name == "volume" { use(volume: change.new) }
        }
    }

    /// An app with a mistake dies of a value, to try a roll back with.
    private static func use(volume: SettingValue?) {
        if let volume, volume.text == Launch.arguments.crash { abort() }
    }

    private static func show(_ event: ConfigurationEvent) {
        switch event {
        case .applied(let applied):
            let warning = applied.hasInvalidSignature ? " WITH AN INVALID SIGNATURE" : ""
            Output.show("configuration \(applied.version) applied\(warning)")
        case .rejected(let rejection): Output.show("configuration refused as \(rejection)")
        case .notApplied(let failure): Output.show("not applied: \(failure)")
        case .deactivated: Output.show("no signed configuration is active")
        case .fileLoaded(let load): Output.show("configuration file \(load.file ?? "none")")
        case .fileRefused(let failure): Output.show("configuration file refused: \(failure)")
        case .sync(let event): Output.show("synced settings: \(event)")
        case .declarationProblem(let problem): Output.show("mistake in a declaration: \(problem)")
        case .preferences(let event): Output.show("preferences: \(event)")
        case .assignmentIgnored(let error), .editIgnored(let error): Output.show("ignored: \(error)")
        }
    }
}
