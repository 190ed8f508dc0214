// Configurations with waived signatures beside good ones: which of them the app sees, and what their senders hear.

import TandemSignedConfiguration
import Testing

@Suite struct WaivedTrialTests {
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
        #expect(failed.stages && slot.content(of: .staged) == staged.dictionary)
        #expect(slot.applicationConnected().effects.count == 1)
    }

    @Test("CFG-22, CFG-114: all senders of a waived one hear of the end of its permission, on trial again or not")
    func endOfAPermissionForTwo() throws {
        for isOnTrialAgain in [false, true] {
            var slot = try Fixture.usedSlot()
            try Fixture.receiveWaived(by: &slot)
            let envelope = try #require(slot.staged?.record.envelope)
            let applied = try Fixture.reply("applied", to: slot)
            _ = slot.answered(applied, now: Fixture.now)
            Fixture.live(&slot)
            let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
            var context = try Fixture.context()
            context.allowsInvalidSignatures = true
            _ = slot.received(envelope, by: other, in: context)
            if slot.phase == .offered { _ = slot.answered(applied, now: Fixture.now) }
            if !isOnTrialAgain { Fixture.live(&slot) }
            let ended = slot.permissionEnded(in: try Fixture.context())
            #expect(ended.reports.map(\.delivery) == [Fixture.delivery, other])
            #expect(ended.reports.map(\.verdict) == [.rejected(.threshold), .rejected(.threshold)])
        }
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
        let fault = try #require(
            OfferReply(["tandem.verdict": "schema", "tandem.digest": .data(active.digest)]))
        slot.note(LoadFault(fault), hasAnswered: true)
        #expect(slot.reloaded().reports.map(\.delivery) == [Fixture.delivery, other])
    }
}
