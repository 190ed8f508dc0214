// Options of a node as a daemon's settings and the machine have them: the defaults are here. The node checks what only
// the machine knows.

import Glibc
import TandemBase
import TandemControl
import TandemDaemon
import TandemFiles
import TandemTransport

/// Turns a daemon's settings into a node's options.
struct DaemonOptions {
    /// The port of device links when none is named.
    static let port: UInt16 = 4747

    let role: DeviceRole
    let settings: DaemonSettings
    var environment = Environment()

    static let table: [Option] =
        [.valued("config", "FILE", "property list with options; the command line and TANDEM_ variables go first")]
        + DaemonOption.all.map(\.option)

    /// Reads the file of wake-up commands, too.
    func options() throws -> NodeOptions {
        var options = NodeOptions(
            role: role, name: name, state: try Self.absolute(try state(), "state"), local: try local())
        options.localOther = settings.text(.localOther)
        options.localGroup = settings.text(.localGroup)
        let listen = try listen()
        options.listen = listen
        options.advertise = try settings.text(.advertise).map { try Self.advertised($0, listening: listen) }
        if let wake = settings.text(.wake) {
            options.wake = try WakeCommands(path: wake)
            // Programs that it starts do not run in this directory.
            options.local = try Self.absoluteSocket(options.local, .local)
            options.localOther = try options.localOther.map { try Self.absoluteSocket($0, .localOther) }
        }
        options.allowsInvalidSignatures = settings.isOn(.allowInvalidSignatures)
        try options.check()
        return options
    }

    /// The options of a device that only joins and serves nobody: its state and its name.
    func withoutSockets() throws -> NodeOptions {
        NodeOptions(role: role, name: name, state: try Self.absolute(try state(), "state"), local: "")
    }

    /// The state directory that was named, or the usual one; nil if nothing says where that is.
    func knownState() throws(CommandFailure) -> String? {
        if let path = settings.text(.state) { return path }
        if let path = try environment.value("STATE_DIRECTORY") { return path }
        if geteuid() == 0 { return "/var/lib/tandem/\(role.rawValue)" }
        if let home = try environment.value("XDG_STATE_HOME") { return "\(home)/tandem/\(role.rawValue)" }
        return try environment.value("HOME").map { "\($0)/.local/state/tandem/\(role.rawValue)" }
    }

    private func state() throws(CommandFailure) -> String {
        guard let path = try knownState() else {
            throw .usage("--state DIR is missing, and neither STATE_DIRECTORY, XDG_STATE_HOME nor HOME is set")
        }
        return path
    }

    private func local() throws(CommandFailure) -> String {
        if let path = settings.text(.local) { return path }
        guard let path = try LocalSockets.own(for: role, environment) else {
            throw .usage("--local PATH is missing, and XDG_RUNTIME_DIR is not set")
        }
        return path
    }

    /// Apps get paths in the state directory, and run elsewhere.
    static func absolute(_ path: String, _ option: String) throws(CommandFailure) -> String {
        let absolute = AbsolutePath.of(path)
        guard absolute.hasPrefix("/") else { throw .usage("--\(option) must be an absolute path here") }
        return absolute
    }

    private static func absoluteSocket(_ path: String, _ option: DaemonOption) throws(CommandFailure) -> String {
        let path = try absolute(path, option.optionName)
        do { _ = try SocketAddress.unix(checking: path) } catch {
            throw .usage("--\(option.optionName): \(error)")
        }
        return path
    }

    private func listen() throws -> [SocketAddress] {
        let named = try settings.texts(.listen).map { try Self.absoluteAddress($0, of: .listen) }
        if !named.isEmpty || role == .secondary { return named }
        // Without an option no other machine can connect.
        let host = settings.text(.advertise) == nil ? "127.0.0.1" : "0.0.0.0"
        return [.tcp(host: host, port: Self.port)]
    }

    /// The address that join links name; a host alone gets the only port that the daemon listens on.
    private static func advertised(
        _ text: String, listening: [SocketAddress]
    ) throws(CommandFailure) -> SocketAddress {
        let address = try absoluteAddress(text, of: .advertise)
        guard isBare(text), case .tcp(let host, _) = address else { return address }
        let ports = Set(
            listening.compactMap { listen in
                if case .tcp(_, let port) = listen { port } else { nil }
            })
        guard let only = ports.first else { return address }
        guard ports.count == 1, only != 0 else {
            let places = listening.map(\.description).joined(separator: " and ")
            throw .usage("--advertise '\(text)' needs a port: the daemon listens at \(places)")
        }
        return .tcp(host: host, port: only)
    }

    private var name: String { settings.text(.name) ?? Self.hostName }

    /// An address; a host alone gets the usual port.
    static func address(_ text: String) throws(SocketAddressError) -> SocketAddress {
        try SocketAddress(isBare(text) ? "\(text):\(port)" : text)
    }

    /// Whether a text is a host without a port.
    private static func isBare(_ text: String) -> Bool {
        !text.contains(":") || (text.hasPrefix("[") && text.hasSuffix("]"))
    }

    /// An address with an absolute path: a daemon that reads it in a join link has another working directory, and so
    /// may the one that gets it from a command.
    /// - Parameter option: the option whose value it is; nil: an argument.
    static func absoluteAddress(
        _ text: String, of option: DaemonOption? = nil
    ) throws(CommandFailure) -> SocketAddress {
        do throws(SocketAddressError) {
            let address = try address(text)
            guard case .unix(let path) = address else { return address }
            return try .unix(checking: AbsolutePath.of(path))
        } catch {
            let place = option.map { "--\($0.optionName) " } ?? ""
            throw .usage("\(place)'\(text)': \(error)")
        }
    }

    private static var hostName: String {
        var bytes = [CChar](repeating: 0, count: 65)
        let count = gethostname(&bytes, bytes.count - 1) == 0 ? bytes.prefix { $0 != 0 }.count : 0
        return count == 0
            ? "device" : String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
