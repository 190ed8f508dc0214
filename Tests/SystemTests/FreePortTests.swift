// The tests' own ground: a port that was found free can be had, also while other tests start their daemons.

import Foundation
import Testing

@Suite struct FreePortTests {
    @Test func `programs that start meanwhile take no port that was found free`() {
        let ended = DispatchSemaphore(value: 0)
        let programs = Thread {
            for _ in 0..<1000 where !Thread.current.isCancelled { Self.runProgram() }
            ended.signal()
        }
        programs.start()
        let taken = (0..<5000).count { _ in (try? NetworkProxy(to: 1).end()) == nil }
        programs.cancel()
        ended.wait()
        #expect(taken == 0)
    }

    private static func runProgram() {
        let program = Process()
        program.executableURL = URL(fileURLWithPath: "/bin/true")
        try? program.run()
        program.waitUntilExit()
    }
}
