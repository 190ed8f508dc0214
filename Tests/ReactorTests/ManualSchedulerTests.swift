// The scheduler of the other tests: time moves only by hand, and the order is always the same.

import TandemBase
import TandemReactor
import TandemTestSupport
import Testing

@Suite struct ManualSchedulerTests {
    @Test func nothingHappensUntilTimeIsMoved() {
        let scheduler = ManualScheduler()
        var order: [String] = []
        scheduler.schedule(after: .seconds(2)) { order.append("2 s") }
        scheduler.schedule(after: .seconds(1)) {
            order.append("1 s")
            scheduler.schedule(after: .milliseconds(500)) { order.append("1.5 s") }
        }
        scheduler.run()
        #expect(order.isEmpty)
        scheduler.advance(by: .seconds(1))
        #expect(order == ["1 s"])
        scheduler.advance(by: .seconds(1))
        #expect(order == ["1 s", "1.5 s", "2 s"])
        #expect(scheduler.timerCount == 0)
    }

    @Test func bothClocksMoveTogetherAndTheWallCanBeSet() {
        let scheduler = ManualScheduler()
        let start = scheduler.now
        let wall = scheduler.wallNow
        scheduler.advance(by: .seconds(90))
        #expect(scheduler.now.since(start) == .seconds(90))
        #expect(scheduler.wallNow == wall + .seconds(90))
        scheduler.setWallClock(WallTime(seconds: 0))
        #expect(scheduler.wallNow.seconds == 0)
        #expect(scheduler.now.since(start) == .seconds(90))
    }

    @Test func submittedActionsRunBeforeTimersBeforeEndsOfTurn() {
        let scheduler = ManualScheduler()
        let order = Order()
        scheduler.atEndOfTurn { order.names.append("end") }
        scheduler.schedule(after: .zero) { order.names.append("timer") }
        let bound = LoopBound(order, to: scheduler)
        scheduler.submit { bound.value.names.append("submitted") }
        scheduler.run()
        #expect(order.names == ["submitted", "timer", "end"])
    }

    @Test func aCancelledTimerFreesWhatItHeld() {
        let scheduler = ManualScheduler()
        weak var held: Order?
        let token: TimerToken
        do {
            let order = Order()
            held = order
            token = scheduler.schedule(after: .seconds(1)) { order.names.append("never") }
        }
        #expect(held != nil)
        scheduler.cancel(token)
        #expect(held == nil)
        scheduler.cancel(token)
    }

    @Test func manyTimersMadeAndCancelledLeaveTheRestInOrder() {
        let scheduler = ManualScheduler()
        var ran: [Int] = []
        let tokens = (0..<1000).map { number in
            scheduler.schedule(after: .milliseconds(Int64(number * 7919 % 1000))) { ran.append(number * 7919 % 1000) }
        }
        for (number, token) in tokens.enumerated() where number % 10 != 0 { scheduler.cancel(token) }
        #expect(scheduler.timerCount == 100)
        scheduler.advance(by: .seconds(1))
        #expect(ran.count == 100)
        #expect(ran == ran.sorted())
    }
}

private final class Order {
    var names: [String] = []
}
