// Options of the daemons, each with its default in one place: command line, then environment, then the role's usual
// path. The node checks what only the machine knows.

import Glibc
import TandemBase
import TandemDaemon
import TandemTransport

/// Turns a daemon's arguments into a node's options.
struct DaemonOptions {
    /// The port of device links when none is named.
    static let port: UInt16 = 4747

    let role: DeviceRole
    let arguments: Arguments
    var environment = Environment()

    static let table: [Option] = [
        .valued("state", "DIR", "where the device's keys and queues live (deleting it is the uninstall)"),
        .valued("local", "PATH", "Unix socket for host apps and commands"),
        .valued("local-group", "GROUP", "let this group use the local socket too"),
        Option.valued("listen", "ADDRESS", "accept device links: HOST:PORT, HOST or unix:PATH").repeated,
        .valued("advertise", "ADDRESS", "what join links name, when listening on a wildcard"),
        .valued("name", "NAME", "the device's name for people (default: the host's name)"),
        .valued("wake", "FILE", "how to start host apps for which items wait (see below)"),
        .flag("allow-invalid-signatures", "the daemon's half of accepting invalidly signed configuration"),
        LogOption.option,
    ]

    func options() throws -> NodeOptions {
        var options = NodeOptions(
            role: role, name: try name(), state: try Self.absolute(try state(), "state"), local: try local())
        options.localGroup = arguments.value("local-group")
        options.advertise = try arguments.value("advertise").map(Self.address)
        options.listen = try listen(advertises: options.advertise != nil)
        options.wake = try arguments.value("wake").map { try WakeCommands(path: $0) }
        // Programs that it starts do not run in this directory.
        if options.wake != nil {
            options.local = try Self.absolute(options.local, "local")
            do { _ = try SocketAddress.unix(checking: options.local) } catch {
                throw CommandFailure.usage("--local: \(error)")
            }
        }
        options.allowsInvalidSignatures = arguments.has("allow-invalid-signatures")
        return options
    }

    /// The options of a device that only joins and serves nobody: its state and its name.
    func withoutSockets() throws -> NodeOptions {
        NodeOptions(role: role, name: try name(), state: try Self.absolute(try state(), "state"), local: "")
    }

    /// The state directory that was named, or the usual one.
    func state() throws(CommandFailure) -> String {
        if let path = arguments.value("state") ?? environment.value("STATE_DIRECTORY") { return path }
        if geteuid() == 0 { return "/var/lib/tandem/\(role.rawValue)" }
        if let home = environment.value("XDG_STATE_HOME") { return "\(home)/tandem/\(role.rawValue)" }
        if let home = environment.value("HOME") { return "\(home)/.local/state/tandem/\(role.rawValue)" }
        throw .usage("--state DIR is missing, and neither STATE_DIRECTORY, XDG_STATE_HOME nor HOME is set")
    }

    private func local() throws -> String {
        guard let path = arguments.value("local") ?? LocalSockets.own(for: role, environment) else {
            throw CommandFailure.usage("--local PATH is missing, and XDG_RUNTIME_DIR is not set")
        }
        // Checked here so that a long path is a wrong call and not a failed start.
        do { _ = try SocketAddress.unix(checking: path) } catch { throw CommandFailure.usage("--local: \(error)") }
        return path
    }

    /// Apps get paths in the state directory, and run elsewhere.
    private static func absolute(_ path: String, _ option: String) throws(CommandFailure) -> String {
        if path.hasPrefix("/") { return path }
        guard let directory = getcwd(nil, 0) else { throw .usage("--\(option) must be an absolute path here") }
        defer { free(directory) }
        return String(cString: directory) + "/" + (path.hasPrefix("./") ? String(path.dropFirst(2)) : path)
    }

    private func listen(advertises: Bool) throws -> [SocketAddress] {
        let named = try arguments.all("listen").map(Self.address)
        if !named.isEmpty || role == .secondary { return named }
        // Without an option no other machine can connect.
        return [.tcp(host: advertises ? "0.0.0.0" : "127.0.0.1", port: Self.port)]
    }

    private func name() throws(CommandFailure) -> String {
        let name = arguments.value("name") ?? Self.hostName
        guard (1...64).contains(name.utf8.count), !name.utf8.contains(0) else {
            throw .usage("--name must have 1 to 64 bytes")
        }
        return name
    }

    /// An address; a host alone gets the usual port.
    private static func address(_ text: String) throws(CommandFailure) -> SocketAddress {
        let isBare = !text.contains(":") || (text.hasPrefix("[") && text.hasSuffix("]"))
        do { return try SocketAddress(isBare ? "\(text):\(port)" : text) } catch { throw .usage("\(error)") }
    }

    private static var hostName: String {
        var bytes = [CChar](repeating: 0, count: 65)
        let count = gethostname(&bytes, bytes.count - 1) == 0 ? bytes.prefix { $0 != 0 }.count : 0
        return count == 0
            ? "device" : String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
