// What a process gives back at rest is really given back, and what runs afterwards still runs.

import TandemReactor
import TandemTestSupport
import Testing

@Suite struct MemoryTests {
    @Test func whatOnlyTheStartNeededIsNotHeldAtRest() async {
        await #expect(processExitsWith: .success) {
            let before = try #require(ResidentMemory.bytes)
            Linux.giveBackStartMemory()
            let after = try #require(ResidentMemory.bytes)
            #expect(after < before)
            let loop = try EventLoop()
            var isDone = false
            loop.schedule(after: .zero) { isDone = true }
            loop.run(until: { isDone })
            #expect(isDone)
        }
    }
}
