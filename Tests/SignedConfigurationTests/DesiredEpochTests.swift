// Epochs in the desired state of a primary (CFG-72, CFG-102): nothing that was delivered or reported before one counts.

import TandemBase
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@Suite final class DesiredEpochTests {
    private var fleet: Fleet

    init() throws { fleet = try Fleet() }

    @Test("CFG-72: an epoch that began before a crash is entered by the rows at the next link, and once")
    func epochAfterACrash() throws {
        let item = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, item, .applied) == nil)
        fleet.members[0].epoch = 2
        let addressee = fleet.addressee(0)
        let counters = fleet.desired.enterEpoch(of: addressee).changes.compactMap { change in
            if case .counter(_, let counter) = change { counter } else { nil }
        }
        #expect(counters == [ReportCounter(epoch: 2)])
        #expect(counters.map { ReportCounter($0.dictionary) } == counters)
        #expect(fleet.link(0) != nil)
        #expect(fleet.desired.enterEpoch(of: addressee) == DesiredTransition())
        #expect(ReportCounter(["value": 7])?.epoch == 1, "a row of before")
    }

    @Test("CFG-72: a report of the epoch before counts for nothing, even the first one", arguments: [false, true])
    func reportOfTheEpochBefore(isFirst: Bool) throws {
        if !isFirst {
            let item = try fleet.delivered(try fleet.envelope(1))
            #expect(try fleet.report(0, item, .applied) == nil)
        }
        let item = try fleet.delivered(try fleet.envelope(2))
        fleet.beginEpoch(0)
        // It was held back until the secondary's store was restored.
        #expect(throws: ReportFailure.wrongNonce) { try fleet.report(0, item, .applied) }
        #expect(fleet.standing(0)?.verdict == nil)
        let again = try fleet.linked(0)
        #expect(again.entry.id != item.entry.id)
        #expect(try fleet.report(0, again, .applied) == nil)
        #expect(fleet.standing(0)?.verdict == "applied")
    }

    @Test("CFG-72: a new epoch takes what waits for the link out of its queue")
    func cancelsOfANewEpoch() throws {
        let item = try fleet.delivered(try fleet.envelope(1))
        fleet.members[0].epoch = 2
        #expect(fleet.desired.enterEpoch(of: fleet.addressee(0)).cancellations.map(\.id) == [item.entry.id])
    }

    @Test("CFG-102: a lower epoch is not a new one, so an alternating epoch costs one delivery")
    func alternatingEpochs() throws {
        let item = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, item, .applied) == nil)
        var deliveries = 0
        for epoch: UInt64 in [2, 1, 2, 1, 2] {
            fleet.members[0].epoch = epoch
            _ = fleet.desired.enterEpoch(of: fleet.addressee(0))
            guard let again = fleet.link(0) else { continue }
            #expect(try fleet.report(0, again, .applied) == nil)
            deliveries += 1
        }
        #expect(deliveries == 1)
    }

    // MARK: the key that a secondary trusts

    @Test("CFG-72: a secondary that trusts none any longer, or has learned another key, has lost what it had applied")
    func anotherKey() throws {
        fleet.trust = .key(.random())
        let item = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, item, .applied) == nil)
        #expect(fleet.announce(0) == nil, "the same key")
        for trust in [TrustMark.noKey, .key(.random())] {
            fleet.trust = trust
            let announced = fleet.announce(0)
            let again = try #require(announced)
            #expect(again.envelope == item.envelope)
            #expect(fleet.standing(0)?.isDrift == true && fleet.standing(0)?.reported == nil)
            #expect(throws: ReportFailure.wrongNonce, "of before") { try fleet.report(0, item, .applied) }
            #expect(try fleet.report(0, again, trust == .noKey ? .waitingForKey : .applied) == nil)
        }
        #expect(fleet.standing(0)?.verdict == "applied" && fleet.standing(0)?.isDrift == false)
    }

    @Test("CFG-72, CFG-73: a rejection under the key before does not count under another one")
    func rejectionUnderTheKeyBefore() throws {
        fleet.trust = .key(.random())
        let item = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, item, .rejected(.schema)) == nil)
        #expect(fleet.link(0) == nil)
        fleet.trust = .key(.random())
        #expect(fleet.announce(0)?.envelope == item.envelope)
    }

    @Test("CFG-72: what is on its way to a secondary that changes its key is taken back")
    func takenBackAtAnotherKey() throws {
        fleet.trust = .key(.random())
        let item = try fleet.delivered(try fleet.envelope(1))
        fleet.trust = .noKey
        #expect(fleet.announce(0, underWay: true) != nil)
        #expect(fleet.cancelled == [item.entry.id])
    }

    @Test("CFG-72: what was delivered before there was a key does not count under the first one")
    func firstKey() throws {
        fleet.trust = .noKey
        let without = try fleet.delivered(try fleet.envelope(1))
        fleet.trust = .key(.random())
        #expect(throws: ReportFailure.wrongNonce, "judged on either side of the key") {
            try fleet.report(0, without, .rejected(.threshold))
        }
        let announced = fleet.announce(0, underWay: true)
        let again = try #require(announced)
        #expect(fleet.cancelled == [without.entry.id])
        #expect(try fleet.report(0, again, .applied) == nil)
    }

    @Test("CFG-72: the first trust mark of all, of a key or of none, makes what was reported before come again, once")
    func firstMark() throws {
        for trust in [TrustMark.key(.random()), .noKey] {
            var fleet = try Fleet()
            let item = try fleet.delivered(try fleet.envelope(1))
            #expect(try fleet.report(0, item, .applied) == nil)
            #expect(fleet.announce(0) == nil && fleet.link(0) == nil, "it says nothing")
            fleet.trust = trust
            let announced = fleet.announce(0)
            let again = try #require(announced)
            #expect(again.envelope == item.envelope && fleet.standing(0)?.verdict == nil)
            #expect(try fleet.report(0, again, .applied) == nil)
            for same in [trust, .unnamed] {
                fleet.trust = same
                #expect(fleet.announce(0) == nil && fleet.link(0) == nil)
            }
            #expect(fleet.standing(0)?.verdict == "applied")
        }
    }

    @Test("CFG-72: the first trust mark loses nothing that is only on its way, nor the report that comes with it")
    func firstMarkBeforeAReport() throws {
        let item = try fleet.delivered(try fleet.envelope(1))
        fleet.trust = .key(.random())
        #expect(try fleet.report(0, item, .applied) == nil)
        #expect(fleet.announce(0) == nil && fleet.standing(0)?.verdict == "applied")
        fleet = try Fleet()
        let other = try fleet.delivered(try fleet.envelope(1))
        fleet.trust = .key(.random())
        #expect(fleet.announce(0, underWay: true) == nil && fleet.cancelled.isEmpty)
        #expect(try fleet.report(0, other, .applied) == nil)
    }

    @Test(
        "CFG-72: at the first trust mark a staged configuration comes again, and the report on either delivery counts")
    func firstMarkOfStaged() throws {
        for isFirst in [false, true] {
            var fleet = try Fleet()
            let item = try fleet.delivered(try fleet.envelope(1))
            #expect(try fleet.report(0, item, .waitingForApplication) == nil)
            #expect(fleet.announce(0) == nil)
            fleet.trust = .key(.random())
            let announced = fleet.announce(0)
            let again = try #require(announced)
            #expect(again.envelope == item.envelope && fleet.cancelled.isEmpty)
            #expect(fleet.announce(0, underWay: true) == nil, "once")
            #expect(try fleet.report(0, isFirst ? item : again, .applied) == nil)
            #expect(fleet.standing(0)?.verdict == "applied")
        }
    }

    @Test(
        "CFG-72: that there is no key takes back a rejection of before the first trust mark only if another key comes")
    func noKeyAtFirst() throws {
        let item = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, item, .rejected(.threshold)) == nil)
        fleet.trust = .noKey
        #expect(fleet.announce(0) == nil, "nothing tells of a key")
        fleet.trust = .key(.random())
        #expect(fleet.announce(0)?.envelope == item.envelope)
    }

    @Test("CFG-72: the key is in the rows: a change over a restart of the primary is noticed")
    func keyInTheRows() throws {
        fleet.trust = .key(.random())
        let item = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, item, .applied) == nil)
        let pairing = fleet.members[0].pairing
        let row = try #require(fleet.desired.state(of: fleet.key, at: pairing)?.dictionary)
        fleet.desired.restore(try SecondaryState(row), of: fleet.key, at: pairing)
        #expect(fleet.announce(0) == nil)
        fleet.trust = .key(.random())
        #expect(fleet.announce(0) != nil)
    }

    @Test("CFG-51: a report about another app or role than that of the delivery is refused; its target is its own")
    func reportOfAnotherSlot() throws {
        let item = try fleet.delivered(try fleet.envelope(1))
        let others = [
            ConfigurationSlotKey(
                application: try ApplicationIdentifier("org.other"), role: .secondary, target: fleet.key.target),
            ConfigurationSlotKey(application: fleet.key.application, role: .primary, target: fleet.key.target),
        ]
        for other in others {
            #expect(throws: ReportFailure.wrongNonce) { try fleet.report(0, item, .applied, about: other) }
        }
        let own = ConfigurationSlotKey(
            application: fleet.key.application, role: .secondary, target: .vendor(.random()))
        #expect(try fleet.report(0, item, .rejected(.wrongTarget), about: own) == nil)
        #expect(fleet.standing(0)?.verdict == "wrong-target")
    }
}
