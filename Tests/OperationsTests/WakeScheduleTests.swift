// When an absent app is started (CTL-22, LIM-36), by a manual clock.

import TandemBase
import TandemOperations
import Testing

struct WakeScheduleTests: ~Copyable {
    private let lamp: ApplicationIdentifier
    private var schedule: WakeSchedule
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)

    init() throws {
        lamp = try ApplicationIdentifier("org.example.lamp")
        schedule = WakeSchedule([lamp])
    }

    private func time(_ seconds: Double) -> MonotonicTime { start + .seconds(seconds) }

    @Test mutating func `an app that is away is started once when items wait for it`() {
        #expect(schedule.work(for: [lamp], at: time(0)) == [lamp])
        #expect(schedule.work(for: [lamp], at: time(1)).isEmpty)
        #expect(schedule.timeAdvanced(to: time(3600)).isEmpty, "it runs")
        #expect(schedule.nextDeadline == nil)
    }

    @Test mutating func `an app that is connected, or that the operator did not name, is not started`() throws {
        schedule.connected(lamp)
        #expect(schedule.work(for: [lamp], at: time(0)).isEmpty)
        let other = try ApplicationIdentifier("org.example.other")
        #expect(schedule.work(for: [other], at: time(0)).isEmpty)
    }

    @Test mutating func `CTL-22: all absent apps for which items wait start at once, and none for which nothing waits`()
        throws
    {
        let kettle = try ApplicationIdentifier("org.example.kettle")
        let stove = try ApplicationIdentifier("org.example.stove")
        schedule.follow([lamp, kettle, stove]) { _ in false }
        #expect(schedule.work(for: [stove, kettle], at: time(0)) == [kettle, stove])
        #expect(schedule.work(for: [lamp], at: time(1)) == [lamp])
        for app in [kettle, stove] { #expect(schedule.ended(app, well: false, at: time(2)).isEmpty) }
        #expect(schedule.timeAdvanced(to: time(3600)).isEmpty, "nothing waits for them any longer")
    }

    @Test mutating func `CTL-57: another list starts what it names, and nothing twice`() throws {
        let kettle = try ApplicationIdentifier("org.example.kettle")
        let stove = try ApplicationIdentifier("org.example.stove")
        #expect(schedule.work(for: [lamp], at: time(0)) == [lamp])
        schedule.follow([kettle, stove]) { $0 == stove }
        #expect(schedule.work(for: [kettle, stove], at: time(1)) == [kettle], "the other one is connected")
        #expect(schedule.ended(lamp, well: false, at: time(2)).isEmpty, "it is listed no longer")
        #expect(schedule.timeAdvanced(to: time(3600)).isEmpty)
        schedule.follow([lamp, kettle]) { _ in false }
        #expect(schedule.work(for: [lamp, kettle], at: time(3601)) == [lamp], "the other one runs still")
    }

    @Test mutating func `an app that leaves while items wait is started again at once if it had handled something`() {
        #expect(schedule.work(for: [lamp], at: time(0)) == [lamp])
        schedule.connected(lamp)
        schedule.handled(lamp)
        #expect(schedule.ended(lamp, well: true, at: time(5)).isEmpty)
        #expect(schedule.disconnected(lamp, at: time(5)) == [lamp])
    }

    @Test mutating func `LIM-36: a crash loop doubles the pause from 1 s to 10 min`() {
        var now = 0.0
        var pauses: [Double] = []
        #expect(schedule.work(for: [lamp], at: time(now)) == [lamp])
        for _ in 0..<12 {
            #expect(schedule.ended(lamp, well: false, at: time(now)).isEmpty)
            let due = schedule.nextDeadline?.since(time(now)) ?? .zero
            let pause = Double(due.saturatingMilliseconds) / 1000
            #expect(schedule.timeAdvanced(to: time(now + pause - 0.001)).isEmpty)
            now += pause
            #expect(schedule.timeAdvanced(to: time(now)) == [lamp])
            pauses.append(pause)
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600])
    }

    @Test mutating func `an app that registers and leaves without handling anything counts as crashed, once`() {
        #expect(schedule.work(for: [lamp], at: time(0)) == [lamp])
        schedule.connected(lamp)
        #expect(schedule.ended(lamp, well: false, at: time(1)).isEmpty, "its connection ends next")
        #expect(schedule.disconnected(lamp, at: time(1)).isEmpty)
        #expect(schedule.nextDeadline == time(2))
        #expect(schedule.timeAdvanced(to: time(2)) == [lamp])
        #expect(schedule.ended(lamp, well: false, at: time(2)).isEmpty)
        #expect(schedule.nextDeadline == time(4), "the second pause, not the third")
    }

    @Test mutating func `handling an item ends the doubling`() {
        #expect(schedule.work(for: [lamp], at: time(0)) == [lamp])
        #expect(schedule.ended(lamp, well: false, at: time(0)).isEmpty)
        #expect(schedule.timeAdvanced(to: time(1)) == [lamp])
        schedule.connected(lamp)
        schedule.handled(lamp)
        #expect(schedule.disconnected(lamp, at: time(2)).isEmpty, "its program still runs")
        #expect(schedule.ended(lamp, well: false, at: time(2)) == [lamp])
        #expect(schedule.ended(lamp, well: false, at: time(3)).isEmpty)
        #expect(schedule.nextDeadline == time(4))
    }

    @Test mutating func `LIM-36: a program that only starts another one has 10 s until its app registers`() {
        #expect(schedule.work(for: [lamp], at: time(0)) == [lamp])
        #expect(schedule.ended(lamp, well: true, at: time(0.1)).isEmpty)
        #expect(schedule.timeAdvanced(to: time(9.9)).isEmpty)
        #expect(schedule.nextDeadline == time(10))
        schedule.connected(lamp)
        #expect(schedule.nextDeadline == nil && schedule.timeAdvanced(to: time(20)).isEmpty)
    }

    @Test mutating func `nothing is started any more once nothing waits`() {
        #expect(schedule.work(for: [lamp], at: time(0)) == [lamp])
        #expect(schedule.work(for: [], at: time(0)).isEmpty)
        #expect(schedule.ended(lamp, well: false, at: time(0)).isEmpty)
        #expect(schedule.nextDeadline == nil && schedule.timeAdvanced(to: time(100)).isEmpty)
    }
}
