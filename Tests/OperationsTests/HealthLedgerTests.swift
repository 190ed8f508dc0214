// Grace period before a problem is reported, on a manual clock (CTL-12, LIM-34).

import TandemBase
import TandemOperations
import Testing

final class HealthLedgerTests {
    private var ledger = HealthLedger()
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)
    private let link = HealthProblem(.unlinked, pairing: UniqueIdentifier(high: 1, low: 2))

    private func time(_ milliseconds: Int64) -> MonotonicTime { start + .milliseconds(milliseconds) }

    @Test func `LIM-34: a link that is away for 2 s is no problem`() {
        ledger.observe([link], at: time(0))
        #expect(ledger.standing(at: time(2000)).isEmpty)
        ledger.observe([], at: time(2000))
        for later in stride(from: Int64(2000), to: 60_000, by: 500) {
            #expect(ledger.standing(at: time(later)).isEmpty)
        }
    }

    @Test func `LIM-34: a problem counts at 5 s and not before, and says since when`() {
        ledger.observe([link], at: time(100))
        #expect(ledger.standing(at: time(5099)).isEmpty)
        let standing = ledger.standing(at: time(5100))
        #expect(standing.map(\.problem) == [link] && standing.map(\.since) == [time(100)])
    }

    @Test func `LIM-34: it is over when it has been away as long, and a blink of health does not end it`() {
        ledger.observe([link], at: time(0))
        ledger.observe([], at: time(10_000))
        #expect(ledger.standing(at: time(12_000)).count == 1)
        ledger.observe([link], at: time(12_000))
        ledger.observe([], at: time(14_000))
        #expect(ledger.standing(at: time(18_999)).count == 1)
        #expect(ledger.standing(at: time(19_000)).isEmpty)
    }

    @Test func `LIM-34: a problem that was over and comes back is a new one, even if no report was made in between`() {
        ledger.observe([link], at: time(0))
        ledger.observe([], at: time(10_000))
        ledger.observe([link], at: time(20_000))
        #expect(ledger.standing(at: time(27_000)).map(\.since) == [time(20_000)])
    }

    @Test func `CTL-12: a disk that has not answered for 5 s is a problem at once, and until it has answered as long`()
    {
        let store = HealthProblem(.store)
        ledger.observe([], at: time(3000))
        ledger.observe(store, since: time(1000), at: time(6000))
        #expect(ledger.standing(at: time(6000)).map(\.since) == [time(1000)])
        ledger.observe(store, isPresent: false, at: time(7000))
        #expect(ledger.standing(at: time(11_999)).count == 1)
        // Stalled again, while the first time still counts: it adds nothing that was counted already.
        ledger.observe([], at: time(11_999))
        ledger.observe(store, since: time(9000), at: time(11_999))
        ledger.observe(store, isPresent: false, at: time(11_999))
        #expect(ledger.standing(at: time(12_000)).isEmpty)
    }

    @Test func `CTL-77: a disk that ends one commit in 6 s stays a problem, however often somebody looks`() {
        let store = HealthProblem(.store)
        for second in Int64(0)..<60 {
            let (phase, now) = (second % 6, time(second * 1000))
            if phase == 0 { ledger.observe(store, isPresent: false, at: now) }
            if phase == 5 { ledger.observe(store, since: time((second - 5) * 1000), at: now) }
            let later = time(second * 1000 + 500)
            ledger.observe(phase == 5 ? [store] : [], undecided: (1...4).contains(phase) ? [store] : [], at: later)
            #expect(ledger.standing(at: later).count == (second < 5 ? 0 : 1), "\(second)")
        }
        ledger.observe(store, isPresent: false, at: time(60_000))
        ledger.observe([], undecided: [store], at: time(64_000))
        #expect(ledger.standing(at: time(66_000)).count == 1)
        ledger.observe([], at: time(66_000))
        #expect(ledger.standing(at: time(66_000)).isEmpty, "a commit has ended in time")
    }

    @Test func `CTL-12: observing one link leaves the other problems as they were`() {
        let other = HealthProblem(.unlinked, pairing: UniqueIdentifier(high: 3, low: 4))
        ledger.observe([link, HealthProblem(.backlog)], at: time(0))
        ledger.observe(other, isPresent: true, at: time(1000))
        #expect(ledger.standing(at: time(5999)).map(\.problem) == [HealthProblem(.backlog), link])
        #expect(ledger.standing(at: time(6000)).map(\.problem) == [HealthProblem(.backlog), link, other])
        ledger.observe(link, isPresent: false, at: time(6000))
        #expect(ledger.standing(at: time(11_000)).map(\.problem) == [HealthProblem(.backlog), other])
    }

    @Test func `CTL-12: the problems of a pairing that is gone are gone`() {
        let pairing = UniqueIdentifier(high: 1, low: 2)
        ledger.observe([link, HealthProblem(.draining)], at: time(0))
        ledger.keepOnly([pairing])
        #expect(ledger.standing(at: time(6000)).map(\.problem.word) == [.draining, .unlinked])
        ledger.forget(UniqueIdentifier(high: 3, low: 4))
        #expect(ledger.standing(at: time(6000)).count == 2)
        ledger.forget(pairing)
        #expect(ledger.standing(at: time(6000)).map(\.problem.word) == [.draining])
        ledger.observe([link, HealthProblem(.draining)], at: time(6000))
        ledger.keepOnly([])
        #expect(ledger.standing(at: time(12_000)).map(\.problem.word) == [.draining])
    }

    @Test func `a link that blinks for ever counts when it is away more than it is there`() {
        var mostlyAway = HealthLedger()
        var mostlyThere = HealthLedger()
        for second in Int64(0)..<60 {
            mostlyAway.observe([link], at: time(second * 1000))
            mostlyAway.observe([], at: time(second * 1000 + 900))
            mostlyThere.observe([link], at: time(second * 1000))
            mostlyThere.observe([], at: time(second * 1000 + 100))
        }
        #expect(mostlyAway.standing(at: time(60_000)).count == 1)
        #expect(mostlyThere.standing(at: time(60_000)).isEmpty)
    }

    @Test func `what does not come and go by itself counts at once and is over at once`() {
        let problem = HealthProblem(.deadLetters)
        ledger.observe([problem], at: time(0))
        #expect(ledger.standing(at: time(0)).map(\.problem) == [problem])
        ledger.observe([], at: time(1))
        #expect(ledger.standing(at: time(1)).isEmpty)
    }

    @Test func `a clock that stands still or runs back adds nothing`() {
        ledger.observe([link], at: time(4000))
        ledger.observe([link], at: time(0))
        #expect(ledger.standing(at: time(4900)).isEmpty)
    }

    @Test func `the oldest problem comes first`() {
        ledger.observe([link], at: time(0))
        ledger.observe([link, HealthProblem(.backlog)], at: time(6000))
        #expect(ledger.standing(at: time(6000)).map(\.problem.word) == [.unlinked, .backlog])
    }
}
