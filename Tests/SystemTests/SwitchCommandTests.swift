// `tandem switch` with real daemons (CTL-7, PAR-15): a primary and two secondaries; the choice outlives the daemon, and
// messages of the default session go where the operator said.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct SwitchCommandTests {
    private let devices: TwoDevices
    private let panel: Program

    init() async throws {
        devices = try await TwoDevices(paired: true)
        panel = try await devices.startSecondary("panel")
        try await join("panel")
    }

    private func join(_ name: String) async throws {
        try await devices.join(name)
        try #require(await isPaired(name))
    }

    /// Whether the hub has greeted the device of this name.
    private func isPaired(_ name: String) async throws -> Bool {
        let end = ContinuousClock().now + .seconds(20)
        while ContinuousClock().now < end {
            if try await row(of: name)?.contains("active") == true { return true }
            try await Task.sleep(for: .milliseconds(100))
        }
        return false
    }

    /// The line of a device in the hub's status for people.
    private func row(of name: String) async throws -> String? {
        let lines = try await devices.run("hub", "status").output.split(separator: "\n").map(String.init)
        return lines.first { $0.hasPrefix("  \(name) ") }
    }

    @Test func theChoiceIsMarkedAndOutlivesTheDaemon() async throws {
        #expect(try await row(of: "kiosk")?.contains(" * ") == true)
        #expect(try await row(of: "panel")?.contains(" * ") == false)
        let switched = try await devices.run("hub", "switch", "panel")
        #expect(switched.status == 0 && switched.output.hasPrefix("panel is active now"), "\(switched)")
        #expect(try await devices.run("hub", "switch", "panel").output.contains("was active already"))
        try await devices.hub.end(by: SIGKILL)
        try await devices.restartHub()
        #expect(try await row(of: "panel")?.contains(" * ") == true)
        #expect(try await row(of: "kiosk")?.contains(" * ") == false)
        let unknown = try await devices.run("hub", "switch", "nobody")
        #expect(unknown.status == 1 && unknown.errors.contains("not-found"), "\(unknown)")
    }

    @Test func messagesOfTheDefaultSessionGoToTheChosenDevice() async throws {
        let kiosk = try devices.receiver(on: "kiosk", reply: #"{"from":"kiosk"}"#)
        let panel = try devices.receiver(on: "panel", reply: #"{"from":"panel"}"#)
        for name in ["panel", "kiosk"] {
            #expect(try await devices.run("hub", "switch", name).status == 0)
            #expect(try await devices.isAnswered(from: "hub"), "\(kiosk.errors)\(panel.errors)")
            let sent = try await devices.run("hub", "send", "--app", TwoDevices.app, #"{"to":"\#(name)"}"#)
            #expect(sent.output == "{\"from\":\"\(name)\"}\n", "\(sent)")
        }
        #expect(panel.output.contains(#"{"to":"panel"}"#) && !panel.output.contains(#"{"to":"kiosk"}"#))
    }

    @Test func unpairingTheActiveOneChoosesTheOnlyOther() async throws {
        #expect(try await devices.run("hub", "unpair", "kiosk", "--yes").status == 0)
        #expect(try await row(of: "panel")?.contains(" * ") == true)
    }

    @Test("PAR-15, CTL-7: an operator who unpairs the active one of several is told which are left to choose from")
    func unpairingTheActiveOneOfSeveral() async throws {
        let desk = try await devices.startSecondary("desk")
        try await join("desk")
        let ending = try await devices.run("hub", "unpair", "kiosk", "--yes")
        #expect(ending.status == 0, "\(ending)")
        let text = try #require(ending.output.split(separator: "\n").last)
        #expect(text.hasPrefix("no device is the active one") && text.hasSuffix(" the active one"), "\(ending)")
        #expect(text.contains("'tandem switch panel'") && text.contains("'tandem switch desk'"), "\(ending)")
        #expect(try await devices.run("hub", "switch", "desk").status == 0)
        #expect(try await row(of: "desk")?.contains(" * ") == true)
        #expect(desk.isRunning)
    }
}
