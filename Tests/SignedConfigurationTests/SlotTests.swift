// The apply path of a daemon: stage, offer, believe the app about the bytes it was given, commit. Each durable step
// can be the last one before a crash.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@Suite final class SlotTests {
    private var slot: ConfigurationSlot

    init() throws { slot = try Fixture.usedSlot() }

    @Test("CFG-35: without its app a configuration is staged and waits")
    func withoutItsAppAConfigurationIsStagedAndWaits() throws {
        var slot = try Fixture.slot()
        let transition = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        #expect(transition.verdict == .waitingForApplication)
        #expect(transition.effects.isEmpty)
        let staged = try #require(slot.staged)
        #expect(transition.changes.first == .staged(staged))
        #expect(slot.active == nil)
        #expect(slot.mark == nil)
        let connected = slot.applicationConnected()
        #expect(connected.changes == [.counted(try #require(slot.staged))])
        #expect(connected.effects == [.offer(ConfigurationOffer(staged))])
        #expect(slot.phase == .offered)
    }

    @Test("CFG-35: the app's verdict commits file mark floor and report together")
    func theAppsVerdictCommitsFileMarkFloorAndReportTogether() throws {
        var slot = try Fixture.slot()
        _ = slot.applicationConnected()
        let bytes = try Fixture.envelope()
        let transition = slot.received(bytes, by: Fixture.delivery, in: try Fixture.context())
        #expect(transition.verdict == nil)
        let answer = slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now)
        #expect(answer.verdict == .applied)
        let active = try #require(slot.active)
        #expect(active.record.envelope == bytes)
        let mark = try #require(slot.mark)
        #expect(mark.version == 7 && mark.digest == active.record.digest && mark.isActive)
        guard answer.changes.count == 6, case .report(let facts)? = answer.changes.last
        else { throw Unexpected("trial, active, mark, floor, staged removed, report: \(answer.changes)") }
        #expect(Array(answer.changes.prefix(3)) == [.trial(slot.trial), .active(active), .mark(mark)])
        #expect(answer.changes[4] == .staged(nil))
        #expect(facts.verdict == .applied && facts.good?.version == 7 && facts.delivery == Fixture.delivery)
        #expect(facts.isOnTrial == true)
    }

    @Test("CFG-35: a rejection by the app keeps the last good one")
    func aRejectionByTheAppKeepsTheLastGoodOne() throws {
        let before = slot
        _ = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        let answer = slot.answered(try Fixture.reply("schema", to: slot, text: "volume: too high"), now: Fixture.now)
        #expect(answer.verdict == .rejected(.schema))
        #expect(answer.changes.first == .staged(nil))
        #expect(slot == before)
        try Fixture.apply(try Fixture.envelope(version: 7), to: &slot)
    }

    @Test("CFG-17: a refusal by the app's own keys says so: the daemon has verified the same bytes by its own")
    func aRefusalByTheAppsOwnKeysSaysSo() throws {
        func text(_ rejection: Rejection) -> String? {
            OfferReply(OfferReply(VerificationFailure(rejection, "why"), of: [1]).message)?.text
        }
        #expect(text(.threshold) == "the app refuses it by its own keys: why" && text(.schema) == "why")
    }

    @Test("CFG-43: an answer about other bytes or without a question is none")
    func anAnswerAboutOtherBytesOrWithoutAQuestionIsNone() throws {
        _ = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        let digest = PropertyListValue.data(SHA256.digest([1]))
        let other = try #require(OfferReply(["tandem.verdict": "applied", "tandem.digest": digest]))
        let before = slot
        #expect(slot.answered(other, now: Fixture.now) == ApplyTransition())
        #expect(slot == before)
        let good = try Fixture.reply("applied", to: slot)
        #expect(slot.answered(good, now: Fixture.now).verdict == .applied)
        #expect(slot.answered(good, now: Fixture.now) == ApplyTransition())
    }

    @Test(
        "CFG-41, CFG-43: a malformed reply is none",
        arguments: [
            [:], ["tandem.verdict": "applied"], ["tandem.verdict": "superseded", "tandem.digest": "x"],
            ["tandem.verdict": 1, "tandem.digest": .data(Array(repeating: 0, count: 32))],
            ["tandem.verdict": "waiting-for-app", "tandem.digest": .data(Array(repeating: 0, count: 32))],
            ["tandem.verdict": "nonsense", "tandem.digest": .data(Array(repeating: 0, count: 32))],
            ["tandem.verdict": "applied", "tandem.digest": .data([1])],
        ] as [PropertyListDictionary])
    func aMalformedReplyIsNone(message: PropertyListDictionary) {
        #expect(OfferReply(message) == nil)
    }

    @Test("CFG-32, CFG-62: another envelope around what waits takes its place, and is no new attempt")
    func anotherEnvelopeAroundWhatWaits() throws {
        let bytes = try Fixture.envelope()
        _ = slot.received(bytes, by: Fixture.delivery, in: try Fixture.context())
        #expect(slot.phase == .offered && slot.staged?.attempts == 1)
        // However often a carrier does it.
        var last = bytes
        for _ in 0..<5 {
            let other = try Fixture.rewrapped(bytes)
            let transition = slot.received(other, by: Fixture.delivery, in: try Fixture.context())
            guard case .report(let facts)? = transition.changes.first
            else { throw Unexpected("the one before is superseded: \(transition)") }
            #expect(facts.verdict == .superseded && facts.digest == SHA256.digest(last))
            #expect(slot.phase == .offered && slot.staged?.attempts == 1)
            last = other
        }
        #expect(slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now).verdict == .applied)
        #expect(slot.active?.record.envelope == last)
        slot.applicationDisconnected(.inOrder)
        let again = slot.received(bytes, by: Fixture.delivery, in: try Fixture.context())
        #expect(again.verdict == .applied && slot.active?.record.envelope == last)
    }

    @Test("CFG-43: what was offered is offered again after a crash or a disconnect")
    func whatWasHandedOverIsHandedOverAgainAfterACrashOrADisconnect() throws {
        _ = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        let staged = try #require(slot.staged)
        slot.applicationDisconnected()
        #expect(slot.phase == .waitingForApplication)
        #expect(slot.applicationConnected().effects == [.offer(ConfigurationOffer(staged))])
        slot.answerOverdue()
        #expect(slot.phase == .waitingForApplication)
        var restarted = ConfigurationSlot(
            key: slot.key, device: slot.device, mark: slot.mark, active: slot.active, staged: slot.staged)
        #expect(restarted.staged?.attempts == 2)
        #expect(restarted.applicationConnected().effects == [.offer(ConfigurationOffer(staged))])
    }

    @Test("CFG-35: a crash between file and commit ends in one apply")
    func aCrashBetweenFileAndCommitEndsInOneApply() throws {
        _ = slot.received(
            try Fixture.envelope { $0.lifetime = 1000 }, by: Fixture.delivery, in: try Fixture.context())
        let staged = try #require(slot.staged)
        let written = ActiveConfiguration(staged.record, applied: Fixture.now, isWaived: false)
        var restarted = ConfigurationSlot(
            key: slot.key, device: slot.device, mark: slot.mark, active: written, staged: staged)
        _ = restarted.applicationConnected()
        let answer = restarted.answered(
            try Fixture.reply("applied", to: restarted), now: Fixture.now + .seconds(500))
        #expect(answer.verdict == .applied)
        #expect(restarted.mark?.version == 7)
        #expect(restarted.active?.applied == Fixture.now)
    }

    @Test("CFG-31: unpairing while the app applies takes the offer back, and a late answer counts for nothing")
    func unpairingWhileTheAppAppliesTakesTheOfferBack() throws {
        var slot = try Fixture.slot()
        _ = slot.applicationConnected()
        let bytes = try Fixture.envelope()
        guard case .offer? = slot.received(bytes, by: Fixture.delivery, in: try Fixture.context()).effects.first
        else { throw Unexpected("not offered") }
        let closed = slot.closed()
        #expect(closed.changes.contains(.staged(nil)))
        #expect(closed.effects == [.reload], "the app may have applied it already")
        #expect(closed.reports.map(\.verdict) == [.superseded], "its sender waits no longer (CFG-72)")
        let verified = try ApplicableConfiguration(verifying: bytes, in: try Fixture.context()).verified
        #expect(slot.answered(OfferReply(applied: verified), now: Fixture.now) == ApplyTransition())
        #expect(slot.active == nil && slot.staged == nil && slot.mark == nil)
        try Fixture.apply(try Fixture.envelope(version: 8), to: &slot)
    }

    @Test("CFG-31, CFG-72: the sender of what is on trial hears that the slot was closed")
    func closedDuringTheTrial() throws {
        _ = slot.received(try Fixture.envelope(version: 9), by: Fixture.delivery, in: try Fixture.context())
        _ = slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now)
        let facts = try #require(slot.closed().reports.first)
        #expect(facts.verdict == .superseded && facts.version == 9 && facts.good == nil)
    }

    @Test("CFG-32: the same bytes without a sender keep the one before; from another pairing, both get the verdict")
    func theSameBytesFromOthers() throws {
        var slot = try Fixture.slot()
        let (bytes, context) = (try Fixture.envelope(), try Fixture.context())
        _ = slot.received(bytes, by: Fixture.delivery, in: context)
        #expect(slot.received(bytes, by: nil, in: context).reports.isEmpty)
        #expect(slot.staged?.deliveries.all == [Fixture.delivery])
        let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
        let waiting = slot.received(bytes, by: other, in: context).reports
        #expect(waiting.map(\.delivery) == [other] && waiting.map(\.verdict) == [.waitingForApplication])
        _ = slot.applicationConnected()
        let overdue = slot.answerOverdue(.notStored).reports
        #expect(overdue.map(\.delivery) == [Fixture.delivery, other])
        #expect(overdue.allSatisfy { $0.verdict == .waitingForApplication })
        _ = slot.timePassed(running: .seconds(10), now: Fixture.now)
        let applied = slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now).reports
        #expect(applied.map(\.delivery) == [Fixture.delivery, other])
        #expect(applied.allSatisfy { $0.verdict == .applied && $0.isOnTrial == true })
    }

    @Test(
        "CFG-25, CFG-32: what ends the bytes that wait is reported to the last delivery of each pairing",
        arguments: ["schema", "failed", "newer", "closed", "other envelope"])
    func theEndIsForAllSenders(_ end: String) throws {
        let (bytes, context) = (try Fixture.envelope(), try Fixture.context())
        let older = ConfigurationDelivery(pairing: Fixture.delivery.pairing, nonce: .random())
        let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
        for delivery in [older, other, Fixture.delivery] { _ = slot.received(bytes, by: delivery, in: context) }
        #expect(slot.phase == .offered && slot.staged?.attempts == 1)
        let ended =
            switch end {
            case "newer": slot.received(try Fixture.envelope(version: 8), by: nil, in: context)
            case "closed": slot.closed()
            case "other envelope": slot.received(try Fixture.rewrapped(bytes), by: nil, in: context)
            default: slot.answered(try Fixture.reply(end, to: slot), now: Fixture.now)
            }
        let expected: Verdict =
            switch end {
            case "schema": .rejected(.schema)
            case "failed": .failed
            default: .superseded
            }
        #expect(ended.reports.map(\.delivery) == [other, Fixture.delivery])
        #expect(ended.reports.allSatisfy { $0.verdict == expected && $0.digest == SHA256.digest(bytes) })
    }

    @Test("LIM-136, CFG-32: of more pairings than a device keeps, the oldest delivery is superseded")
    func tooManySenders() throws {
        var slot = try Fixture.slot()
        let (bytes, context) = (try Fixture.envelope(), try Fixture.context())
        let deliveries = (0...ConfigurationLimits.deliveries).map { _ in
            ConfigurationDelivery(pairing: .random(), nonce: .random())
        }
        for delivery in deliveries.dropLast() {
            let told = slot.received(bytes, by: delivery, in: context).reports
            #expect(told.map(\.verdict) == [.waitingForApplication])
        }
        #expect(slot.staged?.deliveries.all == Array(deliveries.dropLast()))
        let last = try #require(deliveries.last)
        let told = slot.received(bytes, by: last, in: context).reports
        #expect(told.map(\.delivery) == [deliveries[0], last])
        #expect(told.map(\.verdict) == [.superseded, .waitingForApplication])
        #expect(slot.staged?.deliveries.all == Array(deliveries.dropFirst()))
    }

    @Test("CFG-113: an offer that the app cannot judge is made again, counts no attempt, and is reported once")
    func anOfferThatTheAppCannotJudge() throws {
        let (bytes, context) = (try Fixture.envelope(), try Fixture.context())
        _ = slot.received(bytes, by: Fixture.delivery, in: context)
        for round in 0..<5 {
            let overdue = slot.answerOverdue(.notJudged("EIO"))
            #expect(overdue.verdict == .waitingForApplication && slot.staged?.attempts == 0)
            let reports = overdue.reports
            #expect(reports.map(\.text) == (round == 0 ? ["EIO"] : []))
            #expect(reports.allSatisfy { $0.verdict == .waitingForApplication })
            let offered = slot.timePassed(running: .seconds(10), now: Fixture.now)
            #expect(offered.effects.count == 1 && slot.phase == .offered)
        }
        let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
        _ = slot.received(bytes, by: other, in: context)
        let overdue = slot.answerOverdue(.notJudged("EIO")).reports
        #expect(overdue.map(\.delivery) == [Fixture.delivery, other], "another sender does not know it yet")
        _ = slot.timePassed(running: .seconds(10), now: Fixture.now)
        #expect(slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now).verdict == .applied)
    }

    @Test(
        "CFG-43: that the app's verdicts cannot be stored is reported with the reason, once, and each offer made again")
    func verdictsThatAreNotStored() throws {
        _ = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        for round in 0..<10 {
            let overdue = slot.answerOverdue(.notStored)
            #expect(overdue.verdict == .waitingForApplication && slot.staged?.attempts == 0)
            let texts = overdue.reports.map(\.text)
            #expect(texts.count == (round == 0 ? 1 : 0) && texts.allSatisfy { $0?.contains("could not store") == true })
            #expect(overdue.detail.contains("could not store"), "for the operator of this device, each time")
            #expect(slot.timePassed(running: .seconds(10), now: Fixture.now).effects.count == 1)
        }
    }

    @Test("CFG-113, LIM-142: an app that goes on not to judge is asked less often, until it registers again")
    func aLastingFaultOfTheKeySets() throws {
        _ = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        for _ in 0..<ConfigurationLimits.unjudgedOffers {
            _ = slot.answerOverdue(.notJudged("EIO"))
            #expect(slot.timePassed(running: .seconds(10), now: Fixture.now).effects.count == 1)
        }
        for _ in 0..<2 {
            _ = slot.answerOverdue(.notJudged("EIO"))
            #expect(slot.timePassed(running: .seconds(599), now: Fixture.now).effects.isEmpty)
            #expect(slot.timePassed(running: .seconds(1), now: Fixture.now).effects.count == 1)
        }
        _ = slot.answerOverdue(.notJudged("EIO"))
        slot.applicationDisconnected()
        #expect(slot.applicationConnected().effects.count == 1)
        _ = slot.answerOverdue(.notJudged("EIO"))
        #expect(slot.timePassed(running: .seconds(10), now: Fixture.now).effects.count == 1)
    }

    @Test("CFG-43, LIM-142: an app without room for an offer has not seen it, and is asked again while it stays")
    func anAppWithoutRoom() throws {
        _ = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        for round in 0..<ConfigurationLimits.unjudgedOffers {
            let overdue = slot.answerOverdue(.noRoom)
            #expect(overdue.verdict == .waitingForApplication && slot.staged?.attempts == 0)
            #expect(overdue.reports.map(\.text) == (round == 0 ? ["the app has too many unread messages"] : []))
            #expect(slot.timePassed(running: .seconds(10), now: Fixture.now).effects.count == 1)
        }
        _ = slot.answerOverdue(.noRoom)
        #expect(slot.timePassed(running: .seconds(599), now: Fixture.now).effects.isEmpty)
        #expect(slot.timePassed(running: .seconds(1), now: Fixture.now).effects.count == 1)
    }

    @Test("CFG-113: the answer that an offer cannot be judged reads back, and is no verdict")
    func theAnswerThatAnOfferCannotBeJudged() throws {
        let unjudged = UnjudgedOffer(of: [1], because: "EIO")
        #expect(UnjudgedOffer(unjudged.message) == unjudged && unjudged.digest == SHA256.digest([1]))
        #expect(OfferReply(unjudged.message) == nil && Verdict(name: "not-judged") == nil)
        #expect(UnjudgedOffer(["tandem.verdict": "not-judged"]) == nil)
        #expect(UnjudgedOffer(["tandem.verdict": "applied", "tandem.digest": .data(unjudged.digest)]) == nil)
        let names: [(Rejection, Bool)] = [
            (.threshold, true), (.oldKeySet, true), (.keySetExpired, true), (.schema, false), (.wrongTarget, false),
        ]
        for (rejection, mayLack) in names {
            #expect(OfferReply(VerificationFailure(rejection, ""), of: [1]).mayLackKeySets == mayLack)
        }
    }

    @Test("CFG-32: a newer version takes the place of one that waits")
    func aNewerVersionTakesThePlaceOfOneThatWaits() throws {
        var slot = try Fixture.slot()
        let context = try Fixture.context()
        _ = slot.received(try Fixture.envelope(version: 7), by: Fixture.delivery, in: context)
        let first = try #require(slot.staged)
        let newer = slot.received(try Fixture.envelope(version: 9), by: Fixture.delivery, in: context)
        guard case .report(let facts)? = newer.changes.first
        else { throw Unexpected("the older one is reported: \(newer.changes)") }
        #expect(facts.verdict == .superseded && facts.digest == first.record.digest)
        #expect(slot.staged?.record.version == 9)
        let lower = slot.received(try Fixture.envelope(version: 8), by: Fixture.delivery, in: context)
        #expect(lower.verdict == .rejected(.rollback))
        let twin = slot.received(try Fixture.envelope(version: 9), by: Fixture.delivery, in: context)
        #expect(twin.verdict == .rejected(.equivocation))
        let same = try #require(slot.staged?.record.envelope)
        #expect(slot.received(same, by: Fixture.delivery, in: context).verdict == .waitingForApplication)
        #expect(slot.staged?.record.version == 9)
    }

    @Test("CFG-32: the same bytes while offered are not offered twice")
    func theSameBytesWhileHandedOverAreNotHandedOverTwice() throws {
        let bytes = try Fixture.envelope()
        _ = slot.received(bytes, by: Fixture.delivery, in: try Fixture.context())
        let again = slot.received(bytes, by: nil, in: try Fixture.context())
        #expect(again.effects.isEmpty)
        #expect(slot.phase == .offered)
        #expect(slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now).verdict == .applied)
    }

    @Test("CFG-22: a waived signature moves no mark and yields to good ones")
    func aWaivedSignatureMovesNoMarkAndYieldsToGoodOnes() throws {
        let mark = slot.mark
        try Fixture.receiveWaived(by: &slot)
        #expect(slot.staged?.isWaived == true)
        let answer = slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now)
        guard case .report(let facts)? = answer.changes.last
        else { throw Unexpected("a waived signature is reported: \(answer.changes)") }
        #expect(facts.verdict == .applied && facts.isWaived)
        #expect(slot.waived?.record.version == 50)
        #expect(slot.active?.record.version == 6)
        #expect(slot.mark == mark)
        #expect(!answer.changes.contains { if case .clockFloor = $0 { true } else { false } })
        try Fixture.apply(try Fixture.envelope(version: 7), to: &slot)
        #expect(slot.waived == nil)
        #expect(slot.mark?.version == 7)
    }

    @Test(
        "CFG-22: what is applied with an invalid signature ends at a start that does not allow it, and its trial, too",
        arguments: [true, false])
    func aWaivedSignatureDoesNotOutliveThePermission(_ isOnTrial: Bool) throws {
        let (good, mark, reports) = (slot.active, slot.mark, slot.loadReports)
        try Fixture.receiveWaived(by: &slot)
        _ = slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now)
        if !isOnTrial { Fixture.live(&slot) }
        func restart() -> ConfigurationSlot {
            ConfigurationSlot(
                key: slot.key, device: slot.device, mark: slot.mark, active: slot.active, waived: slot.waived,
                trial: slot.trial, loadReports: slot.loadReports)
        }
        let context = try Fixture.context()
        var allowing = restart()
        #expect(allowing.started(in: context, allowsInvalid: true) == ApplyTransition() && allowing.needsPermission)
        var strict = restart()
        let ended = strict.started(in: context, allowsInvalid: false)
        #expect(strict.waived == nil && strict.trial == nil && strict.active == good && strict.mark == mark)
        #expect(!strict.needsPermission)
        #expect(ended.changes.contains(.waived(nil)) && ended.changes.contains(.trial(nil)) == isOnTrial)
        #expect(ended.verdict == .rejected(.threshold) && ended.detail.contains("version 50"))
        #expect(ended.effects == [.reload], "an app that has registered meanwhile reads its files again")
        let facts = ended.reports
        #expect(facts.map(\.delivery) == [Fixture.delivery], "also after its trial (CFG-114)")
        #expect(ended.recalled == [Fixture.delivery], "CFG-52: not held back behind other failures")
        #expect(strict.loadReports == reports, "its part of the row ends with it")
        #expect(facts.allSatisfy { $0.verdict == .rejected(.threshold) && $0.good?.version == 6 })
    }

    @Test(
        "CFG-22: what waits at a start that allows no invalid signatures is offered only with good ones",
        arguments: [true, false])
    func aPermissionThatEndsWhileOneWaits(_ isGood: Bool) throws {
        var slot = try Fixture.slot()
        var context = try Fixture.context()
        context.allowsInvalidSignatures = true
        let key = isGood ? Fixture.key : Fixture.stranger
        let bytes = try ConfigurationSigner.sign(try Fixture.payload(), with: [key])
        _ = slot.received(bytes, by: Fixture.delivery, in: context)
        #expect(slot.staged?.allowsInvalid == true && slot.staged?.isWaived == !isGood)
        var strict = ConfigurationSlot(key: slot.key, device: slot.device, staged: slot.staged)
        context.allowsInvalidSignatures = false
        let started = strict.started(in: context, allowsInvalid: false)
        #expect(started.changes.first == .staged(strict.staged))
        let offers = strict.applicationConnected().effects
        if isGood {
            #expect(started.reports.isEmpty && strict.staged?.allowsInvalid == false)
            #expect(offers == [.offer(ConfigurationOffer(try #require(strict.staged)))])
        } else {
            #expect(started.reports.map(\.verdict) == [.rejected(.threshold)])
            #expect(strict.staged == nil && offers.isEmpty)
        }
    }

    @Test(
        "CFG-22, CFG-33: a waived signature never pushes out a good one that waits, also for the clock",
        arguments: [Fixture.now, WallTime(seconds: 0)])
    func aWaivedSignatureNeverPushesOutAGoodOneThatWaits(_ now: WallTime) throws {
        var slot = try Fixture.slot()
        var context = try Fixture.context()
        context.allowsInvalidSignatures = true
        context.now = now
        let payload = try Fixture.payload(version: 7)
        let good = try ConfigurationSigner.sign(payload, with: [Fixture.key])
        _ = slot.received(good, by: Fixture.delivery, in: context)
        let foreign = try ConfigurationSigner.sign(try Fixture.payload(version: 50), with: [Fixture.stranger])
        // The same statement in another envelope, too.
        for bytes in [foreign, try ConfigurationSigner.sign(payload, with: [Fixture.stranger])] {
            let refused = slot.received(bytes, by: Fixture.delivery, in: context)
            #expect(refused.verdict == .rejected(.threshold))
            #expect(slot.staged?.record.digest == SHA256.digest(good) && slot.staged?.isWaived == false)
        }
        var other = try Fixture.slot()
        _ = other.received(foreign, by: Fixture.delivery, in: context)
        _ = other.received(try Fixture.envelope(version: 7), by: Fixture.delivery, in: context)
        #expect(other.staged?.record.version == 7)
        // The same statement with good signatures, which an operator here applies, takes the place of a waived one.
        var third = try Fixture.slot()
        let waived = try ConfigurationSigner.sign(payload, with: [Fixture.stranger])
        for bytes in [waived, good] { _ = third.received(bytes, by: nil, in: context) }
        #expect(third.staged?.record.digest == SHA256.digest(good) && third.staged?.isWaived == false)
    }

    @Test("CFG-36: records read back as they were written")
    func recordsReadBackAsTheyWereWritten() throws {
        let active = try #require(slot.active)
        #expect(try ActiveConfiguration(try Fixture.written(active.dictionary)) == active)
        let mark = try #require(slot.mark)
        #expect(try VersionMark(try Fixture.written(mark.dictionary)) == mark)
        _ = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        let staged = try #require(slot.staged)
        #expect(try StagedConfiguration(try Fixture.written(staged.row)) == staged)
        #expect(staged.row["earlier"] == nil, "as releases before it wrote it")
        let bytes = staged.record.envelope
        for _ in 0..<2 {
            let other = ConfigurationDelivery(pairing: .random(), nonce: .random())
            _ = slot.received(bytes, by: other, in: try Fixture.context())
        }
        let shared = try #require(slot.staged)
        #expect(try StagedConfiguration(try Fixture.written(shared.row)) == shared && shared.deliveries.all.count == 3)
        #expect(shared.dictionary["earlier"] == nil, "the file tells of the newest one alone")
        let newest = try #require(shared.deliveries.newest)
        #expect(shared.dictionary["nonce"] == .data(newest.nonce.bytes))
    }

    @Test("CFG-36: a record whose facts are not its bytes is damaged")
    func aRecordWhoseFactsAreNotItsBytesIsDamaged() throws {
        let slot = try Fixture.usedSlot()
        let good = try #require(slot.active).dictionary
        let changes: [(String, PropertyListValue?)] = [
            ("version", 9), ("digest", .data(Array(repeating: 0, count: 32))), ("envelope", .data([1, 2])),
            ("txid", nil), ("elapsed", -1), ("extra", 1), ("v", 2), ("target", "hw-1"), ("waived", 1),
        ]
        for (field, value) in changes {
            var fields = good
            fields[field] = value
            #expect(throws: FieldError.self, "\(field)") { try ActiveConfiguration(fields) }
        }
    }

    @Test("CFG-40: an offer reads back and every other form is malformed")
    func anOfferReadsBackAndEveryOtherFormIsMalformed() throws {
        _ = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        let offer = ConfigurationOffer(try #require(slot.staged))
        #expect(offer.mark == 6)
        #expect(try ConfigurationOffer(offer.message) == offer)
        #expect(ConfigurationOffer.isClaimed(by: offer.message))
        #expect(!ConfigurationOffer.isClaimed(by: ["tandem": 1, "configuration": 2]))
        for key in ["tandem.configuration", "tandem.target", "tandem.device", "tandem.allowsInvalid"] {
            var message = offer.message
            message[key] = nil
            #expect(throws: VerificationFailure(.malformed, "")) { try ConfigurationOffer(message) }
            message[key] = .integer(3)
            #expect(throws: VerificationFailure(.malformed, "")) { try ConfigurationOffer(message) }
        }
    }

    // MARK: step 18

    private static func context(_ text: String, isCurrent: Bool) throws -> VerificationContext {
        var context = try Fixture.context()
        context.schemaRefusal = SchemaRefusal(text: text, isCurrent: isCurrent)
        return context
    }

    @Test("CFG-108: what the connected app's own schema refuses is neither staged nor offered, and burns nothing")
    func refusedBySchema() throws {
        _ = slot.applicationConnected()
        let before = slot
        let bytes = try Fixture.envelope()
        let refused = slot.received(
            bytes, by: Fixture.delivery, in: try Self.context("volume: too high", isCurrent: true))
        #expect(refused.verdict == .rejected(.schema) && refused.detail == "volume: too high")
        #expect(refused.effects.isEmpty && slot == before)
        guard refused.changes.count == 1, case .report(let facts) = refused.changes[0]
        else { throw Unexpected("a report: \(refused.changes)") }
        #expect(facts.verdict == .rejected(.schema) && facts.text == "volume: too high" && facts.version == 7)
        try Fixture.apply(bytes, to: &slot)
    }

    @Test("CFG-108: the other steps come first, and what is active already is judged by no schema")
    func otherStepsFirst() throws {
        _ = slot.applicationConnected()
        let active = try #require(slot.active).record.envelope
        let context = try Self.context("no", isCurrent: true)
        #expect(slot.candidate(active, in: context) == nil && slot.candidate([1, 2, 3], in: context) == nil)
        #expect(slot.candidate(try Fixture.envelope(), in: context)?.version == 7)
        #expect(slot.received(active, by: Fixture.delivery, in: context).verdict == .applied)
        #expect(slot.received([1, 2, 3], by: Fixture.delivery, in: context).verdict == .rejected(.malformed))
    }

    @Test("CFG-109: the schema of an app that is away refuses nothing, and its words are in the report")
    func olderSchema() throws {
        for isCurrent in [false, true] {
            var slot = try Fixture.slot()
            let context = try Self.context("volume: too high", isCurrent: isCurrent)
            let waiting = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: context)
            #expect(waiting.verdict == .waitingForApplication && slot.staged != nil)
            let texts = waiting.reports.compactMap(\.text)
            #expect(texts == ["the last schema of the app refuses it: volume: too high"])
            #expect(slot.applicationConnected().effects == [.offer(ConfigurationOffer(try #require(slot.staged)))])
            #expect(slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now).verdict == .applied)
        }
    }

    @Test(
        "CFG-25: while another primary is the active one, the report of what waits says so",
        arguments: [nil, "too high"] as [String?])
    func anotherPrimaryIsActive(_ mistake: String?) throws {
        var slot = try Fixture.slot()
        var context = try mistake.map { try Self.context($0, isCurrent: false) } ?? Fixture.context()
        context.isOfInactivePrimary = true
        let waiting = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: context)
        #expect(waiting.verdict == .waitingForApplication)
        let text = try #require(waiting.reports.first?.text)
        #expect(text.hasPrefix("another primary is the active one on this device"))
        #expect(text.hasSuffix("too high") == (mistake != nil))
    }

    @Test("CFG-109: an app that is connected with another schema is offered the configuration at once")
    func otherSchema() throws {
        var slot = try Fixture.slot()
        _ = slot.applicationConnected()
        let context = try Self.context("volume: too high", isCurrent: false)
        let offered = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: context)
        #expect(offered.verdict == nil && offered.effects.count == 1 && slot.phase == .offered)
    }
}
