// Heartbeat and backoff (SES-17, SES-19): every wait, with times as arguments.

import TandemBase
import TandemSession
import TandemTestSupport
import Testing

struct TimingTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)

    @Test("SES-17: 5 s of silence ask, 10 s ask again, 15 s are death")
    func silence() {
        var heartbeat = Heartbeat(now: start)
        #expect(heartbeat.timerFired(now: start + .seconds(4)) == .wait(.seconds(1)))
        #expect(heartbeat.timerFired(now: start + .seconds(5)) == .ping(thenWait: .seconds(5)))
        #expect(heartbeat.timerFired(now: start + .seconds(10)) == .ping(thenWait: .seconds(5)))
        #expect(heartbeat.timerFired(now: start + .seconds(15)) == .dead)
    }

    @Test("SES-17: any frame counts as life")
    func anyFrame() {
        var heartbeat = Heartbeat(now: start)
        _ = heartbeat.timerFired(now: start + .seconds(5))
        _ = heartbeat.timerFired(now: start + .seconds(10))
        heartbeat.received(now: start + .seconds(14))
        #expect(heartbeat.timerFired(now: start + .seconds(15)) == .wait(.seconds(4)))
        #expect(heartbeat.timerFired(now: start + .seconds(19)) == .ping(thenWait: .seconds(5)))
    }

    @Test("SES-17: a process that slept for a minute asks before it declares its peer dead")
    func sleptItself() throws {
        var heartbeat = Heartbeat(now: start)
        guard case .ping(let wait) = heartbeat.timerFired(now: start + .seconds(60))
        else { throw Unexpected("it did not ask") }
        #expect(wait > .zero)
    }

    @Test("SES-19: waits double from 100-200 ms to at most 30 s, each in the upper half of its ceiling")
    func doubling() {
        var generator = SystemRandomNumberGenerator()
        var backoff = Backoff()
        var ceiling = Duration.milliseconds(200)
        for _ in 0..<20 {
            let wait = backoff.next(random: generator.next())
            #expect(wait >= ceiling / 2 && wait <= ceiling)
            ceiling = min(ceiling * 2, .seconds(30))
        }
        backoff.reset()
        #expect(backoff.next(random: 0) == .milliseconds(100))
    }

    @Test("SES-19: the spread follows the random number, so a test can repeat every wait")
    func spread() {
        var (low, high) = (Backoff(), Backoff())
        #expect(low.next(random: 0) == .milliseconds(100))
        #expect(high.next(random: 100_000_000) == .milliseconds(200))
    }
}
