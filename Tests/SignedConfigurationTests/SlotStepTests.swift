// Steps of a slot: the ends of bytes that waited for the app, and the deliveries whose last verdict was outstanding.

import TandemCrypto
import TandemSignedConfiguration
import Testing

@Suite struct SlotStepTests {
    private func step(
        of slot: inout ConfigurationSlot, _ event: (inout ConfigurationSlot) throws -> ApplyTransition
    ) rethrows -> SlotStep {
        let before = slot
        let transition = try event(&slot)
        return SlotStep(transition, from: before, to: slot)
    }

    private func receive(_ bytes: [UInt8], in slot: inout ConfigurationSlot) throws -> SlotStep {
        try step(of: &slot) { $0.received(bytes, by: Fixture.delivery, in: try Fixture.context()) }
    }

    @Test("CFG-32: a configuration that a newer one replaces ends as superseded, also if the newer one fails")
    func superseded() throws {
        var slot = try Fixture.slot()
        let (older, newer) = (try Fixture.envelope(version: 7), try Fixture.envelope(version: 8))
        let first = try receive(older, in: &slot)
        let second = try receive(newer, in: &slot)
        let again = try receive(newer, in: &slot)
        #expect(first.ended?.digest == nil && again.ended?.digest == nil, "the same bytes still wait")
        #expect(second.ended?.digest == SHA256.digest(older) && second.ended?.verdict == .superseded)
        _ = step(of: &slot) { $0.applicationConnected() }
        let reply = try Fixture.reply("failed", to: slot)
        let failed = step(of: &slot) { $0.answered(reply, now: Fixture.now) }
        #expect(failed.ended?.digest == SHA256.digest(newer) && failed.transition.verdict == .failed)
    }

    @Test("CFG-43: what waited for its app ends with the app's verdict, and without one as superseded")
    func answered() throws {
        var slot = try Fixture.slot()
        let bytes = try Fixture.envelope()
        _ = try receive(bytes, in: &slot)
        let offered = step(of: &slot) { $0.applicationConnected() }
        #expect(offered.ended?.digest == nil)
        var closing = slot
        let closed = step(of: &closing) { $0.closed() }
        #expect(closed.ended?.digest == SHA256.digest(bytes) && closed.ended?.verdict == .superseded)
        let reply = try Fixture.reply("applied", to: slot)
        let answered = step(of: &slot) { $0.answered(reply, now: Fixture.now) }
        #expect(answered.ended?.verdict == answered.transition && answered.transition.verdict == .applied)
    }

    @Test("CFG-52: a delivery waits for its last verdict from the first one until the trial of its bytes is over")
    func awaiting() throws {
        var slot = try Fixture.slot()
        _ = slot.applicationConnected()
        let received = try receive(try Fixture.envelope(), in: &slot)
        let reply = try Fixture.reply("applied", to: slot)
        let answered = step(of: &slot) { $0.answered(reply, now: Fixture.now) }
        let lived = step(of: &slot) { Fixture.live(&$0) }
        let later = step(of: &slot) { $0.timePassed(running: .zero, now: Fixture.now) }
        #expect(received.awaiting.isEmpty && later.awaiting.isEmpty)
        #expect(answered.awaiting == [Fixture.delivery] && lived.awaiting == [Fixture.delivery])
    }
}
