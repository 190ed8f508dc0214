// The versions of a primary's desired state: no two secondaries get two contents under one number.

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
        #expect(throws: DesiredRefusal.rollback(inForce: 7)) { try fleet.accept(try fleet.envelope(6)) }
        var higher = fleet
        #expect(try higher.accept(try higher.envelope(8)).count == 3, "the way out while a secondary stays away")
        for index in [1, 2] {
            #expect(try fleet.report(index, try #require(items[index]), .rejected(.schema)) == nil)
        }
        #expect(try fleet.accept(try fleet.envelope(7)).count == 3)
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
}
