// The waits for what an app hands over to its daemon (SES-89), without any connection.

import TandemSession
import Testing

struct HandoversTests {
    @Test("SES-89: a wait ends with the last handover that was open at the call, whatever their order")
    func ends() {
        var handovers = Handovers<String>()
        let numbers = (0..<3).map { _ in handovers.begin() }
        let waits = handovers.wait(1, token: "caller")
        #expect(waits)
        let ends = [2, 0, 1].map { handovers.ended(numbers[$0]) }
        #expect(ends == [[], [], ["caller"]])
    }

    @Test("SES-89: what begins after the call does not prolong a wait, and its end counts for no earlier one")
    func later() {
        var handovers = Handovers<String>()
        let first = handovers.begin()
        _ = handovers.wait(1, token: "early")
        let second = handovers.begin()
        _ = handovers.wait(2, token: "late")
        let third = handovers.begin()
        let ends = [third, second, first].map { handovers.ended($0) }
        #expect(ends == [[], [], ["early", "late"]])
    }

    @Test("SES-89: without an open handover nobody waits, and an end that is repeated counts once")
    func nothingOpen() {
        var handovers = Handovers<String>()
        let isWaitingForNothing = handovers.wait(1, token: "caller")
        #expect(!isWaitingForNothing)
        let (first, second) = (handovers.begin(), handovers.begin())
        _ = handovers.wait(2, token: "caller")
        let ends = [first, first, second, second].map { handovers.ended($0) }
        #expect(ends == [[], [], ["caller"], []])
    }

    @Test("SES-89: a wait that is ended early is over, alone or with all others")
    func early() {
        var handovers = Handovers<String>()
        let number = handovers.begin()
        for caller in 1...3 as ClosedRange<UInt64> { _ = handovers.wait(caller, token: "\(caller)") }
        let one = handovers.stopWaiting(2)
        let again = handovers.stopWaiting(2)
        #expect(one == "2" && again == nil)
        let others = handovers.stopWaiting()
        let end = handovers.ended(number)
        #expect(others == ["1", "3"] && end.isEmpty)
    }
}
