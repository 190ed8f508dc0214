// Leftovers of the shell, and taking back from it: `send` with a wrong name, `apps` and `trust`.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct TakeBackCommandTests {
    private let devices: TwoDevices
    init() async throws { devices = try await TwoDevices() }

    private func run(_ name: String, _ words: String...) async throws -> Program.Ending {
        try await tandem(words + ["--device", devices.workspace["\(name).sock"]], in: devices.workspace)
    }

    @Test func `SES-75: sending with a wrong application identifier leaves nothing behind`() async throws {
        try await devices.pair()
        for arguments in [["{}"], ["--queue", "{}"], ["--no-reply", "{}"]] {
            let wrong = ["send", "--app", "org.example.lmap", "--device", devices.workspace["kiosk.sock"]]
            #expect(try await tandem(wrong + arguments, in: devices.workspace).status != 0, "\(arguments)")
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
        #expect(asked.status == 2 && asked.errors.contains("from this device would:"), "\(asked)")
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

    private func trustedKeys() async throws -> String { try await run("kiosk", "trust", "list", "--json").output }

    private func keyIdentifier(of name: String) async throws -> String {
        let shown = try await tandem("keys", "show", name + ".pub", in: devices.workspace).output
        return String(try #require(shown.firstMatch(of: /[0-9a-f]{64}/)).0)
    }

    @Test func `CTL-33: a trusted key is replaced or removed by name, and only once that is agreed to`() async throws {
        let workspace = devices.workspace
        for name in ["old", "new"] { try await tandem("keys", "new", "--out", name, in: workspace) }
        let (old, new) = (try await keyIdentifier(of: "old"), try await keyIdentifier(of: "new"))
        let subject = ["--app", TwoDevices.app, "--role", "secondary", "--device", workspace["kiosk.sock"]]
        func trust(_ words: String...) async throws -> Program.Ending {
            try await tandem(["trust"] + words + subject, in: workspace)
        }
        #expect(try await trust("add", "--key", "old.pub").status == 0)
        #expect(try await run("kiosk", "trust", "list").output.contains("bare key"), "CTL-27")
        let conflict = try await trust("add", "--key", "new.pub")
        #expect(conflict.status == 1 && conflict.errors.contains("anchor-conflict"), "\(conflict)")
        let asked = try await trust("replace", "--key", "new.pub")
        #expect(asked.status == 2 && asked.errors.contains("would replace"), "\(asked)")
        #expect(try await trustedKeys().contains(old), "nothing has changed")
        let replaced = try await trust("replace", "--key", "new.pub", "--yes")
        #expect(replaced.status == 0 && replaced.output.contains(new), "\(replaced)")
        #expect(try await trustedKeys().contains(new))
        #expect(try await !trustedKeys().contains(old))
        let offered = try await trust("remove")
        #expect(offered.status == 2 && offered.errors.contains("would no longer be trusted"), "\(offered)")
        // The removal is durable when it is answered: a kill right after the answer takes nothing back.
        let removed = try await trust("remove", "--yes")
        try await devices.kiosk.end(by: SIGKILL)
        #expect(removed.status == 0 && removed.output.contains("removed"), "\(removed)")
        try await devices.restartKiosk()
        #expect(try await trustedKeys() == "[]\n")
        #expect(try await trust("remove", "--yes").status == 1)
    }

    @Test func `CTL-35: a custom identifier is taken back by name, and only once that is agreed to`() async throws {
        try await devices.pair()
        let apps = try DeviceApps(devices.workspace, identifier: "house-7")
        try await apps.activate()
        let asked = try await run("hub", "identifier", "clear", "--app", TwoDevices.app)
        #expect(asked.status == 2 && asked.errors.contains("house-7"), "\(asked)")
        let cleared = try await run("hub", "identifier", "clear", "--app", TwoDevices.app, "--yes")
        #expect(cleared.status == 0 && cleared.output.contains("cleared house-7"), "\(cleared)")
        #expect(cleared.output.contains("vendor:"))
        #expect(try await run("hub", "identifier", "clear", "--app", TwoDevices.app, "--yes").status == 1)
        let below = try await run("kiosk", "identifier", "clear", "--app", TwoDevices.app)
        #expect(below.status != 0, "a secondary has none: \(below)")
    }
}
