// Reports about loading that follow the verdict on what is active, at a primary to which later versions came and were
// not applied (CFG-114).

import TandemBase
import TandemPropertyList
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@Suite struct ActiveReportTests {
    @Test("CFG-114, CTL-23: after a later version was not applied, reports still follow the verdict on the active one")
    func reportsAboutLoadingBehindAFailure() throws {
        var fleet = try Fleet()
        let first = try fleet.delivered(try fleet.envelope(1))
        #expect(try fleet.report(0, first, .applied, onTrial: false) == nil)
        let second = try fleet.delivered(try fleet.envelope(2))
        #expect(try fleet.report(0, second, .rejected(.schema), good: first) == nil)
        #expect(throws: ReportFailure.wrongNonce) { try fleet.report(0, second, .applied, onTrial: false) }
        let third = try fleet.delivered(try fleet.envelope(3))
        #expect(try fleet.report(0, third, .rejected(.threshold), good: first) == nil)
        #expect(try fleet.report(0, first, .applied, onTrial: false, text: "not loaded") == nil)
        #expect(fleet.standing(0)?.verdict == "threshold")
        #expect(fleet.standing(0)?.text == "of the active version 1: not loaded")
        #expect(try fleet.report(0, first, .applied, onTrial: false) == nil)
        #expect(fleet.standing(0)?.text == nil)
        let fourth = try fleet.delivered(try fleet.envelope(4))
        #expect(try fleet.report(0, fourth, .applied, onTrial: true) == nil)
        #expect(throws: ReportFailure.wrongNonce) { try fleet.report(0, first, .applied, onTrial: false) }
        #expect(fleet.standing(0)?.text == nil, "another one is active")
    }

    @Test("CFG-51, CFG-114: after the primary's clock has stepped back, the verdict on a later delivery counts")
    func clockThatStepsBack() throws {
        for version in [1, 2] as [UInt64] {
            var fleet = try Fleet()
            let envelope = try fleet.envelope(1, lifetime: 60)
            let first = try fleet.delivered(envelope)
            #expect(try fleet.report(0, first, .applied, onTrial: false) == nil)
            fleet.now = fleet.now + .seconds(-3_600)
            // Applied again because its lifetime may be over, or the next one.
            let second = try fleet.delivered(version == 1 ? envelope : try fleet.envelope(version))
            let good = version == 1 ? nil : first
            #expect(try fleet.report(0, second, .rejected(.rollback), good: good, text: "its reason") == nil)
            #expect(fleet.standing(0)?.verdict == "rollback" && fleet.standing(0)?.text == "its reason")
            #expect(fleet.desired.deliveries.map(\.id) == [second.entry.id])
        }
    }

    @Test("CFG-114: the delivery of what is active survives a restart beside a later one, and ends with its drift")
    func restored() throws {
        for order in [[0, 1], [1, 0]] {
            var fleet = try Fleet()
            let envelopes = [try fleet.envelope(1), try fleet.envelope(2)]
            let first = try fleet.delivered(envelopes[0])
            #expect(try fleet.report(0, first, .applied, onTrial: false) == nil)
            let second = try fleet.delivered(envelopes[1])
            #expect(try fleet.report(0, second, .rejected(.schema), good: first) == nil)
            let pairing = fleet.members[0].pairing
            let state = try #require(fleet.desired.state(of: fleet.key, at: pairing)?.dictionary)
            var rows = [first, second].map(\.entry.dictionary)
            for (index, verdict) in ["applied", "schema"].enumerated() {
                rows[index]["finished"] = true
                rows[index]["verdict"] = .string(verdict)
            }
            var restored = DesiredConfigurations()
            for envelope in envelopes {
                restored.restore(try DesiredConfiguration(envelope: envelope, accepted: fleet.now))
            }
            restored.restore(try SecondaryState(state), of: fleet.key, at: pairing)
            for index in order { restored.restore(try ForwardedConfiguration(rows[index])) }
            restored.restore(ReportCounter(epoch: 1), of: pairing)
            fleet.desired = restored
            #expect(fleet.desired.deliveries.map(\.version) == [2])
            #expect(try fleet.report(0, first, .applied, onTrial: false, text: "not loaded") == nil)
            #expect(fleet.standing(0)?.text == "of the active version 1: not loaded")
            #expect(try fleet.report(0, first, .rejected(.threshold)) == nil)
            let standing = try #require(fleet.standing(0))
            #expect(standing.reported == nil && standing.verdict == "schema" && standing.text == nil)
            #expect(throws: ReportFailure.wrongNonce) { try fleet.report(0, first, .applied, onTrial: false) }
        }
    }

    @Test("CFG-114: of two rows of applied deliveries the later one counts, and the next verdict removes the other one")
    func twoAppliedRows() throws {
        for order in [[0, 1], [1, 0]] {
            var fleet = try Fleet()
            let envelopes = [try fleet.envelope(1), try fleet.envelope(2)]
            let first = try fleet.delivered(envelopes[0])
            #expect(try fleet.report(0, first, .applied, onTrial: false) == nil)
            fleet.now = fleet.now + .seconds(1)
            let second = try fleet.delivered(envelopes[1])
            #expect(try fleet.report(0, second, .applied, onTrial: false) == nil)
            let pairing = fleet.members[0].pairing
            let state = try #require(fleet.desired.state(of: fleet.key, at: pairing)?.dictionary)
            var restored = DesiredConfigurations()
            restored.restore(try DesiredConfiguration(envelope: envelopes[1], accepted: fleet.now))
            restored.restore(try SecondaryState(state), of: fleet.key, at: pairing)
            for index in order {
                var row = [first, second][index].entry.dictionary
                row["finished"] = true
                row["verdict"] = "applied"
                restored.restore(try ForwardedConfiguration(row))
            }
            restored.restore(ReportCounter(epoch: 1), of: pairing)
            fleet.desired = restored
            #expect(fleet.desired.deliveries.map(\.version) == [2])
            let third = try fleet.delivered(try fleet.envelope(3))
            #expect(try fleet.report(0, third, .applied, onTrial: false) == nil)
            #expect(fleet.forgotten == [first.entry.id, second.entry.id])
        }
    }
}
