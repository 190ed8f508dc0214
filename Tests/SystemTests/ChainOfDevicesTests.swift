// A chain of three real daemons: the hub's operator reaches the panel behind the gateway with one command, and every
// table names it and the way to it.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct ChainOfDevicesTests {
    /// The hub, and the gateway that carries.
    private let devices: TwoDevices
    private let panel: Program
    private let target: String

    init() async throws {
        let below = "127.0.0.1:\(try FreePort.find())"
        let workspace = Workspace()
        let options = ["--listen", below, "--name", "gateway", "--local-other", workspace["lower.sock"]]
        devices = try await TwoDevices(in: workspace, kioskOptions: options, paired: true)
        panel = try await devices.startSecondary("panel")
        try await devices.join("panel", to: "kiosk")
        try await devices.makeKey()
        target = try await devices.target(of: "kiosk")
    }

    private func sign(_ version: Int, _ value: String) async throws -> String {
        try await devices.sign(version, [value], for: target)
    }

    private func apply(_ file: String, wait: String = "20s") async throws -> Program.Ending {
        try await devices.run("hub", "apply", "--app", TwoDevices.app, "--wait", wait, file)
    }

    private func status(of name: String) async throws -> String {
        try await devices.run(name, "status").output
    }

    /// The line of a table that begins with a name.
    private func line(_ name: String, of table: String, in status: String) -> [Substring]? {
        let part = status.split(separator: "\n", omittingEmptySubsequences: false).drop { !$0.hasPrefix(table) }
            .prefix { !$0.isEmpty }
        return part.first { $0.split(separator: " ").first == Substring(name) }?.split(separator: " ")
    }

    @Test("CFG-100, CTL-36, CTL-37: one command reaches the panel behind the gateway, and each table says so")
    func oneCommand() async throws {
        let app = try await devices.startSample(at: "panel")
        let isKnown = try await eventually {
            try await status(of: "hub").contains("far secondaries")
        }
        try #require(isKnown, "\(devices.hub.errors)\n\(devices.kiosk.errors)")
        let applied = try await apply(try await sign(1, "volume=75"))
        #expect(applied.status == 0, "\(applied)")
        #expect(applied.output.contains("panel (via gateway)  applied"), "\(applied)")
        #expect(applied.errors.contains("panel (via gateway): applied (1 of 1)"), "\(applied)")
        let isShown = try await holds(within: .seconds(10)) { app.output.contains("value volume = 75") }
        #expect(isShown)
        let shown = try await status(of: "hub")
        #expect(line("panel", of: "far secondaries", in: shown)?.contains("gateway") == true, "\(shown)")
        #expect(shown.contains("applied"), "\(shown)")

        // The panel's own word, not the gateway's: one that it refuses is named so above.
        let refused = try await apply(try await sign(2, "volume=101"))
        #expect(refused.status == 1)
        #expect(refused.output.contains("panel (via gateway)  schema"), "\(refused)")
        #expect(try await !status(of: "kiosk").contains("volume"), "the gateway makes nothing its own")

        // The gateway keeps what waits there for the panel when both are killed.
        for program in [panel, app] { program.signal(SIGKILL) }
        for program in [panel, app] { _ = try await program.ending() }
        let third = try await sign(3, "volume=80")
        #expect(try await apply(third, wait: "1s").status == 1)
        try await devices.kiosk.end(by: SIGKILL)
        try await devices.restartKiosk()
        let again = try await devices.startSecondary("panel")
        let late = try await devices.startSample(named: "app-late", at: "panel")
        let isLate = try await holds(within: .seconds(30)) { late.output.contains("value volume = 80") }
        #expect(isLate, "\(late.output)")
        let isReported = try await eventually {
            try await apply(third, wait: "1s").output.contains("applied")
        }
        #expect(isReported, "\(devices.hub.errors)")
        try await again.end(by: SIGTERM)
    }

    /// A command against one of the sockets.
    private func run(at socket: String, _ arguments: String...) async throws -> Program.Ending {
        try await tandem(arguments + ["--device", devices.workspace["\(socket).sock"]], in: devices.workspace)
    }

    private func startReceiver(of app: String, at socket: String) throws -> Program {
        try Program(
            "tandem",
            [
                "receive", "--app", app, "--device", devices.workspace["\(socket).sock"], "--reply",
                "{\"from\":\"\(socket)\"}",
            ], named: "receiver-\(socket)-\(UInt32.random(in: 0 ... .max))", in: devices.workspace)
    }

    /// Whether a message is answered from a socket, now or soon.
    private func isAnswered(of app: String, from sender: String, by receiver: String) async throws -> Bool {
        try await eventually {
            let sent = try await run(at: sender, "send", "--app", app, "--timeout", "2s", "{}")
            return sent.status == 0 && sent.output.contains("\"\(receiver)\"")
        }
    }

    @Test(
        "SES-83, CTL-62, CFG-112: the gateway's apps talk up at one socket and down at the other, and it takes its own")
    func twoSides() async throws {
        let (up, down) = ("org.example.up", "org.example.down")
        var upper = try startReceiver(of: up, at: "kiosk")
        var lower = try startReceiver(of: down, at: "lower")
        let room = try startReceiver(of: up, at: "hub")
        let display = try startReceiver(of: down, at: "panel")
        #expect(try await isAnswered(of: up, from: "hub", by: "kiosk"))
        #expect(try await isAnswered(of: down, from: "panel", by: "lower"))
        upper.signal(SIGTERM)
        lower.signal(SIGTERM)
        for program in [upper, lower] { _ = try await program.ending() }
        #expect(try await isAnswered(of: up, from: "kiosk", by: "hub"))
        #expect(try await isAnswered(of: down, from: "lower", by: "panel"))

        // The identifiers are on their sides, also after the gateway was killed.
        try await devices.kiosk.end(by: SIGKILL)
        try await devices.restartKiosk()
        let wrong = try await startReceiver(of: up, at: "lower").ending()
        #expect(wrong.status != 0 && "\(wrong)".contains("tandem apps remove \(up)"), "\(wrong)")
        upper = try startReceiver(of: up, at: "kiosk")
        lower = try startReceiver(of: down, at: "lower")
        #expect(try await isAnswered(of: up, from: "hub", by: "kiosk"))
        #expect(try await isAnswered(of: down, from: "panel", by: "lower"))
        for socket in ["kiosk", "lower"] {
            let listed = try await run(at: socket, "apps", "list").output
            #expect(
                listed.contains(/org\.example\.up .* secondary/) && listed.contains(/org\.example\.down .* primary/))
        }

        // A configuration for the gateway's own app as the panels' primary.
        let app = try await devices.startSample(at: "lower")
        let own = try await devices.sign(1, ["volume=33"], for: target, as: "primary")
        let applied = try await devices.run("kiosk", "apply", "--app", TwoDevices.app, "--wait", "20s", own)
        #expect(applied.status == 0 && applied.output.contains("applied"), "\(applied)")
        #expect(try await holds(within: .seconds(10)) { app.output.contains("value volume = 33") })
        for program in [upper, lower, room, display, app] { program.signal(SIGTERM) }
        for program in [upper, lower, room, display, app] { _ = try await program.ending() }
    }
}
