// A primary (hub) and a secondary (kiosk) of this build in one workspace, started, paired and restarted as a test
// needs.

import Foundation
import PairedSession
import Synchronization
import TandemPropertyList
import Testing

final class TwoDevices {
    static let app = "org.example.lamp"

    let workspace: Workspace
    /// Where the hub accepts links; the same after a restart.
    let address: String
    private(set) var hub: Program
    private(set) var kiosk: Program
    private var starts = 0

    /// Options of each daemon, at each start.
    private let hubOptions: [String]
    private let kioskOptions: [String]

    /// Starts both and waits until they serve their sockets.
    /// - Parameters:
    ///   - port: where the hub accepts links; by default a free one.
    ///   - advertised: the port that the kiosk dials, if there is something in between.
    ///   - hubEnvironment: for the hub's first start only.
    ///   - paired: with each other, too.
    init(
        overUnixSocket: Bool = false, port: UInt16? = nil, advertised: UInt16? = nil, in workspace: Workspace? = nil,
        hubOptions: [String] = [], kioskOptions: [String] = [], hubEnvironment: [String: String] = [:],
        paired: Bool = false
    ) async throws {
        let workspace = workspace ?? Workspace()
        self.workspace = workspace
        address = overUnixSocket ? "unix:\(workspace["link.sock"])" : "127.0.0.1:\(try port ?? FreePort.find())"
        let advertise = advertised.map { ["--advertise", "127.0.0.1:\($0)"] } ?? []
        self.hubOptions = ["--listen", address] + advertise + hubOptions
        self.kioskOptions = kioskOptions
        hub = try Self.start("hub", "primary", self.hubOptions, in: workspace, 0, environment: hubEnvironment)
        kiosk = try Self.start("kiosk", "secondary", kioskOptions, in: workspace, 0)
        try await waitUntilReady(hub)
        try await waitUntilReady(kiosk)
        if paired { try await pair() }
    }

    /// Pairs them with a link and waits until the kiosk is linked.
    func pair() async throws {
        try await join("kiosk")
        try #require(await isLinked(), "\(hub.errors)\n\(kiosk.errors)")
    }

    /// Pairs a secondary by a link of a primary.
    func join(_ name: String, to primary: String = "hub") async throws {
        let link = try await tandem("pair", "--device", workspace["\(primary).sock"], "--link-only", in: workspace)
        try #require(link.status == 0, "\(link)")
        let joined = try await tandem("join", "--device", workspace["\(name).sock"], in: workspace, input: link.output)
        try #require(joined.status == 0, "\(joined)")
    }

    /// Starts the daemon of a further secondary.
    func startSecondary(_ name: String) async throws -> Program {
        starts += 1
        let program = try Self.start(name, "secondary", [], in: workspace, starts)
        try await waitUntilReady(program)
        return program
    }

    /// A key pair for the sample app's configurations: `signing` and `signing.pub` by default.
    func makeKey(_ name: String = "signing") async throws {
        let made = try await tandem("keys", "new", "--out", name, in: workspace)
        try #require(made.status == 0, "\(made)")
    }

    /// The target of configurations that a device's apps deliver.
    func target(of name: String = "hub") async throws -> String {
        let status = try await status(of: name)
        return "vendor:\(try #require(status.firstMatch(of: /"device":"([0-9A-F-]{36})"/)).1)"
    }

    /// Signs a configuration for the sample app and returns its file.
    func sign(
        _ version: Int, _ values: [String], for target: String, by key: String = "signing",
        as role: String = "secondary"
    ) async throws -> String {
        let file = "v\(version)-\(UInt32.random(in: 0 ... .max))"
        let fixed = ["sign", "--key", key, "--app", Self.app, "--role", role, "--target", target]
        let more = ["--version", "\(version)", "--out", file] + values.flatMap { ["--set", $0] }
        let signed = try await tandem(fixed + more, in: workspace)
        #expect(signed.status == 0, "\(signed)")
        return file
    }

