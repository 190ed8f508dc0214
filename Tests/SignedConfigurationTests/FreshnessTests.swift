// Versions, replays and clocks, on the state of a slot: a refusal never moves anything, and what is old never comes
// back.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@Suite final class FreshnessTests {
    private var slot: ConfigurationSlot

    init() throws { slot = try Fixture.usedSlot() }

    @Test("CFG-30: a lower version is rollback")
    func aLowerVersionIsRollback() throws {
        try Fixture.expectRejected(try Fixture.envelope(version: 5), .rollback)
        try Fixture.expectRejected(try Fixture.envelope(version: 1), .rollback)
    }

    @Test("CFG-30: what is below a floor is told the floor, and no version that was never signed")
    func aVersionBelowTheFloorIsToldTheFloor() throws {
        var context = try Fixture.context()
        context.mark = VersionMark(version: 20, digest: nil, floor: 25, keySetVersion: 1)
        for (version, text) in [(21, "version 21 is below 25, the floor"), (24, "below 25"), (20, "below 25")] {
            let bytes = try Fixture.envelope(version: UInt64(version))
            let failure = #expect(throws: VerificationFailure.self) {
                try ApplicableConfiguration(verifying: bytes, in: context)
            }
            #expect(failure?.rejection == .rollback && failure?.detail.contains(text) == true, "\(failure as Any)")
        }
        context.mark = VersionMark(version: 24, digest: nil, floor: 25, keySetVersion: 1)
        let bytes = try Fixture.envelope(version: 21)
        let failure = #expect(throws: VerificationFailure.self) {
            try ApplicableConfiguration(verifying: bytes, in: context)
        }
        #expect(failure?.detail.contains("is below 25") == true)
    }

    @Test("CFG-10, CFG-98: an optional key without a value is not signed, and passed over where it was")
    func optionalKeys() throws {
        var payload = try Fixture.payload(version: 7)
        payload.optional = ["foo"]
        #expect(throws: SigningError.self) { try ConfigurationSigner.sign(payload, with: [Fixture.key]) }
        #expect(try ConfigurationPayload(payload.dictionary).optional == ["foo"])
    }

    @Test("CFG-30: an exact replay is answered as applied and changes nothing")
    func anExactReplayIsAnsweredAsAppliedAndChangesNothing() throws {
        let bytes = try #require(slot.active?.record.envelope)
        let before = slot
        var context = try Fixture.context()
        context.now = Fixture.now + .seconds(3600)
        let transition = slot.received(bytes, by: Fixture.delivery, in: context)
        #expect(transition.verdict == .applied)
        #expect(transition.effects.isEmpty)
        #expect(transition.changes.count == 1)
        #expect(slot == before)
    }

    @Test("CFG-30: what is active is answered as applied also when it has expired since, or the clock is unset")
    func whatIsActiveIsAnsweredWhateverTheClockShows() throws {
        let bytes = try Fixture.envelope(version: 9) { $0.expires = Fixture.now.seconds + 60 }
        try Fixture.apply(bytes, to: &slot)
        for (now, rejection) in [(Fixture.now + .seconds(60), Rejection.expired), (Fixture.now, .clockUnset)] {
            var context = try Fixture.context()
            context.now = now
            if rejection == .clockUnset { context.clockFloor = Fixture.now + .seconds(1) }
            #expect(slot.received(bytes, by: nil, in: context).verdict == .applied)
            let next = try Fixture.envelope(version: 10) { $0.expires = Fixture.now.seconds + 60 }
            #expect(slot.received(next, by: nil, in: context).verdict == .rejected(rejection))
        }
    }

    @Test("CFG-33, CFG-62: an app that finds the clock unset uses up no attempt, and is asked when the clock is set")
    func anAppFindsTheClockUnset() throws {
        let context = try Fixture.context()
        for version in 9...9 + ConfigurationLimits.attempts {
            let delivery = ConfigurationDelivery(pairing: Fixture.delivery.pairing, nonce: .random())
            _ = slot.received(try Fixture.envelope(version: version), by: delivery, in: context)
            for round in 0...ConfigurationLimits.attempts {
                let answer = slot.answered(try Fixture.reply("clock-unset", to: slot), now: Fixture.now)
                #expect(answer.reports.map(\.verdict) == (round > 0 ? [] : [.rejected(.clockUnset)]))
                #expect(answer.verdict == .rejected(.clockUnset))
                #expect(slot.timePassed(running: .seconds(10), now: Fixture.now).effects.isEmpty)
                #expect(slot.clockMoved(in: context).effects.count == 1 && slot.staged?.attempts == 1)
            }
        }
    }

    @Test("CFG-33, LIM-142: a library with a later clock floor is asked again with pauses, and its senders told once")
    func aLibraryWithALaterClockFloor() throws {
        let context = try Fixture.context()
        _ = slot.received(try Fixture.envelope(version: 9), by: Fixture.delivery, in: context)
        var reports = 0
        func refuse() throws {
            reports += slot.answered(try Fixture.reply("clock-unset", to: slot), now: Fixture.now).reports.count
        }
        for _ in 0..<ConfigurationLimits.unjudgedOffers {
            try refuse()
            #expect(slot.clockMoved(in: context).effects.count == 1)
        }
        try refuse()
        #expect(slot.clockMoved(in: context) == ApplyTransition() && slot.phase == .waitingForClock)
        _ = slot.timePassed(running: ConfigurationLimits.unjudgedPause, now: Fixture.now)
        #expect(slot.clockMoved(in: context).effects.count == 1 && reports == 1)
        try refuse()
        _ = slot.applicationDisconnected()
        _ = slot.applicationConnected(.registered)
        #expect(slot.clockMoved(in: context).effects.count == 1, "it may be another build")
        let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
        let bytes = try #require(slot.staged?.record.envelope)
        _ = slot.received(bytes, by: other, in: context)
        try refuse()
        #expect(reports == 3, "another sender has joined")
    }

    @Test("CFG-30, CFG-32: what is active is answered as applied while a higher version waits, and that waits on")
    func whatIsActiveIsAnsweredWhileAHigherVersionWaits() throws {
        let (bytes, context) = (try #require(slot.active?.record.envelope), try Fixture.context())
        _ = slot.received(try Fixture.envelope(version: 9), by: nil, in: context)
        let before = slot
        #expect(before.staged?.record.version == 9)
        let transition = slot.received(bytes, by: nil, in: context)
        #expect(transition.verdict == .applied && transition.effects.isEmpty && slot == before)
        #expect(slot.received(try Fixture.envelope(version: 8), by: nil, in: context).verdict == .rejected(.rollback))
    }

    @Test("CFG-22, CFG-30: what is applied with an invalid signature is answered as applied while that is allowed")
    func whatIsAppliedWithAnInvalidSignatureIsAnswered() throws {
        var context = try Fixture.context()
        context.allowsInvalidSignatures = true
        try Fixture.receiveWaived(by: &slot)
        _ = slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now)
        let bytes = try #require(slot.waived?.record.envelope)
        for isOnTrial in [true, false] {
            if !isOnTrial { Fixture.live(&slot) }
            let before = slot
            let words = isOnTrial ? "on trial; its invalid signature was allowed" : "its invalid signature was allowed"
            let alone = slot.received(bytes, by: nil, in: context)
            #expect(alone.verdict == .applied && alone.detail == words)
            #expect(alone.changes.isEmpty && alone.effects.isEmpty && slot == before)
            let delivery = ConfigurationDelivery(pairing: .random(), nonce: .random())
            let delivered = slot.received(bytes, by: delivery, in: context)
            #expect(delivered.reports.map(\.delivery) == [delivery] && delivered.effects.isEmpty)
            #expect(delivered.reports.allSatisfy { $0.verdict == .applied && $0.isWaived && $0.isOnTrial == isOnTrial })
            var strict = slot
            let ended = strict.permissionEnded(in: try Fixture.context()).reports
            #expect(slot.staged == nil && ended.map(\.delivery).contains(delivery), "it learns of the end, too")
        }
        // A good one that waits, and then fails: the mark is above what is applied.
        _ = slot.received(try Fixture.envelope(version: 51), by: nil, in: context)
        #expect(slot.received(bytes, by: nil, in: context).verdict == .applied && slot.staged?.record.version == 51)
        _ = slot.answered(try Fixture.reply("failed", to: slot), now: Fixture.now)
        #expect(slot.mark?.version == 51 && slot.received(bytes, by: nil, in: context).verdict == .applied)
        let other = try ConfigurationSigner.sign(try Fixture.payload(version: 50), with: [Fixture.stranger])
        #expect(slot.received(other, by: nil, in: context).verdict == .rejected(.rollback))
        #expect(slot.received(bytes, by: nil, in: try Fixture.context()).verdict == .rejected(.threshold))
    }

    @Test("CFG-30: the same version with other bytes is equivocation")
    func theSameVersionWithOtherBytesIsEquivocation() throws {
        try Fixture.expectRejected(try Fixture.envelope(version: 6), .equivocation)
    }

    @Test("CFG-30, CFG-114: another envelope around what is active is answered as applied, and only its sender is new")
    func anotherEnvelopeAroundWhatIsActive() throws {
        let other = try Fixture.rewrapped(try #require(slot.active?.record.envelope))
        let before = slot
        let transition = slot.received(other, by: Fixture.delivery, in: try Fixture.context())
        #expect(transition.verdict == .applied && slot.active == before.active && slot.mark == before.mark)
        guard case .report(let facts)? = transition.changes.last, transition.changes.count == 2
        else { throw Unexpected("kept for later reports, reported, and nothing else: \(transition.changes)") }
        #expect(facts.digest == SHA256.digest(other), "the primary knows the bytes that it sent")
    }

    @Test("CFG-30, CFG-63: another envelope around what has failed is rollback, other contents are equivocation")
    func anotherEnvelopeAroundWhatHasFailed() throws {
        let bytes = try Fixture.envelope()
        _ = slot.received(bytes, by: Fixture.delivery, in: try Fixture.context())
        for _ in 0..<ConfigurationLimits.attempts {
            _ = slot.answerOverdue()
            _ = slot.applicationConnected()
        }
        #expect(slot.mark?.isBurnt == true)
        let other = try Fixture.rewrapped(bytes)
        let again = slot.received(other, by: Fixture.delivery, in: try Fixture.context())
        #expect(again.verdict == .rejected(.rollback))
        let changed = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        #expect(changed.verdict == .rejected(.equivocation))
    }

    @Test("CFG-30: a mark of an earlier release, which names the envelope only, goes on to count")
    func aMarkOfAnEarlierRelease() throws {
        let slot = try Fixture.usedSlot()
        let active = try #require(slot.active)
        var fields = try #require(slot.mark).dictionary
        fields["statement"] = nil
        var old = ConfigurationSlot(
            key: slot.key, device: slot.device, mark: try VersionMark(fields), active: active)
        let context = try Fixture.context()
        #expect(old.received(active.record.envelope, by: Fixture.delivery, in: context).verdict == .applied)
        let other = try Fixture.envelope(version: 6)
        #expect(old.received(other, by: Fixture.delivery, in: context).verdict == .rejected(.equivocation))
    }

    @Test("CFG-30: the floor of an applied configuration holds")
    func theFloorOfAnAppliedConfigurationHolds() throws {
        try Fixture.apply(try Fixture.envelope(version: 7) { $0.floor = 20 }, to: &slot)
        for version: UInt64 in [8, 19] {
            let transition = slot.received(
                try Fixture.envelope(version: version), by: Fixture.delivery, in: try Fixture.context())
            #expect(transition.verdict == .rejected(.rollback))
        }
        try Fixture.apply(try Fixture.envelope(version: 20), to: &slot)
    }

    @Test("CFG-33: expiry stops new applies and never removes what is active")
    func expiryStopsNewAppliesAndNeverRemovesWhatIsActive() throws {
        let seconds = Fixture.now.seconds
        try Fixture.expectRejected(try Fixture.envelope { $0.expires = seconds }, .expired)
        try Fixture.expectRejected(try Fixture.envelope { $0.expires = seconds - 1 }, .expired)
        try Fixture.apply(try Fixture.envelope { $0.expires = seconds + 1 }, to: &slot)
        let later = Fixture.now + .seconds(315_360_000)
        #expect(slot.timePassed(running: .seconds(60), now: later) == ApplyTransition())
        #expect(slot.active?.record.version == 7)
    }

    @Test("CFG-20: what lies in the future is refused")
    func whatLiesInTheFutureIsRefused() throws {
        let seconds = Fixture.now.seconds
        try Fixture.expectRejected(try Fixture.envelope { $0.issued = seconds + 301 }, .future)
        try Fixture.expectRejected(try Fixture.envelope { $0.notBefore = seconds + 301 }, .future)
        try Fixture.expectRejected(try Fixture.envelope { $0.issued = .max }, .future)
    }

    @Test("CFG-33: an unset clock keeps the configuration until the clock is right")
    func anUnsetClockKeepsTheConfigurationUntilTheClockIsRight() throws {
        let active = slot.active
        var context = try Fixture.context()
        context.now = WallTime(seconds: 0)
        let waiting = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: context)
        #expect(waiting.verdict == .rejected(.clockUnset))
        #expect(waiting.verdict?.isProvisional == true)
        #expect(slot.phase == .waitingForClock)
        #expect(slot.active == active)
        #expect(slot.clockMoved(in: context) == ApplyTransition())
        context.now = Fixture.now
        let retried = slot.clockMoved(in: context)
        guard case .offer? = retried.effects.first else { throw Unexpected("not offered: \(retried)") }
        #expect(slot.phase == .offered)
    }

    @Test("CFG-32, CFG-33: both senders of what waits for the clock are answered once it is set")
    func twoSendersWaitForTheClock() throws {
        let bytes = try Fixture.envelope()
        var context = try Fixture.context()
        context.now = WallTime(seconds: 0)
        _ = slot.received(bytes, by: Fixture.delivery, in: context)
        let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
        let told = slot.received(bytes, by: other, in: context).reports
        #expect(told.map(\.delivery) == [other] && told.map(\.verdict) == [.rejected(.clockUnset)])
        #expect(slot.phase == .waitingForClock)
        slot.applicationDisconnected()
        context.now = Fixture.now
        let retried = slot.clockMoved(in: context).reports
        #expect(retried.map(\.delivery) == [Fixture.delivery, other])
        #expect(retried.allSatisfy { $0.verdict == .waitingForApplication })
    }

    @Test(
        "CFG-32, CFG-33: a sender of what waits for its app is answered with the one before, also below the clock floor"
    )
    func anotherSenderWhileTheClockIsUnset() throws {
        var slot = try Fixture.slot()
        let bytes = try Fixture.envelope()
        var context = try Fixture.context()
        _ = slot.received(bytes, by: Fixture.delivery, in: context)
        context.now = WallTime(seconds: 0)
        let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
        let told = slot.received(bytes, by: other, in: context).reports
        #expect(told.map(\.delivery) == [other] && told.map(\.verdict) == [.rejected(.clockUnset)])
        #expect(slot.phase == .waitingForApplication && slot.staged?.deliveries.all == [Fixture.delivery, other])
    }

    @Test("CFG-32, CFG-33: a sender of another envelope while the clock is unset gets the verdict by its own digest")
    func anotherEnvelopeWhileTheClockIsUnset() throws {
        var slot = try Fixture.slot()
        let bytes = try Fixture.envelope()
        var context = try Fixture.context()
        _ = slot.received(bytes, by: Fixture.delivery, in: context)
        context.now = WallTime(seconds: 0)
        let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
        let envelope = try Fixture.rewrapped(bytes)
        let told = slot.received(envelope, by: other, in: context).reports
        #expect(told.map(\.digest) == [SHA256.digest(envelope)] && told.map(\.verdict) == [.rejected(.clockUnset)])
        let staged = try #require(slot.staged)
        #expect(staged.record.digest == SHA256.digest(bytes))
        #expect(try StagedConfiguration(Fixture.written(staged.row)) == staged)
        _ = slot.applicationConnected()
        let answered = slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now).reports
        #expect(answered.map(\.delivery) == [Fixture.delivery, other])
        #expect(answered.map(\.digest) == [SHA256.digest(bytes), SHA256.digest(envelope)])
    }

    @Test("CFG-33: what waits for the clock waits for it after a restart, too")
    func whatWaitsForTheClockWaitsAfterARestart() throws {
        var context = try Fixture.context()
        context.now = WallTime(seconds: 0)
        _ = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: context)
        var again = ConfigurationSlot(
            key: slot.key, device: slot.device, mark: slot.mark, active: slot.active, staged: slot.staged)
        _ = again.started(in: context, allowsInvalid: true)
        #expect(again.applicationConnected().effects.isEmpty)
        #expect(again.phase == .waitingForClock)
        context.now = Fixture.now
        #expect(!again.clockMoved(in: context).effects.isEmpty)
        #expect(again.phase == .offered)
    }

    @Test(
        "CFG-22, CFG-33: a configuration that waited for the clock across a restart keeps its rank, good or waived",
        arguments: [true, false])
    func clockWaitKeepsRank(_ isGood: Bool) throws {
        var context = try Fixture.context()
        context.allowsInvalidSignatures = true
        context.now = WallTime(seconds: 0)
        let payload = try Fixture.payload(version: 7)
        let bytes = try ConfigurationSigner.sign(payload, with: [isGood ? Fixture.key : Fixture.stranger])
        _ = slot.received(bytes, by: Fixture.delivery, in: context)
        #expect(slot.phase == .waitingForClock && slot.staged?.isWaived == !isGood)
        var again = ConfigurationSlot(
            key: slot.key, device: slot.device, mark: slot.mark, active: slot.active, staged: slot.staged)
        context.now = Fixture.now
        _ = again.started(in: context, allowsInvalid: true)
        _ = again.applicationConnected()
        let message: PropertyListDictionary = [
            "tandem.verdict": "applied", "tandem.digest": .data(SHA256.digest(bytes)),
        ]
        _ = again.answered(try #require(OfferReply(message)), now: Fixture.now)
        #expect((again.waived == nil) == isGood && again.mark?.version == (isGood ? 7 : 6))
    }

    @Test("CFG-22, CFG-91: good signatures of what waits for the clock do not become waived ones with other keys")
    func clockWaitUnderOtherKeys() throws {
        var context = try Fixture.context()
        context.allowsInvalidSignatures = true
        context.now = WallTime(seconds: 0)
        _ = slot.received(try Fixture.envelope(version: 7), by: Fixture.delivery, in: context)
        #expect(slot.phase == .waitingForClock)
        context.anchor = .trusted(KeySetHistory(TrustedKeySet(Fixture.stranger.publicKey)))
        #expect(slot.keysChanged(in: context).verdict == .rejected(.threshold) && slot.staged == nil)
    }

    @Test("CFG-33: what expired while it waited for the clock is dropped")
    func whatExpiredWhileItWaitedForTheClockIsDropped() throws {
        var context = try Fixture.context()
        context.now = WallTime(seconds: 0)
        let bytes = try Fixture.envelope { $0.expires = Fixture.now.seconds }
        _ = slot.received(bytes, by: Fixture.delivery, in: context)
        context.now = Fixture.now
        let retried = slot.clockMoved(in: context)
        #expect(retried.verdict == .rejected(.expired))
        #expect(retried.changes.contains(.staged(nil)))
        #expect(slot.staged == nil)
        #expect(slot.phase == .idle)
    }

    @Test("CFG-33: the clock floor rises with what is applied but never above the clock")
    func theClockFloorRisesWithWhatIsAppliedButNeverAboveTheClock() throws {
        let bytes = try Fixture.envelope { $0.issued = Fixture.now.seconds + 200 }
        let transition = slot.received(bytes, by: Fixture.delivery, in: try Fixture.context())
        guard case .offer(let offer)? = transition.effects.first else { throw Unexpected("not offered") }
        let verified = try ApplicableConfiguration(verifying: offer.envelope, in: try Fixture.context()).verified
        let answer = slot.answered(OfferReply(applied: verified), now: Fixture.now)
        #expect(answer.changes.contains(.clockFloor(Fixture.now)))
    }

    @Test("CFG-33: a clock that is set back revives nothing that has expired")
    func aClockThatIsSetBackRevivesNothing() throws {
        let active = slot.active
        let expired = try Fixture.envelope { $0.expires = Fixture.now.seconds }
        var context = try Fixture.context()
        // The applied one was issued a minute ago: the floor stands there.
        context.clockFloor = Fixture.now + .seconds(-60)
        for back in [61, 3600, 315_360_000] {
            context.now = Fixture.now + .seconds(-back)
            let refused = slot.received(expired, by: Fixture.delivery, in: context)
            #expect(refused.verdict == .rejected(.clockUnset), "\(back) s")
            #expect(slot.active == active)
        }
        context.now = Fixture.now
        #expect(slot.clockMoved(in: context).verdict == .rejected(.expired))
        #expect(slot.staged == nil && slot.active == active)
        try Fixture.apply(try Fixture.envelope(version: 8), to: &slot)
    }

    @Test("CFG-33: a clock ten years ahead refuses what has expired then, keeps what is active, and can be set right")
    func aClockThatIsSetForwardCanBeSetRight() throws {
        let active = slot.active
        let ahead = Fixture.now + .seconds(315_360_000)
        var context = try Fixture.context()
        context.now = ahead
        let limited = try Fixture.envelope { $0.expires = Fixture.now.seconds + 86_400 }
        #expect(slot.received(limited, by: Fixture.delivery, in: context).verdict == .rejected(.expired))
        #expect(slot.timePassed(running: .seconds(1), now: ahead).effects.isEmpty)
        #expect(slot.active == active)
        // A configuration that is applied under the wrong clock raises the floor to its own time of issue only.
        let unlimited = try Fixture.envelope()
        #expect(slot.received(unlimited, by: Fixture.delivery, in: context).effects.count == 1)
        let verified = try ApplicableConfiguration(verifying: unlimited, in: context).verified
        let answer = slot.answered(OfferReply(applied: verified), now: ahead)
        #expect(answer.changes.contains(.clockFloor(Fixture.now + .seconds(-60))))
        context.now = Fixture.now
        context.clockFloor = Fixture.now + .seconds(-60)
        let next = try Fixture.envelope(version: 8) { $0.expires = Fixture.now.seconds + 86_400 }
        guard case .offer? = slot.received(next, by: Fixture.delivery, in: context).effects.first
        else { throw Unexpected("the clock was set right, and nothing is accepted") }
    }

    @Test("CFG-20: one now decides all steps")
    func oneNowDecidesAllSteps() throws {
        let seconds = Fixture.now.seconds
        let bytes = try Fixture.envelope {
            $0.issued = seconds + 300
            $0.notBefore = seconds + 300
            $0.expires = seconds + 301
        }
        #expect(throws: Never.self) { try ApplicableConfiguration(verifying: bytes, in: try Fixture.context()) }
    }

    @Test("CFG-31: after unpairing nothing up to the mark comes back")
    func afterUnpairingNothingUpToTheMarkComesBack() throws {
        let old = try #require(slot.active?.record.envelope)
        let transition = slot.closed()
        #expect(transition.changes.contains(.active(nil)))
        #expect(transition.effects == [.reload])
        #expect(slot.active == nil)
        #expect(slot.mark?.isClosed == true)
        for bytes in [old, try Fixture.envelope(version: 6), try Fixture.envelope(version: 3)] {
            let refused = slot.received(bytes, by: Fixture.delivery, in: try Fixture.context())
            #expect(refused.verdict == .rejected(.rollback))
        }
        try Fixture.apply(try Fixture.envelope(version: 7), to: &slot)
        #expect(slot.mark?.isClosed == false)
    }

    @Test("CFG-34: a lifetime reverts what is applied and no clock extends it")
    func aLifetimeRevertsWhatIsAppliedAndNoClockExtendsIt() throws {
        try Fixture.apply(try Fixture.envelope { $0.lifetime = 604_800 }, to: &slot)
        let old = try #require(slot.active?.record.envelope)
        let clockBack = WallTime(seconds: Fixture.now.seconds - 691_200)
        #expect(slot.timePassed(running: .zero, now: clockBack).effects.isEmpty)
        #expect(slot.timePassed(running: .seconds(604_799), now: clockBack).effects.isEmpty)
        #expect(slot.active?.elapsed == 604_799_000)
        let reverted = slot.timePassed(running: .seconds(1), now: clockBack)
        #expect(reverted.changes.contains(.active(nil)))
        #expect(reverted.effects == [.reload])
        #expect(slot.active == nil)
        let again = slot.received(old, by: Fixture.delivery, in: try Fixture.context())
        #expect(again.verdict == .rejected(.rollback))
        try Fixture.apply(try Fixture.envelope(version: 8), to: &slot)
    }

    @Test("CFG-34: a lifetime counts no time from before it was applied, also if the clock is set back meanwhile")
    func aLifetimeCountsFromTheApply() throws {
        for (moved, elapsed) in [(4, 4), (-60, 0)] as [(Int, Int64)] {
            var slot = try Fixture.slot()
            _ = slot.applicationConnected()
            try Fixture.apply(try Fixture.envelope { $0.lifetime = 20 }, to: &slot)
            var now = Fixture.now + .seconds(moved)
            _ = slot.timePassed(running: .seconds(10), now: now)
            #expect(slot.active?.elapsed == elapsed * 1000)
            now = now + .seconds(10)
            _ = slot.timePassed(running: .seconds(10), now: now)
            #expect(slot.active?.elapsed == (elapsed + 10) * 1000)
            _ = slot.timePassed(running: .seconds(10), now: now + .seconds(10))
            #expect(slot.active == nil)
        }
    }

    @Test("CFG-22, CFG-34: a lifetime counts from the apply, also below a waived configuration of the same moment")
    func aLifetimeBelowAWaivedOneCountsFromTheApply() throws {
        var slot = try Fixture.slot()
        _ = slot.applicationConnected()
        try Fixture.apply(try Fixture.envelope { $0.lifetime = 20 }, to: &slot)
        // The trial passes, because none is offered above one on trial.
        _ = slot.applicationDisconnected(.inOrder)
        _ = slot.applicationConnected()
        try Fixture.receiveWaived(by: &slot)
        _ = slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now)
        #expect(slot.waived?.record.version == 50)
        _ = slot.timePassed(running: .seconds(10), now: Fixture.now + .seconds(4))
        #expect(slot.active?.elapsed == 4000)
    }

    @Test("CFG-34: a use of a lifetime never decreases, whatever its clocks and the other accounts show")
    func useOfALifetime() {
        var use = LifetimeUse(applied: Fixture.now, elapsed: 5000)
        #expect(use.used(now: Fixture.now) == 5000 && use.used(now: Fixture.now + .seconds(7)) == 7000)
        use.advance(running: .seconds(2), now: Fixture.now)
        #expect(use.elapsed == 7000)
        use.advance(running: .zero, now: Fixture.now, known: 9000)
        use.advance(running: .seconds(-60), now: Fixture.now + .seconds(-60), known: 1000)
        #expect(use.elapsed == 9000)
        use.advance(running: .milliseconds(Int64.max), now: Fixture.now)
        use.advance(running: .seconds(60), now: Fixture.now)
        #expect(use.elapsed >= Int64.max / 1_000_000)
    }

    @Test("CFG-34: a lifetime is over when the wall clock says so too")
    func aLifetimeIsOverWhenTheWallClockSaysSoToo() throws {
        try Fixture.apply(try Fixture.envelope { $0.lifetime = 604_800 }, to: &slot)
        let early = slot.timePassed(running: .zero, now: Fixture.now + .seconds(604_799))
        #expect(early.effects.isEmpty)
        #expect(slot.timePassed(running: .zero, now: Fixture.now).effects.isEmpty)
        #expect(slot.active?.elapsed == 604_799_000)
        #expect(slot.timePassed(running: .zero, now: Fixture.now + .seconds(604_800)).effects == [.reload])
    }
}
