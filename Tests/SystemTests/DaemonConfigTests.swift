// A daemon with a file of options: it starts with it, reads it again at SIGHUP, and survives a broken one; the command
// that checks the file says the same.

import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct DaemonConfigTests {
    private let workspace: Workspace

    init() { workspace = Workspace() }

    private func options(_ more: String = "", name: String = "file-name") throws {
        let body = """
            <key>state</key><string>\(workspace["state"])</string><key>local</key><string>\(workspace["d.sock"])</string>
            <key>name</key><string>\(name)</string>\(more)
            """
        try workspace.write("options.plist", "<plist version=\"1.0\"><dict>\(body)</dict></plist>")
    }

    private func started(_ arguments: String..., environment: [String: String] = [:]) async throws -> Program {
        let daemon = try Program(
            "tandem", ["secondary"] + arguments, named: "daemon", in: workspace, environment: environment)
        try #require(try await holds(within: .seconds(20)) { daemon.output.contains("ready") }, "\(daemon.errors)")
        return daemon
    }

    private func name() async throws -> String {
        try await tandem("status", "--device", workspace["d.sock"], "--json", in: workspace).output
    }

    private func log(of daemon: Program, has text: String) async throws -> Bool {
        try await holds(within: .seconds(20)) { daemon.errors.contains(text) }
    }

    @Test func `CTL-50: a daemon takes its options from the file, and the environment goes before it`() async throws {
        try options()
        let daemon = try await started("--config", workspace["options.plist"])
        #expect(try await name().contains("\"file-name\""))
        #expect(try await daemon.end(by: SIGTERM).status == 0)
        let environment = ["TANDEM_CONFIG": workspace["options.plist"], "TANDEM_NAME": "variable"]
        let second = try await started(environment: environment)
        #expect(try await name().contains("\"variable\""), "\(second.errors)")
    }

    @Test func `CTL-54 CTL-55: at SIGHUP the level changes at once, and the name waits for a restart`() async throws {
        try options()
        let daemon = try await started("--config", workspace["options.plist"])
        try options("<key>log</key><string>debug</string>", name: "another")
        daemon.signal(SIGHUP)
        #expect(try await log(of: daemon, has: "options take effect at the next start keys=name\n"), "\(daemon.errors)")
        #expect(daemon.errors.contains("option changed key=log old=info new=debug origin=file\n"), "\(daemon.errors)")
        #expect(try await name().contains("\"file-name\""))
    }

    @Test func `CTL-54: the change to a level that hides it is one line of the log all the same`() async throws {
        try options("<key>log</key><string>debug</string>")
        let daemon = try await started("--config", workspace["options.plist"])
        try options("<key>log</key><string>warning</string>", name: "another")
        daemon.signal(SIGHUP)
        #expect(try await log(of: daemon, has: "options take effect at the next start keys=name\n"), "\(daemon.errors)")
        #expect(daemon.errors.contains("option changed key=log old=debug new=warning origin=file\n"))
    }

    @Test(arguments: [("warning", "error"), ("error", "warning")])
    func `CTL-54: a change between levels that both hide it is one line of the log, too`(
        former: String, next: String
    ) async throws {
        try options("<key>log</key><string>\(former)</string>")
        let daemon = try await started("--config", workspace["options.plist"])
        try options("<key>log</key><string>\(next)</string>")
        daemon.signal(SIGHUP)
        #expect(
            try await log(of: daemon, has: "option changed key=log old=\(former) new=\(next) origin=file\n"),
            "\(daemon.errors)")
    }

    @Test func `CTL-54: a change of another option is one line at a level that hides it, too`() async throws {
        try workspace.write("wake", "org.example.lamp /bin/true\n")
        try options("<key>log</key><string>error</string>")
        let daemon = try await started("--config", workspace["options.plist"])
        try options("<key>log</key><string>error</string><key>wake</key><string>\(workspace["wake"])</string>")
        daemon.signal(SIGHUP)
        #expect(try await log(of: daemon, has: "option changed key=wake old="), "\(daemon.errors)")
    }

    @Test func `CTL-56: a broken file at SIGHUP leaves the running options and says so`() async throws {
        try options()
        let daemon = try await started("--config", workspace["options.plist"])
        try options("<key>log</key><string>loud</string><key>colour</key><true/>")
        daemon.signal(SIGHUP)
        #expect(try await log(of: daemon, has: "none of error, warning, info, debug"), "\(daemon.errors)")
        #expect(daemon.errors.contains("options not read again, the running ones stay"))
        #expect(daemon.errors.contains("key=colour reason=\"no option has this name"), "\(daemon.errors)")
        try options("<key>log</key><string>warning</string>")
        daemon.signal(SIGHUP)
        try await Task.sleep(for: .milliseconds(100))
        #expect(daemon.isRunning)
        #expect(try await tandem("status", "--device", workspace["d.sock"], in: workspace).status == 0)
    }

    @Test func `CTL-57: the file of wake-up commands is read again, too`() async throws {
        try workspace.write("wake", "org.example.lamp /bin/true\n")
        try options("<key>wake</key><string>\(workspace["wake"])</string>")
        let daemon = try await started("--config", workspace["options.plist"])
        try workspace.write("wake", "org.example.lamp /bin/true\norg.example.kettle /bin/true\n")
        daemon.signal(SIGHUP)
        #expect(try await log(of: daemon, has: "wake-up commands read again apps=2\n"), "\(daemon.errors)")
        try workspace.write("wake", "org.example.lamp true\n")
        daemon.signal(SIGHUP)
        #expect(try await log(of: daemon, has: "the program must be named"), "\(daemon.errors)")
    }

    @Test func `CTL-52 CTL-53: the check finds the mistakes for which a daemon does not start`() async throws {
        try options("<key>log</key><string>loud</string><key>nmae</key><string>x</string>")
        let path = workspace["options.plist"]
        let check = try await tandem("config", "check", path, in: workspace)
        #expect(check.status == 1)
        #expect(check.errors.contains("\(path): log: 'loud' is none of error, warning, info, debug"), "\(check)")
        #expect(check.errors.contains("\(path): nmae: no option has this name; did you mean 'name'?"), "\(check)")
        let daemon = try await tandem("secondary", "--config", path, in: workspace)
        // The code that keeps a supervisor from starting the daemon again and again.
        #expect(daemon.status == 2)
        #expect(daemon.errors == check.errors)
        let json = try await tandem("config", "check", path, "--json", in: workspace)
        #expect(json.status == 1)
        #expect(json.output.contains("\"valid\":false") && json.output.contains("\"name\":\"no-such-key\""), "\(json)")
        try options()
        let sound = try await tandem("config", "check", path, in: workspace)
        #expect(sound.status == 0 && sound.output == "\(path): no mistakes\n", "\(sound)")
        #expect(try await tandem("config", "check", in: workspace).status == 2)
        #expect(try await tandem("config", "keys", in: workspace).output.contains("| `localGroup` |"))
    }
}
