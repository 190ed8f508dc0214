// Choice of the daemon that a command talks to: --device, else TANDEM_SOCKET, else the only running one. With two
// running daemons and no name the command fails: a pairing made on the wrong one would be a surprise.

// Glibc: the environment, which belongs to the process, and its effective user.
import Glibc
package import TandemBase
package import TandemOperations
import TandemReactor
import TandemTransport

/// Finds a daemon's local socket.
package struct DaemonChoice {
    /// The value of `--device`: a role, or a path with a slash.
    package let device: String?
    /// The role whose daemon the command is for, if it is for one only.
    package let role: DeviceRole?
    private let environment: Environment

    /// A choice.
    /// - Parameters:
    ///   - device: the value of `--device`.
    ///   - role: the role that the command needs.
    package init(device: String?, role: DeviceRole? = nil, environment: Environment = Environment()) {
        self.device = device
        self.role = role
        self.environment = environment
    }

    /// The socket's path.
    package func path() throws(CommandFailure) -> String {
        guard let device else { return try chosenByDefault() }
        if device.contains("/") { return device }
        guard let named = DeviceRole(word: device) else {
            throw .usage("--device '\(device)' is none of primary, secondary, or a path with a slash in it")
        }
        guard let path = try running(named) else { throw try nothing(of: [named]) }
        return path
    }

    private func chosenByDefault() throws(CommandFailure) -> String {
        if let path = try environment.value("TANDEM_SOCKET") { return path }
        let roles = role.map { [$0] } ?? DeviceRole.allCases
        var found: [(role: DeviceRole, path: String)] = []
        for role in roles {
            if let path = try running(role) { found.append((role: role, path: path)) }
        }
        guard let first = found.first else { throw try nothing(of: roles) }
        guard found.count == 1 else {
            let list = found.map { "\($0.role.rawValue) (\($0.path))" }.joined(separator: " and ")
            throw .usage("two sockets are served: \(list); name one with --device primary|secondary|PATH")
        }
        return first.path
    }

    private func running(_ role: DeviceRole) throws(CommandFailure) -> String? {
        try LocalSockets.candidates(for: role, environment).first(where: SocketAddress.isServed)
    }

    /// A socket that this user may not open counts as a running daemon.
    private func nothing(of roles: [DeviceRole]) throws(CommandFailure) -> CommandFailure {
        var paths: [String] = []
        for role in roles { paths += try LocalSockets.candidates(for: role, environment) }
        let found = paths.filter { ((try? Linux.lookAt(path: $0)) ?? nil) != nil }
        if let obstacle = found.lazy.compactMap({ LocalSockets.obstacle(at: $0) }).first {
            return CommandFailure(obstacle)
        }
        return .unanswered("no daemon is running (looked at \(paths.joined(separator: ", ")))", at: paths)
    }
}

/// The default paths of daemons' local sockets.
package enum LocalSockets {
    /// The paths to look at, in order.
    package static func candidates(
        for role: DeviceRole, _ environment: Environment
    ) throws(CommandFailure) -> [String] {
        [try ofUser(role, environment), ofService(role)].compactMap(\.self)
    }

    private static func ofUser(_ role: DeviceRole, _ environment: Environment) throws(CommandFailure) -> String? {
        let directory = try environment.value("XDG_RUNTIME_DIR")
        return directory.map { "\($0)/tandem/\(role.rawValue).sock" }
    }

    /// The socket of the package's service, and of a daemon that root starts.
    static func ofService(_ role: DeviceRole) -> String { "/run/tandem/\(role.rawValue).sock" }

    /// The default for a daemon of this user; nil if there is none.
    package static func own(for role: DeviceRole, _ environment: Environment) throws(CommandFailure) -> String? {
        if let path = try ofUser(role, environment) { return path }
        return geteuid() == 0 ? ofService(role) : nil
    }

    /// Why no daemon can be asked through a socket, if waiting does not change that (CTL-73): for a command that would
    /// wait for a daemon. It looks at the file, and connects to nothing.
    package static func obstacle(at path: String) -> ControlError? {
        do throws(SocketAddressError) { _ = try SocketAddress.unix(checking: path) } catch {
            return .unusable("\(error)")
        }
        do throws(SystemError) { try Linux.checkAccess(path: path, W_OK) } catch {
            // EPERM may be the answer to the question alone: a connection is tried.
            return obstacle(at: path, error.errno == EPERM ? nil : error)
        }
        return obstacle(at: path, nil)
    }

    /// The same after an attempt to connect, or after a look, with its error.
    static func obstacle(at path: String, _ error: SystemError?) -> ControlError? {
        SocketObstacle.text(path: path, error: error?.name, place: place(at: path)).map { .unusable($0) }
    }

    private static func place(at path: String) -> SocketPathEntry {
        guard let entry = (try? Linux.lookAt(path: path)) ?? nil else { return .unseen }
        if entry.isRegular { return .file }
        if entry.isDirectory { return .directory }
        return .socket(owner: Linux.userName(of: entry.owner) ?? "user \(entry.owner)")
    }
}

/// The process's environment; a variable that is set to nothing counts as unset.
package struct Environment: Sendable {
    private let overrides: [String: String]?

    /// The process's own.
    package init() { overrides = nil }

    /// An environment of these variables only.
    package init(_ variables: [String: String]) { overrides = variables }

    /// The value of a variable; nil if it is unset or empty.
    /// - Throws: `usage` if the bytes are not UTF-8 (CTL-52): with replacement characters they would name another file.
    package func value(_ name: String) throws(CommandFailure) -> String? {
        if let overrides { return overrides[name].flatMap { $0.isEmpty ? nil : $0 } }
        guard let bytes = getenv(name), bytes.pointee != 0 else { return nil }
        guard let value = String(validatingCString: bytes) else { throw .usage("\(name) is not UTF-8 text") }
        return value
    }
}
