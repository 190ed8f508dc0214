// SES-9: 10,000 calls against a daemon that replies, fails, repeats itself, keeps silent, switches and disappears
// at random: each call completes exactly once, and none after its deadline.

import PairedSession
import Synchronization
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct RandomScheduleTests {
    private struct Call {
        let deadline: MonotonicTime
        var completions = 0
        var isLate = false
    }

    @Test("each of 10,000 calls completes exactly once by its deadline", arguments: [11] as [UInt64])
    func everyCallCompletesOnce(seed: UInt64) throws {
        let fixture = try SessionFixture()
        let (scheduler, daemon) = (fixture.scheduler, fixture.daemon)
        var random = SeededGenerator(seed: seed)
        var reactions = SeededGenerator(seed: seed &+ 1)
        _ = (daemon.pair(), daemon.pair())
        daemon.onFrame = { [unowned daemon] in Self.react(daemon, to: $0, &reactions) }
        fixture.activate()
        let calls = Box()
        for number in 0..<10_000 {
            let timeout = Duration.milliseconds(Int(random.next() % 400) + 1)
            calls.add(Call(deadline: scheduler.now + timeout))
            fixture.core.run { core in
                core.request(OutgoingContent(["n": .integer(Int64(number))]), timeout: timeout) { _ in
                    calls.complete(number, now: scheduler.now)
                }
            }
            if random.next() % 3 == 0 { scheduler.advance(by: .milliseconds(Int(random.next() % 20))) }
            disturb(daemon, &random)
        }
        daemon.onFrame = { _ in }
        scheduler.advance(by: .seconds(2))
        let all = calls.all
        #expect(all.count == 10_000)
        #expect(all.allSatisfy { $0.completions == 1 })
        #expect(!all.contains { $0.isLate })
        #expect(daemon.dials > 10)
    }

    private static func react(_ daemon: ScriptedDaemon, to question: Envelope, _ random: inout SeededGenerator) {
        guard question.kind == .message, let pairing = question.pairing, let id = question.id else { return }
        var answer = Envelope(.reply, app: daemon.app, pairing: pairing, id: id)
        answer.body = [98, 112][...]
        let roll = random.next() % 10
        switch roll {
        case 0...4: daemon.send(answer)
        case 5: for _ in 0..<2 { daemon.send(answer) }
        case 6:
            let error = SessionError.unhandled
            if let failure = try? error.failure(app: daemon.app, pairing: pairing, id: id) { daemon.send(failure) }
        case 7:
            let delay = Duration.milliseconds(Int(random.next() % 500))
            daemon.scheduler.schedule(after: delay) { [weak daemon] in daemon?.send(answer) }
        default: break
        }
    }

    private func disturb(_ daemon: ScriptedDaemon, _ random: inout SeededGenerator) {
        switch random.next() % 400 {
        case 0: daemon.cut()
        case 1:
            daemon.isRunning = false
            daemon.cut()
        case 2...5: daemon.isRunning = true
        case 6:
            daemon.situation.active = daemon.situation.pairings.last?.pairing
            daemon.situation.pairings.swapAt(0, 1)
            daemon.tellSituation()
        default: break
        }
    }

    /// The calls, reachable from completions.
    private final class Box: Sendable {
        private let calls = Mutex<[Call]>([])

        func add(_ call: Call) { calls.withLock { $0.append(call) } }

        func complete(_ number: Int, now: MonotonicTime) {
            calls.withLock { calls in
                calls[number].completions += 1
                if now > calls[number].deadline { calls[number].isLate = true }
            }
        }

        var all: [Call] { calls.withLock { $0 } }
    }
}
