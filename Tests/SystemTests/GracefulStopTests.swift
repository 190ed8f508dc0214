// How a daemon ends (SES-18): SIGTERM lets it finish within 5 s and exit with 0, a second one ends it at once, and
// whatever it said was done is still done after the next start.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct GracefulStopTests {
    private let devices: TwoDevices

    init() async throws { devices = try await TwoDevices() }

    @Test func `SES-18: an open request is answered over the link, and then the daemon ends with 0`() async throws {
        try await devices.pair()
        let responder = try devices.receiver(on: "kiosk")
        try #require(try await devices.isAnswered(from: "hub"))
        responder.signal(SIGSTOP)
        let asking = try await devices.ask("20s")
        devices.hub.signal(SIGTERM)
        try await Task.sleep(for: .milliseconds(300))
        #expect(devices.hub.isRunning, "a request is open")
        responder.signal(SIGCONT)
        let (asked, ended) = try await (asking.ending(), devices.hub.ending())
        #expect(asked.status == 0 && asked.output.contains("receiver"), "\(asked)")
        #expect(ended.status == 0 && ended.errors.contains("stopped"), "\(ended)")
    }

    @Test(arguments: [false, true])
    func `SES-18: who does not answer or does not read keeps it for 5 s at most`(isFlooded: Bool) async throws {
        try await devices.pair()
        let stuck = try devices.receiver(on: "kiosk")
        try #require(try await devices.isAnswered(from: "hub"))
        stuck.signal(SIGSTOP)
        defer { stuck.signal(SIGKILL) }
        if isFlooded {
            let text = String(repeating: "x", count: 60_000)
            for _ in 0..<12 {
                try await devices.run("hub", "send", "--app", TwoDevices.app, "--no-reply", "{\"a\":\"\(text)\"}")
            }
        }
        let asking = try await devices.ask("30s")
        let begun = ContinuousClock.now
        let ended = try await devices.kiosk.end(by: SIGTERM)
        #expect(ended.status == 0, "\(ended)")
        #expect(ContinuousClock.now - begun < .seconds(6))
        _ = try await asking.ending()
    }

    @Test func `SES-18: a second signal ends it at once`() async throws {
        try await devices.pair()
        let stuck = try devices.receiver(on: "kiosk")
        try #require(try await devices.isAnswered(from: "hub"))
        stuck.signal(SIGSTOP)
        defer { stuck.signal(SIGKILL) }
        let asking = try await devices.ask("30s")
        devices.kiosk.signal(SIGTERM)
        try await Task.sleep(for: .milliseconds(300))
        #expect(devices.kiosk.isRunning)
        let begun = ContinuousClock.now
        try await devices.kiosk.end(by: SIGTERM)
        #expect(ContinuousClock.now - begun < .seconds(1))
        _ = try await asking.ending()
    }

    @Test(
        "SES-18, LIM-151, CTL-77: a disk that does not answer is named, and keeps a daemon that stops for 20 s at most")
    func stalledDisk() async throws {
        let workspace = Workspace()
        let devices = try await TwoDevices(
            in: workspace, hubEnvironment: try await FailingSync.environment(in: workspace, stalls: true))
        try await devices.pair()
        try workspace.write("bad", "")
        let making = try devices.start("hub", "pair")
        let isNamed = try await eventually {
            try await devices.run("hub", "health").output.contains("the disk does not answer")
        }
        #expect(isNamed)
        let begun = ContinuousClock.now
        devices.hub.signal(SIGTERM)
        let ended = try await devices.hub.ending(within: .seconds(40))
        #expect(ended.status == 1 && ContinuousClock.now - begun > .seconds(15), "\(ended)")
        #expect(ended.errors.components(separatedBy: "the disk does not answer, and").count == 2, "\(ended.errors)")
        #expect(ended.errors.contains("the stop did not end in time"), "\(ended.errors)")
        #expect(ended.errors.contains("seconds=20"), "LIM-151: \(ended.errors)")
        _ = try await making.ending()
        try FileManager.default.removeItem(atPath: workspace["bad"])
        try await devices.restartHub()
        #expect(try await devices.run("hub", "status").status == 0)
    }

    @Test func `nothing that was accepted is lost by stops in the middle of work`() async throws {
        try await devices.pair()
        var accepted = 0
        for round in 0..<3 {
            let queueing = try (0..<6).map { number in
                try devices.start(
                    "hub", "send", "--app", TwoDevices.app, "--queue", "{\"n\":\(round * 10 + number)}")
            }
            try await Task.sleep(for: .milliseconds(100))
            #expect(try await devices.hub.end(by: SIGTERM).status == 0)
            try await devices.restartHub()
            for program in queueing where try await program.ending().output.contains("accepted") { accepted += 1 }
        }
        let receiver = try devices.receiver(on: "kiosk")
        let isDelivered = try await holds(within: .seconds(20)) {
            receiver.output.split(separator: "\n").count { $0.contains("userInfo") } >= accepted
        }
        #expect(isDelivered, "\(accepted) accepted: \(receiver.output)")
    }
}

extension TwoDevices {
    /// Sends a message from the hub, and returns when the kiosk has been given it.
    fileprivate func ask(_ timeout: String) async throws -> Program {
        let before = try await given
        let asking = try start("hub", "send", "--app", Self.app, "--timeout", timeout, "{}")
        #expect(try await eventually { try await given > before })
        return asking
    }

    /// How many messages the kiosk's relay has passed on.
    private var given: Int {
        get async throws {
            let status = try await status(of: "kiosk")
            let count = status.firstMatch(of: /"relay\.forwarded":(\d+)/)
            return count.flatMap { Int($0.1) } ?? 0
        }
    }
}
