// Switches of an app between targets while one of them has a configuration on trial, or one that the app was offered.

import TandemBase
import TandemSignedConfiguration
import Testing

@Suite struct SwitchTests {
    private static func switchAwayAndBack(_ slot: inout ConfigurationSlot) -> ApplyTransition {
        slot.applicationDisconnected(.switched)
        return slot.applicationConnected(.switched)
    }

    @Test("CFG-31, CFG-62: an app that comes back to a target makes no further attempt at what is on trial there")
    func backToATrial() throws {
        var slot = try Fixture.tryingSlot()
        for _ in 0..<5 {
            #expect(Self.switchAwayAndBack(&slot).verdict == nil)
            #expect(slot.trial?.attempts == 1 && slot.active?.record.version == 7)
        }
        slot.applicationDisconnected()
        _ = slot.applicationConnected()
        #expect(slot.trial?.attempts == 2, "a registration counts as before")
        Fixture.live(&slot)
        #expect(slot.trial == nil && slot.active?.record.version == 7)
    }

    @Test("CFG-31, CFG-62: an offer that a switch ends is no attempt, and is made again after the return")
    func backToAnOffer() throws {
        var slot = try Fixture.usedSlot()
        _ = slot.received(try Fixture.envelope(), by: Fixture.delivery, in: try Fixture.context())
        for _ in 0..<5 {
            #expect(slot.phase == .offered && slot.staged?.attempts == 1)
            #expect(Self.switchAwayAndBack(&slot).effects.count == 1)
        }
        #expect(slot.answered(try Fixture.reply("applied", to: slot), now: Fixture.now).verdict == .applied)
    }

    @Test("CFG-61: after a return the app has to live with it as long as after a registration")
    func timeBeforeASwitch() throws {
        var slot = try Fixture.tryingSlot()
        _ = slot.timePassed(running: .zero, now: Fixture.now)
        _ = slot.timePassed(running: .seconds(29), now: Fixture.now)
        _ = Self.switchAwayAndBack(&slot)
        _ = slot.timePassed(running: .seconds(10), now: Fixture.now)
        #expect(slot.trial != nil)
    }

    @Test("CFG-31, CFG-62: a return whose event could not be stored is no registration when it is made up for")
    func returnMadeUpFor() throws {
        var slot = try Fixture.tryingSlot()
        for _ in 0..<5 {
            slot.applicationDisconnected(.switched)
            #expect(slot.caughtUp(.switched, isBeingOffered: false).verdict == nil)
        }
        #expect(slot.trial?.attempts == 1 && slot.active?.record.version == 7)
    }

    @Test(
        "CFG-62, CFG-113: a start that has ended stays counted, also if a later process cannot judge after a switch",
        arguments: [true, false])
    func startOfAnEarlierProcess(_ endsElsewhere: Bool) throws {
        var slot = try Fixture.tryingSlot()
        slot.applicationDisconnected()
        _ = slot.applicationConnected()
        #expect(slot.trial?.attempts == 2)
        if endsElsewhere { slot.applicationDisconnected(.switched) }
        slot.applicationDisconnected()
        // The next process has registered with another target.
        _ = slot.applicationConnected(.switched)
        slot.note(nil, hasAnswered: false, cannotJudge: true)
        _ = slot.reloaded()
        #expect(slot.trial?.attempts == 2)
    }
}
