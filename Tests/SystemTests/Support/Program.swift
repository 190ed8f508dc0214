// Runs the real executables of this build, found beside the test bundle. Output goes to files, so that no full pipe can
// stop a program, and everything started is ended by its pid when the test is over.

import Foundation
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

    /// Starts `executable`, of this build or by its absolute path, with the arguments; `name` is that of its output files
    /// in the workspace.
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
                environment: ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"].merging(environment) { $1 },
                input: try workspace.write("\(name).in", input), output: try workspace.write("\(name).out", ""),
                errors: try workspace.write("\(name).err", "")))
    }

    /// Where the build put this test bundle and the executables.
    static let directory: URL = {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: bundle).deletingLastPathComponent()
    }()

    var isRunning: Bool { process.isRunning }
    var output: String { (try? workspace.text("\(name).out")) ?? "" }
    var errors: String { (try? workspace.text("\(name).err")) ?? "" }

    /// The memory that is the process's own now; nil once it is gone. Without what it has mapped of files: its code comes in as
    /// it is first used, megabytes at a time, and is the system's to take back.
    var residentBytes: Int? {
        let pages = (try? String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8))?.split(separator: " ")
        guard let counts = pages?.dropFirst().prefix(2).compactMap({ Int($0) }), counts.count == 2 else { return nil }
        return (counts[0] - counts[1]) * Int(getpagesize())
    }

    /// Not after its end, when the number may be another's.
    func signal(_ number: Int32) { if isRunning { kill(pid, number) } }

    /// Waits for the program's end; ends it when the time is over, which the test then sees as status 9.
    func ending(within limit: Duration = .seconds(30)) async throws -> Ending {
        if try await !holds(within: limit, { !self.isRunning }) { signal(SIGKILL) }
        _ = try await holds(within: .seconds(5), { !self.isRunning })
        return Ending(status: process.status ?? SIGKILL, output: output, errors: errors)
    }
}

/// Whether the condition holds before the time is over; looks at it often. Only system tests wait for real time.
func holds(within limit: Duration, _ condition: () throws -> Bool) async throws -> Bool {
    let clock = ContinuousClock()
    let end = clock.now + limit
    while clock.now < end {
        if try condition() { return true }
        try await Task.sleep(for: .milliseconds(20))
    }
    return try condition()
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
