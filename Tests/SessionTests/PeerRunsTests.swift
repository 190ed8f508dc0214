// Evidence of two daemons with one key (PAR-24), from the runs that the hellos of a pairing's links name.

import TandemBase
import TandemSession
import Testing

struct PeerRunsTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private func time(_ seconds: Int64) -> MonotonicTime { start + .seconds(seconds) }

    private func run(_ number: UInt64) -> UniqueIdentifier { UniqueIdentifier(high: 1, low: number) }

    /// Whether each of these links, of a run at a second, is the one that shows two daemons.
    private func shown(_ links: [(run: UInt64, second: Int64)], to runs: inout PeerRuns) -> [Bool] {
        links.map { runs.linked(run($0.run), at: time($0.second)) }
    }

    @Test("PAR-24: a device that restarts, or that dials again after a network loss, is one device")
    func oneDevice() {
        var runs = PeerRuns()
        let found = shown((0..<40).map { (run: UInt64($0 / 4), second: Int64($0)) }, to: &runs)
        #expect(!found.contains(true) && !runs.showTwoDaemons(at: time(39)))
    }

    @Test("PAR-24, LIM-144: two daemons are seen when three links were of a run that had been there before, once")
    func twoDaemons() {
        var runs = PeerRuns()
        let found = shown((0..<20).map { (run: UInt64($0 % 2), second: Int64($0 * 30)) }, to: &runs)
        #expect(found.firstIndex(of: true) == 4, "0 and 1 are new, 2 to 4 return")
        #expect(found.count { $0 } == 1)
        #expect(runs.showTwoDaemons(at: time(19 * 30 + 59)) && !runs.showTwoDaemons(at: time(19 * 30 + 60)))
    }

    @Test("PAR-24: three daemons are seen as well, and their runs are forgotten in the end")
    func threeDaemons() {
        var runs = PeerRuns()
        let found = shown((0..<9).map { (run: UInt64($0 % 3), second: Int64($0)) }, to: &runs)
        #expect(found.firstIndex(of: true) == 5 && found.count { $0 } == 1)
        let others = (0..<10).map { (run: UInt64(100 + $0), second: Int64(9)) }
        let again = (0..<9).map { (run: UInt64($0 % 3), second: Int64(100)) }
        let newRuns = shown(others, to: &runs)
        #expect(!newRuns.contains(true) && !runs.showTwoDaemons(at: time(100)))
        // The first three are new again.
        let known = shown(again, to: &runs)
        #expect(known.firstIndex(of: true) == 5)
    }

    @Test("LIM-144: returns that are a minute apart show nothing")
    func rareReturns() {
        var runs = PeerRuns()
        let found = shown((0..<20).map { (run: UInt64($0 % 2), second: Int64($0 * 60)) }, to: &runs)
        #expect(!found.contains(true))
    }
}
