// Synced settings between two apps on two devices: real daemons, real links, and processes that come and go.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct SyncedSettingsTests {
    private func app(_ device: String, _ number: Int, _ sync: String..., in devices: TwoDevices) throws -> Program {
        try Program(
            "SampleApp", ["--device", devices.workspace["\(device).sock"]] + sync.flatMap { ["--sync", $0] },
            named: "lamp-\(device)-\(number)", in: devices.workspace)
    }

    private func shows(_ line: String, _ app: Program) async throws -> Bool {
        try await holds(within: .seconds(30)) { app.output.contains(line + "\n") }
    }

    @Test("SET-70, SET-73: both sides are edited without a link, and have the same afterwards")
    func offline() async throws {
        let devices = try await TwoDevices(paired: true)
        let hub = try app("hub", 1, "volume=10", in: devices)
        let kiosk = try app("kiosk", 1, "on", in: devices)
        try #require(await shows("value volume = 10", kiosk), "\(hub.errors)\(kiosk.output)\(kiosk.errors)")

        try await kiosk.end(by: SIGTERM)
        try await devices.kiosk.end(by: SIGTERM)
        try await hub.end(by: SIGTERM)
        let alone = try app("hub", 2, "volume=20", in: devices)
        #expect(try await shows("value volume = 20", alone))
        try await devices.hub.end(by: SIGTERM)
        try await devices.restartKiosk()
        let other = try app("kiosk", 2, "volume=30", "colour=#00ff00", in: devices)
        #expect(try await shows("value volume = 30", other))

        try await devices.restartHub()
        #expect(try await shows("value colour = #00ff00", alone), "\(alone.output)\(alone.errors)")
        #expect(try await shows("value volume = 20", other), "\(other.output)\(other.errors)")
        let told = alone.output + other.output
        #expect(told.contains("synced settings: volume was changed on both devices"), "\(told)")
    }
}
