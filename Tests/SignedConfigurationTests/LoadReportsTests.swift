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
        let (good, former) = (slot.active, slot.loadReports)
        let bytes = try ConfigurationSigner.sign(try Fixture.payload(version: 50), with: [Fixture.stranger])
        var context = try Fixture.context()
        context.allowsInvalidSignatures = true
        _ = slot.received(bytes, by: Fixture.delivery, in: context)
        let digest = try #require(slot.staged?.record.digest)
        let applied = try Fixture.reply("applied", to: slot)
        #expect(slot.answered(applied, now: Fixture.now).verdict == .applied)
        Fixture.live(&slot)
        #expect(slot.waived != nil && slot.trial == nil && slot.loadReports != former)
        // Its keys are trusted now: the same bytes are on trial as good ones.
        context.anchor = .trusted(KeySetHistory(TrustedKeySet(Fixture.stranger.publicKey)))
        _ = slot.received(bytes, by: Fixture.delivery, in: context)
        #expect(slot.answered(applied, now: Fixture.now).verdict == .applied)
        #expect(slot.active?.record.digest == digest && slot.trial?.digest == digest)
        let failed = try #require(OfferReply(["tandem.verdict": "schema", "tandem.digest": .data(digest)]))
        slot.note(LoadFault(failed), hasAnswered: true)
        let ended = slot.reloaded()
        #expect(slot.active == good && slot.loadReports == former && ended.changes.contains(.loadReports(former)))
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

    @Test("CFG-114, CFG-115: that the app cannot read what is applied is a fault for its senders, and ends no trial")
    func unread() throws {
        let unread = UnreadConfiguration(because: "EACCES")
        #expect(ReloadReply(unread.message, applied: nil) == nil, "nothing is applied that it could be about")
        func cannotRead(_ slot: inout ConfigurationSlot) throws -> [ReportFacts] {
            let digest = try #require(slot.active?.record.digest)
            let reply = try #require(ReloadReply(unread.message, applied: digest))
            #expect(reply.fault?.digest == digest && reply.fault?.name == "not-judged")
            slot.note(reply.fault, hasAnswered: true, cannotJudge: true)
            return slot.reloaded().reports
        }
        var used = try Fixture.usedSlot()
        let told = try cannotRead(&used)
        #expect(told.map(\.text) == ["the app does not load it [not-judged]: \(unread.text)"])
        #expect(told.map(\.verdict) == [.applied] && used.active?.record.version == 6)
        let again = try cannotRead(&used)
        #expect(again.isEmpty, "once")
        let row = try #require(used.loadReports)
        #expect(try LoadReports(row.dictionary) == row)
        var trying = try Fixture.tryingSlot()
        let onTrial = try cannotRead(&trying)
        #expect(onTrial.isEmpty)
        Fixture.live(&trying)
        #expect(trying.trial != nil && trying.active?.record.version == 7)
    }

    @Test("CFG-116: an app that has loaded other bytes than those that are applied, or that wait for it, has a fault")
    func otherBytes() throws {
        let (applied, waiting) = (SHA256.digest([1]), SHA256.digest([2]))
        func reply(_ loaded: [UInt8]?, about digest: [UInt8]?) -> ReloadReply? {
            ReloadReply(ReloadReply.message(loaded: loaded), applied: digest, waiting: waiting)
        }
        for loaded in [nil, applied, waiting] {
            let fine = try #require(reply(loaded, about: applied))
            #expect(fine.fault == nil)
        }
        for loaded in [[], SHA256.digest([3])] {
            let fault = try #require(reply(loaded, about: applied)?.fault)
            #expect(fault.digest == applied && fault.name == "other-loaded" && fault.rejection == nil)
            #expect(fault.isOfOtherBytes && fault.isUnjudged && !fault.detail.isEmpty)
            let unrelated = try #require(reply(loaded, about: nil))
            #expect(unrelated.fault == nil, "nothing is applied that it could be about")
        }
        for form in [.data([1]), "x"] as [PropertyListValue] {
            let message: PropertyListDictionary = ["tandem.verdict": "applied", "tandem.loaded": form]
            #expect(ReloadReply(message, applied: applied) == nil)
        }
    }

    @Test("CFG-114, CFG-116: other bytes in place of those on trial end no trial, and time does not pass it")
    func otherBytesOnTrial() throws {
        var slot = try Fixture.tryingSlot()
        let digest = try #require(slot.active?.record.digest)
        let reply = try #require(ReloadReply(ReloadReply.message(loaded: []), applied: digest))
        slot.note(reply.fault, hasAnswered: true, cannotJudge: true)
        #expect(slot.reloaded().reports.isEmpty)
        Fixture.live(&slot)
        #expect(slot.trial != nil && slot.active?.record.version == 7)
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
