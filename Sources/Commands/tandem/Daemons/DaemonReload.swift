// Rereading of a daemon's file of options and of its wake-up commands, at SIGHUP. Options that may change while it runs
// change at once, the others are named as waiting for a restart, and a broken file changes nothing.

import TandemBase
import TandemControl
import TandemDaemon
import TandemReactor
import TandemSettings

/// The reload of one daemon (CTL-54); confined to its loop.
final class DaemonReload {
    private let node: Node
    private let role: DeviceRole
    /// The absolute paths of the local sockets in use.
    private let sockets: PerRole<String?>
    /// The settings of the start: those of an option that needs a restart stay in effect.
    private let started: DaemonSettings
    private var settings: DaemonSettings
    private let log: LogSink

    init(of node: Node, _ options: NodeOptions, _ settings: DaemonSettings, _ log: LogSink) throws(CommandFailure) {
        self.node = node
        role = options.role
        var sockets = options.sockets
        for role in DeviceRole.allCases {
            let name = role == options.role ? "local" : "local-other"
            if let path = sockets[role] { sockets[role] = try DaemonOptions.absolute(path, name) }
        }
        self.sockets = sockets
        started = settings
        self.settings = settings
        self.log = log
    }

    /// Reads the files again.
    func run() {
        var next = settings
        do {
            let changes = try next.reread()
            // Judges the options together, and reads the wake-up commands, before anything changes.
            let options = try DaemonOptions(role: role, settings: next).options()
            node.follow(options.wake, sockets: sockets)
            settings = next
            // A change is written at any level, that of the level itself and all others (CTL-54).
            if changes.contains(where: { !$0.needsRestart }) { log.setThreshold(.info) }
            tell(changes)
            log.setThreshold(next.log)
        } catch let mistakes as OptionMistakes {
            for mistake in mistakes.list { refuse(mistake.text, .outside("key", mistake.key)) }
        } catch {
            refuse((error as? CommandFailure)?.text ?? "\(error)")
        }
    }

    private func refuse(_ reason: String, _ place: LogField...) {
        log.write(
            LogEvent(
                .error, "options not read again, the running ones stay", fields: place + [.outside("reason", reason)]))
    }

    private func tell(_ changes: [SettingChange]) {
        for change in changes where !change.needsRestart {
            log.write(
                LogEvent(
                    .info, "option changed", .text("key", change.name), field("old", change.old, of: change),
                    field("new", change.new, of: change), .text("origin", settings.origin(of: change.name))))
        }
        log.write(LogEvent(.info, "options read again", .integer("changed", changes.count { !$0.needsRestart })))
        let waiting = settings.restartKeys(since: started)
        if !waiting.isEmpty {
            log.write(
                LogEvent(
                    .warning, "options take effect at the next start", .text("keys", waiting.joined(separator: " "))))
        }
    }

    private func field(_ name: StaticString, _ value: SettingValue, of change: SettingChange) -> LogField {
        change.isSecret ? .secret(name) : .outside(name, value.text)
    }
}
