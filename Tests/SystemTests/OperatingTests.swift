// An operator's view and control of running daemons: health, readiness, draining, metrics, traces and dumps, and the
// form of status --json (CTL-3, CTL-10 to CTL-14, CTL-20).

import Foundation
import PairedSession
import TandemPropertyList
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct OperatingTests {
    private let devices: TwoDevices

    init() async throws { devices = try await TwoDevices() }

    @Test func `CTL-11: health and readiness follow the link, and a blink of it does not count`() async throws {
        #expect(try await devices.run("hub", "ready").status == 0, "no pairing, so no link to wait for")
        try await devices.pair()
        #expect(try await devices.run("hub", "ready", "--timeout", "10s").output == "ready\n")
        #expect(try await devices.run("hub", "health").output == "healthy\n")
        try await devices.kiosk.end(by: SIGKILL)
        try await Task.sleep(for: .seconds(2))
        #expect(try await devices.run("hub", "health").status == 0, "2 s are a blink")
        let isDegraded = try await eventually { try await devices.run("hub", "health").status == 1 }
        let health = try await devices.run("hub", "health")
        // A monitoring system shows standard output only.
        #expect(isDegraded && health.output.hasPrefix("unlinked for ") && health.output.contains("kiosk"), "\(health)")
        #expect(health.output.split(separator: "\n").count == 1 && health.errors.isEmpty, "\(health)")
        try await devices.restartKiosk()
        #expect(try await eventually { try await devices.run("hub", "health").status == 0 })
        #expect(try await eventually { try await devices.run("kiosk", "ready").status == 0 })
    }

    @Test func `CTL-13: a daemon whose devices are away is not ready, unless no link is expected`() async throws {
        try await devices.pair()
        devices.kiosk.signal(SIGKILL)
        devices.hub.signal(SIGTERM)
        _ = try await (devices.kiosk.ending(), devices.hub.ending())
        try await devices.restartHub()
        let waiting = try await devices.run("hub", "ready")
        #expect(waiting.status == 1 && waiting.errors == "not ready: no-link\n", "\(waiting)")
        #expect(try await devices.run("hub", "ready", "--no-link").status == 0)
        #expect(try await devices.run("kiosk", "ready").status == 3, "nobody is there")
        #expect(try await devices.run("kiosk", "health").status == 3)
        #expect(try await devices.run("hub", "health", "--nonsense").status == 2)
    }

    @Test func `CTL-13: health ends in its time with 3 where the daemon hangs`() async throws {
        try await devices.hub.pause()
        let began = ContinuousClock.now
        let health = try await devices.run("hub", "health", "--timeout", "1s")
        let limit = Duration.seconds(10) * Load.factor
        #expect(ContinuousClock.now - began < limit)
        devices.hub.signal(SIGCONT)
        #expect(health.status == 3 && health.errors.contains("does not answer"), "\(health)")
        #expect(try await devices.run("hub", "health", "--timeout", "0").status == 2)
    }

    @Test("CTL-13, CTL-73: an answer that cannot be written is not the answer no", arguments: ["health", "ready"])
    func unwritableAnswer(command: String) async throws {
        let tandem = Program.directory.appendingPathComponent("tandem").path
        let line = "'\(tandem)' \(command) --device '\(devices.workspace["hub.sock"])' >/dev/full"
        let shell = try Program("/bin/sh", ["-c", line], named: "shell", in: devices.workspace)
        let ending = try await shell.ending()
        #expect(ending.status == 3 && ending.errors.contains("cannot write the result"), "\(ending)")
    }

    @Test func `CTL-14: draining says what is left and is told as a problem until it ends`() async throws {
        let drained = try await devices.run("hub", "drain", "--timeout", "1s")
        #expect(drained.status == 0 && drained.output == "drained\n", "\(drained)")
        let health = try await devices.run("hub", "health")
        #expect(health.status == 1 && health.output.hasPrefix("draining for "), "\(health)")
        #expect(try await devices.run("hub", "drain", "--end").status == 0)
        #expect(try await devices.run("hub", "health").status == 0)
    }

    @Test func `CTL-20: a traced message shows every step on both devices in order`() async throws {
        try await devices.pair()
        let receiver = try devices.receiver(on: "hub")
        try #require(try await devices.isAnswered(from: "kiosk"))
        let both = ["--device", devices.workspace["hub.sock"], "--device", devices.workspace["kiosk.sock"]]
        let follower = try Program(
            "tandem", ["trace", "--follow", "--json"] + both, named: "follow", in: devices.workspace)
        // Following has begun on both when a message is seen by both: only the kiosk sends, only the hub delivers.
        let isSeen = try await eventually {
            _ = try await devices.isAnswered(from: "kiosk")
            let output = follower.output
            return ["\"sent\"", "\"delivered\"", "\"answered\""].allSatisfy { output.contains($0) }
        }
        try #require(isSeen, "\(follower.errors)")
        let first = try #require(try events(follower.output).last { $0["step"] as? String == "sent" })
        let id = try #require(first["id"] as? String)
        let trace = try await tandem(["trace", id, "--json"] + both, in: devices.workspace)
        let steps = try events(trace.output).map { "\($0["device"] ?? "") \($0["step"] ?? "")" }
        #expect(steps == ["kiosk sent", "hub delivered", "hub answered", "kiosk answered"], "\(trace)")
        let unknown = try await tandem(["trace", UUID().uuidString] + both, in: devices.workspace)
        #expect(unknown.status == 1 && unknown.errors.contains("no record of"))
        #expect(receiver.isRunning)
    }

    @Test func `CTL-10: status tells the revisions of contexts, also after a restart`() async throws {
        try await devices.pair()
        let apps = try DeviceApps(devices.workspace)
        try await apps.activate()
        for number in 1...3 as ClosedRange<Int64> {
            try await apps.sender.updateApplicationContext(["n": .integer(number)])
        }
        let sent = try await devices.status(of: "hub")
        #expect(sent.contains("\"sent\":3") && !sent.contains("\"received\":"), "\(sent)")
        #expect(try await eventually { try await devices.status(of: "kiosk").contains("\"received\":3") })
        try await devices.kiosk.end(by: SIGKILL)
        try await devices.restartKiosk()
        let status = try await devices.run("kiosk", "status").output
        let row = status.split(separator: "\n").last { $0.contains(TwoDevices.app) && $0.contains(" 3 ") }
        #expect(row != nil && status.contains("contexts"), "\(status)")
        await apps.end()
    }

    @Test func `CTL-20: untraced messages leave nothing, applied configuration leaves its way`() async throws {
        try await devices.pair()
        let receiver = try devices.receiver(on: "hub")
        try #require(try await devices.isAnswered(from: "kiosk"))
        let answer = try await tandem(
            "trace", UUID().uuidString, "--device", devices.workspace["hub.sock"], in: devices.workspace)
        #expect(answer.status == 1)
        let follower = try Program(
            "tandem", ["trace", "--follow", "--json", "--device", devices.workspace["hub.sock"]], named: "follow",
            in: devices.workspace)
        try await Task.sleep(for: .milliseconds(500))
        #expect(follower.output == "", "what was before is not shown: \(follower.output)")
        #expect(receiver.isRunning)
    }

    @Test func `following several daemons ends with an error when one of them stops`() async throws {
        let sockets = ["hub.sock", "kiosk.sock"].map { devices.workspace[$0] }
        let follower = try Program(
            "tandem", ["trace", "--follow"] + sockets.flatMap { ["--device", $0] }, named: "follow",
            in: devices.workspace)
        try await Task.sleep(for: .seconds(1))
        #expect(follower.isRunning, "\(follower.errors)")
        try await devices.hub.end(by: SIGKILL)
        let ending = try await follower.ending()
        #expect([1, 3].contains(ending.status) && ending.errors.contains("hub.sock"), "\(ending)")
    }

    @Test func `CTL-3, CTL-66: status as JSON and its metrics have the form that Control.md tells`() async throws {
        try await devices.pair()
        let receiver = try devices.receiver(on: "hub")
        try #require(try await devices.isAnswered(from: "kiosk"))
        let status = try #require(try events(await devices.status(of: "hub")).first)
        for key in ["device", "name", "role", "fingerprint", "software", "local", "state"] {
            #expect(status[key] is String, "\(key)")
        }
        for key in ["listening", "pairings", "applications", "queues", "configurations"] {
            #expect(status[key] is [Any], "\(key)")
        }
        #expect(status["uptime"] is Int && status["health"] is [String: Any] && status["counters"] is [String: Any])
        let pairing = try #require((status["pairings"] as? [[String: Any]])?.first)
        for key in ["pairing", "peer", "name", "role", "state", "level", "reason", "address"] {
            #expect(pairing[key] is String, "\(key)")
        }
        for key in ["since", "version", "waiting", "skew"] { #expect(pairing[key] is Int, "\(key)") }
        #expect(pairing["active"] as? Bool == true && abs(pairing["skew"] as? Int ?? .max) < 5000)
        #expect((status["counters"] as? [String: Any])?["relay.forwarded"] as? Int ?? 0 > 0)
        #expect(receiver.isRunning)
        let metrics = try await devices.run("hub", "status", "--prometheus").output
        #expect(metrics.contains("\ntandem_linked{role=\"primary\",pairing=\""))
        #expect(metrics.contains("\ntandem_info{role=\"primary\",name=\"hub\",version=\"tandem "), "\(metrics)")
        for line in metrics.split(separator: "\n") where !line.hasPrefix("#") {
            #expect(line.contains("{role=\"primary\""), "a secondary's daemon may run on the same host: \(line)")
            #expect(line.contains(try Regex(#"^tandem_[a-z_]+(\{([a-z]+="[^"]*",?)+\})? [0-9.-]+$"#)), "\(line)")
        }
    }

    private func events(_ output: String) throws -> [[String: Any]] {
        try output.split(separator: "\n").compactMap {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
    }
}

/// Whether it holds before 20 s are over.
func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(20)
    repeat {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(100))
    } while ContinuousClock.now < end
    return false
}
