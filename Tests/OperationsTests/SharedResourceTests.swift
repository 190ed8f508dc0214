// Shares of a bounded resource (LIM-47), and the pace of log lines that others cause (LIM-54).

import TandemBase
import TandemOperations
import TandemTestSupport
import TandemWire
import Testing

struct SharedResourceTests {
    @Test func `LIM-47: one owner gets half, the next ones less, and what is released is there for others`() {
        var resource = SharedResource<UInt32>(total: 600)
        #expect(resource.charge(300, to: 1) && !resource.charge(1, to: 1))
        #expect(resource.charge(100, to: 2) && !resource.charge(1, to: 2))
        #expect(resource.limit(of: 3) == 50)
        resource.release(300, of: 1)
        #expect(resource.limit(of: 2) == 300 && resource.limit(of: 3) == 166)
        resource.release(100, of: 2)
        #expect(resource.used == 0 && resource.limit(of: 3) == 300)
    }

    @Test func `LIM-47: a privileged owner gets all that the others leave, and no more`() {
        var resource = SharedResource<UInt32>(total: 100, privileged: [0])
        #expect(resource.charge(50, to: 7) && resource.charge(50, to: 0))
        #expect(!resource.charge(1, to: 0) && resource.limit(of: 8) == 0)
        resource.record(30, of: 7)
        #expect(!resource.isWithinLimit(7) && resource.isWithinLimit(0) == false)
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `LIM-47: whatever owners take and release, a new one finds room`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var resource = SharedResource<Int>(total: 100_000)
        var model: [Int: Int] = [:]
        for _ in 0..<300 {
            let owner = Int.random(in: 0..<8, using: &random)
            let own = model[owner] ?? 0
            if Int.random(in: 0..<5, using: &random) < 3 {
                let rest = resource.limit(of: owner) - own
                let amount = Bool.random(using: &random) ? max(1, rest) : Int.random(in: 1...1000, using: &random)
                let isCharged = resource.charge(amount, to: owner)
                #expect(isCharged == (amount <= rest))
                if isCharged { model[owner] = own + amount }
            } else if own > 0 {
                let amount = Bool.random(using: &random) ? own : Int.random(in: 1...own, using: &random)
                resource.release(amount, of: owner)
                model[owner] = own > amount ? own - amount : nil
            }
            #expect(resource.used(by: owner) == model[owner] ?? 0 && resource.used == model.values.reduce(0, +))
            let owners = model.count + 1
            #expect(resource.limit(of: -1) >= 100_000 / (owners * (owners + 1)) - owners)
            #expect(model.values.allSatisfy { $0 <= 50_000 })
        }
    }

    @Test func `LIM-49: a link takes a frame and 64 KiB, and more only while all links have less than 64 MiB`() {
        let (all, own) = (Limits.queuedBytesOfLinks, 64 * 1024)
        #expect(LinkRoom.admits(Limits.frame, queued: 0, queuedInAll: all), "with nothing queued it takes any frame")
        let counts = [own - 2, own - 1, own]
        #expect(counts.map { LinkRoom.admits($0, queued: 1, queuedInAll: all) } == [true, true, false])
        let totals = [all - own - 1, all - own, all - own + 1]
        #expect(totals.map { LinkRoom.admits(own, queued: own, queuedInAll: $0) } == [true, true, false])
        let queued = [Limits.queuedBytes - own - 1, Limits.queuedBytes - own, Limits.queuedBytes - own + 1]
        #expect(queued.map { LinkRoom.admits(own, queued: $0, queuedInAll: $0) } == [true, true, false], "LIM-6")
    }

    @Test func `LIM-54: so many lines in a minute are written, and the next one counts the others`() {
        var pace = LogPace(burst: 2)
        let event = LogEvent(.warning, "a stranger was here")
        let start = MonotonicTime(nanoseconds: 1)
        #expect(pace.admit(event, at: start) == event)
        #expect(pace.admit(event, at: start + .seconds(1)) == event)
        for _ in 0..<1000 { #expect(pace.admit(event, at: start + .seconds(59)) == nil) }
        #expect(!pace.isIdle(at: start + .seconds(60)))
        let next = pace.admit(event, at: start + .seconds(60))
        #expect(next?.fields == [.integer("unwritten before", 1000)])
        #expect(pace.isIdle(at: start + .seconds(120)))
    }

    @Test func `LIM-54: of what peers cause, each pairing and kind has lines of its own, and our own failures pass`() {
        var paces = LogPaces.ofLinks
        let now = MonotonicTime(nanoseconds: 1)
        func written(_ level: LogLevel, _ message: StaticString, _ pairing: String) -> Int {
            (0..<100).count { _ in paces.admit(LogEvent(level, message, .text("pairing", pairing)), at: now) != nil }
        }
        #expect(written(.info, "link ready", "one") == 60 && written(.info, "link ready", "one") == 0)
        #expect(written(.info, "link closed", "one") == 60 && written(.warning, "link ready", "two") == 60)
        #expect(written(.debug, "link ready", "one") == 100 && written(.error, "link ready", "one") == 100)
        for number in 0..<1000 { #expect(written(.info, "link ready", "\(number)") == 60) }
    }

    @Test func `LIM-54: a line looks at no other device's pace, however many devices come back at once`() {
        let events = (0..<4_000).map { LogEvent(.info, "link ready", .text("pairing", "\($0)")) }
        var paces = LogPaces.ofLinks
        let begin = ThreadTime.now
        for event in events { _ = paces.admit(event, at: MonotonicTime(nanoseconds: 1)) }
        #expect(ThreadTime.now - begin < .milliseconds(200), "\(ThreadTime.now - begin)")
    }
}
