// The versions of a primary's desired state: no two secondaries get two contents under one number, and none gets one
// twice without a reason.

import TandemBase
import TandemSignedConfiguration
import Testing

@Suite struct DesiredVersionTests {
    @Test("CFG-71: a version that one secondary has rejected, and another may take, is not signed again")
    func aVersionThatMayBeTaken() throws {
        var fleet = try Fleet(3)
        let items = try fleet.accept(try fleet.envelope(7))
        #expect(try fleet.report(0, try #require(items[0]), .rejected(.schema)) == nil)
        fleet.hasLeft = true
        #expect(throws: DesiredRefusal.equivocation(version: 7)) { try fleet.accept(try fleet.envelope(7)) }
        #expect(throws: DesiredRefusal.rollback(inForce: 7, isTaken: true)) { try fleet.accept(try fleet.envelope(6)) }
        var higher = fleet
        #expect(try higher.accept(try higher.envelope(8)).count == 3, "the way out while a secondary stays away")
        for index in [1, 2] {
            #expect(try fleet.report(index, try #require(items[index]), .rejected(.schema)) == nil)
        }
        #expect(try fleet.accept(try fleet.envelope(7)).count == 3)
    }

    @Test("CFG-72, CFG-73, LIM-137: on the same link only a rejection that may end is tried again, and nothing else")
    func reconsidered() throws {
        for rejection in [Rejection.wrongTarget, .future, .keySetGap, .keySetExpired] {
            var fleet = try Fleet()
            let item = try fleet.delivered(try fleet.envelope(1))
            #expect(fleet.reconsider(0) == nil, "it was handled, and its report may be under way")
            #expect(try fleet.report(0, item, .rejected(rejection)) == nil)
            var newer = fleet
            #expect(fleet.reconsider(0)?.entry.version == 1 && fleet.reconsider(0) == nil)
            let next = try newer.delivered(try newer.envelope(2))
            #expect(newer.reconsider(0) == nil, "the newer one is at the secondary")
            #expect(try newer.report(0, next, .applied) == nil && newer.reconsider(0) == nil)
        }
        for rejection in [Rejection.schema, .oldKeySet, .threshold] {
            var fleet = try Fleet()
            let item = try fleet.delivered(try fleet.envelope(1))
            #expect(try fleet.report(0, item, .rejected(rejection)) == nil)
            #expect(fleet.reconsider(0) == nil, "\(rejection)")
        }
    }

