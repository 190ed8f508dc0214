// Epochs in the desired state of a primary (CFG-72, CFG-102): nothing that was delivered or reported before one counts.

import TandemBase
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@Suite struct DesiredEpochTests {
    @Test("CFG-72: an epoch that began before a crash is entered by the rows at the next link, and once")
    func epochAfterACrash() throws {
        var fleet = try Fleet()
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
        var fleet = try Fleet()
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
        var fleet = try Fleet()
        let item = try fleet.delivered(try fleet.envelope(1))
        fleet.members[0].epoch = 2
        #expect(fleet.desired.enterEpoch(of: fleet.addressee(0)).cancellations.map(\.id) == [item.entry.id])
    }

    @Test("CFG-102: a lower epoch is not a new one, so an alternating epoch costs one delivery")
    func alternatingEpochs() throws {
        var fleet = try Fleet()
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
}
