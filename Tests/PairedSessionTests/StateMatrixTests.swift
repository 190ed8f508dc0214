// SES-38: every call in every state, through the public surface of both libraries, against the table. A call that is to
// be added is one column and one case here.

import Foundation
import PairedSession
import PairedSessionFoundation
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

private final class Situated {
    let fixture: SessionFixture
    let session: WCSession
    let pairing: UniqueIdentifier
    private var delegate: Delegate? = Delegate()

    private final class Delegate: WCSessionDelegate {
        func session(
            _ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?
        ) {}
    }

    init(_ state: String) throws {
        fixture = try SessionFixture()
        session = WCSession(over: fixture.session)
        session.delegate = delegate
        if state == "not on the primary" { fixture.daemon.role = .secondary }
        pairing = Self.pair(fixture.daemon, state)
        if state == "not supported" { fixture.daemon.refusal = Refusal(.version) }
        if state == "connecting" || state == "not activated" { fixture.daemon.greets = false }
        if state != "not activated" {
            session.activate()
            settle()
        }
        enter(state)
    }

    private static func pair(_ daemon: ScriptedDaemon, _ state: String) -> UniqueIdentifier {
        switch state {
        case "without pairing": .random()
        case "not on the secondary", "not on the primary": daemon.pair(.background, .notInstalled)
        case "unreachable": daemon.pair(.unreachable, .noLink)
        case "in the background": daemon.pair(.background, .counterpartAbsent)
        default: daemon.pair()
        }
    }

    private func enter(_ state: String) {
        switch state {
        case "no delegate": delegate = nil
        case "inactive":
            session.callbacks.suspend()
            switchAway()
            fixture.scheduler.run()
        case "deactivated":
            switchAway()
            settle()
        case "daemon lost":
            fixture.daemon.isRunning = false
            fixture.daemon.cut()
            settle()
        case "ended":
            fixture.session.end {}
            settle()
        default: break
        }
    }

    private func switchAway() {
        fixture.daemon.situation.active = fixture.daemon.pair()
        fixture.daemon.tellSituation()
    }

    private func settle() { session.settle(with: fixture.scheduler) }

    /// Only turns of the loop: the callback queue may be held.
    private func turn() { fixture.scheduler.run() }

    func outcome(of call: String) -> String {
        let before = fixture.daemon.received.count
        let codes = Collector<Int>()
        let done = Collector<Bool>()
        perform(call, codes, done)
        turn()
        if call.hasPrefix("WCSession") { answerCallbacks() }
        if let code = codes.all.first { return codes.all.count == 1 ? "\(code)" : "twice" }
        if call == "activate" { return done.all.isEmpty ? "waits" : "done" }
        let kinds = fixture.daemon.received.dropFirst(before).map(\.kind)
        return kinds.contains(.message) ? "sent" : kinds.contains(.submit) ? "queued" : "nothing"
    }

    /// Lets the callbacks of an error out; a held queue is let go for it.
    private func answerCallbacks() {
        if fixture.session.activationState == .inactive { session.callbacks.resume() }
        session.callbacks.sync {}
    }

    private func perform(_ call: String, _ codes: Collector<Int>, _ done: Collector<Bool>) {
        let (message, bound) = (OutgoingContent(["a": 1]), call.hasPrefix("bound") ? pairing : nil)
        let fail: @Sendable (any Error) -> Void = { codes.add(($0 as NSError).code) }
        let told: @Sendable (SessionError?) -> Void = { if let error = $0 { codes.add(error.code.rawValue) } }
        switch call {
        case "activate":
            fixture.core.run { core in
                core.activate(waiter: 7) { result in
                    told(result.error)
                    done.add(true)
                }
            }
        case "sendMessage", "bound sendMessage":
            fixture.core.run { $0.request(message, to: bound) { told($0.error) } }
        case "sendMessageWithoutReply":
            fixture.core.run { $0.note(message, given: { told($0.error) }) }
        case "broadcast": fixture.core.run { $0.broadcast(message) { told($0.error) } }
        case "transferUserInfo", "bound transferUserInfo":
            fixture.core.run { $0.submit(Submission(.userInfo, to: bound, message)) { told($0.error) } }
        case "WCSession.sendMessage": session.sendMessage(["a": 1], replyHandler: { _ in }, errorHandler: fail)
        case "WCSession.updateApplicationContext":
            do { try session.updateApplicationContext(["a": 1]) } catch { fail(error) }
        default: Issue.record("an unknown call: \(call)")
        }
    }
}

struct StateMatrixTests {
    @Test("SES-38: each call in each state ends as the table says", arguments: StateMatrix.rows.map(\.state))
    func matrix(state: String) throws {
        let row = try #require(StateMatrix.rows.first { $0.state == state })
        try #require(row.outcomes.count == StateMatrix.calls.count)
        for (call, expected) in zip(StateMatrix.calls, row.outcomes) {
            let outcome = try Situated(state).outcome(of: call)
            #expect(outcome == expected, "\(call) when \(state)")
        }
    }

    @Test("SES-38: the table of the protocol is the one that is tested")
    func text() {
        let text = Checkout.text(of: "Protocol/Session.md")
        #expect(text.contains(StateMatrix.text))
    }
}
