// The short form of the fuzz target `session` (Scripts/fuzz): seeded bytes of a hostile daemon, and those that the
// fuzzer kept.

import TandemTestSupport
import Testing

@Suite struct SessionFuzzTests {
    /// Streams for one session, one after the other: it lives on with what it was told.
    private static let streams = 25

    @Test(arguments: Repetition.seeds(3, long: 40))
    func
        `SES-57: whatever its daemon sends, the session answers afterwards or comes back, and each call completes once`(
            seed: UInt64
        ) throws
    {
        let facts = try DaemonFrames.Facts()
        for round in 0..<UInt64(Repetition.times(10, long: 30)) {
            let oracle = try SessionOracle()
            for number in 0..<UInt64(Self.streams) {
                var frames = DaemonFrames(facts, seed: seed << 32 | round << 16 | number)
                let bytes = frames.stream()
                do { try oracle.check(bytes) } catch {
                    Issue.record("seed \(seed), round \(round), stream \(number): \(error)")
                    return
                }
            }
            do { try oracle.finish() } catch { Issue.record("seed \(seed), round \(round): \(error)") }
        }
    }

    @Test func `SES-57: streams that the fuzzer kept end no session`() throws {
        for (line, input) in FuzzCorpus.inputs("session").enumerated() {
            let oracle = try SessionOracle()
            do {
                try oracle.check(input)
                try oracle.finish()
            } catch {
                Issue.record("line \(line + 1): \(error)")
            }
        }
    }
}