    static var sampleBundle: String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        return root.appending(path: "Sources/Commands/SampleApp/Settings.bundle").standardizedFileURL.path
    }

    /// The sample app, which trusts a key and has shown its values.
    /// - Parameters:
    ///   - socket: the name of the device's socket.
    ///   - options: more of the app's options.
    func startSample(
        named name: String = "app", at socket: String = "kiosk", trusting key: String = "signing.pub",
        _ options: String...
    ) async throws -> Program {
        let arguments = ["--device", workspace["\(socket).sock"], "--key", workspace[key]] + options
        let app = try Program("SampleApp", arguments, named: name, in: workspace)
        try #require(try await holds(within: .seconds(20)) { app.output.contains("value volume") }, "\(app.errors)")
        return app
    }

    func restartHub() async throws {
        starts += 1
        hub = try Self.start("hub", "primary", hubOptions, in: workspace, starts)
        try await waitUntilReady(hub)
    }

    func restartKiosk(environment: [String: String] = [:]) async throws {
        starts += 1
        kiosk = try Self.start("kiosk", "secondary", kioskOptions, in: workspace, starts, environment: environment)
        try await waitUntilReady(kiosk)
    }

    /// Whether the hub reports an active pairing with a link, now or soon.
    func isLinked(within limit: Duration = .seconds(20)) async throws -> Bool {
        let end = ContinuousClock().now + limit * Load.factor
        while ContinuousClock().now < end {
            let status = try await status(of: "hub")
            if status.contains("\"state\":\"active\""), !status.contains("\"level\":\"unreachable\"") { return true }
            try await Task.sleep(for: .milliseconds(100))
        }
        return false
    }

    /// A daemon's status as JSON.
    func status(of name: String) async throws -> String {
        try await tandem("status", "--json", "--device", workspace["\(name).sock"], in: workspace).output
    }

    /// Runs a command against one of the two.
    @discardableResult
    func run(_ name: String, _ arguments: String...) async throws -> Program.Ending {
        let call = "call-\(UInt32.random(in: 0 ... .max))"
        let device = ["--device", workspace["\(name).sock"]]
        // Options go before operands, because an operand may follow `--`.
        let program = try Program(
            "tandem", [arguments[0]] + device + arguments.dropFirst(), named: call, in: workspace)
        return try await program.ending()
    }

    /// Starts a command against one of the two and does not wait for its end.
    func start(_ name: String, _ arguments: String...) throws -> Program {
        let device = ["--device", workspace["\(name).sock"]]
        return try Program(
            "tandem", [arguments[0]] + device + arguments.dropFirst(), named: "call-\(UInt32.random(in: 0 ... .max))",
            in: workspace)
    }

    /// A host app in one line that answers on one of the two.
    func receiver(on name: String, reply: String = #"{"from":"receiver"}"#) throws -> Program {
        let arguments = ["receive", "--app", Self.app, "--device", workspace["\(name).sock"], "--reply", reply]
        return try Program("tandem", arguments, named: "receiver-\(name)", in: workspace)
    }

    /// Whether a message from one of the two is answered, now or soon.
    func isAnswered(from name: String, within limit: Duration = .seconds(20)) async throws -> Bool {
        let end = ContinuousClock().now + limit * Load.factor
        repeat {
            let sent = try await run(name, "send", "--app", Self.app, "--timeout", "2s", #"{"are":"you there"}"#)
            if sent.status == 0 { return true }
            try await Task.sleep(for: .milliseconds(200))
        } while ContinuousClock().now < end
        return false
    }

    private func waitUntilReady(_ program: Program) async throws {
        let isReady = try await holds(within: .seconds(20)) { program.output.contains("ready") || !program.isRunning }
        try #require(isReady && program.isRunning, "\(program.output)\(program.errors)")
    }

    private static func start(
        _ name: String, _ role: String, _ options: [String], in workspace: Workspace, _ number: Int,
        environment: [String: String] = [:]
    ) throws -> Program {
        let place = [role, "--state", workspace[name], "--local", workspace["\(name).sock"]]
        let fixed = options.contains("--name") ? place : place + ["--name", name]
        return try Program(
            "tandem", fixed + options, named: "\(name)-\(number)", in: workspace, environment: environment)
    }
}

/// The apps of one identifier on both devices.
final class DeviceApps: Sendable {
    let sender: PairedSession
    let receiver: PairedSession
    private let seen = Mutex<[Int64]>([])

    /// - Parameter sending: the device whose app queues; the other's receives.
    init(
        _ workspace: Workspace, from sending: String = "hub", app: String = TwoDevices.app, identifier: String? = nil
    ) throws {
        func session(_ device: String) throws -> PairedSession {
            var options = PairedSessionOptions(application: app, socketPath: workspace["\(device).sock"])
            options.identifier = device == "hub" ? identifier : nil
            return try PairedSession(options)
        }
        sender = try session(sending)
        receiver = try session(sending == "hub" ? "kiosk" : "hub")
    }

    /// Registers both apps and waits until they reach each other; the receiver answers messages and handles items.
    func activate() async throws {
        receiver.handleMessages { _ in ["ok": true] }
        receiver.handleUserInfo { [self] info in
            let number = info.userInfo["n"]?.integerValue ?? -1
            seen.withLock { $0.append(number) }
        }
        try await receiver.activate(timeout: .seconds(20))
        try await sender.activate(timeout: .seconds(20))
        try await untilReachable()
    }

    /// The numbers of the items that the handler saw, in their order.
    var received: [Int64] { seen.withLock { $0 } }

    @discardableResult
    func queue(_ number: Int64, padding: Int = 0) async throws(SessionError) -> Transfer {
        try await sender.transferUserInfo([
            "n": .integer(number), "padding": .data([UInt8](repeating: 1, count: padding)),
        ])
    }

    /// Waits until the counterpart can be reached at once.
    func untilReachable() async throws {
        #expect(try await eventually { sender.reachability.isImmediate })
    }

    /// How long each of some questions took, the shortest first.
    func askedTimes(_ count: Int) async throws -> [Duration] {
        var times: [Duration] = []
        for number in 0..<count {
            let begun = ContinuousClock.now
            _ = try await sender.sendMessage(["n": .integer(Int64(number))], timeout: .seconds(20))
            times.append(ContinuousClock.now - begun)
        }
        return times.sorted()
    }

    func end() async {
        await sender.end()
        await receiver.end()
    }
}
