// The order of refusals (SES-13): the whole matrix of states and faults, with one deterministic answer for each.

import TandemBase
import TandemSession
import TandemWire
import Testing

struct SendCheckTests {
    /// One fault and the answer it must give, in the order of SES-13.
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let answer: SendRefusal
        let apply: @Sendable (inout SendCheck) -> Void
    }

    private static let nul = UnsupportedContent(.message, holds: "a key with a NUL", keyPath: "a.b[2]")

    static let faults = [
        Fault(testDescription: "not activated", answer: .notActivated) { $0.standing.activation = .notActivated },
        Fault(testDescription: "inactive", answer: .inactive) { $0.standing.activation = .inactive },
        Fault(testDescription: "not paired", answer: .notPaired) { $0.counterpart = nil },
        Fault(testDescription: "not installed", answer: .notInstalled(on: .secondary)) {
            $0.counterpart = SendCheck.Counterpart(role: .primary, level: .background, reason: .notInstalled)
        },
        Fault(testDescription: "bad argument", answer: .badArgument(.timeout)) { $0.badArgument = .timeout },
        Fault(testDescription: "unsupported type", answer: .unsupported(nul)) { $0.unsupported = nul },
        Fault(testDescription: "too large", answer: .tooLarge(actual: 65_537, limit: 65_536)) { $0.bodySize = 65_537 },
        Fault(testDescription: "unreachable", answer: .notReachable(.noLink)) {
            $0.counterpart = SendCheck.Counterpart(role: .primary, level: .unreachable, reason: .noLink)
        },
    ]

    private var good: SendCheck {
        SendCheck(
            SessionStanding(.activated),
            counterpart: SendCheck.Counterpart(role: .primary, level: .immediate, reason: .none), bodySize: 65_536,
            bodyLimit: 65_536)
    }

    @Test("SES-13: without a fault the message leaves, at the very limit")
    func noFault() { #expect(good.refusal == nil) }

    @Test("SES-13: each fault alone gives its own answer", arguments: faults)
    func alone(fault: Fault) {
        var check = good
        fault.apply(&check)
        #expect(check.refusal == fault.answer)
    }

    @Test("SES-13: of two faults the one that is listed first answers", arguments: faults.indices, faults.indices)
    func inOrder(first: Int, second: Int) {
        guard first < second, !(first == 0 && second == 1), !(first == 2 && second == 3) else { return }
        guard !(first == 3 && second == 7), !(first == 2 && second == 7) else { return }  // exclude each other
        var check = good
        Self.faults[second].apply(&check)
        Self.faults[first].apply(&check)
        #expect(check.refusal == Self.faults[first].answer)
    }

    @Test("SES-37: 7005 tells a pairing that does not exist from a device that has none")
    func noSuchPairing() {
        var check = good
        (check.counterpart, check.namedPairing) = (nil, .random())
        #expect(check.refusal == .noSuchPairing)
        let named = SessionError(.noSuchPairing, messageID: nil)
        #expect(named.code == .deviceNotPaired && named.name == "not-paired")
        #expect(named.reason.contains("no such pairing") && !named.reason.contains("tandem switch"))
        #expect(SessionError(.notPaired, messageID: nil).reason.contains("tandem switch"))
    }

    @Test("SES-13: on a secondary the missing app is the primary's")
    func missingOnPrimary() {
        var check = good
        check.counterpart = SendCheck.Counterpart(role: .secondary, level: .background, reason: .notInstalled)
        #expect(check.refusal == .notInstalled(on: .primary))
    }

    @Test("SES-25: without a link it is not reachable, whatever is installed", arguments: ReachabilityReason.allCases)
    func noLink(reason: ReachabilityReason) {
        guard reason != .none, reason != .notInstalled else { return }
        var check = good
        check.counterpart = SendCheck.Counterpart(role: .primary, level: .unreachable, reason: reason)
        #expect(check.refusal == .notReachable(reason))
    }

    @Test("SES-7: linked but not connected is background, and not reachable for messages")
    func background() {
        var check = good
        check.counterpart = SendCheck.Counterpart(role: .primary, level: .background, reason: .counterpartAbsent)
        #expect(check.refusal == .notReachable(.counterpartAbsent))
    }
}
