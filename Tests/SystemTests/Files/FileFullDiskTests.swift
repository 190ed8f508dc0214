// A disk without room for a file, on either side: nothing of it is promised or left over, and it goes on when there is
// room.

import Foundation
import PairedSession
import TandemWire
import Testing

@Suite(.serialized, .enabled(if: geteuid() == 0), .timeLimit(.minutes(10))) struct FileFullDiskTests {
    /// LIM-31 besides the store, and not the file, however much is freed.
    private static let small = "80m"
    private static let size = 24 << 20

    @Test(
        "FIL-13, DEL-12: for a receiver whose disk is too small a file has its attempts, is kept with 7015, can be retried"
    )
    func receiver() async throws {
        let workspace = Workspace()
        let disk = try SmallDisk(at: workspace["kiosk"], size: Self.small)
        let devices = try await FileDevices(in: workspace)
        let source = try devices.makeFile(size: Self.size)
        let error = await #expect(throws: SessionError.self) {
            try await devices.sender.transferFile(source, until: .handled)
        }
        #expect(error?.code == .insufficientSpace && error?.name == "insufficient-space", "\(error as Any)")
        #expect(devices.received.all.isEmpty && devices.devices.kiosk.isRunning)
        #expect(try devices.leftovers(on: "kiosk") == [])
        #expect(try devices.leftovers(on: "hub").count == 1)
        try disk.resize(to: "200m")
        #expect(try await devices.retryAll().status == 0)
        #expect(try await holds(within: .seconds(20)) { devices.received.all.count == 1 })
        let path = try #require(devices.received.all.first?.path)
        #expect(try devices.isSame(source, path))
        #expect(try await devices.isClean())
        await devices.end()
    }

    @Test("FIL-13: a file goes on by itself when the receiver's disk has grown before the last attempt")
    func again() async throws {
        let workspace = Workspace()
        let disk = try SmallDisk(at: workspace["kiosk"], size: Self.small)
        let devices = try await FileDevices(in: workspace)
        let source = try devices.makeFile(size: Self.size)
        let transfer = try await devices.sender.transferFile(source)
        // Sent again, so it was refused before.
        var trace = ""
        let isRefused = try await eventually {
            trace = try await devices.devices.run("hub", "trace", "\(transfer.id)").output
            return trace.components(separatedBy: " sent").count > 2
        }
        #expect(isRefused && devices.received.all.isEmpty, "\(trace)")
        try disk.resize(to: "200m")
        try await transfer.reached(.handled)
        #expect(try await devices.isClean() && devices.received.all.count == 1)
        await devices.end()
    }

    @Test(
        "FIL-13, DEL-12, CTL-12: a file for which the receiver has no room waits beyond all attempts, is seen, and comes"
    )
    func waits() async throws {
        let workspace = Workspace()
        let disk = try SmallDisk(at: workspace["kiosk"], size: "120m")
        let devices = try await FileDevices(in: workspace)
        let ballast = workspace["kiosk/ballast"]
        try Data(count: 40 << 20).write(to: URL(fileURLWithPath: ballast))
        let transfer = try await devices.sender.transferFile(try devices.makeFile(size: Self.size))
        // 1, 2, 4 and 8 s of pause: by then it would be a dead letter.
        try await Task.sleep(for: .seconds(17))
        let letters = try await tandem("dead-letters", "list", "--device", workspace["hub.sock"], in: workspace)
        #expect(letters.status == 0 && !letters.output.contains("\(transfer.id)") && devices.received.all.isEmpty)
        let status = try await devices.devices.status(of: "hub")
        #expect(status.contains("\"code\":7015") && status.contains("\"refusal\":\"insufficient-space\""), "\(status)")
        let health = try await tandem("health", "--device", workspace["hub.sock"], in: workspace)
        #expect(health.status == 1 && health.output.contains("kiosk has no space for an item"), "\(health)")
        let list = try await tandem(
            "transfers", "list", "--app", TwoDevices.app, "--device", workspace["hub.sock"], in: workspace)
        #expect(list.output.contains("insufficient-space"), "\(list)")
        try FileManager.default.removeItem(atPath: ballast)
        try await transfer.reached(.handled)
        #expect(try await devices.isClean() && devices.received.all.count == 1)
        await devices.end()
        withExtendedLifetime(disk) {}
    }

    @Test("FIL-13: a file that the own device has no room for is 7015 with both figures, and leaves nothing behind")
    func sender() async throws {
        let workspace = Workspace()
        let disk = try SmallDisk(at: workspace["hub"], size: Self.small)
        let devices = try await FileDevices(in: workspace)
        let source = try devices.makeFile(size: Self.size)
        let error = await #expect(throws: SessionError.self) { try await devices.sender.transferFile(source) }
        #expect(error?.code == .insufficientSpace && error?.name == "insufficient-space" && error?.isRetryable == true)
        #expect((error?.actual ?? 0) > (error?.limit ?? .max), "\(error as Any)")
        #expect(try devices.leftovers(on: "hub").isEmpty)
        try disk.resize(to: "200m")
        try await devices.sender.transferFile(source, until: .handled)
        #expect(devices.received.all.count == 1)
        #expect(try await devices.isClean())
        await devices.end()
    }
}

extension FileDevices {
    /// An operator's word that what failed too often is to be sent again.
    fileprivate func retryAll() async throws -> Program.Ending {
        let workspace = devices.workspace
        return try await tandem("dead-letters", "retry", "--all", "--device", workspace["hub.sock"], in: workspace)
    }
}
