// A user's edits from the shell, of a real app: while it runs, while it does not, and its schema for a signer.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct SettingsCommandTests {
    private let devices: TwoDevices

    init() async throws {
        devices = try await TwoDevices()
        try await devices.makeKey()
    }

    private func settings(_ words: String...) async throws -> Program.Ending {
        try await tandem(
            ["settings"] + words + ["--app", TwoDevices.app, "--device", devices.workspace["kiosk.sock"]],
            in: devices.workspace)
    }

    /// Whether it holds now, or within some seconds.
    private func comesTrue(_ condition: () async throws -> Bool) async throws -> Bool {
        for _ in 0..<200 {
            if try await condition() { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    private func sign(_ value: String) async throws -> Program.Ending {
        try await tandem(
            "sign", "--key", "signing", "--app", TwoDevices.app, "--role", "secondary", "--target", "custom:a",
            "--version", "1", "--set", value, "--check", "lamp.schema", "--out",
            "signed-\(UInt32.random(in: 0 ... .max))", in: devices.workspace)
    }

    @Test
    func `CTL-39, CTL-40, CTL-69, SCH-12: an edit reaches a running app, and one started later, with the app's texts`()
        async throws
    {
        #expect(try await settings("list").status == 1)
        let app = try await devices.startSample()
        try #require(try await comesTrue { try await settings("list").status == 0 })
        let listed = try await settings("list")
        #expect(listed.output.contains("0 to 100") && listed.output.contains("matches '^#"), "\(listed)")
        let facts = try await settings("list", "--json").output
        #expect(facts.contains(#""rules":{"maximum":100,"minimum":0}"#), "\(facts)")
        let watch = try Program(
            "tandem",
            ["settings", "watch", "--app", TwoDevices.app, "--device", devices.workspace["kiosk.sock"]],
            named: "watch", in: devices.workspace)
        // It says nothing before the first change, so the change is made again until it has seen one.
        let isSeen = try await comesTrue {
            for volume in ["61", "62"] { _ = try await settings("set", "volume=\(volume)") }
            return watch.output.contains("volume 62 (user)")
        }
        #expect(isSeen, "\(watch.errors)")
        #expect(try await holds(within: .seconds(10)) { app.output.contains("value volume = 62") })
        let wrong = try await settings("set", "volume=1000")
        #expect(wrong.status == 1 && wrong.errors.contains("volume: 1000 is over the maximum"), "\(wrong)")
        let closed = try await settings("choices", "volume", "Loud=90")
        #expect(closed.status == 1 && closed.errors.contains("its list cannot be edited"), "\(closed)")
        try await app.end(by: SIGKILL)
        #expect(try await settings("set", "volume=63", "logging=true").status == 0)
        let later = try await devices.startSample(named: "later")
        #expect(later.output.contains("value volume = 63") && later.output.contains("value logging = true"))
        #expect(try await settings("get", "volume").output == "63\n")
        #expect(try await settings("export").output == "{\"logging\":true,\"volume\":63}\n")
        #expect(try await settings("reset", "--all").status == 0)
        #expect(try await settings("export").output == "{}\n")
        #expect(try await settings("get", "speed").status == 1)
        #expect(try await settings("reset").status == 2)
    }

    @Test func `SCH-3, SCH-11: a signer refuses what the schema refuses, and an import converts and says so`()
        async throws
    {
        let app = try await devices.startSample()
        defer { withExtendedLifetime(app) {} }
        try #require(
            try await comesTrue { try await settings("schema", "--out", "lamp.schema").status == 0 })
        #expect(try await sign("volume=75").status == 0)
        let wrong = try await sign("volume=1000")
        #expect(wrong.status == 1 && wrong.errors.contains("volume: 1000 is over the maximum"), "\(wrong)")
        #expect(wrong.errors.contains("[schema]"))
        try Data("{\"logging\":\"YES\",\"volume\":\"64\"}".utf8).write(
            to: URL(filePath: devices.workspace["values.json"]))
        let refused = try await settings("set", "--values", "values.json")
        #expect(refused.status == 1, "\(refused)")
        let imported = try await settings("import", "values.json")
        #expect(imported.status == 0 && imported.errors == "converted logging\nconverted volume\n", "\(imported)")
        #expect(try await settings("get", "logging").output == "true\n")
    }
}
