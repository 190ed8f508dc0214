// SES-39: one call, two ways, one identifier: queued only if the caller allows it and no handler can have seen the
// message.

import Foundation
import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct DeliveryTests {
    private typealias Receipts = Collector<Result<DeliveryReceipt, SessionError>>

    private let fixture: SessionFixture

    init() throws { fixture = try SessionFixture() }

    private func deliver(_ policy: UnreachablePolicy = .queue) -> Receipts {
        let (receipts, session) = (Receipts(), fixture.session)
        Task {
            do throws(SessionError) {
                let receipt = try await session.deliver(["n": 1], topic: "alarms", ifUnreachable: policy)
                receipts.add(.success(receipt))
            } catch {
                receipts.add(.failure(error))
            }
        }
        return receipts
    }

    /// Runs the loop until something has happened; the callers' tasks need this one's thread to go on.
    private func run(until condition: () -> Bool) async {
        while !condition() {
            fixture.scheduler.run()
            await Task.yield()
        }
    }

    private var sent: [Envelope] { fixture.daemon.received.filter { $0.kind == .message || $0.kind == .submit } }

    private func activate(_ level: ReachabilityLevel, _ reason: ReachabilityReason) {
        fixture.daemon.pair(level, reason)
        fixture.activate()
    }

    private func fail(_ question: Envelope, _ code: SessionError.Code, _ name: String) throws {
        let error = SessionError(code, name: name, reason: "as told")
        fixture.daemon.send(
            try error.failure(
                app: try #require(question.app), pairing: try #require(question.pairing),
                id: try #require(question.id), channel: question.channel))
    }

    private func accept(_ item: Envelope) {
        fixture.daemon.send(
            Envelope(.accepted, app: item.app, pairing: item.pairing, id: item.id, channel: item.channel))
    }

    @Test("SES-39: what can be reached gets a message, and the receipt says that it was handled")
    func message() async throws {
        activate(.immediate, .none)
        let receipts = deliver()
        await run { !sent.isEmpty }
        let question = sent[0]
        #expect(question.kind == .message && question.topic == "alarms" && question.wantsReply)
        let reply = Envelope(.reply, app: question.app, pairing: question.pairing, id: question.id)
        fixture.daemon.send(try reply.with(body: ["yes": 1]))
        await run { !receipts.all.isEmpty }
        let receipt = try receipts.all[0].get()
        #expect(receipt.channel == .message && receipt.level == .handled && receipt.reply == ["yes": 1])
        #expect(receipt.id == question.id && receipt.transfer == nil && sent.count == 1)
    }

    @Test("SES-39: what cannot be reached is queued under the same identifier, if the caller allows it")
    func queued() async throws {
        activate(.unreachable, .noLink)
        let refused = deliver(.fail)
        await run { !refused.all.isEmpty }
        #expect(refused.all.first?.error?.code == .notReachable && sent.isEmpty)
        let receipts = deliver()
        await run { !sent.isEmpty }
        #expect(sent.map(\.kind) == [.submit] && sent[0].topic == "alarms")
        #expect(try sent[0].dictionaryBody() == ["n": 1])
        accept(sent[0])
        await run { !receipts.all.isEmpty }
        let receipt = try receipts.all[0].get()
        #expect(receipt.channel == .userInfo && receipt.level == .accepted && receipt.reply == nil)
        #expect(receipt.id == sent[0].id && receipt.transfer?.id == sent[0].id)
        #expect(receipt.unreachable?.code == .notReachable && receipt.pairing == sent[0].pairing)
    }

    @Test("SES-39: a message that turns out to have had no way is queued as the same item")
    func lateUnreachable() async throws {
        activate(.immediate, .none)
        let receipts = deliver()
        await run { !sent.isEmpty }
        try fail(sent[0], .notReachable, "no-link")
        await run { sent.count == 2 }
        #expect(sent[1].kind == .submit && sent[1].id == sent[0].id && sent[1].body == sent[0].body)
        accept(sent[1])
        await run { !receipts.all.isEmpty }
        #expect(try receipts.all[0].get().channel == .userInfo)
    }

    @Test(
        "SES-39: a message that a handler may have seen is never queued as well",
        arguments: [(SessionError.Code.deliveryFailed, "link-lost"), (.messageReplyFailed, "counterpart-disconnected")])
    func neverTwice(code: SessionError.Code, name: String) async throws {
        activate(.immediate, .none)
        let receipts = deliver()
        await run { !sent.isEmpty }
        try fail(sent[0], code, name)
        await run { !receipts.all.isEmpty }
        #expect(receipts.all.first?.error?.name == name && sent.count == 1)
    }

    @Test("SES-39: both ways go to the device that was active at the call, whatever is switched meanwhile")
    func oneDevice() async throws {
        activate(.immediate, .none)
        let receipts = deliver()
        await run { !sent.isEmpty }
        fixture.daemon.situation.active = fixture.daemon.pair()
        fixture.tellSituation()
        try fail(sent[0], .notReachable, "no-link")
        await run { sent.count == 2 }
        #expect(sent[1].pairing == sent[0].pairing)
        accept(sent[1])
        await run { !receipts.all.isEmpty }
    }

    @Test("SES-39: without activation or pairing nothing is tried")
    func refused() async throws {
        let early = deliver()
        await run { !early.all.isEmpty }
        #expect(early.all.first?.error?.code == .sessionNotActivated)
        fixture.activate()
        let alone = deliver()
        await run { !alone.all.isEmpty }
        #expect(alone.all.first?.error?.code == .deviceNotPaired && sent.isEmpty)
    }
}
