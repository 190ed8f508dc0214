// Runs the real executables of this build, found beside the test bundle. Output goes to files, so that no full pipe can
// stop a program, and everything started is ended by its pid when the test is over.

import Foundation
import Synchronization
import Testing

/// A running executable of this build.
final class Program: Sendable {
    /// How a program ended, and all it wrote.
    struct Ending: Sendable {
        let status: Int32
        let output: String
        let errors: String
    }

    private let workspace: Workspace
    private let name: String
    private let process: ChildProcess
    var pid: pid_t { process.pid }

    /// Starts `executable`, of this build or by its absolute path, with the arguments; `name` is that of its output
    /// files in the workspace.
    init(
        _ executable: String, _ arguments: [String], named name: String, in workspace: Workspace, input: String = "",
        environment: [String: String] = [:]
    ) throws {
        self.workspace = workspace
        self.name = name
        process = try ChildProcess(
            URL(fileURLWithPath: executable, relativeTo: Self.directory).path, arguments,
            ChildProcess.Surroundings(
                directory: workspace.path,
                environment: [
                    "PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no", "TANDEM_PREFERENCES": "memory",
                ].merging(environment) { $1 },
                input: try workspace.write("\(name).in", input), output: try workspace.write("\(name).out", ""),
                errors: try workspace.write("\(name).err", "")))
    }

    /// Starts one to which files are closed by their modes: nothing is to root, unless it has given that up.
    static func withoutRights(
        _ executable: String, _ arguments: [String], named name: String, in workspace: Workspace
    ) throws -> Program {
        guard geteuid() == 0 else { return try Program(executable, arguments, named: name, in: workspace) }
        let path = URL(fileURLWithPath: executable, relativeTo: directory).path
        let rights = "-dac_override,-dac_read_search"
        return try Program(
            "/usr/bin/setpriv", ["--bounding-set=\(rights)", "--inh-caps=\(rights)", path] + arguments, named: name,
            in: workspace)
    }

    /// Whether ``withoutRights(_:_:named:in:)`` can do so here.
    @Sendable static func canLackRights() async throws -> Bool {
        guard geteuid() == 0 else { return true }
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv") else { return false }
        let workspace = Workspace()
        try workspace.write("closed", "", mode: 0)
        let reading = try withoutRights("tandem", ["keys", "show", workspace["closed"]], named: "keys", in: workspace)
        return try await reading.ending().errors.contains("EACCES")
    }

    /// Where the build put this test bundle and the executables.
    static let directory: URL = {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: bundle).deletingLastPathComponent()
    }()

    var isRunning: Bool { process.isRunning }
    var output: String { (try? workspace.text("\(name).out")) ?? "" }
    var errors: String { (try? workspace.text("\(name).err")) ?? "" }

    /// The memory that is the process's own now; nil once it is gone. Without what it has mapped of files: its code
    /// comes in as it is first used, megabytes at a time, and is the system's to take back.
    var residentBytes: Int? {
        let pages = (try? String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8))?.split(separator: " ")
        guard let counts = pages?.dropFirst().prefix(2).compactMap({ Int($0) }), counts.count == 2 else { return nil }
        return (counts[0] - counts[1]) * Int(getpagesize())
    }

    /// Not after its end, when the number may be another's.
    func signal(_ number: Int32) { if isRunning { kill(pid, number) } }

    /// Sends the signal and waits for the program's end.
    @discardableResult
    func end(by number: Int32) async throws -> Ending {
        signal(number)
        return try await ending()
    }

    /// Stops the program and waits until each of its threads has stopped: one that is at work goes on for a while.
    func pause() async throws {
        signal(SIGSTOP)
        let tasks = "/proc/\(pid)/task"
        let areStopped = try await holds(within: .seconds(5)) {
            try FileManager.default.contentsOfDirectory(atPath: tasks).allSatisfy { task in
                try String(contentsOfFile: "\(tasks)/\(task)/stat", encoding: .utf8).contains(") T ")
            }
        }
        #expect(areStopped, "the program is stopped")
    }

    /// Waits for the program's end; ends it when the time is over, which the test then sees as status 9.
    func ending(within limit: Duration = .seconds(30)) async throws -> Ending {
        if try await !holds(within: limit, { !self.isRunning }) { signal(SIGKILL) }
        _ = try await holds(within: .seconds(5), { !self.isRunning })
        return Ending(status: process.status ?? SIGKILL, output: output, errors: errors)
    }
}

