// `receive` takes what it prints, and leaves the rest to another receiver of the app.

import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct ReceiveTests {
    @Test func `SES-3: a receiver of files leaves queued items to another, and that one leaves files`() async throws {
        let (devices, receiver) = try await devicesWithReceiver()
        let folder = devices.workspace["received"]
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try await send(devices, "--file", try devices.workspace.write("file.txt", "of the file"))
        try #require(try await devices.isAnswered(from: "hub"))
        try await receiver.end(by: SIGKILL)
        try await send(devices, "--queue", #"{"queued":1}"#)
        let app = TwoDevices.app
        let file = try await devices.run("kiosk", "receive", "--app", app, "--files", folder, "--count", "1")
        #expect(file.output.contains(#""attempt":1"#), "\(file)")
        let item = try await devices.run("kiosk", "receive", "--app", app, "--count", "1")
        #expect(item.output.contains(#""queued":1"#) && item.output.contains(#""attempt":1"#), "\(item)")
    }

    @Test func `SES-51: an item that cannot be printed is not handled`() async throws {
        let (devices, receiver) = try await devicesWithReceiver()
        try await receiver.end(by: SIGKILL)
        try await send(devices, "--queue", #"{"queued":1}"#)
        let tandem = Program.directory.appendingPathComponent("tandem").path
        let receive = "receive --app \(TwoDevices.app) --count 1"
        let line = "'\(tandem)' \(receive) --device '\(devices.workspace["kiosk.sock"])' >/dev/full"
        let full = try Program("/bin/sh", ["-c", line], named: "full", in: devices.workspace)
        let ending = try await full.ending()
        #expect(ending.status == 1 && ending.errors.contains("cannot write the result"), "\(ending)")
        let item = try await devices.run("kiosk", "receive", "--app", TwoDevices.app, "--count", "1")
        #expect(item.output.contains(#""queued":1"#) && item.output.contains(#""attempt":2"#), "\(item)")
    }

    @Test func `SES-50: a wait for a file ends in time, and the file stays queued`() async throws {
        let (devices, receiver) = try await devicesWithReceiver()
        let folder = devices.workspace["received"]
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try await receiver.end(by: SIGKILL)
        let file = try devices.workspace.write("file.txt", "of the file")
        let app = TwoDevices.app
        let sent = try await devices.run(
            "hub", "send", "--app", app, "--wait", "handled", "--timeout", "1s", "--file", file)
        #expect(sent.status == 1 && sent.errors.contains("the file stays queued"), "\(sent)")
        let received = try await devices.run("kiosk", "receive", "--app", app, "--files", folder, "--count", "1")
        #expect(received.output.contains("file.txt"), "\(received)")
    }

    /// Two devices, and a receiver of the app on the secondary that answers.
    private func devicesWithReceiver() async throws -> (TwoDevices, Program) {
        let devices = try await TwoDevices(paired: true)
        let receiver = try devices.receiver(on: "kiosk")
        try #require(try await devices.isAnswered(from: "hub"))
        return (devices, receiver)
    }

    private func send(_ devices: TwoDevices, _ option: String, _ value: String) async throws {
        let sent = try await devices.run("hub", "send", "--app", TwoDevices.app, "--wait", "stored", option, value)
        #expect(sent.status == 0, "\(sent)")
    }
}
