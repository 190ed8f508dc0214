// Desired state of a primary: what it accepts, to which secondaries it delivers it and when again, what it makes of
// their reports, and what its rows restore.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@Suite final class DesiredTests {
    private var fleet: Fleet

    init() throws { fleet = try Fleet() }

    @Test("CFG-63, CFG-72: what has failed stays so when a second delivery of it is refused")
    func failedStaysFailed() throws {
        let first = try fleet.delivered(try fleet.envelope(1))
        let second = try fleet.linked(0)
        #expect(try fleet.report(0, first, .failed) == nil)
        #expect(try fleet.report(0, second, .rejected(.rollback)) == nil)
        #expect(fleet.desired.deliveries.map(\.verdict) == ["failed"])
    }

    @Test("CFG-52, CTL-27: a delivery whose report was held back is on its way no longer once a later one is answered")
    func heldBackReport() throws {
        _ = try fleet.delivered(try fleet.envelope(1))
        fleet.now = fleet.now + .seconds(1)
        let second = try fleet.delivered(try fleet.envelope(2))
        #expect(fleet.desired.deliveries.count == 2)
        #expect(try fleet.report(0, second, .rejected(.threshold)) == nil)
        #expect(fleet.desired.deliveries.map(\.version) == [2])
    }

    @Test("CFG-70: an accepted envelope goes to each secondary as the exact bytes, also to one that is paired later")
    func delivered() throws {
        var fleet = try Fleet(2)
        let envelope = try fleet.envelope(1)
        #expect(try fleet.accept(envelope).mapValues(\.envelope) == [0: envelope, 1: envelope])
        fleet.members.append(.init())
        #expect(fleet.link(2)?.envelope == envelope)
        #expect(fleet.link(2, underWay: true) == nil, "CFG-72: it is on its way")
    }

    @Test("CFG-70: of several versions each secondary gets the highest that names it")
    func only() throws {
        var fleet = try Fleet(3)
        let items = try fleet.accept(try fleet.envelope(1))
        for (index, item) in items { #expect(try fleet.report(index, item, .applied) == nil) }
        let second = try fleet.accept(try fleet.envelope(2, only: [1]))
        #expect(second.keys.sorted() == [1])
        #expect(try fleet.report(1, try #require(second[1]), .applied) == nil)
        #expect(fleet.desired.desired(of: fleet.key).map(\.version) == [1, 2])
        let versions = (0..<3).map { fleet.standing($0)?.desired.version }
        #expect(versions == [1, 2, 1])
        let device = fleet.members[1].device
        fleet.members[1] = .init()
        #expect(device != fleet.members[1].device)
        #expect(fleet.link(1)?.entry.version == 1, "another device gets the version that names it")
        #expect(try fleet.accept(try fleet.envelope(3)).count == 3)
    }

    @Test("CFG-70: under another identifier of the primary's app nothing is desired for the former one")
    func anotherIdentifier() throws {
        let item = try fleet.delivered(try fleet.envelope(1))
        fleet.end(0, item, .undelivered)
        fleet.target = try PairedIdentifier(text: "custom:hw-2")
        #expect(fleet.link(0) == nil && fleet.standing(0) == nil)
        fleet.target = try Fixture.target()
        #expect(fleet.announce(0)?.envelope == item.envelope, "CFG-72: it has the former one again")
    }

    @Test("CFG-71: a lower version does not replace a higher one, and the same version has the same bytes")
    func versions() throws {
        let five = try fleet.envelope(5)
        let item = try #require(try fleet.accept(five)[0])
        #expect(throws: DesiredRefusal.rollback(inForce: 5, isTaken: false)) { try fleet.accept(try fleet.envelope(4)) }
        #expect(throws: DesiredRefusal.equivocation(version: 5)) { try fleet.accept(try fleet.envelope(5)) }
        #expect(try fleet.accept(five).isEmpty, "the same bytes are on their way")
        #expect(try fleet.report(0, item, .applied) == nil)
        #expect(try fleet.accept(five).isEmpty, "the same bytes are applied")
        #expect(throws: DesiredRefusal.rollback(inForce: 5, isTaken: true), "CFG-77: where it is applied, that stays") {
            try fleet.accept(try fleet.envelope(4))
        }
        #expect(fleet.desired.desired(of: fleet.key).map(\.version) == [5])
        #expect(fleet.desired.history(of: fleet.key).map(\.version) == [5], "CFG-78: a refused one is no history")
    }

    @Test("CFG-71: a version that secondaries have rejected and none has taken may be signed again")
    func rejectedVersion() throws {
        var fleet = try Fleet(2)
        let forged = try fleet.accept(try fleet.envelope(7))
        #expect(throws: DesiredRefusal.equivocation(version: 7)) { try fleet.accept(try fleet.envelope(7)) }
        #expect(try fleet.report(0, try #require(forged[0]), .rejected(.threshold)) == nil)
        let good = try fleet.accept(try fleet.envelope(7))
        #expect(good.count == 2)
        #expect(try fleet.report(1, try #require(good[1]), .waitingForApplication) == nil)
        #expect(try fleet.report(0, try #require(good[0]), .rejected(.schema)) == nil)
        #expect(throws: DesiredRefusal.rollback(inForce: 7, isTaken: true)) { try fleet.accept(try fleet.envelope(6)) }
    }

    @Test("CFG-72: what a secondary lacks is delivered when its link is ready: nothing else, and nothing twice")
    func lacking() throws {
        let first = try fleet.delivered(try fleet.envelope(1))
        #expect(fleet.link(0, underWay: true) == nil)
        let again = try fleet.linked(0)
        #expect(again.entry.id != first.entry.id && again.envelope == first.envelope)
        #expect(try fleet.report(0, again, .applied) == nil)
        #expect(fleet.link(0) == nil)
        fleet.beginEpoch(0)
        #expect(fleet.link(0) != nil, "after a restored store no report is relied on")
    }

    @Test("CFG-72: one that waits for its app is not delivered again, unless the pairing is renewed")
    func waitingForApp() throws {
        let item = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, item, .waitingForApplication) == nil)
        #expect(fleet.link(0) == nil && fleet.announce(0) == nil)
        #expect(try fleet.report(0, item, .applied) == nil, "the nonce is open until the final verdict")
        let second = try fleet.delivered(try fleet.envelope(2))
        #expect(try fleet.report(0, second, .waitingForApplication) == nil)
        fleet.beginEpoch(0)
        #expect(fleet.link(0)?.entry.version == 2)
    }

    @Test("CFG-73: a rejection is final until the operator applies the bytes again or the pairing is renewed")
    func finalRejection() throws {
        let envelope = try fleet.envelope(1)
        let item = try fleet.delivered(envelope)
        #expect(try fleet.report(0, item, .rejected(.schema)) == nil)
        #expect(fleet.link(0) == nil && fleet.announce(0) == nil)
        #expect(fleet.standing(0)?.verdict == "schema" && fleet.standing(0)?.staleSince == Fixture.now)
        #expect(try fleet.accept(envelope).count == 1)
        var renewed = fleet
        renewed.beginEpoch(0)
        #expect(renewed.link(0) != nil)
    }

    @Test("CFG-73: where the newest version is rejected, the version before it is delivered to those that lack it")
    func fallback() throws {
        var fleet = try Fleet(2)
        let first = try fleet.accept(try fleet.envelope(1))
        #expect(try fleet.report(0, try #require(first[0]), .applied) == nil)
        let second = try fleet.accept(try fleet.envelope(2))
        #expect(try fleet.report(0, try #require(second[0]), .rejected(.schema), good: first[0]) == nil, "it has it")
        let fallback = try fleet.report(1, try #require(second[1]), .rejected(.schema))
        #expect(fallback == nil, "version 1 is still on its way to it")
        #expect(try fleet.report(1, try #require(first[1]), .applied) == nil)
        fleet.members.append(.init())
        let newest = try fleet.linked(2)
        #expect(newest.entry.version == 2)
        let older = try fleet.report(2, newest, .rejected(.schema))
        #expect(older?.entry.version == 1)
        #expect(fleet.standing(2)?.desired.version == 2 && fleet.standing(2)?.verdict == "schema")
    }

    @Test("CFG-73: rejections that the secondary may end by itself are tried again on the next link")
    func retried() throws {
        for rejection in [Rejection.wrongTarget, .future, .oldKeySet, .keySetGap, .keySetExpired, .threshold] {
            var fleet = try Fleet()
            let item = try fleet.delivered(try fleet.envelope(1))
            #expect(try fleet.report(0, item, .rejected(rejection)) == nil)
            #expect(fleet.announce(0) == nil)
            #expect(fleet.link(0) != nil, "\(rejection)")
        }
    }

    @Test("CFG-73: what a secondary's clock had expired is tried again until it is expired here")
    func expiredThere() throws {
        let item = try fleet.delivered(try Fixture.envelope(version: 1) { $0.expires = Fixture.now.seconds + 60 })
        #expect(try fleet.report(0, item, .rejected(.expired)) == nil)
        #expect(try fleet.report(0, try fleet.linked(0), .rejected(.expired)) == nil)
        fleet.now = Fixture.now + .seconds(60)
        #expect(fleet.link(0) == nil)
    }

    @Test("CFG-73: old-keyset is final for a primary that brings no key sets")
    func oldKeySetWithoutAChain() throws {
        let item = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, item, .rejected(.oldKeySet)) == nil)
        #expect(fleet.link(0, bringsKeys: false) == nil)
        #expect(fleet.link(0) != nil, "with a chain the secondary may have been behind it")
    }

    @Test(
        "CFG-74: without a key at the secondary the envelope is delivered again when its app is announced or linked",
        arguments: [Verdict.waitingForKey, .rejected(.noKey)])
    func waitingForKey(verdict: Verdict) throws {
        let item = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, item, verdict) == nil, "not at once: it would be answered in the same way")
        let announced = fleet.announce(0)
        let second = try #require(announced)
        #expect(try fleet.report(0, second, verdict) == nil)
        let third = try fleet.linked(0)
        #expect(try fleet.report(0, third, .applied) == nil)
        #expect(fleet.standing(0)?.staleSince == nil)
    }

    @Test("CFG-74: the secondary's slot answers waiting-for-key to a primary, and no-key to its own operator")
    func slotWithoutKey() throws {
        var context = try Fixture.context()
        context.anchor = .none
        var slot = try Fixture.slot()
        let carried = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: context)
        #expect(carried.verdict == .waitingForKey)
        guard case .report(let facts)? = carried.changes.first else { throw Unexpected("it is reported") }
        #expect(facts.verdict == .waitingForKey && facts.verdict.isEarly && slot.staged == nil)
        #expect(slot.received(try Fixture.envelope(), by: nil, in: context).verdict == .rejected(.noKey))
    }

    @Test("CFG-75: an item whose time ran out is undelivered, not expired, and is delivered again on the next link")
    func undelivered() throws {
        let item = try fleet.delivered(try fleet.envelope(1))
        fleet.end(0, item, .undelivered)
        #expect(fleet.standing(0)?.verdict == nil && fleet.standing(0)?.ending == .undelivered)
        let again = try fleet.linked(0)
        fleet.end(0, again, .notQueued)
        #expect(fleet.link(0) != nil)
        #expect(!ForwardedConfiguration.Ending.allCases.contains { Rejection(rawValue: $0.rawValue) != nil })
    }

    @Test("CFG-75: what waits for keys ends as withdrawn or superseded, though it was never delivered")
    func endedWithoutADelivery() throws {
        fleet.isBehind = true
        let envelopes = try (1...2).map { try DesiredConfiguration(envelope: fleet.envelope($0), accepted: fleet.now) }
        func endings() -> [ForwardedConfiguration.Ending?] {
            envelopes.map { fleet.desired.ending(of: $0, at: fleet.addressee(0)) }
        }
        #expect(try fleet.accept(envelopes[0].envelope).isEmpty)
        #expect(endings() == [nil, .withdrawn], "the second is not desired yet")
        #expect(try fleet.accept(envelopes[1].envelope).isEmpty)
        #expect(endings() == [.superseded, nil])
        _ = fleet.desired.withdraw(fleet.key, versions: nil, at: fleet.now)
        #expect(endings() == [.withdrawn, .withdrawn])
    }

    @Test("CFG-52, CFG-75: a delivery whose verdict is held back has ended once a higher version is applied")
    func overtakenWithoutAVerdict() throws {
        let first = try fleet.delivered(try fleet.envelope(1))
        _ = fleet.desired.withdraw(fleet.key, versions: nil, at: fleet.now)
        let second = try fleet.delivered(try fleet.envelope(2))
        #expect(try fleet.ending(of: first.envelope) == nil, "the secondary may still apply it")
        _ = try fleet.report(0, second, .applied)
        #expect(try fleet.ending(of: first.envelope) == .superseded)
        _ = try fleet.report(0, first, .rejected(.threshold), good: second)
        #expect(try fleet.ending(of: first.envelope) == nil, "a late verdict is told")
        let state = try #require(fleet.desired.state(of: fleet.key, at: fleet.members[0].pairing))
        #expect(state.verdict(on: first.entry.digest) == "threshold")
    }

    @Test(
        "CFG-75: a version of an earlier key set overtakes nothing, and in a new epoch nothing of before is waited for")
    func otherKeySets() throws {
        let old = try fleet.delivered(try fleet.envelope(9))
        _ = try fleet.report(0, old, .applied)
        _ = fleet.desired.withdraw(fleet.key, versions: nil, at: fleet.now)
        let first = try fleet.delivered(try fleet.envelope(1, keySet: 2))
        _ = fleet.desired.withdraw(fleet.key, versions: nil, at: fleet.now)
        #expect(try fleet.ending(of: first.envelope) == nil, "the secondary may still apply it")
        let state = try #require(fleet.desired.state(of: fleet.key, at: fleet.members[0].pairing))
        let row = try #require(state.dictionary)
        #expect(try SecondaryState(row).dictionary == row)
        let second = try fleet.delivered(try fleet.envelope(2, keySet: 2))
        _ = try fleet.report(0, second, .applied)
        #expect(try fleet.ending(of: first.envelope) == .superseded)
        fleet.beginEpoch(0)
        #expect(try fleet.ending(of: first.envelope) == .superseded, "no report of it counts any more")
    }

    @Test("CFG-52, CFG-75: what waits for a verdict under one key set has ended once a later set's is applied")
    func overtakenByALaterKeySet() throws {
        let old = try fleet.delivered(try fleet.envelope(9))
        _ = fleet.desired.withdraw(fleet.key, versions: nil, at: fleet.now)
        let later = try fleet.delivered(try fleet.envelope(1, keySet: 2))
        #expect(
            try fleet.ending(of: old.envelope) == nil,
            "the secondary may have applied it before it followed the later set")
        _ = try fleet.report(0, later, .applied)
        #expect(
            try fleet.ending(of: old.envelope) == .withdrawn,
            "its version is the higher one, but its key set is the earlier one")
    }

    @Test("CFG-73, CFG-75: a version that the secondary had refused is superseded by a lower one for no caller")
    func aRefusedVersionIsNotSuperseded() throws {
        let first = try fleet.delivered(try fleet.envelope(1))
        _ = try fleet.report(0, first, .applied)
        let second = try fleet.delivered(try fleet.envelope(2))
        _ = try fleet.report(0, second, .rejected(.schema), good: first)
        #expect(try fleet.ending(of: second.envelope) == nil)
        let state = try #require(fleet.desired.state(of: fleet.key, at: fleet.members[0].pairing))
        #expect(state.verdict(on: first.entry.digest) == "applied")
        #expect(state.verdict(on: second.entry.digest) == "schema")
    }

    @Test("CFG-76: stale since the first delivery that is not reported as applied; drift if it had been")
    func standing() throws {
        let first = try fleet.delivered(try fleet.envelope(1))
        fleet.now = Fixture.now + .seconds(60)
        fleet.end(0, first, .undelivered)
        let again = try fleet.linked(0)
        #expect(fleet.standing(0)?.staleSince == Fixture.now, "since the first delivery")
        #expect(try fleet.report(0, again, .applied) == nil)
        #expect(fleet.standing(0)?.staleSince == nil && fleet.standing(0)?.reported == 1)
        let second = try fleet.delivered(try fleet.envelope(2))
        #expect(fleet.standing(0)?.staleSince == fleet.now && fleet.standing(0)?.isDrift == false)
        #expect(fleet.standing(0)?.reported == 1)
        #expect(try fleet.report(0, second, .applied) == nil)
        let third = try fleet.delivered(try fleet.envelope(3))
        _ = fleet.desired.withdraw(fleet.key, versions: [3], at: fleet.now)
        #expect(fleet.standing(0)?.desired.version == 2)
        let back = try fleet.report(0, third, .rejected(.expired), good: first)
        #expect(fleet.standing(0)?.isDrift == true && fleet.standing(0)?.reported == 1)
        #expect(back?.entry.version == 2, "CFG-72: it lacks the desired one")
    }

    @Test("CFG-71: the same bytes again are delivered where their lifetime may have run out")
    func lifetime() throws {
        let envelope = try fleet.envelope(1, lifetime: 60)
        let item = try fleet.delivered(envelope)
        #expect(try fleet.report(0, item, .applied) == nil)
        #expect(fleet.standing(0)?.lifetimeEnd == Fixture.now + .seconds(60), "CTL-23")
        fleet.now = Fixture.now + .seconds(60)
        #expect(fleet.link(0) == nil)
        // Also before: the secondary's clock may have been ahead.
        fleet.now = Fixture.now + .seconds(1)
        #expect(try fleet.accept(envelope).count == 1)
    }

    @Test("CFG-77: withdrawing takes unanswered deliveries back and frees the version")
    func withdraw() throws {
        var fleet = try Fleet(2)
        let items = try fleet.accept(try fleet.envelope(3))
        #expect(try fleet.report(0, try #require(items[0]), .applied) == nil)
        let (versions, transition) = fleet.desired.withdraw(fleet.key, versions: nil, at: fleet.now)
        #expect(versions == [3])
        #expect(transition.cancellations.map(\.pairing) == [fleet.members[1].pairing])
        #expect(fleet.standing(0) == nil && fleet.link(1) == nil)
        #expect(fleet.desired.history(of: fleet.key).last?.withdrawn == fleet.now, "CFG-78")
        #expect(fleet.desired.withdraw(fleet.key, versions: nil, at: fleet.now).versions.isEmpty)
        #expect(try fleet.accept(try fleet.envelope(1)).count == 2)
    }

    @Test(
        "CFG-77, CFG-94: several versions are withdrawn in one step with one row of history, and the others stay desired"
    )
    func withdrawSome() throws {
        var fleet = try Fleet(3)
        for index in 0..<3 { _ = try fleet.accept(try fleet.envelope(UInt64(index) + 1, only: [index])) }
        let (versions, transition) = fleet.desired.withdraw(fleet.key, versions: [1, 3, 9], at: fleet.now)
        #expect(versions == [1, 3])
        #expect(Set(transition.cancellations.map(\.pairing)) == Set([0, 2].map { fleet.members[$0].pairing }))
        #expect(transition.changes.count == 3, "two versions, and the history once")
        #expect(fleet.desired.desired(of: fleet.key).map(\.version) == [2])
        let history = fleet.desired.history(of: fleet.key)
        #expect(history.map { $0.withdrawn != nil } == [true, false, true])
    }

    @Test("CFG-78: the histories of a slot and of a secondary are bounded, the oldest goes first")
    func history() throws {
        for version in UInt64(1)...20 {
            let item = try fleet.delivered(try fleet.envelope(version))
            #expect(try fleet.report(0, item, .applied) == nil)
        }
        let history = fleet.desired.history(of: fleet.key)
        #expect(history.map(\.version) == Array(5...20))
        #expect(history.last?.signers == [Fixture.key.publicKey.key.identifier.bytes])
        let applied = fleet.desired.state(of: fleet.key, at: fleet.members[0].pairing)?.history
        #expect(applied?.map(\.version) == Array(5...20))
        #expect(fleet.desired.desired(of: fleet.key).map(\.version) == [20])
    }

    @Test("LIM-85: each of thousands of secondaries has an envelope of its own; for one more an old one must go")
    func bounds() throws {
        var fleet = try Fleet(4096)
        for index in 0..<4096 {
            let envelope = try fleet.envelope(UInt64(index) + 1, only: [index])
            fleet.desired.restore(try DesiredConfiguration(envelope: envelope, accepted: fleet.now))
        }
        #expect((0..<4096).allSatisfy { fleet.standing($0)?.desired.version == UInt64($0) + 1 })
        #expect(fleet.link(7)?.entry.version == 8)
        fleet.members.append(.init())
        #expect(throws: DesiredRefusal.full) { try fleet.accept(try fleet.envelope(5000, only: [4096])) }
        #expect(try fleet.accept(try fleet.envelope(5001, only: [9])).keys.sorted().contains(9), "it takes a place")
        #expect(fleet.standing(9)?.desired.version == 5001 && fleet.standing(10)?.desired.version == 11)
        #expect(try fleet.accept(try fleet.envelope(5002)).count == 4097)
        #expect(fleet.desired.desired(of: fleet.key).map(\.version) == [5002])
    }

    @Test("LIM-85: the bytes of what is desired are bounded; the parsed values are not kept beside them")
    func boundedBytes() throws {
        var fleet = try Fleet(1100)
        let text = PropertyListValue.string(String(repeating: "x", count: 64_000))
        var (bytes, version) = (0, UInt64(1))
        while true {
            let envelope = try Fixture.envelope(version: version) { payload in
                payload.only = [fleet.members[Int(version) - 1].device]
                payload.values = ["text": text]
            }
            guard bytes + envelope.count <= 64 << 20 else {
                #expect(throws: DesiredRefusal.full) { try fleet.accept(envelope) }
                break
            }
            let desired = try DesiredConfiguration(envelope: envelope, accepted: fleet.now)
            #expect(desired.payload.values.isEmpty)
            fleet.desired.restore(desired)
            (bytes, version) = (bytes + envelope.count, version + 1)
        }
        #expect(version > 1000)
    }

    @Test("LIM-85: of one secondary eight deliveries wait for a verdict, and the oldest is forgotten first")
    func openDeliveries() throws {
        var items: [ConfigurationItem] = []
        for version in UInt64(1)...9 { items.append(try fleet.delivered(try fleet.envelope(version))) }
        let pairing = fleet.members[0].pairing
        #expect(fleet.desired.state(of: fleet.key, at: pairing)?.open.map(\.version) == Array(2...9))
        #expect(!fleet.desired.isOpen(items[0].entry.id, at: pairing))
        #expect(throws: ReportFailure.wrongNonce) { try fleet.report(0, items[0], .applied) }
    }

    @Test("CFG-70, CFG-73: one secondary's word takes the version before from no other one")
    func oneWordTakesNothingFromOthers() throws {
        var fleet = try Fleet(3)
        let former = try fleet.accept(try fleet.envelope(5))
        #expect(try fleet.report(0, try #require(former[0]), .applied) == nil)
        fleet.end(1, try #require(former[1]), .undelivered)
        let items = try fleet.accept(try fleet.envelope(6))
        #expect(try fleet.report(0, try #require(items[0]), .applied) == nil)
        #expect(fleet.desired.desired(of: fleet.key).map(\.version) == [5, 6])
        let older = try fleet.report(1, try #require(items[1]), .rejected(.schema))
        #expect(older?.entry.version == 5, "it cannot use the new one and gets what was good before")
        #expect(try fleet.report(1, try #require(older), .applied) == nil)
        #expect(try fleet.report(2, try #require(items[2]), .applied) == nil)
        #expect(fleet.desired.desired(of: fleet.key).map(\.version) == [5, 6], "one secondary needs it")
        _ = fleet.desired.unpaired(fleet.members[1].pairing)
        #expect(fleet.desired.desired(of: fleet.key).map(\.version) == [6])
    }

    @Test("CFG-70: the desired state is what its rows restore")
    func restored() throws {
        var fleet = try Fleet(2)
        let items = try fleet.accept(try fleet.envelope(1))
        #expect(try fleet.report(0, try #require(items[0]), .applied) == nil)
        var restored = DesiredConfigurations()
        for desired in fleet.desired.desired(of: fleet.key) {
            restored.restore(try DesiredConfiguration(desired.dictionary))
        }
        let lines = try fleet.desired.history(of: fleet.key).map { try AcceptedConfiguration($0.dictionary) }
        restored.restore(lines, of: fleet.key)
        for member in fleet.members {
            let state = try #require(fleet.desired.state(of: fleet.key, at: member.pairing))
            if let row = state.dictionary {
                restored.restore(try SecondaryState(row), of: fleet.key, at: member.pairing)
            }
        }
        for entry in fleet.desired.deliveries { restored.restore(try ForwardedConfiguration(entry.dictionary)) }
        restored.restore(ReportCounter(epoch: 1), of: fleet.members[0].pairing)
        let before = (0..<2).map { fleet.standing($0) }
        fleet.desired = restored
        #expect((0..<2).map { fleet.standing($0) } == before)
        #expect(fleet.link(0) == nil && fleet.link(1, underWay: true) == nil && fleet.link(1) != nil)
        #expect(try fleet.report(1, try #require(items[1]), .applied) == nil, "its nonce is open after a restart")
    }

    @Test("CFG-71: a version that is desired no longer leaves the queues of those that do not get the new one")
    func replacedVersionLeavesTheQueues() throws {
        var fleet = try Fleet(2)
        let items = try fleet.accept(try fleet.envelope(2))
        #expect(try fleet.report(0, try #require(items[0]), .rejected(.schema)) == nil)
        let next = try fleet.accept(try fleet.envelope(1, only: [0]))
        #expect(next.keys.sorted() == [0])
        #expect(fleet.cancelled == [items[1]?.entry.id])
    }

    @Test("CFG-51, CFG-114: after the last verdict a report says whether the app loads what is applied, and no more")
    func reportsAboutLoading() throws {
        let item = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, item, .applied, onTrial: false) == nil)
        #expect(try fleet.report(0, item, .applied, onTrial: false, text: "not loaded") == nil)
        #expect(fleet.standing(0)?.verdict == "applied" && fleet.standing(0)?.text == "not loaded")
        #expect(fleet.standing(0)?.staleSince == nil)
        #expect(fleet.link(0) == nil, "it is applied, and not delivered again")
        let state = try #require(fleet.desired.state(of: fleet.key, at: fleet.members[0].pairing))
        #expect(try SecondaryState(try #require(state.dictionary)).loadFault == "not loaded")
        let others: [(Verdict, Bool?)] = [(.rejected(.schema), nil), (.applied, nil), (.applied, true)]
        for (verdict, onTrial) in others {
            #expect(throws: ReportFailure.wrongNonce) { try fleet.report(0, item, verdict, onTrial: onTrial) }
        }
        #expect(try fleet.report(0, item, .applied, onTrial: false) == nil)
        #expect(fleet.standing(0)?.verdict == "applied" && fleet.standing(0)?.text == nil)
    }

    @Test("CFG-63, CFG-114: the fault of what was active before a trial is shown again when the trial fails")
    func faultBeforeATrial() throws {
        let former = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, former, .applied, onTrial: false) == nil)
        #expect(try fleet.report(0, former, .applied, onTrial: false, text: "not loaded") == nil)
        let next = try fleet.delivered(try fleet.envelope(2))
        #expect(try fleet.report(0, next, .applied, onTrial: true) == nil)
        #expect(fleet.standing(0)?.text == nil && fleet.desired.unloadedPairings.isEmpty)
        let pairing = fleet.members[0].pairing
        let state = try #require(fleet.desired.state(of: fleet.key, at: pairing))
        #expect(try SecondaryState(try #require(state.dictionary)).dictionary == state.dictionary, "its row keeps it")
        var passed = fleet
        #expect(try fleet.report(0, next, .failed, good: former) == nil)
        #expect(fleet.standing(0)?.text?.hasSuffix("of the active version 1: not loaded") == true)
        #expect(fleet.desired.unloadedPairings == [pairing])
        #expect(try passed.report(0, next, .applied, onTrial: false) == nil)
        let fields = passed.desired.state(of: passed.key, at: pairing)?.dictionary
        #expect(fields?["loadFault"] == nil && fields?["unloaded"] == nil, "it never comes back")
    }

    @Test("CFG-104, CFG-114: a follow-up that comes in place of the last verdict shows its words")
    func followUpInPlaceOfTheLastVerdict() throws {
        let item = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, item, .applied, onTrial: true, text: "at the app's next start: volume") == nil)
        #expect(fleet.standing(0)?.text == nil)
        #expect(try fleet.report(0, item, .applied, onTrial: false, text: "not loaded") == nil)
        #expect(fleet.standing(0)?.verdict == "applied" && fleet.standing(0)?.text == "not loaded")
        #expect(try fleet.report(0, item, .applied, onTrial: false) == nil)
        #expect(fleet.standing(0)?.text == nil)
    }

    @Test("CFG-52, CFG-114: a failure that was held back keeps no follow-up of what is active from being accepted")
    func followUpAfterALateFailure() throws {
        let first = try fleet.delivered(try fleet.envelope(1))
        fleet.now = fleet.now + .seconds(1)
        let second = try fleet.delivered(try fleet.envelope(2))
        #expect(try fleet.report(0, second, .applied, onTrial: false) == nil)
        #expect(try fleet.report(0, first, .rejected(.threshold), good: second) == nil)
        #expect(fleet.desired.deliveries.map(\.version) == [2])
        let state = try #require(fleet.desired.state(of: fleet.key, at: fleet.members[0].pairing))
        #expect(state.verdict(on: first.entry.digest) == "threshold")
        #expect(try fleet.report(0, second, .applied, onTrial: false, text: "not loaded") == nil)
        #expect(fleet.standing(0)?.text == "not loaded")
    }

    @Test("CFG-52, CFG-73: a failure that was held back refuses nothing that a later delivery of it has applied")
    func lateFailureOfAnAppliedOne() throws {
        var fleet = try Fleet(2)
        for (index, item) in try fleet.accept(try fleet.envelope(1)) {
            #expect(try fleet.report(index, item, .applied) == nil)
        }
        let first = try fleet.delivered(try fleet.envelope(2))
        fleet.now = fleet.now + .seconds(1)
        let again = try fleet.linked(0)
        #expect(try fleet.report(0, again, .applied, onTrial: true) == nil)
        let next = try fleet.report(0, first, .rejected(.threshold), good: again)
        #expect(next == nil, "it has not refused it, and does not get the version before")
    }

    @Test(
        "CFG-22, CFG-89, CFG-114: what ends after its trial with a permission, or with its keys, has drifted",
        arguments: [Rejection.threshold, .signerRevoked])
    func endOfASignature(_ end: Rejection) throws {
        let item = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, item, .applied, onTrial: false) == nil)
        #expect(try fleet.report(0, item, .rejected(end)) == nil)
        let standing = try #require(fleet.standing(0))
        #expect(standing.verdict == end.rawValue && standing.isDrift && standing.reported == nil)
        #expect(fleet.desired.deliveries.map(\.verdict) == [end.rawValue])
        #expect(throws: ReportFailure.wrongNonce) { try fleet.report(0, item, .rejected(end)) }
    }

    @Test("CFG-51: a stranger's report changes nothing")
    func strangersReport() throws {
        var fleet = try Fleet(2)
        let items = try fleet.accept(try fleet.envelope(1))
        let item = try #require(items[0])
        #expect(throws: ReportFailure.wrongNonce) { try fleet.report(1, item, .applied) }
        #expect(fleet.standing(1)?.verdict == nil)
    }
}
