// Leftovers of the shell, and taking back from it: `send` with a wrong name, `apps` and `trust`.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(3))) struct TakeBackCommandTests {
    private let devices: TwoDevices
    init() async throws { devices = try await TwoDevices() }

    private func run(_ name: String, _ words: String...) async throws -> Program.Ending {
        let program = try Program(
            "tandem", words + ["--device", devices.workspace["\(name).sock"]],
            named: "call-\(UInt32.random(in: 0 ... .max))", in: devices.workspace)
        return try await program.ending()
    }

    @Test func `SES-75: sending with a wrong application identifier leaves nothing behind`() async throws {
        try await devices.pair()
        for arguments in [["{}"], ["--queue", "{}"], ["--no-reply", "{}"]] {
            let program = try Program(
                "tandem",
                ["send", "--app", "org.example.lmap", "--device", devices.workspace["kiosk.sock"]] + arguments,
                named: "send-\(UInt32.random(in: 0 ... .max))", in: devices.workspace)
            #expect(try await program.ending().status != 0, "\(arguments)")
        }
        #expect(try await run("kiosk", "context", "set", "--app", "org.example.lmap", "{}").status != 0)
        #expect(try await !devices.status(of: "kiosk").contains("lmap"))
        let apps = devices.workspace["kiosk"] + "/apps"
        #expect(try FileManager.default.contentsOfDirectory(atPath: apps) == [])
        #expect(try await run("kiosk", "apps", "list").output == "no apps\n")
    }

    @Test func `CTL-29, CTL-31: an app is removed by name, and only once that is agreed to`() async throws {
        try await devices.pair()
        let receiver = try devices.receiver(on: "kiosk")
        #expect(try await devices.isAnswered(from: "hub"))
        let listed = try await run("kiosk", "apps", "list", "--json")
        #expect(listed.output.contains("\"app\":\"org.example.lamp\"") && listed.output.contains("\"receiving\":true"))
        let asked = try await run("kiosk", "apps", "remove", TwoDevices.app)
        #expect(asked.status == 2 && asked.errors.contains("is removed from this device"), "\(asked)")
        #expect(receiver.isRunning)
        let removed = try await run("kiosk", "apps", "remove", "--yes", TwoDevices.app)
        #expect(removed.status == 0 && removed.output == "removed org.example.lamp\n", "\(removed)")
        let ended = try await receiver.ending()
        #expect(ended.status != 0 && ended.errors.contains("app-removed"), "\(ended)")
        #expect(try await run("kiosk", "apps", "list").output == "no apps\n")
        #expect(try await run("kiosk", "apps", "remove", "--yes", TwoDevices.app).status == 1)
        let assigned = try await run("kiosk", "apps", "assign", "--yes", TwoDevices.app, "0")
        #expect(assigned.status == 0 && assigned.output.contains("belongs to"), "\(assigned)")
    }
}
