// `tandem apply --first N` with real daemons and host apps: the first secondary decides, a hub that is killed goes on
// with it, and status says how far it is.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct RolloutCommandTests {
    /// The hub, and the kiosk, which by its name comes before the panel.
    private let devices: TwoDevices
    private let panel: Program
    private let target: String

    init() async throws {
        devices = try await TwoDevices(paired: true)
        panel = try await devices.startSecondary("panel")
        try await devices.join("panel")
        try await devices.makeKey()
        target = try await devices.target()
    }

    private func startApp(at name: String, _ attempt: Int = 1) async throws -> Program {
        try await devices.startSample(named: "app-\(name)-\(attempt)", at: name)
    }

    private func sign(_ version: Int, volume: Int) async throws -> String {
        try await devices.sign(version, ["volume=\(volume)"], for: target)
    }

    private func apply(_ file: String, _ options: String...) async throws -> Program.Ending {
        let place = ["--app", TwoDevices.app, "--device", devices.workspace["hub.sock"]]
        return try await tandem(["apply"] + place + options + [file], in: devices.workspace)
    }

    private func shows(_ app: Program, _ volume: Int) async throws -> Bool {
        try await holds(within: .seconds(20)) { app.output.contains("value volume = \(volume)\n") }
    }

    private func listed() async throws -> String {
        let workspace = devices.workspace
        return try await tandem("configuration", "list", "--device", workspace["hub.sock"], in: workspace).output
    }

    private func eventuallyListed(_ text: String) async throws -> Bool {
        try await eventually { try await listed().contains(text) }
    }

    @Test("CFG-79, CTL-25: --first 1 goes on when the first app lives with it, also over a kill of the hub")
    func goesOn() async throws {
        let (before, other) = (try await startApp(at: "kiosk"), try await startApp(at: "panel"))
        let file = try await sign(1, volume: 61)
        let begun = try await apply(file, "--first", "1", "--wait", "2s")
        #expect(begun.status == 1, "\(begun)")
        #expect(begun.output.contains("kiosk  applied") && begun.output.contains("panel  held-back"), "\(begun)")
        #expect(try await shows(before, 61))
        #expect(try await listed().contains("waiting for the first"))
        #expect(try await devices.run("hub", "status").output.contains("waiting for the first"), "CTL-23")
        let metrics = try await devices.run("hub", "status", "--prometheus").output
        for (name, value) in [("current", 1), ("drifted", 0)] {
            let labels = #"role="primary",app="[^"]+",target="vendor:[^"]+",pairing="[^"]+",name="kiosk""#
            let row = #"tandem_configuration_\#(name)\{\#(labels)\} \#(value)"#
            #expect(metrics.contains(try Regex(row)), "CTL-66: \(metrics)")
        }
        try await devices.hub.end(by: SIGKILL)
        try await devices.restartHub()
        try #require(await devices.isLinked())
        #expect(try await listed().contains("waiting for the first"), "the state is durable")
        #expect(!other.output.contains("value volume = 61\n"))
        // The app answers a message, by which it says that it works, and its daemon reads that at its next start.
        let isAnswered = try await eventually {
            try await devices.run("hub", "send", "--app", TwoDevices.app, "--all", "{\"are\":\"you well\"}").output
                .contains("\"sent\":true")
        }
        #expect(isAnswered)
        try await before.end(by: SIGTERM)
        let first = try await startApp(at: "kiosk", 2)
        #expect(try await shows(other, 61))
        #expect(try await apply(file).status == 0)
        #expect(try await !listed().contains("waiting for the first"))
        #expect(try await shows(first, 61))
    }

    @Test("CFG-34, CFG-79, SES-22: a rollout and a lifetime against a simulator, as against devices")
    func inASimulator() async throws {
        let workspace = devices.workspace
        let place = workspace["sim"]
        let simulator = try Program(
            "tandem", ["simulate", "--local", place, "--secondaries", "2"], named: "simulator", in: workspace)
        try #require(await holds(within: .seconds(20)) { simulator.output.contains("ready") }, "\(simulator.errors)")
        let target = try await devices.target(of: "sim/primary")
        var apps: [Program] = []
        for name in ["secondary", "secondary-2"] {
            apps.append(try await devices.startSample(named: "simulated-\(name)", at: "sim/\(name)"))
        }
        func apply(_ version: Int, _ more: String..., options: String...) async throws -> Program.Ending {
            let file = "sim-\(version)"
            let signed = try await tandem(
                ["sign", "--key", "signing", "--app", TwoDevices.app, "--role", "secondary", "--version"]
                    + ["\(version)", "--target", target, "--out", file] + more, in: workspace)
            #expect(signed.status == 0, "\(signed)")
            let line = ["apply", "--app", TwoDevices.app, "--device", "\(place)/primary.sock"]
            return try await tandem(line + options + [file], in: workspace)
        }
        let begun = try await apply(1, "--set", "volume=61", options: "--only", "secondary-2", "--wait", "1s")
        #expect(begun.status == 1 && begun.output.contains("held-back"), "\(begun)")
        #expect(try await shows(apps[1], 61))
        #expect(!apps[0].output.contains("value volume = 61\n"))
        let stopped = try await apply(2, "--set", "volume=101", options: "--only", "secondary-2", "--wait", "10s")
        #expect(stopped.output.contains("schema") && stopped.output.contains("stopped"), "\(stopped)")
        let brief = try await apply(3, "--set", "volume=63", "--lifetime", "2s")
        #expect(brief.status == 0, "\(brief)")
        for app in apps {
            #expect(try await shows(app, 63))
            // Back at the declared default.
            let isOver = try await holds(within: .seconds(20)) {
                app.output.split(separator: "\n").last { $0.hasPrefix("value volume") } == "value volume = 50"
            }
            #expect(isOver, "\(app.output)")
        }
        try await simulator.end(by: SIGTERM)
    }

    @Test("CFG-79, CTL-25: --first 1 stops at a rejection and says so, and the operator goes on with the next version")
    func stops() async throws {
        let (first, other) = (try await startApp(at: "kiosk"), try await startApp(at: "panel"))
        let stopped = try await apply(sign(1, volume: 101), "--first", "1")
        #expect(stopped.status == 1, "\(stopped)")
        #expect(stopped.output.contains("kiosk  schema") && stopped.output.contains("panel  stopped"), "\(stopped)")
        #expect(try await eventuallyListed("stopped: schema"))
        #expect(try await apply(sign(2, volume: 62)).status == 0)
        for app in [first, other] {
            #expect(try await shows(app, 62))
            #expect(!app.output.contains("value volume = 101"))
        }
        let third = try await sign(3, volume: 63)
        let zero = try await apply(third, "--first", "0")
        #expect(zero.status == 2 && zero.errors.contains("--first"), "\(zero)")
        let both = try await apply(third, "--first", "1", "--only", "panel")
        #expect(both.status == 2, "\(both)")
        let nobody = try await apply(third, "--only", "the kitchen")
        #expect(nobody.status == 1 && nobody.errors.contains("the kitchen"), "\(nobody)")
        #expect(try await !listed().contains("  3  "))
    }
}
