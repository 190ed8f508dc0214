// Pace of a dialler (SES-19, SES-91) and the failures that it reports (CTL-71), with times as arguments.

import TandemBase
import TandemSession
import TandemWire
import Testing

struct DialPaceTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private func time(_ milliseconds: Int64) -> MonotonicTime { start + .milliseconds(milliseconds) }

    @Test("SES-91: waits double while the peer replaces each link, up to 30 s, and are shown as a second daemon's")
    func series() {
        var pace = DialPace(at: start)
        var now = start
        var waits: [Duration] = []
        var shown: [Int] = []
        for turn in 1...12 {
            pace.linked(at: now)
            // The other daemon waits as long as this one.
            now = now + (waits.last ?? .milliseconds(100))
            let (wait, isFirstEvidence) = pace.ended(isReplaced: true, at: now, random: 0)
            if isFirstEvidence { shown.append(turn) }
            #expect(pace.isContested(at: now) == (turn >= Limits.sharedKeyEvents), "turn \(turn)")
            waits.append(wait)
            now = now + wait
        }
        #expect(waits[0] == .milliseconds(100) && waits[1] == .milliseconds(200) && waits[2] == .milliseconds(400))
        #expect(waits.last == .seconds(15) && waits.allSatisfy { $0 <= .seconds(30) })
        #expect(shown == [Limits.sharedKeyEvents], "once in a series")
    }

    @Test("SES-91: a single replacement is dialled for as after any loss, also after a long outage")
    func single() {
        var pace = DialPace(at: start)
        for _ in 0..<12 { _ = pace.failed("no answer", at: start, random: 0) }
        pace.linked(at: time(100_000))
        let (wait, isFirstEvidence) = pace.ended(isReplaced: true, at: time(101_000), random: 0)
        #expect(wait == .milliseconds(100) && !isFirstEvidence)
    }

    @Test("SES-91, LIM-144: a link that lasted for a minute ends the series, and so does a minute without one")
    func endOfSeries() {
        for pause in [true, false] {
            var pace = DialPace(at: start)
            for turn in Int64(0)..<4 {
                pace.linked(at: time(turn * 1000))
                _ = pace.ended(isReplaced: true, at: time(turn * 1000 + 500), random: 0)
            }
            #expect(pace.isContested(at: time(4000)))
            let ready = pause ? time(64_000) : time(4000)
            #expect(!pace.isContested(at: time(64_000)), "nothing has happened for a minute")
            pace.linked(at: ready)
            #expect(pace.isContested(at: ready) == !pause)
            let (wait, _) = pace.ended(isReplaced: true, at: ready + .seconds(pause ? 1 : 60), random: 0)
            #expect(wait == .milliseconds(100), "\(pause)")
        }
    }

    @Test("SES-91: an end for another reason is not replaced, and has its own waits")
    func otherEnds() {
        var pace = DialPace(at: start)
        for turn in Int64(0)..<6 {
            pace.linked(at: time(turn * 1000))
            let (wait, isFirstEvidence) = pace.ended(isReplaced: false, at: time(turn * 1000 + 500), random: 0)
            #expect(wait == .milliseconds(100) && !isFirstEvidence)
        }
        #expect(!pace.isContested(at: time(6000)))
    }

    @Test("CTL-71, LIM-143: failures are news after 10 s without a link, once for each reason in a row")
    func news() {
        var pace = DialPace(at: start)
        func isNews(_ reason: String, _ milliseconds: Int64) -> Bool {
            pace.failed(reason, at: time(milliseconds), random: 0).isNews
        }
        #expect(!isNews("refused", 0) && !isNews("refused", 9999))
        #expect(isNews("refused", 10_000) && !isNews("refused", 20_000))
        #expect(isNews("no answer", 30_000) && !isNews("no answer", 40_000) && isNews("refused", 50_000))
    }

    @Test("CTL-71: a link ends what was reported, and the next outage is judged by itself")
    func newsAgain() {
        var pace = DialPace(at: start)
        func isNews(_ milliseconds: Int64) -> Bool {
            pace.failed("refused", at: time(milliseconds), random: 0).isNews
        }
        #expect(isNews(10_000))
        pace.linked(at: time(11_000))
        _ = pace.ended(isReplaced: false, at: time(20_000), random: 0)
        #expect(!isNews(29_999) && isNews(30_000))
    }
}
