// Memory that an idle process returns to the system: it is really returned, and later work still runs.

import Glibc
import TandemReactor
import TandemTestSupport
import Testing

@Suite struct MemoryTests {
    /// Not under the thread sanitizer, whose heap is not the C library's.
    @Test(.enabled(if: getenv("TSAN_OPTIONS") == nil)) func freeHeapIsNotHeldAtRest() async {
        await #expect(processExitsWith: .success) {
            var held = (0..<32_768).map { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: 1024) }
            // The last keeps the heap's end where it is: what lies below it is free, and yet this process's.
            let last = held.removeLast()
            held = []
            let before = try #require(ResidentMemory.bytes)
            Linux.giveBackHeap()
            let after = try #require(ResidentMemory.bytes)
            #expect(after + (16 << 20) < before, "of 32 MiB")
            #expect(last.count == 1024)
            let loop = try EventLoop()
            var isDone = false
            loop.schedule(after: .zero) { isDone = true }
            loop.run(until: { isDone })
            #expect(isDone)
        }
    }
}
