// The tests' own ground: a port that was found free can be had, also while other tests start their daemons.

import Foundation
import Testing

@Suite struct FreePortTests {
    @Test func `programs that start meanwhile take no port that was found free`() throws {
        let programs = Thread { for _ in 0..<1000 where !Thread.current.isCancelled { Self.runProgram() } }
        programs.start()
        defer { programs.cancel() }
        for _ in 0..<5000 { try NetworkProxy(to: 1).end() }
    }

    private static func runProgram() {
        let program = Process()
        program.executableURL = URL(fileURLWithPath: "/bin/true")
        try? program.run()
        program.waitUntilExit()
    }
}
