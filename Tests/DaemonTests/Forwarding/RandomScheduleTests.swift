// Whatever happens in whatever order, each request of a caller ends exactly once, by its own deadline. Callers do what
// the library does: they give up at their deadline, and count whatever comes for a request that they no longer have.

import TandemBase
import TandemDaemon
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@Suite struct RandomScheduleTests {
    private final class Caller {
        let client: Client
        var open: [UniqueIdentifier: MonotonicTime] = [:]
        var ended = 0
        var timedOut = 0
        var strangeEnds = 0

        init(_ client: Client) {
            self.client = client
            client.onFrame = { [unowned self] _, _, envelope in
                guard envelope.kind == .reply || envelope.kind == .failure, let id = envelope.id else { return }
                if open.removeValue(forKey: id) == nil { strangeEnds += 1 } else { ended += 1 }
            }
        }

        func giveUp(now: MonotonicTime) {
            for (id, deadline) in open where deadline <= now {
                open[id] = nil
                timedOut += 1
            }
        }

        func lost() {
            ended += open.count
            open = [:]
        }
    }

    private static func answersAtRandom(_ client: Client, _ dice: Dice) {
        client.onFrame = { client, _, envelope in
            guard envelope.kind == .message else { return }
            switch dice.roll(10) {
            case 0..<6: try? client.send(envelope.answer("yes"))
            case 6: for _ in 0..<2 { try? client.send(envelope.answer("twice")) }
            case 7:
                guard let app = envelope.app, let pairing = envelope.pairing, let id = envelope.id else { return }
                let error = SessionError(.messageReplyFailed, name: "handler-failed", reason: "thrown")
                try? client.send(error.failure(app: app, pairing: pairing, id: id))
            default: break  // never
            }
        }
    }

    private final class Dice {
        private var generator: SeededGenerator
        init(seed: UInt64) { generator = SeededGenerator(seed: seed) }
        func roll(_ sides: UInt64) -> UInt64 { generator.next() % sides }
    }

    @Test(arguments: Repetition.seeds(1, long: 4))
    func `SES-9: 2,500 requests under random disconnects and link losses end exactly once each`(seed: UInt64) throws {
        let dice = Dice(seed: seed)
        let world = TwoDevices()
        try world.linkUp()
        let caller = Caller(try world.devices.primary.app())
        var counterpart = try world.devices.secondary.app()
        Self.answersAtRandom(counterpart, dice)
        var sent = 0
        while sent < 2_500 {
            switch dice.roll(40) {
            case 0:
                counterpart.disconnect()
                world.scheduler.run()
                counterpart = try world.devices.secondary.app()
                Self.answersAtRandom(counterpart, dice)
            case 1: world.linkDown()
            case 2, 3: try world.linkUp()
            case 4: world.links?.primary.isStuck.toggle()
            default:
                var request = try world.message()
                request.deadline = .milliseconds(Int64(1 + dice.roll(2_000)))
                caller.open[try #require(request.id)] = world.scheduler.now + (request.deadline ?? .zero)
                try caller.client.send(request)
                sent += 1
            }
            if dice.roll(3) == 0 { world.scheduler.advance(by: .milliseconds(Int64(dice.roll(200)))) }
            caller.giveUp(now: world.scheduler.now)
        }
        world.scheduler.advance(by: .seconds(5))
        caller.giveUp(now: world.scheduler.now)
        #expect(caller.open.isEmpty && caller.ended + caller.timedOut == sent)
        #expect(caller.ended > sent / 4 && caller.strangeEnds <= caller.timedOut)
        #expect(world.devices.primary.relay.openRequestCount == 0)
        #expect(world.devices.secondary.relay.openRequestCount == 0)
    }
}
