// A disk that fails to synchronise under a real daemon: it acknowledges nothing after that, says so once and ends; a
// start with a good disk has whatever was acknowledged (DEL-1). The fault is a library that stands before the C
// library's calls.

import Foundation
import PairedSession
import Testing

@Suite(.serialized, .timeLimit(.minutes(3))) struct FailingSyncTests {
    /// Fails as soon as a file of the given name is there.
    private static let fault = """
        #define _GNU_SOURCE
        #include <errno.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        static int outcome(long call, int file) {
            if (access(getenv("FAILS_ONCE_THERE_IS"), F_OK) == 0) { errno = EIO; return -1; }
            return (int)syscall(call, file);
        }
        int fsync(int file) { return outcome(SYS_fsync, file); }
        int fdatasync(int file) { return outcome(SYS_fdatasync, file); }
        """

    private static func makeFault(_ workspace: Workspace) async throws -> String {
        let source = try workspace.write("fault.c", fault)
        let arguments = ["clang", "-shared", "-fPIC", "-o", workspace["fault.so"], source]
        let path = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""]
        let compiler = try Program("/usr/bin/env", arguments, named: "clang", in: workspace, environment: path)
        let ending = try await compiler.ending()
        try #require(ending.status == 0, "\(ending)")
        return workspace["fault.so"]
    }

    @Test func `after a failed fsync nothing is acknowledged, the daemon ends, and what was acknowledged is there`()
        async throws
    {
        let workspace = Workspace()
        let environment = ["LD_PRELOAD": try await Self.makeFault(workspace), "FAILS_ONCE_THERE_IS": workspace["bad"]]
        let devices = try await TwoDevices(in: workspace, hubEnvironment: environment)
        try await devices.pair()
        let apps = try DeviceApps(workspace)
        try await apps.activate()
        try await apps.untilReachable()
        // Items accepted now are in the hub's store only.
        devices.kiosk.signal(SIGSTOP)
        for number in Int64(0)..<20 { try await apps.queue(number) }
        try workspace.write("bad", "")
        async let accepted = acceptance(of: 20, apps)
        let ending = try await devices.hub.ending()
        let ended = ContinuousClock.now
        #expect(ending.status == 1, "\(ending)")
        #expect(ending.errors.components(separatedBy: "accepts nothing more").count == 2, "\(ending.errors)")
        try FileManager.default.removeItem(atPath: workspace["bad"])
        try await devices.restartHub()
        devices.kiosk.signal(SIGCONT)
        try await apps.sender.activate(timeout: .seconds(20))
        try await apps.queue(21)
        // If at all, by the daemon that came after.
        if let accepted = await accepted { #expect(accepted > ended) }
        let isThere = try await holds(within: .seconds(30)) { apps.received.last == 21 }
        // The one in doubt may come, in its place, and no item twice.
        #expect(isThere && apps.received.filter { $0 != 20 } == Array(0..<20) + [21], "\(apps.received)")
        #expect(apps.received == Set(apps.received).sorted())
        await apps.end()
    }

    /// When the item was accepted; nil if it was not.
    private func acceptance(of number: Int64, _ apps: DeviceApps) async -> ContinuousClock.Instant? {
        do { try await apps.queue(number) } catch { return nil }
        return .now
    }
}
