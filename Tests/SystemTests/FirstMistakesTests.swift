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
            ("tandem", "key.pub", "ECONNREFUSED"), ("SampleApp", "key.pub", "ECONNREFUSED"),
        ])
    func wrongPath(program: String, socket: String, error: String) async throws {
        let path = workspace[socket]
        let app = try Program(program, arguments(of: program, path), named: "app", in: workspace)
        #expect(try await says(app, [path, error]), "\(app.errors)")
        #expect(app.isRunning)
    }

    @Test(
        "SES-26: an app that may not reach the socket says the path and the error", arguments: ["tandem", "SampleApp"])
    func missingPermission(name: String) async throws {
        let path = workspace["closed/daemon.sock"]
        try FileManager.default.createDirectory(
            atPath: workspace["closed"], withIntermediateDirectories: false, attributes: [.posixPermissions: 0])
        // Nothing is closed to root, unless it has given that up.
        let isRoot = geteuid() == 0
        let executable = URL(fileURLWithPath: name, relativeTo: Program.directory).path
        let given = ["--bounding-set=-dac_override,-dac_read_search", executable]
        let app = try Program(
            isRoot ? "/usr/bin/setpriv" : name, (isRoot ? given : []) + arguments(of: name, path), named: "app",
            in: workspace)
        #expect(try await says(app, [path, "EACCES"]), "\(app.errors)")
    }

    @Test("CTL-6: join without a daemon or a state directory makes no device")
    func joinAlone() async throws {
        let link = "tandem:join/1?at=127.0.0.1:1&token=AAAA"
        let home = ["HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"].map { ($0, workspace.path) }
        let before = try Set(FileManager.default.contentsOfDirectory(atPath: workspace.path))
        let join = try await tandem(
            "join", in: workspace, input: link, environment: Dictionary(uniqueKeysWithValues: home))
        #expect(join.status != 0 && !join.errors.isEmpty, "\(join)")
        let made = try Set(FileManager.default.contentsOfDirectory(atPath: workspace.path)).subtracting(before)
        #expect(made.allSatisfy { $0.hasPrefix("run-") }, "\(made)")
    }
}
