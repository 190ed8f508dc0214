// Which running daemon a command talks to: the one named by --device, else by TANDEM_SOCKET, else the only one that
// runs. Two running daemons are never chosen between: a pairing made on the wrong one would be a surprise.

import TandemBase

/// Finds a daemon's local socket.
struct DaemonChoice {
    /// The value of `--device`: a role, or a path with a slash.
    let device: String?
    /// The role whose daemon the command is for, if it is for one only.
    var role: DeviceRole?
    var environment = Environment()

    /// The socket's path.
    func path() throws(CommandFailure) -> String {
        guard let device else { return try chosenByDefault() }
        if device.contains("/") { return device }
        guard let named = DeviceRole(rawValue: device) else {
            throw .usage("--device '\(device)' is none of primary, secondary, or a path with a slash in it")
        }
        guard let path = running(named).first else { throw .unanswered(nothing(of: [named])) }
        return path
    }

    private func chosenByDefault() throws(CommandFailure) -> String {
        if let path = environment.value("TANDEM_SOCKET") { return path }
        let roles = role.map { [$0] } ?? DeviceRole.allCases
        let found = roles.compactMap { role in running(role).first.map { (role: role, path: $0) } }
        guard let first = found.first else { throw .unanswered(nothing(of: roles)) }
        guard found.count == 1 else {
            let list = found.map { "\($0.role.rawValue) (\($0.path))" }.joined(separator: " and ")
            throw .usage("two daemons are running: \(list); name one with --device primary|secondary|PATH")
        }
        return first.path
    }

    private func running(_ role: DeviceRole) -> [String] {
        LocalSockets.candidates(for: role, environment).filter(LocalSockets.isServed)
    }

    private func nothing(of roles: [DeviceRole]) -> String {
        let places = roles.flatMap { LocalSockets.candidates(for: $0, environment) }.joined(separator: ", ")
        return "no daemon is running (looked at \(places)); start one, or name its socket with --device PATH"
    }
}
