// What a process gives back at rest is really given back, and what runs afterwards still runs.

import Glibc
import TandemReactor
import Testing

@Suite struct MemoryTests {
    @Test func whatOnlyTheStartNeededIsNotHeldAtRest() async {
        await #expect(processExitsWith: .success) {
            let before = try #require(residentPages())
            Linux.giveBackStartMemory()
            let after = try #require(residentPages())
            #expect(after < before)
            let loop = try EventLoop()
            var isDone = false
            loop.schedule(after: .zero) { isDone = true }
            loop.run(until: { isDone })
            #expect(isDone)
        }
    }
}

/// The second number of statm.
private func residentPages() -> Int? {
    guard let file = fopen("/proc/self/statm", "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    guard fgets(&line, CInt(line.count), file) != nil else { return nil }
    let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
}