/// Whether the condition holds before the time is over; looks at it often. Only system tests wait for real time. On a
/// machine with more to do than it has cores the time is longer.
func holds(within limit: Duration, _ condition: () throws -> Bool) async throws -> Bool {
    let clock = ContinuousClock()
    let begun = clock.now
    while clock.now - begun < limit * Load.factor {
        if try condition() { return true }
        try await Task.sleep(for: .milliseconds(20))
    }
    return try condition()
}

/// The machine's other work makes every program of a test slower, and is no fault of the program.
enum Load {
    /// Above this a test would not end within its own limit.
    private static let largest = 3.0

    /// Programs that want a core, for each core, in the last minute: 1 to 3.
    static var factor: Double {
        var averages = [Double](repeating: 0, count: 1)
        guard getloadavg(&averages, 1) == 1 else { return 1 }
        return min(largest, max(1, averages[0] / Double(ProcessInfo.processInfo.activeProcessorCount)))
    }
}

/// Runs `tandem` to its end.
@discardableResult
func tandem(
    _ arguments: String..., in workspace: Workspace, input: String = "", environment: [String: String] = [:]
) async throws -> Program.Ending {
    try await tandem(arguments, in: workspace, input: input, environment: environment)
}

/// Runs `tandem` to its end.
@discardableResult
func tandem(
    _ arguments: [String], in workspace: Workspace, input: String = "", environment: [String: String] = [:]
) async throws -> Program.Ending {
    let name = "run-\(UInt32.random(in: 0 ... .max))"
    let program = try Program(
        "tandem", arguments, named: name, in: workspace, input: input, environment: environment)
    return try await program.ending()
}

/// Runs a test beside a simulator with these arguments, which must then stop in order.
func withSimulator(_ arguments: String..., body: (Workspace) async throws -> Void) async throws {
    let workspace = Workspace()
    let simulator = try Program(
        "tandem", ["simulate", "--local", workspace.path] + arguments, named: "simulator", in: workspace)
    try #require(await holds(within: .seconds(20)) { simulator.output.contains("ready") }, "\(simulator.errors)")
    try await body(workspace)
    #expect(try await simulator.end(by: SIGTERM).status == 0)
}

/// A child of this process; ended with it if it is still there when nobody refers to it any more.
final class ChildProcess: Sendable {
    /// A child's own environment: paths, not descriptors.
    struct Surroundings {
        var directory: String
        var environment: [String: String]
        var input: String
        var output: String
        var errors: String
    }

    let pid: pid_t
    /// How it ended; nil as long as it has not.
    private let reaped = Mutex<Int32?>(nil)

    init(_ path: String, _ arguments: [String], _ surroundings: Surroundings) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let setDirectory = try Self.call("posix_spawn_file_actions_addchdir_np", as: SetDirectory.self)
        _ = setDirectory(&actions, surroundings.directory)
        posix_spawn_file_actions_addopen(&actions, 0, surroundings.input, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, surroundings.output, O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, surroundings.errors, O_WRONLY, 0)
        // A child that held a file or a connection of some test would keep it open.
        let closeFrom = try Self.call("posix_spawn_file_actions_addclosefrom_np", as: CloseFrom.self)
        _ = closeFrom(&actions, 3)
        var attributes = try Self.freshSignals()
        defer { posix_spawnattr_destroy(&attributes) }
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        let settings = surroundings.environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in words + settings { free(text) } }
        var pid = pid_t()
        let code = posix_spawn(&pid, path, &actions, &attributes, words, settings)
        guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EINVAL) }
        self.pid = pid
    }

    deinit {
        guard isRunning else { return }
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    private typealias Actions = UnsafeMutablePointer<posix_spawn_file_actions_t>
    private typealias SetDirectory = @convention(c) (Actions, UnsafePointer<CChar>) -> Int32
    private typealias CloseFrom = @convention(c) (Actions, Int32) -> Int32

    /// Two calls of the C library that Swift does not import.
    private static func call<Call>(_ name: String, as type: Call.Type) throws -> Call {
        unsafeBitCast(try #require(dlsym(nil, name)), to: type)
    }

    /// The threads of a test block signals that a program wants to get.
    private static func freshSignals() throws -> posix_spawnattr_t {
        var attributes = posix_spawnattr_t()
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_init(&attributes)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        return attributes
    }

    var isRunning: Bool { status == nil }

    /// The exit code, or the number of the signal that ended it; nil while it runs.
    var status: Int32? {
        reaped.withLock { reaped in
            var word: Int32 = 0
            if reaped == nil, waitpid(pid, &word, WNOHANG) == pid {
                reaped = word & 0x7F == 0 ? word >> 8 & 0xFF : word & 0x7F
            }
            return reaped
        }
    }
}
