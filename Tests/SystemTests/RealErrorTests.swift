// Errors of durable items that a real daemon or the machine is the cause of; 7015 is in FileFullDiskTests.

import Foundation
import PairedSession
import TandemPropertyList
import TandemWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct RealErrorTests {
    @Test("7013: a file that is not there, and one that is no file, are refused by name, and nothing is queued")
    func unreadable() async throws {
        let devices = try await FileDevices()
        for path in [devices.devices.workspace["nowhere"], devices.devices.workspace.path] {
            let error = await #expect(throws: SessionError.self) { try await devices.sender.transferFile(path) }
            #expect(error?.code == .fileAccessDenied && error?.isRetryable == false, "\(error as Any)")
        }
        #expect(try devices.leftovers(on: "hub").isEmpty)
        await devices.end()
    }

    @Test("7017: an item whose time is over before its receiver is back ends with it, and never comes")
    func expired() async throws {
        let devices = try await TwoDevices(paired: true)
        let apps = try DeviceApps(devices.workspace)
        try await apps.activate()
        try await devices.kiosk.end(by: SIGKILL)
        // The receiver ends messages that were sent before the loss was noticed.
        #expect(try await eventually { !apps.sender.reachability.isImmediate })
        var options = TransferOptions()
        options.timeToLive = .milliseconds(300)
        let error = await #expect(throws: SessionError.self) {
            try await apps.sender.transferUserInfo(["n": 1], options: options, until: .handled)
        }
        #expect(error?.code == .transferTimedOut && error?.name == "expired", "\(error as Any)")
        try await devices.restartKiosk()
        try await apps.queue(2)
        #expect(try await holds(within: .seconds(20)) { !apps.received.isEmpty } && apps.received == [2])
        await apps.end()
    }
}
