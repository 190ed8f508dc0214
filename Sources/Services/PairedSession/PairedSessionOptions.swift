// Options of a host app's session. Everything has a default, so that the same program runs beside a daemon on a device
// and beside the simulator on a developer's machine.

public import TandemBase
import TandemFiles
import TandemReactor
import TandemSession
package import TandemTransport
package import TandemWire

/// How a host app introduces itself (SES-5), and where it looks for its daemon (SES-26).
public struct PairedSessionOptions: Sendable {
    /// The application identifier; nil: the environment's `TANDEM_APPLICATION`, else error 7008.
    public var application: String?
    /// Path of the daemon's local socket, at most 107 bytes; nil: `TANDEM_SOCKET`, else the places of ``role``. A
    /// relative path counts from the working directory at the moment at which the session is made; the limit is for its
    /// absolute form.
    public var socketPath: String?
    /// The daemon to look for in the usual places where both run; nil: the first that answers, the primary's place
    /// first. Ignored with a ``socketPath`` or `TANDEM_SOCKET`: the side of the app is then that of the socket, which
    /// `PairedSession.role` has after the activation.
    public var role: DeviceRole?
    /// This connection takes the application's messages; at most one connection of an application does. Declarations,
    /// such as ``identifier``, have an effect on that one only.
    public var receivesMessages = true
    /// The channels whose items this connection takes; items of other channels wait in the daemon (SES-3). For a
    /// program that takes one sort of item and leaves the rest to another.
    package var channels = Channel.forApps
    /// The application's compiled trust anchor, as PEM text.
    public var anchor: String?
    /// The custom identifier that this device's application declares: 1-256 bytes, no NUL.
    public var identifier: String?
    /// The application's code accepts invalidly signed configuration (its daemon must allow it too).
    public var allowsInvalidSignatures = false
    /// Names of what this application provides, for counterparts to choose by: up to 16 of 1-64 bytes, no NUL.
    public var provides: [String] = []
    /// The application shows a complication, or whatever is worth an urgent transfer.
    public var showsComplication = false
    /// Name and version of the program, for people.
    public var software = "PairedSession \(PairedSession.version)"
    /// Called once for each `activate()` that waits longer than a second because no daemon answers, with the addresses
    /// and their errors, or because one end refused the connection, with the reason. By default it writes a line to
    /// standard error; nil: nothing.
    public var onMissingDaemon: (@Sendable (String) -> Void)? = { failure in
        // A program without standard error gets no report.
        PairedLog.writeToStandardError("PairedSession: no daemon yet, trying again: \(failure)")
    }

    /// Options with the two that an app may need; all others are properties.
    public init(application: String? = nil, socketPath: String? = nil) {
        self.application = application
        self.socketPath = socketPath
    }
}

/// The checked form of the options.
package struct SessionSettings: Sendable {
    package let application: ApplicationIdentifier
    let registration: TandemSession.Registration
    package let addresses: [SocketAddress]
    /// The daemon by its addresses: two daemons of one machine are two devices.
    package var daemon: String { addresses.map(\.description).joined(separator: " ") }
    /// The capabilities of this end's hello, with the channels that it takes.
    let capabilities: [Capability]
    let software: String
    let onMissingDaemon: (@Sendable (String) -> Void)?

    package init(
        _ options: PairedSessionOptions, environment: (String) -> String? = Linux.environment
    ) throws(SessionError) {
        application = try Self.application(options.application ?? environment("TANDEM_APPLICATION"))
        registration = TandemSession.Registration(
            receives: options.receivesMessages, anchor: options.anchor,
            identifier: try Self.identifier(options.identifier),
            allowsInvalidSignatures: options.allowsInvalidSignatures, features: try Self.features(options))
        addresses = try Self.addresses(options, environment)
        capabilities = Capability.allCases.filter { capability in
            guard let channel = capability.channel, channel.isForApps else { return true }
            return options.channels.contains(channel)
        }
        software = options.software
        onMissingDaemon = { failure in
            PairedLog.write(LogEvent(.warning, "no daemon yet", .outside("reason", failure)))
            options.onMissingDaemon?(failure)
        }
    }

    private static func application(_ text: String?) throws(SessionError) -> ApplicationIdentifier {
        guard let text else {
            throw SessionError(
                .invalidParameter, .application,
                reason: "no application identifier: give one, or set TANDEM_APPLICATION")
        }
        do { return try ApplicationIdentifier(text) } catch {
            throw SessionError(.invalidParameter, .application, reason: "\(error)")
        }
    }

    /// The registration with what an installed configuration declares in place of the options, but for its anchor: that
    /// is the role's (CFG-111).
    func registration(with configuration: InstalledConfiguration) throws(SessionError) -> TandemSession.Registration {
        var features = registration.features
        features.identity = configuration.identity
        return TandemSession.Registration(
            receives: registration.receives, identifier: try Self.identifier(configuration.identifier),
            allowsInvalidSignatures: configuration.allowsInvalidSignatures, features: features,
            schema: configuration.schema?.digest, questions: ProvidedNames(configuration.questions) ?? .none)
    }

    private static func identifier(_ text: String?) throws(SessionError) -> CustomIdentifier? {
        guard let text else { return nil }
        do { return try CustomIdentifier(text) } catch {
            throw SessionError(.invalidParameter, .identifier, reason: "\(error)")
        }
    }

    private static func features(_ options: PairedSessionOptions) throws(SessionError) -> ApplicationFeatures {
        guard let provides = ProvidedNames(options.provides) else {
            throw SessionError(
                .invalidParameter, .provides,
                reason: "an application provides at most 16 names of 1 to 64 bytes without NUL")
        }
        return ApplicationFeatures(provides: provides, hasComplication: options.showsComplication)
    }

    private static func addresses(
        _ options: PairedSessionOptions, _ environment: (String) -> String?
    ) throws(SessionError) -> [SocketAddress] {
        do {
            // Absolute: the session dials for as long as it lives, and the address is also the daemon's name.
            let named = options.socketPath.map(AbsolutePath.of)
            if let path = named ?? environment("TANDEM_SOCKET").map(AbsolutePath.ofVariable) {
                return [try SocketAddress.unix(checking: path)]
            }
            let roles = options.role.map { [$0] } ?? DeviceRole.allCases
            let runtime = environment("XDG_RUNTIME_DIR").map { AbsolutePath.ofVariable($0) + "/tandem" }
            let folders = [runtime, "/run/tandem"].compactMap(\.self)
            var addresses: [SocketAddress] = []
            for folder in folders {
                for role in roles {
                    addresses.append(try SocketAddress.unix(checking: "\(folder)/\(role.rawValue).sock"))
                }
            }
            return addresses
        } catch {
            throw SessionError(.invalidParameter, .socket, reason: "\(error)")
        }
    }
}
