// A daemon whose starter gave it no standard input, output or error: the first files and sockets that it opens must not
// get these numbers, or the log would be written into them.

import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct DescriptorTests {
    private let workspace: Workspace
    init() { workspace = Workspace() }

    /// Starts the program after the shell has closed the given descriptors.
    private func start(closing: String) throws -> Program {
        let tandem = Program.directory.appendingPathComponent("tandem").path
        return try Program(
            "/bin/sh",
            [
                "-c", "exec \"$0\" \"$@\" \(closing)", tandem, "primary", "--state", workspace["state"], "--local",
                workspace["local.sock"], "--listen", "127.0.0.1:\(FreePort.find())", "--log", "debug",
            ], named: "daemon-\(UInt32.random(in: 0 ... .max))", in: workspace)
    }

    private func answers() async throws -> Bool {
        for _ in 0..<200 {
            let status = try await tandem("status", "--device", workspace["local.sock"], in: workspace)
            if status.status == 0 { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    /// The target of a process's descriptor; nil if there is none, or if this user may not read it.
    private func target(_ descriptor: Int, of process: pid_t) -> String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(descriptor)")
    }

    @Test(arguments: ["<&- >&- 2>&-", "2>&-", "<&- 2>&-"])
    func aDaemonWithoutItsFirstDescriptorsPutsNothingElseInTheirPlace(closing: String) async throws {
        let daemon = try start(closing: closing)
        try #require(try await answers())
        // Only root may look into a daemon.
        for descriptor in 0..<3 where geteuid() == 0 {
            let found = try #require(target(descriptor, of: daemon.pid))
            #expect(found == "/dev/null" || found.hasPrefix(workspace.path + "/daemon-"), "\(descriptor): \(found)")
        }
        #expect(try await daemon.end(by: SIGTERM).status == 0)
        for file in try FileManager.default.subpathsOfDirectory(atPath: workspace["state"]) {
            let bytes = FileManager.default.contents(atPath: workspace["state/\(file)"]) ?? Data()
            #expect(bytes.range(of: Data("level=".utf8)) == nil, "no line of the log is in \(file)")
        }
        let again = try start(closing: "")
        #expect(try await answers(), "\(again.errors)")
    }
}
