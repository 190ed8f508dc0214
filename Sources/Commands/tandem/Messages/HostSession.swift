// `send` and `receive` are host apps in one line: the same library, socket and rules as any other app.

import PairedSession
import TandemIdentity

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
