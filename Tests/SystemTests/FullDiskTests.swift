// A disk without space: nothing is acknowledged that was not stored, the daemon stays up, and goes on when there is
// space. It needs a small file system of its own, so it runs for root only.

import Foundation
import Testing

@Suite(.serialized, .enabled(if: geteuid() == 0), .timeLimit(.minutes(10))) struct FullDiskTests {
    private let workspace: Workspace
    private let disk: SmallDisk

    init() throws {
        workspace = Workspace()
        disk = try SmallDisk(at: workspace["disk"], size: "2m")
    }

    private func start() throws -> Program {
        let arguments = [
            "primary", "--state", workspace["disk/state"], "--local", workspace["local.sock"], "--listen",
            "127.0.0.1:0",
        ]
        return try Program("tandem", arguments, named: "daemon-\(UInt32.random(in: 0 ... .max))", in: workspace)
    }

    @Test func aDaemonWithoutSpaceSaysSoAndGoesOnWhenThereIsSome() async throws {
        let daemon = try start()
        try #require(try await holds(within: .seconds(20)) { daemon.output.contains("ready") }, "\(daemon.errors)")
        try disk.fill()
        var refused: Program.Ending?
        // The log has some space of its own; it is used up after a few commits.
        for _ in 0..<200 where refused == nil {
            let pair = try await tandem("pair", "--device", workspace["local.sock"], "--link-only", in: workspace)
            if pair.status != 0 { refused = pair }
        }
        let ending = try #require(refused)
        #expect(ending.status == 1)
        #expect(ending.errors.contains("space"), "\(ending)")
        #expect(daemon.isRunning)
        #expect(try await tandem("status", "--device", workspace["local.sock"], in: workspace).status == 0)
        try disk.free()
        let again = try await tandem("pair", "--device", workspace["local.sock"], "--link-only", in: workspace)
        #expect(again.status == 0, "\(again)")
        #expect(try await daemon.end(by: SIGTERM).status == 0)
    }

    @Test func aDaemonDoesNotStartWithoutSpaceForItsStore() async throws {
        try disk.fill()
        let ending = try await start().ending()
        #expect(ending.status == 1)
        #expect(ending.errors.contains("space"), "\(ending)")
        try disk.free()
        let daemon = try start()
        #expect(try await holds(within: .seconds(20)) { daemon.output.contains("ready") }, "\(daemon.errors)")
    }
}
