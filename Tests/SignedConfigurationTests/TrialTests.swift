// The trial of an applied configuration: an app that does not live with a value gets the last good one back, and the
// version never returns. Every durable step can be the last one before a crash.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@Suite struct TrialTests {
    private static let limit = ConfigurationLimits.attempts

    /// The library's account after so many starts with the configuration.
    private static func attempts(_ digest: [UInt8], starts: UInt64, healthy: Bool = false) -> LoadAttempts {
        var attempts = LoadAttempts()
        for _ in 0..<starts { attempts.count(digest, known: 0) }
        if healthy { attempts.confirm(digest) }
        return attempts
    }

    /// The app ends and starts again until the next end is the last one.
    private static func useAttempts(_ slot: inout ConfigurationSlot) {
        for _ in 1..<limit {
            slot.applicationDisconnected()
            _ = slot.applicationConnected()
        }
    }

    // MARK: a good one

    @Test("CTL-25, CFG-61: the verdict of this device's own app says that its configuration is on trial, also again")
    func theVerdictSaysOnTrial() throws {
        var slot = try Fixture.usedSlot()
        let (bytes, context) = (try Fixture.envelope(), try Fixture.context())
        _ = slot.received(bytes, by: nil, in: context)
        #expect(slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now).detail == "on trial")
        let again = slot.received(bytes, by: nil, in: context)
        #expect(again.verdict == .applied && again.detail == "on trial")
        Fixture.live(&slot)
        let later = slot.received(bytes, by: nil, in: context)
        #expect(later.verdict == .applied && later.detail.isEmpty)
    }

    @Test("CFG-61, LIM-87: an app that stays connected proves the configuration good, which is reported once")
    func aLivingAppProvesTheConfigurationGood() throws {
        var slot = try Fixture.tryingSlot()
        #expect(slot.trial?.previous?.record.version == 6 && slot.trial?.attempts == 1)
        for _ in 0..<3 { #expect(slot.timePassed(running: .seconds(10), now: Fixture.now) == ApplyTransition()) }
        let passed = slot.timePassed(running: .seconds(10), now: Fixture.now)
        #expect(slot.trial == nil && slot.active?.record.version == 7)
        #expect(passed.changes.last == .trial(nil) && passed.effects.isEmpty)
        let facts = try #require(passed.reports.last)
        #expect(facts.verdict == .applied && facts.isOnTrial == false && facts.delivery == Fixture.delivery)
        #expect(slot.timePassed(running: .seconds(60), now: Fixture.now) == ApplyTransition())
    }

    @Test("CFG-61: time without the app proves nothing, and each registration begins again")
    func timeWithoutTheAppProvesNothing() throws {
        var slot = try Fixture.tryingSlot()
        _ = slot.timePassed(running: .seconds(10), now: Fixture.now)
        _ = slot.timePassed(running: .seconds(29), now: Fixture.now)
        slot.applicationDisconnected()
        #expect(slot.timePassed(running: .seconds(3600), now: Fixture.now) == ApplyTransition())
        _ = slot.applicationConnected()
        #expect(slot.timePassed(running: .seconds(10), now: Fixture.now) == ApplyTransition())
        #expect(slot.timePassed(running: .seconds(29), now: Fixture.now) == ApplyTransition())
        #expect(slot.trial != nil)
        _ = slot.timePassed(running: .seconds(1), now: Fixture.now)
        #expect(slot.trial == nil && slot.active?.record.version == 7)
    }

    @Test("CFG-61: an app that ends in order, or says that it is well, has proved it")
    func anAppThatEndsInOrderHasProvedIt() throws {
        var ended = try Fixture.tryingSlot()
        #expect(ended.applicationDisconnected(.inOrder).reports.last?.isOnTrial == false)
        #expect(ended.trial == nil && ended.active?.record.version == 7)
        var confirmed = try Fixture.tryingSlot()
        let digest = try #require(confirmed.active?.record.digest)
        confirmed.note(Self.attempts(digest, starts: 1, healthy: true))
        #expect(confirmed.timePassed(running: .zero, now: Fixture.now).reports.last?.isOnTrial == false)
        #expect(confirmed.trial == nil)
        var crashed = try Fixture.tryingSlot()
        crashed.note(Self.attempts(digest, starts: Self.limit, healthy: true))
        crashed.applicationDisconnected()
        #expect(crashed.active?.record.version == 7, "what it has confirmed stays, whatever ends it later")
    }

    @Test("CFG-61: another target of the app is no failure")
    func anotherTargetIsNoFailure() throws {
        var slot = try Fixture.tryingSlot()
        Self.useAttempts(&slot)
        #expect(slot.trial?.attempts == Self.limit)
        #expect(slot.applicationDisconnected(.switched).verdict == nil)
        #expect(slot.active?.record.version == 7 && slot.trial != nil)
    }

    // MARK: a bad one

    @Test("CFG-62, CFG-63, LIM-88: an app that ends three times gets the last good one back; the version is burnt")
    func threeEndsRollBack() throws {
        var slot = try Fixture.tryingSlot()
        let bad = try #require(slot.active?.record.envelope)
        let good = try #require(slot.trial?.previous)
        for attempt in 1..<Self.limit {
            #expect(slot.applicationDisconnected() == ApplyTransition())
            let again = slot.applicationConnected()
            #expect(again.changes == [.trial(slot.trial)], "counted before the app goes on")
            #expect(slot.trial?.attempts == attempt + 1)
        }
        let failed = slot.applicationDisconnected()
        #expect(failed.verdict == .failed && failed.effects.isEmpty && failed.detail.contains("3 attempts"))
        #expect(slot.active == good && slot.trial == nil)
        #expect(Array(failed.changes.prefix(3)) == [.active(good), .mark(try #require(slot.mark)), .trial(nil)])
        let facts = try #require(failed.reports.last)
        #expect(facts.verdict == .failed && facts.version == 7 && facts.good?.version == 6)
        #expect(facts.delivery == Fixture.delivery && facts.text?.contains("3 attempts") == true)
        let context = try Fixture.context()
        let again = slot.received(bad, by: Fixture.delivery, in: context)
        #expect(again.verdict == .rejected(.rollback) && again.detail.contains("failed on this device"))
        let twin = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: context)
        #expect(twin.verdict == .rejected(.equivocation))
        _ = slot.applicationConnected()
        try Fixture.apply(try Fixture.envelope(version: 8), to: &slot)
        #expect(slot.trial?.previous == good)
    }

    @Test("CFG-63: without a good one before it, none is active")
    func theFirstOneThatFailsLeavesNone() throws {
        var slot = try Fixture.slot()
        _ = slot.applicationConnected()
        try Fixture.apply(try Fixture.envelope(), to: &slot)
        Self.useAttempts(&slot)
        #expect(slot.applicationDisconnected().verdict == .failed)
        #expect(slot.active == nil && slot.mark?.version == 7 && slot.mark?.isActive == false)
    }

    @Test("CFG-62: starts that only the library has seen count, and its refusal rolls back at the registration")
    func theLibrarysStartsCount() throws {
        var slot = try Fixture.tryingSlot()
        let digest = try #require(slot.active?.record.digest)
        slot.applicationDisconnected()
        slot.note(Self.attempts(digest, starts: Self.limit))
        #expect(slot.applicationConnected().verdict == nil, "the third start lives")
        #expect(slot.trial?.attempts == Self.limit)
        var refused = try Fixture.tryingSlot()
        refused.applicationDisconnected()
        let ofRefused = try #require(refused.active?.record.digest)
        refused.note(Self.attempts(ofRefused, starts: Self.limit + 1))
        let failed = refused.applicationConnected()
        #expect(failed.verdict == .failed && failed.effects == [.reload] && refused.active?.record.version == 6)
    }

    @Test("CFG-62: ends of the daemon alone are no attempts of an app whose library counts its starts")
    func endsOfTheDaemon() throws {
        func restarted(_ slot: ConfigurationSlot, starts: UInt64) throws -> ConfigurationSlot {
            var next = ConfigurationSlot(
                key: slot.key, device: slot.device, mark: slot.mark, active: slot.active, staged: slot.staged,
                trial: slot.trial)
            let digest = slot.staged?.record.digest ?? slot.trial?.digest
            next.note(Self.attempts(try #require(digest), starts: starts))
            _ = next.applicationConnected()
            return next
        }
        var offered = try Fixture.usedSlot()
        _ = offered.received(try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        var tried = try Fixture.tryingSlot()
        for _ in 0..<5 {
            offered = try restarted(offered, starts: 1)
            #expect(offered.phase == .offered && offered.staged?.attempts == 1)
            tried = try restarted(tried, starts: 1)
            #expect(tried.trial?.attempts == 1)
        }
        // The app has ended with it as well; and with the daemon there is no account.
        #expect(try restarted(tried, starts: 2).trial?.attempts == 2)
        #expect(try restarted(tried, starts: 0).trial?.attempts == 2)
        // Once the daemon sees the app's ends, each counts.
        tried.applicationDisconnected()
        _ = tried.applicationConnected()
        #expect(tried.trial?.attempts == 2)
    }

    @Test("CFG-62, CFG-63: an app that dies over an offer three times gets no fourth one")
    func offersAreCounted() throws {
        var slot = try Fixture.usedSlot()
        let offered = slot.received(
            try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        #expect(offered.changes.last == .counted(try #require(slot.staged)) && slot.staged?.attempts == 1)
        for attempt in 2...Self.limit {
            #expect(slot.applicationDisconnected().verdict == .waitingForApplication)
            #expect(!slot.applicationConnected().effects.isEmpty)
            #expect(slot.staged?.attempts == attempt)
        }
        let failed = slot.applicationDisconnected()
        #expect(failed.verdict == .failed && slot.staged == nil && slot.phase == .idle)
        #expect(slot.active?.record.version == 6 && slot.mark?.version == 7 && slot.mark?.isBurnt == true)
        #expect(failed.reports.last?.verdict == .failed && failed.reports.last?.good?.version == 6)
        #expect(slot.applicationConnected().effects.isEmpty)
    }

    @Test("CFG-43, CFG-63: an app that hangs is asked again while it stays, and then given up")
    func aHangingAppIsGivenUp() throws {
        var slot = try Fixture.usedSlot()
        _ = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        for _ in 1..<Self.limit {
            #expect(slot.answerOverdue().verdict == .waitingForApplication)
            #expect(slot.timePassed(running: .seconds(10), now: Fixture.now).effects.count == 1)
        }
        let failed = slot.answerOverdue()
        #expect(failed.verdict == .failed && failed.effects == [.reload])
        #expect(slot.active?.record.version == 6 && failed.detail.contains("3 attempts"))
    }

    @Test("CFG-63: a version that fails beside one on trial stays burnt when that one is rolled back")
    func twoFailures() throws {
        let context = try Fixture.context()
        var slot = try Fixture.tryingSlot()
        let newer = try Fixture.envelope(version: 8)
        _ = slot.received(newer, by: Fixture.delivery, in: context)
        for _ in 1...Self.limit {
            slot.applicationDisconnected()
            _ = slot.applicationConnected()
        }
        #expect(slot.active?.record.version == 6 && slot.trial == nil && slot.staged == nil)
        #expect(slot.mark?.version == 8 && slot.mark?.isBurnt == true)
        #expect(slot.received(newer, by: Fixture.delivery, in: context).verdict == .rejected(.rollback))
    }

    @Test("CFG-35: an app that may have taken an offer which another one replaced reads its files if that is rejected")
    func replacedOffer() throws {
        let context = try Fixture.context()
        var slot = try Fixture.usedSlot()
        _ = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: context)
        _ = slot.received(try Fixture.envelope(version: 8), by: Fixture.delivery, in: context)
        let rejected = slot.answered(try Fixture.reply("schema", to: slot), now: Fixture.now)
        #expect(rejected.effects == [.reload] && slot.staged == nil)
    }

    @Test("CFG-43, CFG-62: what could not be stored of an app's coming, its going or its verdict is made up for")
    func lostEvents() throws {
        let context = try Fixture.context()
        var slot = try Fixture.usedSlot()
        _ = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: context)
        #expect(slot.caughtUp(.registered, isBeingOffered: true) == ApplyTransition())
        // The verdict: the offer counts for none, and comes again while the app stays.
        #expect(slot.caughtUp(.registered, isBeingOffered: false).verdict == .waitingForApplication)
        #expect(slot.staged?.attempts == 0)
        #expect(slot.timePassed(running: .seconds(10), now: Fixture.now).effects.count == 1)
        // Its going, and its coming.
        #expect(slot.caughtUp(nil, isBeingOffered: false).verdict == .waitingForApplication)
        #expect(!slot.isApplicationConnected)
        #expect(slot.caughtUp(.registered, isBeingOffered: false).effects.count == 1)
        #expect(slot.phase == .offered && slot.isApplicationConnected)
    }

    @Test("CFG-62: an app that takes no offers has not seen it, and is asked at its next registration")
    func anAppThatTakesNoOffersHasNotSeenIt() throws {
        var slot = try Fixture.usedSlot()
        let bytes = try Fixture.envelope()
        _ = slot.received(bytes, by: Fixture.delivery, in: try Fixture.context())
        for _ in 0..<5 {
            #expect(slot.answerOverdue(.notTaken).verdict == .waitingForApplication)
            #expect(slot.staged?.attempts == 0)
            #expect(slot.timePassed(running: .seconds(10), now: Fixture.now) == ApplyTransition())
            let again = slot.received(bytes, by: Fixture.delivery, in: try Fixture.context())
            #expect(again.verdict == .waitingForApplication && again.effects.isEmpty)
            slot.applicationDisconnected()
            #expect(slot.applicationConnected().effects.count == 1)
        }
    }

    @Test(
        "CFG-31, CFG-63: a version that fails is burnt also where its key set has a lower number than that of the mark")
    func burntUnderAnotherKey() throws {
        let fresh = try Fixture.slot()
        // The key was replaced: the mark of what the former chain had signed is closed.
        var slot = ConfigurationSlot(
            key: fresh.key, device: fresh.device,
            mark: VersionMark(version: 3, digest: nil, floor: 2, isActive: false, isClosed: true, keySetVersion: 5))
        _ = slot.applicationConnected()
        let (bytes, context) = (try Fixture.envelope(version: 10), try Fixture.context())
        #expect(slot.received(bytes, by: Fixture.delivery, in: context).verdict == nil)
        #expect(slot.answered(try Fixture.reply("failed", to: slot), now: Fixture.now).verdict == .failed)
        #expect(slot.mark?.version == 10 && slot.mark?.isBurnt == true && slot.mark?.floor == 2)
        #expect(slot.received(bytes, by: Fixture.delivery, in: context).verdict == .rejected(.rollback))
        try Fixture.apply(try Fixture.envelope(version: 11), to: &slot)
    }

    @Test("CFG-63: the library's own verdict 'failed' is one")
    func theLibrarysVerdict() throws {
        var slot = try Fixture.usedSlot()
        _ = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        let digest = try #require(slot.staged?.record.digest)
        let reply = try #require(OfferReply(["tandem.verdict": "failed", "tandem.digest": .data(digest)]))
        #expect(slot.answered(reply, now: Fixture.now).verdict == .failed)
        #expect(slot.mark?.isBurnt == true && slot.active?.record.version == 6)
    }

    /// The fault of an app of another version that does not load these bytes.
    private static func fault(of envelope: [UInt8]) -> LoadFault? {
        LoadFault(OfferReply(VerificationFailure(.schema, "volume: 80 is over the maximum 50"), of: envelope))
    }

    @Test(
        "CFG-42, CFG-61: an app that does not load the configuration on trial any longer ends the trial as failed",
        arguments: ["the answer", "a tick", "bye"])
    func notLoadedDuringTheTrial(_ event: String) throws {
        var slot = try Fixture.tryingSlot()
        let (bytes, good) = (try #require(slot.active?.record.envelope), try #require(slot.trial?.previous))
        slot.note(Self.fault(of: bytes), hasAnswered: true)
        let ended =
            switch event {
            case "the answer": slot.reloaded()
            case "a tick": slot.timePassed(running: .zero, now: Fixture.now)
            default: slot.applicationDisconnected(.inOrder)
            }
        #expect(slot.active == good && slot.trial == nil && slot.mark?.version == 7 && slot.mark?.isBurnt == true)
        #expect(ended.verdict == .rejected(.schema))
        let facts = try #require(ended.reports.last)
        #expect(facts.verdict == .rejected(.schema) && facts.good?.version == 6)
        #expect(facts.text?.contains("volume: 80 is over the maximum 50") == true, "the app's own words")
        #expect(facts.delivery == Fixture.delivery && facts.isOnTrial == nil)
        let again = slot.received(bytes, by: Fixture.delivery, in: try Fixture.context())
        #expect(again.verdict == .rejected(.rollback))
    }

    @Test("CFG-42, CFG-61: a load fault of other bytes, or of none any longer, lets the trial pass")
    func faultOfOthers() throws {
        for before in [try Fixture.envelope(version: 6), []] {
            var slot = try Fixture.tryingSlot()
            slot.note(Self.fault(of: before), hasAnswered: true)
            if before.isEmpty { slot.note(nil, hasAnswered: true) }
            #expect(slot.reloaded() == ApplyTransition())
            #expect(Fixture.live(&slot).reports.last?.isOnTrial == false)
            #expect(slot.trial == nil && slot.active?.record.version == 7)
        }
    }

    @Test("CFG-114, LIM-141: after the trial its senders learn that the app no longer loads it, and that it does again")
    func notLoadedAfterTheTrial() throws {
        var slot = try Fixture.usedSlot()
        let bytes = try #require(slot.active?.record.envelope)
        slot.note(nil, hasAnswered: true)
        #expect(slot.reloaded() == ApplyTransition(), "it loads")
        slot.note(Self.fault(of: bytes), hasAnswered: true)
        let told = slot.reloaded().reports
        #expect(told.map(\.delivery) == [Fixture.delivery] && told.map(\.isOnTrial) == [false])
        #expect(told[0].verdict == .applied && told[0].good?.version == 6 && told[0].digest == SHA256.digest(bytes))
        #expect(told[0].text == "the app does not load it [schema]: volume: 80 is over the maximum 50")
        // A crash loop, and another start of the daemon.
        for _ in 0..<5 {
            slot.applicationDisconnected()
            _ = slot.applicationConnected()
            #expect(slot.reloaded() == ApplyTransition())
        }
        slot.note(nil, hasAnswered: true)
        #expect(slot.reloaded().reports.isEmpty)
        #expect(slot.timePassed(running: .seconds(3_599), now: Fixture.now).reports.isEmpty)
        let over = slot.timePassed(running: .seconds(1), now: Fixture.now).reports
        #expect(over.map(\.text) == [nil] && over.map(\.verdict) == [.applied])
    }

    @Test("CFG-114: a sender that brings what the app does not load learns it after its verdict; the row reads back")
    func anotherSenderOfAFault() throws {
        var slot = try Fixture.usedSlot()
        let bytes = try #require(slot.active?.record.envelope)
        slot.note(Self.fault(of: bytes), hasAnswered: true)
        #expect(slot.reloaded().changes.count == 2)
        let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
        _ = slot.received(bytes, by: other, in: try Fixture.context())
        let row = try #require(slot.loadReports)
        #expect(try LoadReports(row.dictionary) == row && row.mayNeedReport)
        let told = slot.timePassed(running: .seconds(3_600), now: Fixture.now)
        let deliveries = told.reports.map(\.delivery)
        #expect(deliveries == [Fixture.delivery, other])
        #expect(slot.closed().changes.contains(.loadReports(nil)))
    }

    @Test("CFG-96, CFG-114: a sender of another envelope learns of the fault of what it brought, by its own digest")
    func anotherEnvelopeOfAFault() throws {
        var slot = try Fixture.usedSlot()
        let bytes = try #require(slot.active?.record.envelope)
        let (other, envelope) = (
            ConfigurationDelivery(pairing: .random(), nonce: .random()), try Fixture.rewrapped(bytes)
        )
        _ = slot.received(envelope, by: other, in: try Fixture.context())
        let row = try #require(slot.loadReports)
        #expect(try LoadReports(row.dictionary) == row)
        slot.note(Self.fault(of: bytes), hasAnswered: true)
        let told = slot.reloaded().reports
        #expect(told.map(\.delivery) == [Fixture.delivery, other])
        #expect(told.map(\.digest) == [SHA256.digest(bytes), SHA256.digest(envelope)])
    }

    @Test("CFG-114, LIM-141: each configuration has an hour of its own, and its row ends with it")
    func oneConfigurationAfterAnother() throws {
        var slot = try Fixture.usedSlot()
        slot.note(Self.fault(of: try #require(slot.active?.record.envelope)), hasAnswered: true)
        #expect(slot.reloaded().reports.count == 1)
        let former = slot.loadReports
        let next = try Fixture.envelope { $0.lifetime = 60 }
        try Fixture.apply(next, to: &slot)
        #expect(slot.loadReports == former, "a trial that fails makes it the active one again")
        Fixture.live(&slot)
        slot.note(Self.fault(of: next), hasAnswered: true)
        #expect(slot.reloaded().reports.map(\.isOnTrial) == [false])
        let over = slot.timePassed(running: .seconds(60), now: Fixture.now)
        #expect(slot.active == nil && slot.loadReports == nil && over.changes.contains(.loadReports(nil)))
    }

    // MARK: one trial after another

    @Test("CFG-61: a newer one takes the trial over and keeps the last good one, not the one that is unproven")
    func aNewerOneTakesTheTrialOver() throws {
        var slot = try Fixture.tryingSlot()
        let good = try #require(slot.trial?.previous)
        let first = try #require(slot.active?.record.digest)
        _ = slot.received(try Fixture.envelope(version: 8), by: nil, in: try Fixture.context())
        let answer = slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now)
        #expect(answer.reports.last?.verdict == .superseded && answer.reports.last?.digest == first)
        #expect(answer.reports.last?.good?.version == 8, "CFG-50: the active one after the verdict")
        #expect(slot.trial?.previous == good && slot.trial?.replaced == first)
        #expect(slot.trial?.covers(first) == true)
        Self.useAttempts(&slot)
        _ = slot.applicationDisconnected()
        #expect(slot.active == good && slot.mark?.version == 8)
    }

    @Test("CFG-22, CFG-63: one with a waived signature is on trial, moves no mark when it fails, and waits for another")
    func waivedOnTrial() throws {
        var slot = try Fixture.tryingSlot()
        #expect(try Fixture.receiveWaived(by: &slot).verdict == .waitingForApplication)
        Fixture.live(&slot)
        #expect(slot.trial == nil && slot.phase == .offered, "offered when the trial has passed")
        _ = slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now)
        let mark = slot.mark
        #expect(slot.waived?.record.version == 50 && slot.trial?.previous == nil)
        Self.useAttempts(&slot)
        let failed = slot.applicationDisconnected()
        #expect(failed.verdict == .failed && failed.reports.last?.isWaived == true)
        #expect(slot.waived == nil && slot.active?.record.version == 7 && slot.mark == mark)
    }

    @Test("CFG-34, CFG-61: a lifetime that ends ends the trial, and unpairing does")
    func lifetimeAndUnpairing() throws {
        var slot = try Fixture.usedSlot()
        try Fixture.apply(try Fixture.envelope { $0.lifetime = 20 }, to: &slot)
        let over = slot.timePassed(running: .zero, now: Fixture.now + .seconds(20))
        #expect(slot.active == nil && slot.trial == nil && over.effects == [.reload])
        #expect(over.reports.last?.isOnTrial == false)
        var closed = try Fixture.tryingSlot()
        #expect(closed.closed().changes.contains(.trial(nil)))
        #expect(closed.trial == nil)
    }

    @Test(
        "CFG-61, CFG-63: each end of a trial is reported to the last delivery of each pairing and envelope",
        arguments: ["passed", "failed", "newer", "closed"])
    func theEndIsForAllSenders(_ end: String) throws {
        var slot = try Fixture.tryingSlot()
        let (bytes, context) = (try #require(slot.active?.record.envelope), try Fixture.context())
        let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
        let last = ConfigurationDelivery(pairing: Fixture.delivery.pairing, nonce: .random())
        for delivery in [other, last] {
            let told = slot.received(bytes, by: delivery, in: context).reports
            #expect(told.map(\.delivery) == [delivery] && told.first?.isOnTrial == true)
        }
        // Another envelope around them has another digest: its sender knows no other one.
        let foreign = ConfigurationDelivery(pairing: other.pairing, nonce: .random())
        let otherBytes = try Fixture.rewrapped(bytes)
        let told = slot.received(otherBytes, by: foreign, in: context).reports
        #expect(told.map(\.digest) == [SHA256.digest(otherBytes)] && told.first?.isOnTrial == true)
        slot = ConfigurationSlot(
            key: slot.key, device: slot.device, mark: slot.mark, active: slot.active,
            trial: try ConfigurationTrial(try Fixture.written(try #require(slot.trial).row)))
        _ = slot.applicationConnected()
        let ended: ApplyTransition
        let expected: Verdict
        switch end {
        case "passed":
            ended = Fixture.live(&slot)
            expected = .applied
        case "closed":
            ended = slot.closed()
            expected = .superseded
        case "newer":
            _ = slot.received(try Fixture.envelope(version: 8), by: nil, in: context)
            ended = slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now)
            expected = .superseded
        default:
            slot.note(Self.attempts(SHA256.digest(bytes), starts: Self.limit))
            ended = slot.applicationDisconnected()
            expected = .failed
        }
        #expect(ended.reports.map(\.delivery) == [other, last, foreign])
        #expect(ended.reports.map(\.digest) == [bytes, bytes, otherBytes].map { SHA256.digest($0) })
        #expect(ended.reports.allSatisfy { $0.verdict == expected })
        #expect(ended.reports.allSatisfy { $0.isOnTrial != true })
    }

    @Test("LIM-136, CFG-61: of more pairings than a device keeps, the oldest delivery hears no end while a trial lasts")
    func tooManySenders() throws {
        var slot = try Fixture.tryingSlot()
        let (bytes, context) = (try #require(slot.active?.record.envelope), try Fixture.context())
        let deliveries = (0..<ConfigurationLimits.deliveries).map { _ in
            ConfigurationDelivery(pairing: .random(), nonce: .random())
        }
        for delivery in deliveries {
            let told = slot.received(bytes, by: delivery, in: context).reports
            #expect(told.map(\.delivery) == [delivery] && told.first?.verdict == .applied)
        }
        #expect(Fixture.live(&slot).reports.map(\.delivery) == deliveries)
    }

    @Test("LIM-136, CFG-61: a pairing that brings many envelopes around one payload pushes out no other delivery")
    func manyEnvelopes() throws {
        var slot = try Fixture.tryingSlot()
        let (bytes, context) = (try #require(slot.active?.record.envelope), try Fixture.context())
        let noisy = UniqueIdentifier.random()
        var envelope = bytes
        var digests: [[UInt8]] = []
        for _ in 0...ConfigurationLimits.deliveries {
            envelope = try Fixture.rewrapped(envelope)
            digests.append(SHA256.digest(envelope))
            _ = slot.received(envelope, by: ConfigurationDelivery(pairing: noisy, nonce: .random()), in: context)
        }
        let ended = Fixture.live(&slot).reports
        #expect(ended.count == ConfigurationLimits.deliveries && ended.first?.delivery == Fixture.delivery)
        #expect(ended.dropFirst().map(\.digest) == Array(digests.suffix(ConfigurationLimits.deliveries - 1)))
    }

    @Test("CFG-61: all senders of what waited get the end of its trial")
    func theSendersOfWhatWaited() throws {
        var slot = try Fixture.slot()
        let (bytes, context) = (try Fixture.envelope(), try Fixture.context())
        let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
        for delivery in [Fixture.delivery, other] { _ = slot.received(bytes, by: delivery, in: context) }
        _ = slot.applicationConnected()
        _ = slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now)
        let passed = Fixture.live(&slot).reports
        #expect(passed.map(\.delivery) == [Fixture.delivery, other])
        #expect(passed.allSatisfy { $0.verdict == .applied && $0.isOnTrial == false })
    }

    @Test("CFG-51: the same bytes again during the trial are applied, and their delivery gets the last verdict, too")
    func theSameBytesAgain() throws {
        var slot = try Fixture.tryingSlot()
        let newer = ConfigurationDelivery(pairing: .random(), nonce: .random())
        let bytes = try #require(slot.active?.record.envelope)
        let again = slot.received(bytes, by: newer, in: try Fixture.context())
        #expect(again.verdict == .applied && again.reports.last?.isOnTrial == true)
        #expect(Fixture.live(&slot).reports.last?.delivery == newer)
        let later = slot.received(bytes, by: newer, in: try Fixture.context())
        #expect(later.reports.last?.isOnTrial == false)
    }

    // MARK: records

    @Test("CFG-64, CFG-65: trials and attempts read back as they were written, and nothing else does")
    func recordsReadBack() throws {
        let trial = try #require(try Fixture.tryingSlot().trial)
        #expect(try ConfigurationTrial(try Fixture.written(trial.dictionary)) == trial)
        #expect(trial.row == trial.dictionary, "with one delivery a row is as releases before it wrote it")
        let brought: PropertyListValue = .data(trial.digest)
        for value in [1, [1], [["pairing": .data([1])]], [["extra": 1]], [["brought": brought]]] as [PropertyListValue]
        {
            var fields = trial.row
            fields["earlier"] = value
            #expect(throws: FieldError.self, "\(value)") { try ConfigurationTrial(fields) }
        }
        for (field, value) in [("v", 2), ("digest", .data([1])), ("attempts", -1), ("previous", 1), ("extra", 1)]
            as [(String, PropertyListValue)]
        {
            var fields = trial.dictionary
            fields[field] = value
            #expect(throws: FieldError.self, "\(field)") { try ConfigurationTrial(fields) }
        }
        var attempts = Self.attempts(trial.digest, starts: 2)
        attempts.confirm(SHA256.digest([1]))
        attempts.use(SHA256.digest([1]), elapsed: 5000)
        #expect(try LoadAttempts(try Fixture.written(attempts.dictionary)) == attempts)
        attempts.keep([trial.digest])
        #expect(attempts.entries.map(\.digest) == [trial.digest] && attempts.starts(of: trial.digest) == 2)
        for entry in [
            ["digest": .data(trial.digest), "starts": 1, "healthy": 1, "elapsed": 0],
            ["digest": .data(trial.digest), "starts": -1, "healthy": true, "elapsed": 0],
            ["digest": .data(trial.digest), "starts": 1, "healthy": true, "elapsed": -1], ["digest": .data([1])],
        ] as [PropertyListDictionary] {
            #expect(throws: FieldError.self) {
                try LoadAttempts(["v": 1, "attempts": .array([.dictionary(entry)])])
            }
        }
    }

    @Test("CFG-65: the count never passes the one that says 'refused'")
    func theCountIsBounded() {
        var attempts = LoadAttempts()
        for _ in 0..<100 { attempts.count([1], known: 7) }
        #expect(attempts.starts(of: [1]) == Self.limit + 1)
    }
}
