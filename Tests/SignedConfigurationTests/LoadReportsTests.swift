// Reports about the loading of what is applied (CFG-114): they end with what they are about.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@Suite struct LoadReportsTests {
    @Test("CFG-63, CFG-114: reports about loading end with a trial of their own configuration that fails")
    func failedTrialOfTheSameBytes() throws {
        var slot = try Fixture.usedSlot()
        let good = slot.active
        let bytes = try ConfigurationSigner.sign(try Fixture.payload(version: 50), with: [Fixture.stranger])
        var context = try Fixture.context(.staging)
        context.allowsInvalidSignatures = true
        _ = slot.received(bytes, by: Fixture.delivery, in: context)
        let digest = try #require(slot.staged?.record.digest)
        let applied = try Fixture.reply("applied", to: slot)
        #expect(slot.answered(applied, now: Fixture.now).verdict == .applied)
        Fixture.live(&slot)
        #expect(slot.waived != nil && slot.trial == nil && slot.loadReports != nil)
        // Its keys are trusted now: the same bytes are on trial as good ones.
        context.anchor = .trusted(KeySetHistory(TrustedKeySet(Fixture.stranger.publicKey)))
        _ = slot.received(bytes, by: Fixture.delivery, in: context)
        #expect(slot.answered(applied, now: Fixture.now).verdict == .applied)
        #expect(slot.active?.record.digest == digest && slot.trial?.digest == digest)
        let failed = try #require(OfferReply(["tandem.verdict": "schema", "tandem.digest": .data(digest)]))
        slot.note(LoadFault(failed), hasAnswered: true)
        let ended = slot.reloaded()
        #expect(slot.active == good && slot.loadReports == nil && ended.changes.contains(.loadReports(nil)))
    }

    @Test("CFG-61, CFG-113: neither time nor an orderly end passes a trial of which the app cannot judge the bytes")
    func trialWithoutJudgement() throws {
        var slot = try Fixture.tryingSlot()
        slot.note(nil, hasAnswered: false, cannotJudge: true)
        Fixture.live(&slot)
        _ = slot.applicationDisconnected(.inOrder)
        #expect(slot.trial != nil)
        _ = slot.applicationConnected()
        slot.note(nil, hasAnswered: true)
        Fixture.live(&slot)
        #expect(slot.trial == nil && slot.active?.record.version == 7)
    }

    @Test("CFG-62, CFG-113: a start of an app that cannot judge what is on trial is no attempt, however it ends")
    func startsWithoutJudgement() throws {
        var slot = try Fixture.tryingSlot()
        for _ in 0..<5 {
            slot.note(nil, hasAnswered: false)
            _ = slot.applicationDisconnected()
            _ = slot.applicationConnected()
            slot.note(nil, hasAnswered: false, cannotJudge: true)
            for _ in 0..<2 { _ = slot.reloaded() }
            #expect(slot.trial?.attempts == 1, "the offer's own")
        }
    }
}
