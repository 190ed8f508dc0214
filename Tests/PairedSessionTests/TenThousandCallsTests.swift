// SES-9, SES-12: 10,000 calls between two real sessions whose connections break, and whose receiver answers, answers
// twice, answers late, fails, or lets its token go: one completion each, none late, and a dropped token is no timeout.

import PairedSession
import Synchronization
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct TenThousandCallsTests {
    private struct Call {
        let deadline: MonotonicTime
        var wasDropped = false
        var errors: [SessionError?] = []
        var completedAt: MonotonicTime?
    }

    private final class Calls: Sendable {
        private let calls = Mutex<[Call]>([])

        var all: [Call] { calls.withLock { $0 } }

        func begin(_ deadline: MonotonicTime) { calls.withLock { $0.append(Call(deadline: deadline)) } }

        func drop(_ number: Int) { calls.withLock { $0[number].wasDropped = true } }

        func complete(_ number: Int, _ error: SessionError?, _ now: MonotonicTime) {
            calls.withLock { calls in
                calls[number].errors.append(error)
                calls[number].completedAt = now
            }
        }
    }

    @Test(
        "SES-9: each of 10,000 calls completes once and in time; a dropped token is 7011; late replies are counted",
        arguments: Repetition.seeds(1, long: 4))
    func calls(seed: UInt64) throws {
        let apps = try SimulatedApps(secondaries: 1)
        apps.activateAll()
        let (scheduler, calls) = (apps.scheduler, Calls())
        var random = SeededGenerator(seed: seed)
        answer(apps, calls, seed)
        for number in 0..<10_000 {
            let timeout = Duration.milliseconds(Int(random.next() % 400) + 1)
            calls.begin(scheduler.now + timeout)
            apps.primary.core.run { core in
                let content = OutgoingContent(["n": .integer(Int64(number))])
                core.request(content, timeout: timeout) { calls.complete(number, $0.error, scheduler.now) }
            }
            scheduler.run()
            if random.next() % 3 == 0 { scheduler.advance(by: .milliseconds(Int(random.next() % 20))) }
            if random.next() % 500 == 0 { apps.cut(Int(random.next() % 2)) }
        }
        scheduler.advance(by: .seconds(2))
        let all = calls.all
        #expect(all.allSatisfy { $0.errors.count == 1 })
        #expect(all.allSatisfy { $0.completedAt.map { [deadline = $0.deadline] in $0 <= deadline } ?? false })
        let dropped = all.filter(\.wasDropped).compactMap { $0.errors.first ?? nil }
        #expect(dropped.count == all.count(where: \.wasDropped) && dropped.count > 500)
        #expect(!dropped.contains { $0.code == .messageReplyTimedOut })
        #expect(dropped.count { $0.name == "reply-dropped" } > dropped.count / 2)
        #expect(apps.primary.statistics.lateReplies > 100)
        #expect(all.count { $0.errors == [nil] } > 3000)
    }

    private func answer(_ apps: SimulatedApps, _ calls: Calls, _ seed: UInt64) {
        let scheduler = apps.scheduler
        apps.secondaries[0].core.run { core in
            var random = SeededGenerator(seed: seed &+ 1)
            core.receive { message in
                message.claim()
                switch random.next() % 10 {
                case 0...4: try? message.reply([:])
                case 5:
                    try? message.reply([:])
                    #expect(throws: SessionError.self) { try message.reply([:]) }
                case 6: message.fail("no")
                case 7, 8:
                    scheduler.schedule(after: .milliseconds(Int(random.next() % 500))) { try? message.reply([:]) }
                default:
                    let number = message.dictionary?["n"]?.integerValue.flatMap { Int(exactly: $0) }
                    if let number { calls.drop(number) }
                }
            }
        }
        scheduler.run()
    }
}
