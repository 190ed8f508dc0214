// `send`, `receive`, `context` and `transfers` are host apps in one line: the same library, socket and rules as any
// other app.

import PairedSession
import TandemBase

/// What the commands that are host apps have in common.
enum HostSession {
    /// For the daemon to take the app; the counterpart has a time of its own (`--timeout`).
    static let patience = Duration.seconds(10)
}

extension Arguments {
    /// The session of the app that `--app` names, with the daemon that `--device` names; not activated yet.
    func session(receives: Bool) throws -> PairedSession {
        var options = PairedSessionOptions(
            application: try application().description, socketPath: try DaemonChoice(device: value("device")).path())
        options.receivesMessages = receives
        options.software = "tandem \(Version.text)"
        return try PairedSession(options)
    }
}
