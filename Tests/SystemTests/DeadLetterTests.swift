// Items that fail too often, from the command line (CTL-16, DEL-11).

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct DeadLetterTests {
    @Test func `CTL-16: what failed too often is listed, tried again and dropped`() async throws {
        let devices = try await TwoDevices(paired: true)
        let failing = try devices.start("kiosk", "receive", "--app", TwoDevices.app, "--items", "fail")
        try #require(try await devices.isAnswered(from: "hub"))
        for number in 0..<2 {
            let sent = try await devices.run("hub", "send", "--app", TwoDevices.app, "--queue", "{\"n\":\(number)}")
            #expect(sent.status == 0, "\(sent)")
        }
        // 1, 2, 4 and 8 s between five attempts, and the second after the first.
        let areDead = try await holds(within: .seconds(60)) { failing.output.split(separator: "\n").count >= 11 }
        #expect(areDead, "\(failing.output)")
        #expect(try await eventually { try await letters(devices).count == 2 })
        let health = try await devices.run("kiosk", "health")
        #expect(health.status == 1 && health.output.contains("dead-letters"), "\(health)")
        try await failing.end(by: SIGKILL)
        let letter = try #require(try await letters(devices).first)
        #expect(letter.contains("\"direction\":\"in\"") && letter.contains("\"attempts\":5"), "\(letter)")
        #expect(!letter.contains("\"n\""), "not what it carries")
        let id = try #require(letter.firstMatch(of: /"id":"([0-9A-F-]{36})"/)).1
        let receiver = try devices.receiver(on: "kiosk")
        let retried = try await tandem(
            "dead-letters", "retry", String(id), "--device", devices.workspace["kiosk.sock"], in: devices.workspace)
        #expect(retried.status == 0 && retried.output == "1 to be tried again\n", "\(retried)")
        #expect(try await holds(within: .seconds(20)) { receiver.output.contains(String(id)) })
        let dropped = try await tandem(
            "dead-letters", "drop", "--all", "--device", devices.workspace["kiosk.sock"], in: devices.workspace)
        #expect(dropped.status == 0 && dropped.output == "1 dropped\n", "\(dropped)")
        #expect(try await letters(devices).isEmpty)
        let none = try await tandem(
            "dead-letters", "drop", String(id), "--device", devices.workspace["kiosk.sock"], in: devices.workspace)
        #expect(none.status == 1 && none.errors.contains("not-found"), "\(none)")
    }

    private func letters(_ devices: TwoDevices) async throws -> [Substring] {
        let arguments = ["dead-letters", "list", "--json", "--device", devices.workspace["kiosk.sock"]]
        return try await tandem(arguments, in: devices.workspace).output.split(separator: "\n")
    }
}
