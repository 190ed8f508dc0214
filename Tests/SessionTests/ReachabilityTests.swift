// Level, reason and since (SES-7).

import TandemBase
import TandemSession
import Testing

struct ReachabilityTests {
    private let now = MonotonicTime(nanoseconds: 5)

    @Test("SES-7: the table of facts and what follows from them")
    func table() {
        typealias Facts = Reachability.Facts
        let rows: [(Facts, ReachabilityLevel, ReachabilityReason)] = [
            (Facts(), .unreachable, .noLink),
            (Facts(link: .down(.noHeartbeat), isInstalled: true, isConnected: true), .unreachable, .noHeartbeat),
            (Facts(link: .down(.version)), .unreachable, .version),
            (Facts(link: .down(.stopping), isInstalled: true), .unreachable, .stopping),
            (Facts(link: .up, isPending: true, isInstalled: true, isConnected: true), .unreachable, .pending),
            (Facts(link: .up), .background, .notInstalled),
            (Facts(link: .up, isInstalled: true), .background, .counterpartAbsent),
            (Facts(link: .up, isInstalled: true, isConnected: true), .immediate, .none),
        ]
        for (facts, level, reason) in rows {
            let judged = Reachability.judge(facts)
            #expect(judged.0 == level && judged.1 == reason)
        }
    }

    @Test("since is the moment of the last change, and the same facts change nothing")
    func since() {
        var reachability = Reachability(now: now)
        let up = Reachability.Facts(link: .up, isInstalled: true, isConnected: true)
        let changed = reachability.update(up, now: now + .seconds(1))
        let again = reachability.update(up, now: now + .seconds(2))
        #expect(changed && !again)
        #expect(reachability.since == now + .seconds(1))
    }

    @Test("a flap of one second ends on the true state, with its own moment")
    func flap() {
        var reachability = Reachability(facts: .init(link: .up, isInstalled: true, isConnected: true), now: now)
        let down = reachability.update(.init(), now: now + .seconds(1))
        let up = reachability.update(.init(link: .up, isInstalled: true, isConnected: true), now: now + .seconds(2))
        #expect(down && up)
        #expect(reachability.level == .immediate && reachability.since == now + .seconds(2))
    }
}
