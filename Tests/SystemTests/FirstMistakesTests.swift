// Mistakes of a first day, with the real executables: a wrong path, a permission that is missing, a command without its
// daemon. None waits in silence, and none leaves anything behind.

import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct FirstMistakesTests {
    private static let app = "org.example.lamp"
    private let workspace: Workspace

    init() async throws {
        workspace = Workspace()
        try #require(await tandem("keys", "new", "--out", "key", in: workspace).status == 0)
    }

    /// The host apps that come with Tandem, at a socket.
    private func arguments(of program: String, _ socket: String) -> [String] {
        program == "tandem"
            ? ["receive", "--app", Self.app, "--device", socket] : ["--device", socket, "--key", workspace["key.pub"]]
    }

    private func says(_ program: Program, _ parts: [String]) async throws -> Bool {
        try await holds(within: .seconds(10)) { parts.allSatisfy(program.errors.contains) }
    }

    @Test(
        "SES-26: an app at a path where no daemon is says the path and the error, and waits",
        arguments: [
            ("tandem", "nowhere.sock", "ENOENT"), ("SampleApp", "nowhere.sock", "ENOENT"),
            ("SampleApp", "key.pub", "ECONNREFUSED"),
        ])
    func wrongPath(program: String, socket: String, error: String) async throws {
        let path = workspace[socket]
        let app = try Program(program, arguments(of: program, path), named: "app", in: workspace)
        #expect(try await says(app, [path, error]), "\(app.errors)")
        // The command gives up after ten seconds, which a busy machine may have spent by now.
        #expect(app.isRunning || program == "tandem")
    }

    @Test func `a command for an app's messages ends with 3 when no daemon has answered`() async throws {
        let sent = try await tandem(
            "send", "--app", Self.app, "--device", workspace["nowhere.sock"], #"{"n":1}"#, in: workspace)
        #expect(sent.status == 3 && sent.errors.contains("ENOENT"), "\(sent)")
    }

    @Test(
        "CTL-73: each command ends at once, with 3, where waiting leads to no daemon",
        arguments: ["status", "health", "apps list", "send --app a {}", "receive --app a", "transfers list --app a"],
        [("key.pub", "key.pub is a file, not a socket"), ("key.pub/x.sock", "is not a directory")])
    func noDaemonEver(command: String, fault: (String, String)) async throws {
        let began = ContinuousClock.now
        let ending = try await tandem(
            command.split(separator: " ").map(String.init) + ["--device", workspace[fault.0]], in: workspace)
        #expect(ending.status == 3 && ending.errors.contains(fault.1), "\(ending)")
        #expect(!ending.errors.contains("trying again") && !ending.errors.contains("start it with"), "\(ending)")
        let limit = Duration.seconds(8) * Load.factor
        #expect(ContinuousClock.now - began < limit)
    }

    @Test(arguments: ["missing.pub", "empty.pub", "."])
    func `the sample app does not start without the key that it was given`(key: String) async throws {
        try workspace.write("empty.pub", "")
        let path = workspace[key]
        let app = try Program(
            "SampleApp", ["--device", workspace["nowhere.sock"], "--key", path], named: "app", in: workspace)
        let ending = try await app.ending()
        #expect(ending.status == 1 && ending.errors.contains(path), "\(ending)")
    }

    @Test(
        "SES-26: an app that may not reach the socket says the path and the error, and waits",
        .enabled("root's rights can be given up here", Program.canLackRights))
    func missingPermission() async throws {
        let path = try closedSocket()
        let app = try Program.withoutRights("SampleApp", arguments(of: "SampleApp", path), named: "app", in: workspace)
        #expect(try await says(app, [path, "EACCES"]), "\(app.errors)")
        #expect(app.isRunning)
    }

    @Test(
        "CTL-73: a command that may not reach the socket says so at once and ends with 3",
        .enabled("root's rights can be given up here", Program.canLackRights),
        arguments: ["status", "health", "send --app a {}", "receive --app a"])
    func missingPermissionOfCommand(command: String) async throws {
        let path = try closedSocket()
        let words = command.split(separator: " ").map(String.init)
        let asking = try Program.withoutRights("tandem", words + ["--device", path], named: "app", in: workspace)
        let ending = try await asking.ending()
        #expect(ending.status == 3 && ending.errors.contains("\(path): no permission"), "\(ending)")
        #expect(!ending.errors.contains("trying again"), "\(ending)")
    }

    /// The path of a socket in a directory that is closed to everybody without root's rights.
    private func closedSocket() throws -> String {
        try FileManager.default.createDirectory(
            atPath: workspace["closed"], withIntermediateDirectories: false, attributes: [.posixPermissions: 0])
        return workspace["closed/daemon.sock"]
    }

    @Test func `CTL-67: apply names the file that is no configuration, and with --json prints the rejection's name`()
        async throws
    {
        let devices = try await TwoDevices(in: workspace)
        let apply = try await devices.run("hub", "apply", "--app", Self.app, "--json", workspace["key.pub"])
        #expect(apply.status == 1 && apply.errors.contains("key.pub is no signed configuration"), "\(apply)")
        #expect(apply.errors.contains("[malformed]"), "\(apply)")
        #expect(apply.output.hasPrefix("{\"error\":\"malformed\",\"text\":"), "\(apply)")
    }

    @Test(
        "CTL-6: join without a daemon or a state directory makes no device",
        .enabled(if: !FileManager.default.fileExists(atPath: "/run/tandem/secondary.sock")))
    func joinAlone() async throws {
        let devices = try await TwoDevices(in: workspace)
        let link = try await devices.run("hub", "pair", "--link-only").output
        let state = workspace["nobody"]
        let join = try await tandem(
            "join", in: workspace, input: link,
            environment: ["STATE_DIRECTORY": state, "XDG_RUNTIME_DIR": workspace["nowhere"]])
        #expect(join.status == 3 && join.errors.contains("no daemon is running"), "\(join)")
        #expect(!FileManager.default.fileExists(atPath: state))
    }
}
