// A disk that fails to synchronise under a real daemon: it acknowledges nothing after that, says so once and ends; a
// start with a good disk has whatever was acknowledged (DEL-1).

import Foundation
import PairedSession
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct FailingSyncTests {
    @Test func `after a failed fsync nothing is acknowledged, the daemon ends, and what was acknowledged is there`()
        async throws
    {
        let workspace = Workspace()
        let devices = try await TwoDevices(
            in: workspace, hubEnvironment: try await FailingSync.environment(in: workspace))
        try await devices.pair()
        let apps = try DeviceApps(workspace)
        try await apps.activate()
        // Items accepted now are in the hub's store only.
        devices.kiosk.signal(SIGSTOP)
        for number in Int64(0)..<20 { try await apps.queue(number) }
        try workspace.write("bad", "")
        async let accepted = acceptance(of: 20, apps)
        let ending = try await devices.hub.ending()
        let ended = ContinuousClock.now
        #expect(ending.status == 1, "\(ending)")
        #expect(ending.errors.components(separatedBy: "accepts nothing more").count == 2, "\(ending.errors)")
        try FileManager.default.removeItem(atPath: workspace["bad"])
        try await devices.restartHub()
        devices.kiosk.signal(SIGCONT)
        try await apps.sender.activate(timeout: .seconds(20))
        try await apps.queue(21)
        let time = try #require(await accepted, "the item in doubt is not refused (DEL-48)")
        #expect(time > ended, "the next daemon accepts it, under its identifier")
        let isThere = try await holds(within: .seconds(30)) { apps.received.last == 21 }
        // Whether its commit was on the disk or not, it comes once and in its place.
        #expect(isThere && apps.received == Array(0...21), "\(apps.received)")
        await apps.end()
    }

    /// When the item was accepted; nil if it was not.
    private func acceptance(of number: Int64, _ apps: DeviceApps) async -> ContinuousClock.Instant? {
        do { try await apps.queue(number) } catch { return nil }
        return .now
    }
}
