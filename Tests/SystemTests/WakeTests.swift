// The wake-up hook with real daemons (CTL-22): an absent app is started for what waits, once; one that crashes ever
// more rarely; and a file that others could write starts nothing at all.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct WakeTests {
    private let workspace: Workspace

    init() { workspace = Workspace() }

    private var tandemPath: String { Program.directory.appendingPathComponent("tandem").path }

    /// A pair whose kiosk knows the app and starts it with a script.
    private func devices(_ script: String) async throws -> TwoDevices {
        try workspace.write("start.sh", "#!/bin/sh\necho started >> \(workspace["starts"])\n\(script)\n", mode: 0o700)
        try workspace.write("wake", "# what to start\n\(TwoDevices.app) \(workspace["start.sh"]) one two\n")
        let devices = try await TwoDevices(in: workspace, kioskOptions: ["--wake", workspace["wake"]], paired: true)
        // The daemon knows the app's owner from its first registration.
        let first = try devices.receiver(on: "kiosk")
        try #require(try await devices.isAnswered(from: "hub"))
        try await first.end(by: SIGKILL)
        return devices
    }

    private var starts: Int { (try? workspace.text("starts"))?.split(separator: "\n").count ?? 0 }

    @Test func `CTL-22: an absent app is started once and drains what waits`() async throws {
        let receive = "exec \(tandemPath) receive --app $TANDEM_APPLICATION --count 5 > \(workspace["got"])"
        let devices = try await devices("env > \(workspace["environment"]); \(receive)")
        try await Task.sleep(for: .milliseconds(300))
        #expect(starts == 0, "nothing waits")
        for number in 0..<5 {
            let sent = try await devices.run("hub", "send", "--app", TwoDevices.app, "--queue", "{\"n\":\(number)}")
            #expect(sent.status == 0, "\(sent)")
        }
        let isDrained = try await holds(within: .seconds(20)) {
            (try? workspace.text("got"))?.split(separator: "\n").count == 5
        }
        let got = (try? workspace.text("got")) ?? ""
        #expect(isDrained, "\(got) \(devices.kiosk.errors)")
        for number in 0..<5 { #expect(got.contains("\"n\":\(number)")) }
        try await Task.sleep(for: .seconds(2))
        #expect(starts == 1)
        let environment = try workspace.text("environment")
        #expect(environment.contains("TANDEM_APPLICATION=\(TwoDevices.app)\n"))
        #expect(environment.contains("TANDEM_SOCKET=\(workspace["kiosk.sock"])\n"))
        #expect(!environment.contains("SWIFT_BACKTRACE"), "nothing of the daemon's own")
        #expect(devices.kiosk.errors.components(separatedBy: "items wait, app started").count == 2)
    }

    @Test func `CTL-22: an app that crashes is started ever more rarely, and the daemon goes on`() async throws {
        let devices = try await devices("exit 3")
        #expect(try await devices.run("hub", "send", "--app", TwoDevices.app, "--queue", "{}").status == 0)
        let begun = ContinuousClock.now
        #expect(try await holds(within: .seconds(20)) { starts == 4 })
        // 1 s, 2 s and 4 s of pause.
        #expect(ContinuousClock.now - begun > .seconds(6))
        #expect(devices.kiosk.errors.contains("code=3"))
        let receiver = try devices.receiver(on: "kiosk")
        #expect(try await holds(within: .seconds(20)) { receiver.output.contains("userInfo") })
        #expect(try await devices.isAnswered(from: "hub"))
    }

    @Test
    func `CTL-22: a program that never ends is not started twice, and neither holds the daemon up nor ends with it`()
        async throws
    {
        let devices = try await devices("echo $$ >> \(workspace["programs"]); exec sleep 600")
        var programs: [pid_t] {
            ((try? workspace.text("programs")) ?? "").split(separator: "\n").compactMap { pid_t($0) }
        }
        defer { for program in programs { kill(program, SIGKILL) } }
        func queue() async throws {
            #expect(try await devices.run("hub", "send", "--app", TwoDevices.app, "--queue", "{}").status == 0)
        }
        try await queue()
        #expect(try await holds(within: .seconds(20)) { programs.count == 1 })
        for _ in 0..<3 {
            try await queue()
            #expect(try await devices.run("kiosk", "status").status == 0)
            try await Task.sleep(for: .milliseconds(700))
        }
        #expect(starts == 1, "it runs")
        // Somebody ends it: then it is one that has crashed.
        kill(try #require(programs.first), SIGKILL)
        #expect(try await holds(within: .seconds(20)) { programs.count == 2 })
        #expect(devices.kiosk.errors.contains("code=137"))
        #expect(try await devices.kiosk.end(by: SIGTERM).status == 0)
        #expect(isRunning(try #require(programs.last)), "its end is not the daemon's business")
    }

    /// Not so of one that has ended, even if nobody has asked yet how.
    private func isRunning(_ program: pid_t) -> Bool {
        guard let status = try? String(contentsOfFile: "/proc/\(program)/stat", encoding: .utf8) else { return false }
        // The state follows the name, which is in parentheses and may be anything.
        return status.split(separator: ")").last?.split(separator: " ").first.map { $0 != "Z" && $0 != "X" } ?? false
    }

    @Test func `CTL-22: a file that others may write, or with a wrong line, stops the start by name`() async throws {
        let arguments = [
            "secondary", "--state", workspace["kiosk"], "--local", workspace["kiosk.sock"], "--wake", workspace["wake"],
        ]
        try workspace.write("wake", "\(TwoDevices.app) /bin/true\n", mode: 0o666)
        let loose = try await tandem(arguments, in: workspace)
        #expect(loose.status == 1 && loose.errors.contains("may be written by others"), "\(loose)")
        try workspace.write("wake", "\(TwoDevices.app) true\n")
        let relative = try await tandem(arguments, in: workspace)
        #expect(relative.status == 1 && relative.errors.contains("line 1: the program must be named"), "\(relative)")
    }
}
