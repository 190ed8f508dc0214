// End of the suite by a signal: nothing that it has started or made outlives it.

import Glibc
import TandemReactor
import TandemTestSupport
import Testing

@testable import TandemConformance

@Suite(.timeLimit(.minutes(10))) struct SignalCleanupTests {
    @Test func `a signal that ends the suite ends its programs with their groups, and removes its directories`()
        async throws
    {
        let result = await #expect(processExitsWith: .signal(SIGTERM), observing: [\.standardOutputContent]) {
            SignalCleanup.watchSignals()
            let directory = TemporaryDirectory()
            directory.write([1], to: "log")
            let loop = try EventLoop()
            // The shell ignores what its group could be asked for in order.
            let call = ProgramCall(
                arguments: ["/bin/sh", "-c", "trap '' TERM; while :; do /bin/sleep 1; done"], environment: [], user: nil
            )
            let program = try SignalCleanup.start(call, on: loop) { _ in }
            print("\(directory.path) \(program.process)")
            fflush(nil)
            kill(getpid(), SIGTERM)
            withExtendedLifetime((directory, loop)) { while true { pause() } }
        }
        let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        let words = output.split(whereSeparator: \.isWhitespace).suffix(2).map(String.init)
        try #require(words.count == 2, "\(output)")
        #expect(access(words[0], F_OK) != 0, "the directory is gone")
        let process = try #require(Int32(words[1]))
        #expect(kill(process, 0) != 0 && errno == ESRCH, "the program is gone")
    }
}
