// Apps and pairings come and go in any order: an app that runs before its device is paired, and one that runs while it
// is unpaired, get the configuration that counts, or none.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct PairingOrderTests {
    private let devices: TwoDevices
    private let app: Program

    /// Two daemons that do not know each other, and the sample app on the kiosk.
    init() async throws {
        devices = try await TwoDevices()
        try await devices.makeKey()
        app = try await devices.startSample()
    }

    private func apply(version: Int, volume: Int) async throws -> Program.Ending {
        let file = try await devices.sign(version, ["volume=\(volume)"], for: try await devices.target())
        return try await devices.run("hub", "apply", "--app", TwoDevices.app, "--wait", "20s", file)
    }

    private func showsVolume(_ value: Int) async throws -> Bool {
        try await holds(within: .seconds(10)) {
            app.output.split(separator: "\n").last { $0.hasPrefix("value volume = ") } == "value volume = \(value)"
        }
    }

    @Test("An app that registered before the pairing gets configuration through it")
    func appBeforePairing() async throws {
        try await devices.pair()
        let applied = try await apply(version: 1, volume: 71)
        #expect(applied.status == 0, "\(applied)")
        #expect(try await showsVolume(71))
    }

    @Test("CFG-31: unpairing takes the values back at once, and their versions never return")
    func unpairing() async throws {
        let initial = try #require(app.output.firstMatch(of: /value volume = (\d+)/).flatMap { Int($0.1) })
        try await devices.pair()
        #expect(try await apply(version: 5, volume: 72).status == 0)
        #expect(try await showsVolume(72))
        #expect(try await devices.run("kiosk", "unpair", "hub", "--yes").status == 0)
        #expect(try await showsVolume(initial))
        let directory = devices.workspace["kiosk"] + "/apps/\(TwoDevices.app)"
        let files = try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".plist") }
        // The app's own account stays (CFG-65).
        #expect(Set(files) == ["schema.plist", "attempts.plist"])
        #expect(try await devices.run("hub", "unpair", "kiosk", "--yes").status == 0)
        try await devices.pair()
        // The hub still desires version 5 and refuses a lower one by itself (CFG-71): here the kiosk is to judge.
        let withdrawal = try await tandem(
            "configuration", "withdraw", "--device", devices.workspace["hub.sock"], TwoDevices.app,
            in: devices.workspace)
        #expect(withdrawal.status == 0, "\(withdrawal)")
        let old = try await apply(version: 4, volume: 73)
        #expect(old.status == 1 && old.output.contains("rollback"), "\(old)")
        #expect(try await apply(version: 6, volume: 74).status == 0)
        #expect(try await showsVolume(74))
    }
}
