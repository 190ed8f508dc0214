// Staged rollouts: the secondaries that get an envelope first, and the others, which wait for them.

import TandemBase
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@Suite final class RolloutTests {
    private var fleet: Fleet

    init() throws { fleet = try Fleet(2) }

    @Test("CFG-79: the others get it once all of the first have applied it, and keep the version before until then")
    func rollout() throws {
        var fleet = try Fleet(3)
        for (index, item) in try fleet.accept(try fleet.envelope(1)) {
            #expect(try fleet.report(index, item, .applied) == nil)
        }
        let items = try fleet.accept(try fleet.envelope(2), first: [0, 1])
        #expect(items.keys.sorted() == [0, 1])
        #expect(fleet.link(2) == nil && fleet.standing(2)?.desired.version == 1)
        #expect(fleet.standing(2)?.staleSince == nil)
        #expect(try fleet.report(0, try #require(items[0]), .applied) == nil)
        #expect(fleet.link(2) == nil, "the other one of the first has not")
        fleet.members.append(.init())
        #expect(fleet.link(3)?.entry.version == 1, "a new secondary is none of the first")
        #expect(try fleet.report(1, try #require(items[1]), .applied) == nil)
        let later = [2: try fleet.linked(2), 3: try fleet.linked(3)]
        #expect(later.values.map(\.entry.version) == [2, 2])
        for (index, item) in later { #expect(try fleet.report(index, item, .applied) == nil) }
        #expect(fleet.desired.desired(of: fleet.key).map(\.version) == [2])
    }

    @Test("CFG-79: the others wait for the end of the trial at the first, and get nothing when it fails")
    func rolloutOnTrial() throws {
        for (index, item) in try fleet.accept(try fleet.envelope(1)) {
            #expect(try fleet.report(index, item, .applied, onTrial: false) == nil)
        }
        let former = try #require(fleet.accept(try fleet.envelope(2), first: [0])[0])
        #expect(try fleet.report(0, former, .applied, onTrial: true) == nil)
        #expect(fleet.link(1) == nil, "on trial at the first")
        var failing = fleet
        #expect(try fleet.report(0, former, .applied, onTrial: false) == nil)
        #expect(fleet.link(1)?.entry.version == 2)
        #expect(
            try failing.report(0, former, .failed)?.entry.version == 1, "CFG-73: without an active one it lacks one")
        #expect(failing.desired.desired(of: failing.key).last?.rollout?.stopped == "failed")
        #expect(failing.link(1) == nil && failing.standing(1)?.desired.version == 1)
        let next = try failing.accept(try failing.envelope(3), first: [1])
        #expect(next.keys.sorted() == [1])
        #expect(try failing.report(1, try #require(next[1]), .applied) == nil)
        #expect(failing.link(0)?.entry.version == 3)
        #expect(failing.desired.desired(of: failing.key).map(\.version) == [3])
    }

    @Test(
        "CFG-61, CFG-74, CFG-79: a trial that the app ends by a name of its own key stops the rollout with it",
        arguments: [Rejection.noKey, .weakKey, .unknownAlgorithm])
    func trialEndedByTheKeyOfTheApp(_ name: Rejection) throws {
        for (index, item) in try fleet.accept(try fleet.envelope(1)) {
            #expect(try fleet.report(index, item, .applied, onTrial: false) == nil)
        }
        let item = try #require(fleet.accept(try fleet.envelope(2), first: [0])[0])
        #expect(try fleet.report(0, item, .applied, onTrial: true) == nil)
        #expect(try fleet.report(0, item, .rejected(name))?.entry.version == 1, "CFG-73: as after any other rejection")
        #expect(fleet.desired.desired(of: fleet.key).last?.rollout?.stopped == name.rawValue)
        #expect(fleet.link(0)?.entry.version == 1, "its version is burnt there")
    }

    @Test("CTL-25, CFG-79: a rollout waits for those of the first that have not passed their trials, until it stops")
    func awaited() throws {
        var fleet = try Fleet(3)
        let items = try fleet.accept(try fleet.envelope(1), first: [0, 1])
        func awaited(_ fleet: Fleet) -> [Int] {
            guard let desired = fleet.desired.desired(of: fleet.key).last else { return [] }
            return fleet.members.indices.filter { index in
                let pairing = fleet.members[index].pairing
                return desired.awaits(pairing, fleet.desired.state(of: fleet.key, at: pairing))
            }
        }
        #expect(awaited(fleet) == [0, 1])
        #expect(try fleet.report(0, try #require(items[0]), .applied, onTrial: true) == nil)
        #expect(awaited(fleet) == [0, 1], "on trial")
        #expect(try fleet.report(0, try #require(items[0]), .applied, onTrial: false) == nil)
        #expect(awaited(fleet) == [1])
        var stopped = fleet
        #expect(try stopped.report(1, try #require(items[1]), .rejected(.schema)) == nil)
        #expect(awaited(stopped).isEmpty)
        #expect(try fleet.report(1, try #require(items[1]), .applied) == nil)
        #expect(awaited(fleet).isEmpty && fleet.desired.desired(of: fleet.key).last?.rollout == nil)
    }

    @Test("CFG-79: a rollout that has stopped goes to no other one of the first, and leaves their queues")
    func stoppedRolloutLeavesTheQueues() throws {
        let former = try fleet.accept(try fleet.envelope(1))
        for (index, item) in former { #expect(try fleet.report(index, item, .applied) == nil) }
        let items = try fleet.accept(try fleet.envelope(2), first: [0, 1])
        #expect(try fleet.report(0, try #require(items[0]), .rejected(.schema), good: former[0]) == nil)
        #expect(fleet.cancelled == [items[1]?.entry.id])
        fleet.end(1, try #require(items[1]), .withdrawn)
        #expect(fleet.link(1) == nil)
        let next = try fleet.accept(try fleet.envelope(3), first: [0])
        #expect(next.keys.sorted() == [0] && fleet.link(1) == nil)
    }

    @Test("CFG-79: a rejection by one of the first stops the rollout, and the same bytes again let it go on")
    func stoppedRollout() throws {
        var fleet = try Fleet(3)
        let envelope = try fleet.envelope(1)
        let item = try #require(try fleet.accept(envelope, first: [0])[0])
        #expect(try fleet.report(0, item, .rejected(.schema)) == nil)
        #expect(fleet.desired.desired(of: fleet.key).first?.rollout?.stopped == "schema")
        #expect(fleet.link(1) == nil && fleet.standing(1) == nil)
        let second = try fleet.accept(envelope, first: [1])
        #expect(second.keys.sorted() == [0, 1], "the operator's act also repeats the first one")
        #expect(fleet.desired.desired(of: fleet.key).first?.rollout?.stopped == nil)
        #expect(try fleet.report(1, try #require(second[1]), .applied) == nil)
        #expect(fleet.link(2) == nil)
        #expect(try fleet.accept(envelope).keys.sorted() == [2])
        #expect(fleet.desired.desired(of: fleet.key).first?.rollout == nil)
    }

    @Test("CFG-79: a first secondary that is unpaired is waited for no longer; without any the rollout stops")
    func rolloutWithoutFirst() throws {
        var fleet = try Fleet(3)
        let items = try fleet.accept(try fleet.envelope(1), first: [0, 1])
        #expect(try fleet.report(0, try #require(items[0]), .applied) == nil)
        var both = fleet
        let transition = fleet.desired.unpaired(fleet.members[1].pairing)
        #expect(transition.promoted == [fleet.key.application] && fleet.link(2)?.entry.version == 1)
        _ = both.desired.unpaired(both.members[0].pairing)
        #expect(both.desired.unpaired(both.members[1].pairing).promoted.isEmpty)
        #expect(both.desired.desired(of: both.key).first?.rollout?.stopped == "unpaired" && both.link(2) == nil)
    }

    @Test("CFG-79: a first secondary that is lost without the operator stops the rollout, unless it has passed")
    func rolloutWithLostFirst() throws {
        var fleet = try Fleet(3)
        let items = try fleet.accept(try fleet.envelope(1), first: [0, 1])
        #expect(try fleet.report(0, try #require(items[0]), .applied) == nil)
        var passed = fleet
        #expect(fleet.desired.unpaired(fleet.members[1].pairing, isLost: true).promoted.isEmpty)
        #expect(fleet.desired.desired(of: fleet.key).first?.rollout?.stopped == "unpaired" && fleet.link(2) == nil)
        #expect(passed.desired.unpaired(passed.members[0].pairing, isLost: true).promoted.isEmpty)
        #expect(passed.desired.desired(of: passed.key).first?.rollout?.stopped == nil && passed.link(2) == nil)
        #expect(try passed.report(1, try #require(items[1]), .applied) == nil)
        #expect(passed.link(2)?.entry.version == 1)
    }

    @Test("CFG-79: a rollout is what its row restores")
    func restoredRollout() throws {
        let item = try #require(try fleet.accept(try fleet.envelope(1), first: [0])[0])
        #expect(try fleet.report(0, item, .rejected(.schema)) == nil)
        let desired = try #require(fleet.desired.desired(of: fleet.key).first)
        #expect(try DesiredConfiguration(desired.dictionary) == desired)
        var fields = desired.dictionary
        fields["first"] = ["nobody"]
        #expect(throws: FieldError.self, "none left to wait for") { try DesiredConfiguration(fields) }
    }

    @Test("CFG-79: a first secondary that went on to a newer one during the trial has not passed it")
    func rolloutSuperseded() throws {
        let item = try #require(try fleet.accept(try fleet.envelope(2), first: [0])[0])
        #expect(try fleet.report(0, item, .applied, onTrial: true) == nil)
        // As an earlier daemon reports it: the configuration itself is still named as the active one.
        #expect(try fleet.report(0, item, .superseded, good: item) == nil)
        #expect(fleet.standing(0)?.verdict == "superseded" && fleet.standing(0)?.reported == nil)
        #expect(fleet.link(1) == nil && fleet.desired.desired(of: fleet.key).first?.rollout != nil)
    }

    @Test("CFG-79: a report on an earlier configuration that names the new one as active says nothing of its trial")
    func rolloutAfterAnotherTrial() throws {
        let former = try #require(try fleet.accept(try fleet.envelope(1), first: [0])[0])
        #expect(try fleet.report(0, former, .applied, onTrial: true) == nil)
        let next = try #require(try fleet.accept(try fleet.envelope(2), first: [0])[0])
        #expect(try fleet.report(0, former, .superseded, good: next) == nil)
        #expect(fleet.link(1) == nil)
        var lost = fleet
        #expect(try fleet.report(0, next, .applied, onTrial: true) == nil)
        #expect(fleet.link(1) == nil)
        #expect(try fleet.report(0, next, .applied, onTrial: false) == nil)
        #expect(fleet.link(1)?.entry.version == 2)
        let again = try lost.linked(0)
        #expect(again.entry.version == 2, "CFG-72: its own report may be lost")
        #expect(lost.link(1) == nil)
        #expect(try lost.report(0, again, .applied, onTrial: false) == nil)
        #expect(lost.link(1)?.entry.version == 2)
    }

    @Test("CFG-79: a delivery that ends undelivered beside one on trial does not end the trial")
    func rolloutBesideATrial() throws {
        let item = try #require(try fleet.accept(try fleet.envelope(1), first: [0])[0])
        #expect(try fleet.report(0, item, .waitingForApplication) == nil)
        fleet.trust = .key(.random())
        let announced = fleet.announce(0)
        let beside = try #require(announced)
        #expect(try fleet.report(0, item, .applied, onTrial: true) == nil)
        fleet.end(0, beside, .undelivered)
        #expect(fleet.link(1) == nil)
        let again = try fleet.linked(0)
        #expect(try fleet.report(0, again, .applied, onTrial: false) == nil)
        #expect(fleet.link(1)?.entry.version == 1)
    }

    @Test("CFG-79: a report of before the rollout does not count while the same bytes are on their way again")
    func rolloutOfAppliedBytes() throws {
        let envelope = try fleet.envelope(1, lifetime: 60)
        for (index, item) in try fleet.accept(envelope) { #expect(try fleet.report(index, item, .applied) == nil) }
        _ = fleet.desired.withdraw(fleet.key, versions: nil, at: fleet.now)
        let item = try #require(try fleet.accept(envelope, first: [0])[0])
        #expect(fleet.desired.desired(of: fleet.key).last?.rollout != nil)
        fleet.end(0, item, .undelivered)
        #expect(fleet.desired.desired(of: fleet.key).last?.rollout != nil)
        let state = try #require(fleet.desired.state(of: fleet.key, at: fleet.members[0].pairing)?.dictionary)
        #expect(try SecondaryState(state).dictionary == state, "its row keeps that")
        let again = try fleet.linked(0)
        #expect(try fleet.report(0, again, .applied) == nil)
        #expect(fleet.desired.desired(of: fleet.key).last?.rollout == nil)
    }

    @Test(
        "CFG-71, CFG-79: a further signature does not narrow what is desired of all, once a secondary may have taken it"
    )
    func furtherSignatureOfWhatIsDesiredOfAll() throws {
        // The verdict of one secondary, and whether the deliveries to the others have left.
        let cases: [(verdict: Verdict, hasLeft: Bool)] = [
            (.applied, false), (.rejected(.threshold), true), (.rejected(.threshold), false),
        ]
        for (verdict, hasLeft) in cases {
            let isTaken = verdict == .applied || hasLeft
            var fleet = try Fleet(3)
            let former = try fleet.accept(try fleet.envelope(1))
            for (index, item) in former { #expect(try fleet.report(index, item, .applied) == nil) }
            let envelope = try fleet.envelope(2)
            let item = try #require(try fleet.accept(envelope)[0])
            #expect(try fleet.report(0, item, verdict, good: former[0]) == nil)
            fleet.hasLeft = hasLeft
            let next = try fleet.accept(try Fixture.rewrapped(envelope), first: [1])
            let expected = verdict == .applied ? [1, 2] : hasLeft ? [0, 1, 2] : [1]
            #expect(next.keys.sorted() == expected)
            #expect(next.values.allSatisfy { $0.entry.version == 2 })
            #expect((fleet.desired.desired(of: fleet.key).last?.rollout == nil) == isTaken)
        }
    }
}
