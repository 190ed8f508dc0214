// Configurations with waived signatures beside good ones: which of them the app sees, and what their senders hear.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@Suite struct WaivedTrialTests {
    /// The app does not load what is applied.
    private static func fault(of digest: [UInt8]) throws -> LoadFault? {
        LoadFault(try #require(OfferReply(["tandem.verdict": "schema", "tandem.digest": .data(digest)])))
    }

    @Test("CFG-35, CFG-61: one that waits for the end of a trial has no file for the app before, and then has one")
    func fileOfAHeldBackOne() throws {
        var slot = try Fixture.tryingSlot()
        let waits = try Fixture.receiveWaived(by: &slot)
        let staged = try #require(slot.staged)
        #expect(waits.changes.contains(.counted(staged)) && !waits.stages && slot.content(of: .staged) == nil)
        for _ in 1..<ConfigurationLimits.attempts {
            slot.applicationDisconnected()
            _ = slot.applicationConnected()
        }
        let failed = slot.applicationDisconnected()
        #expect(slot.active?.record.version == 6 && failed.verdict == .failed)
        #expect(failed.changes.contains(.staged(staged)) && slot.content(of: .staged) == staged.dictionary)
        #expect(!failed.stages, "key sets that cannot be written must not keep the end of the trial from its commit")
        #expect(slot.applicationConnected().effects.count == 1)
    }

    @Test("CFG-114: the senders of bytes that pass a second trial, as good ones, are told beside the first")
    func twoTrialsOfTheSameBytes() throws {
        var slot = try Fixture.usedSlot()
        try Fixture.receiveWaived(by: &slot)
        let record = try #require(slot.staged?.record)
        let applied = try Fixture.reply("applied", to: slot)
        _ = slot.answered(applied, now: Fixture.now)
        Fixture.live(&slot)
        // Its keys are trusted now.
        var context = try Fixture.context()
        context.anchor = .trusted(KeySetHistory(TrustedKeySet(Fixture.stranger.publicKey)))
        let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
        _ = slot.received(record.envelope, by: other, in: context)
        _ = slot.answered(applied, now: Fixture.now)
        Fixture.live(&slot)
        #expect(slot.active?.record == record && slot.waived == nil)
        slot.note(try Self.fault(of: record.digest), hasAnswered: true)
        #expect(slot.reloaded().reports.map(\.delivery) == [Fixture.delivery, other])
    }

    @Test("CFG-114: the senders of what is active hear of its loading also after a waived one has come and gone")
    func loadingBelowAWaivedOne() throws {
        var slot = try Fixture.usedSlot()
        let active = try #require(slot.active?.record)
        try Fixture.receiveWaived(by: &slot)
        _ = slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now)
        Fixture.live(&slot)
        let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
        _ = slot.received(active.envelope, by: other, in: try Fixture.context())
        let row = try #require(slot.loadReports)
        #expect(try LoadReports(Fixture.written(row.dictionary)) == row)
        _ = slot.permissionEnded(in: try Fixture.context())
        slot.note(try Self.fault(of: active.digest), hasAnswered: true)
        #expect(slot.reloaded().reports.map(\.delivery) == [Fixture.delivery, other])
    }

    @Test(
        "CFG-22, CFG-61: the end of the permission is reported to a sender of another envelope by its own digest",
        arguments: [true, false])
    func endOfThePermissionInAnotherEnvelope(_ isOnTrial: Bool) throws {
        var slot = try Fixture.usedSlot()
        try Fixture.receiveWaived(by: &slot)
        _ = slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now)
        if !isOnTrial { Fixture.live(&slot) }
        let bytes = try #require(slot.waived).record.envelope
        let envelope = try Fixture.rewrapped(bytes)
        let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
        var context = try Fixture.context()
        context.allowsInvalidSignatures = true
        #expect(slot.received(envelope, by: other, in: context).verdict == .applied)
        let ended = slot.permissionEnded(in: try Fixture.context()).reports
        #expect(ended.map(\.delivery) == [Fixture.delivery, other])
        #expect(ended.map(\.digest) == [SHA256.digest(bytes), SHA256.digest(envelope)])
        #expect(ended.allSatisfy { $0.verdict == .rejected(.threshold) })
    }
}
