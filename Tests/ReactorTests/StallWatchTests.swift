// Connections whose other end reads nothing (LIM-6), by a manual clock.

import TandemBase
import TandemReactor
import TandemTestSupport
import Testing

struct StallWatchTests {
    private final class Connection: StallTenant {
        var bytesInSystem: Int
        private(set) var stalls = 0

        init(_ bytes: Int) { bytesInSystem = bytes }

        func stalled() { stalls += 1 }
    }

    private let scheduler = ManualScheduler()
    private let watch = StallWatch()

    @Test func `LIM-6: a full socket that nobody reads from has stalled after 30 s, and is told once`() {
        let stuck = Connection(1000)
        watch.watch(stuck, on: scheduler)
        scheduler.advance(by: .milliseconds(29_900))
        #expect(stuck.stalls == 0)
        scheduler.advance(by: .milliseconds(5100))
        #expect(stuck.stalls == 1)
        scheduler.advance(by: .seconds(3600))
        #expect(stuck.stalls == 1)
    }

    @Test func `LIM-6: who reads a byte every 20 s is slow and has not stalled`() {
        let slow = Connection(1000)
        watch.watch(slow, on: scheduler)
        for _ in 0..<30 {
            scheduler.advance(by: .seconds(20))
            slow.bytesInSystem -= 1
        }
        #expect(slow.stalls == 0)
        scheduler.advance(by: .seconds(36))
        #expect(slow.stalls == 1)
    }

    @Test func `a socket that takes bytes again is not watched, and its next stall counts from its own start`() {
        let connection = Connection(1000)
        watch.watch(connection, on: scheduler)
        scheduler.advance(by: .seconds(25))
        watch.forget(connection)
        watch.watch(connection, on: scheduler)
        scheduler.advance(by: .milliseconds(29_900))
        #expect(connection.stalls == 0)
        watch.forget(connection)
        scheduler.advance(by: .seconds(100))
        #expect(connection.stalls == 0)
    }

    @Test func `one that stalls does not hide another`() {
        let (first, second) = (Connection(1), Connection(2))
        watch.watch(first, on: scheduler)
        scheduler.advance(by: .seconds(17))
        watch.watch(second, on: scheduler)
        scheduler.advance(by: .seconds(18))
        #expect(first.stalls == 1 && second.stalls == 0)
        scheduler.advance(by: .seconds(18))
        #expect(second.stalls == 1)
    }
}