    @Test("CFG-72, CFG-73: a new epoch of the pairing is entered by its link, and not by the repetition of LIM-137")
    func reconsideredInANewEpoch() throws {
        var fleet = try Fleet()
        let item = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, item, .rejected(.wrongTarget)) == nil)
        fleet.members[0].epoch += 1
        #expect(fleet.reconsider(0) == nil && fleet.desired.mustEnterEpoch(of: fleet.addressee(0)))
        #expect(fleet.link(0) != nil)
    }

    @Test("CFG-71: a secondary that is unpaired may take nothing, and one whose delivery was repeated has judged both")
    func unpairedOrAnswered() throws {
        var fleet = try Fleet(2)
        let items = try fleet.accept(try fleet.envelope(7))
        #expect(try fleet.report(0, try #require(items[0]), .rejected(.schema)) == nil)
        fleet.hasLeft = true
        var repeated = fleet
        let again = try repeated.linked(1)
        #expect(throws: DesiredRefusal.equivocation(version: 7)) { try repeated.accept(try repeated.envelope(7)) }
        #expect(try repeated.report(1, again, .rejected(.schema)) == nil)
        #expect(try repeated.accept(try repeated.envelope(7)).count == 2)
        _ = fleet.desired.unpaired(fleet.members[1].pairing)
        #expect(try fleet.accept(try fleet.envelope(7)).count == 2)
    }

    @Test("CFG-77: a withdrawn version that a secondary has applied, or may take, is not signed again; a free one is")
    func withdrawnVersion() throws {
        enum Fate: CaseIterable { case applied, waiting, underWay, rejected, cancelled }
        for fate in Fate.allCases {
            var fleet = try Fleet()
            let item = try fleet.delivered(try fleet.envelope(7))
            switch fate {
            case .applied: #expect(try fleet.report(0, item, .applied, onTrial: false) == nil)
            case .waiting: #expect(try fleet.report(0, item, .waitingForApplication) == nil)
            case .rejected: #expect(try fleet.report(0, item, .rejected(.schema)) == nil)
            case .underWay: fleet.hasLeft = true
            case .cancelled: fleet.hasLeft = false
            }
            _ = fleet.desired.withdraw(fleet.key, versions: nil, at: fleet.now)
            if fate == .cancelled { fleet.end(0, item, .withdrawn) }
            var other = fleet
            switch fate {
            case .applied, .waiting, .underWay:
                #expect(throws: DesiredRefusal.equivocation(version: 7)) { try other.accept(try other.envelope(7)) }
            case .rejected, .cancelled: #expect(try other.accept(try other.envelope(7)).count == 1)
            }
            #expect(try fleet.accept(try fleet.envelope(8)).count == 1, "a higher version is accepted all the same")
            var again = fleet
            _ = again.desired.withdraw(again.key, versions: nil, at: again.now)
            #expect(throws: Never.self, "so are the same bytes") { try again.accept(item.envelope) }
        }
    }

    @Test("CFG-77, CFG-88: under other keys versions start again")
    func withdrawnVersionOfAnotherKeySet() throws {
        var fleet = try Fleet()
        let item = try fleet.delivered(try fleet.envelope(7))
        #expect(try fleet.report(0, item, .applied, onTrial: false) == nil)
        _ = fleet.desired.withdraw(fleet.key, versions: nil, at: fleet.now)
        #expect(try fleet.accept(try fleet.envelope(7, keySet: 2)).count == 1)
    }

    @Test("CFG-61, CFG-73, CFG-76: a rejection that ends a trial is no drift, burns the version and keeps its name")
    func rejectedOnTrial() throws {
        let cases: [(Rejection, Bool)] = [(.schema, true), (.schema, false), (.threshold, false), (.future, true)]
        for (rejection, isRepeated) in cases {
            var fleet = try Fleet()
            let former = try fleet.delivered(try fleet.envelope(1))
            #expect(try fleet.report(0, former, .applied, onTrial: false) == nil)
            let item = try fleet.delivered(try fleet.envelope(2))
            let second = try isRepeated ? fleet.linked(0) : nil
            #expect(try fleet.report(0, item, .applied, onTrial: true) == nil)
            #expect(try fleet.report(0, item, .rejected(rejection), good: former) == nil)
            #expect(fleet.standing(0)?.isDrift == false && fleet.standing(0)?.reported == 1)
            if let second { #expect(try fleet.report(0, second, .rejected(.rollback), good: former) == nil) }
            #expect(fleet.standing(0)?.isDrift == false && fleet.standing(0)?.verdict == rejection.rawValue)
            #expect(fleet.link(0) == nil && fleet.reconsider(0) == nil, "its version is burnt")
            let state = try #require(fleet.desired.state(of: fleet.key, at: fleet.members[0].pairing))
            let row = try #require(state.dictionary)
            #expect(try SecondaryState(row).dictionary == row, "its row keeps that")
        }
    }

    @Test("CFG-34, CFG-76: a rollback after the trial, as of a lifetime that is over, is drift")
    func driftAfterTrial() throws {
        var fleet = try Fleet()
        let envelope = try fleet.envelope(1, lifetime: 60)
        let item = try fleet.delivered(envelope)
        #expect(try fleet.report(0, item, .applied, onTrial: false) == nil)
        let again = try fleet.delivered(envelope)
        #expect(try fleet.report(0, again, .rejected(.rollback)) == nil)
        #expect(fleet.standing(0)?.isDrift == true && fleet.standing(0)?.verdict == "rollback")
    }

    @Test("CFG-30, CFG-71: another envelope around the same signed bytes takes the place of the one before it")
    func cosignedEnvelope() throws {
        var fleet = try Fleet(2)
        let half = try fleet.envelope(1)
        let items = try fleet.accept(half)
        #expect(try fleet.report(0, try #require(items[0]), .rejected(.threshold)) == nil)
        fleet.hasLeft = true
        let whole = try Fixture.rewrapped(half)
        let next = try fleet.accept(whole)
        #expect(next.keys.sorted() == [0, 1], "also one that has not answered yet")
        let desired = fleet.desired.desired(of: fleet.key)
        #expect(desired.map(\.envelope) == [whole])
        #expect(try desired.map { try DesiredConfiguration($0.dictionary) } == desired)
        #expect(try fleet.ending(of: half) == nil, "CFG-51: its own report has come")
        #expect(throws: DesiredRefusal.equivocation(version: 1)) { try fleet.accept(try fleet.envelope(1)) }
        #expect(try fleet.report(1, try #require(items[1]), .rejected(.threshold)) == nil)
        for (index, item) in next { #expect(try fleet.report(index, item, .applied) == nil) }
        #expect((0..<2).allSatisfy { fleet.standing($0)?.verdict == "applied" })
    }

    @Test("CFG-30, CFG-72: a secondary that has the configuration in another envelope lacks nothing")
    func appliedInAnotherEnvelope() throws {
        var fleet = try Fleet()
        let envelope = try fleet.envelope(1)
        let item = try fleet.delivered(envelope)
        #expect(try fleet.report(0, item, .applied, onTrial: false) == nil)
        let other = try Fixture.rewrapped(envelope)
        #expect(try fleet.accept(other).isEmpty && fleet.link(0) == nil)
        let standing = fleet.standing(0)
        #expect(standing?.verdict == "applied" && standing?.staleSince == nil && standing?.isDrift == false)
        let applied = try DesiredConfiguration(envelope: other, accepted: fleet.now)
        #expect(fleet.desired.verdict(on: applied, at: fleet.members[0].pairing) == "applied")
        #expect(throws: DesiredRefusal.equivocation(version: 1)) { try fleet.accept(try fleet.envelope(1)) }
        let higher = try fleet.delivered(try fleet.envelope(2))
        #expect(try fleet.report(0, higher, .rejected(.schema), good: item) == nil, "CFG-73: it has the next lower one")
        _ = fleet.desired.withdraw(fleet.key, versions: nil, at: fleet.now)
        #expect(try fleet.accept(try Fixture.rewrapped(envelope)).isEmpty, "CFG-78: as far as the history goes back")
    }

    @Test("CFG-30, CFG-79: a first secondary passes the trial of a configuration in whichever envelope it has it")
    func rolloutOfAnotherEnvelope() throws {
        var fleet = try Fleet(2)
        let envelope = try fleet.envelope(1)
        let item = try #require(try fleet.accept(envelope, first: [0])[0])
        #expect(try fleet.report(0, item, .applied, onTrial: true) == nil)
        let again = try fleet.accept(try Fixture.rewrapped(envelope), first: [0])
        #expect(again.keys.sorted() == [0] && fleet.link(1) == nil)
        #expect(try fleet.report(0, item, .applied, onTrial: false) == nil)
        #expect(fleet.link(1)?.entry.digest == again[0]?.entry.digest)
    }
}
