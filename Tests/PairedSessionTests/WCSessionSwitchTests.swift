// SES-31 by Apple's names: inactive, what had arrived under its label, deactivated, and only after the app has asked,
// activated for the new device with what that one has sent meanwhile.

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

/// Remembers what happens with the state and label that a callback sees.
final class SwitchingDelegate: RecordsCalls {
    let calls = Collector<String>()
    let names: [UniqueIdentifier: String]

    init(_ names: [UniqueIdentifier: String]) { self.names = names }

    private func add(_ call: String, _ session: WCSession) {
        let label = session.deliveringPairing.map { names[$0] ?? "?" } ?? "-"
        add("\(call) \(session.activationState) \(label)")
    }

    func session(_ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?) {
        add("completed", session)
    }

    func sessionDidBecomeInactive(_ session: WCSession) { add("inactive", session) }
    func sessionDidDeactivate(_ session: WCSession) { add("deactivated", session) }

    func session(_ session: WCSession, didReceiveMessage message: [String: Any]) {
        add("message \(message["n"] as? Int ?? -1)", session)
    }
}

struct WCSessionSwitchTests: WCSessionSuite {
    let apple: WCSessionFixture<SwitchingDelegate>
    private let old: UniqueIdentifier
    private let new: UniqueIdentifier

    init() throws {
        let fixture = try SessionFixture()
        (old, new) = (fixture.daemon.pair(), fixture.daemon.pair())
        apple = try WCSessionFixture(SwitchingDelegate([old: "old", new: "new"]), over: fixture)
        fixture.daemon.situation.pairings[0].directory = "/apps/x/pairings/old"
        fixture.daemon.situation.pairings[1].directory = "/apps/x/pairings/new"
        activate()
        delegate.calls.removeAll()
    }

    private func message(_ number: Int, from pairing: UniqueIdentifier, reply: Bool = false) throws {
        try fixture.daemon.message(["n": .integer(Int64(number))], from: pairing, reply: reply)
    }

    private func switchToNew() {
        fixture.daemon.situation.active = new
        fixture.daemon.tellSituation()
    }

    @Test("SES-31: callbacks come in order, and what had arrived is delivered in between under its label")
    func order() throws {
        session.callbacks.suspend()
        for number in 1...2 { try message(number, from: old) }
        switchToNew()
        fixture.scheduler.run()
        #expect(session.activationState == .inactive && session.hasContentPending)
        #expect(session.watchDirectoryURL?.path == "/apps/x/pairings/old")
        session.callbacks.resume()
        try message(3, from: new)
        settle()
        #expect(calls.map { $0.split(separator: " ").first } == ["message", "message", "inactive", "deactivated"])
        #expect(calls.prefix(2).allSatisfy { $0.hasSuffix("old") })
        #expect(session.activationState == .notActivated && session.watchDirectoryURL == nil)
        #expect(session.hasContentPending)
        activate()
        #expect(calls.suffix(2) == ["completed activated -", "message 3 activated new"])
        #expect(session.watchDirectoryURL?.path == "/apps/x/pairings/new" && !session.hasContentPending)
    }

    @Test("SES-31: until the app activates the session for the new device the properties speak of the former one")
    func formerDevice() throws {
        fixture.daemon.situation.pairings[1].features.hasComplication = true
        let body = try Body.bytes(["n": 1] as PropertyListDictionary)
        fixture.daemon.send(
            ContextFrame(app: fixture.daemon.app, pairing: new, .received, revision: 1, body: body[...]).envelope)
        var isFormer: Bool { !session.isComplicationEnabled && session.receivedApplicationContext.isEmpty }
        session.callbacks.suspend()
        switchToNew()
        fixture.scheduler.run()
        #expect(session.activationState == .inactive && session.isPaired && isFormer)
        session.callbacks.resume()
        settle()
        #expect(session.activationState == .notActivated && session.isPaired && isFormer)
        activate()
        #expect(session.isComplicationEnabled && session.receivedApplicationContext["n"] as? Int == 1)
    }

    @Test("SES-31: a message through another than the active pairing is refused and shown to nobody")
    func otherPairing() throws {
        try message(1, from: new, reply: true)
        settle()
        #expect(calls.isEmpty)
        let refusal = try SessionError(failure: try #require(fixture.daemon.received.last))
        #expect(refusal.code == .sessionInactive && refusal.name == "not-active")
    }

    @Test("SES-31: while inactive a message is 7016, between deactivated and activate() 7004")
    func sending() {
        let codes = Collector<Int>()
        func send() {
            session.sendMessage(["a": 1], replyHandler: nil) { codes.add(($0 as NSError).code) }
            session.callbacks.sync {}
        }
        session.callbacks.suspend()
        switchToNew()
        fixture.scheduler.run()
        session.sendMessage(["a": 1], replyHandler: nil) { codes.add(($0 as NSError).code) }
        session.callbacks.resume()
        settle()
        send()
        activate()
        send()
        settle()
        #expect(codes.all == [7016, 7004])
        #expect(fixture.daemon.received.filter { $0.kind == .message }.map(\.pairing) == [new])
    }

    @Test("SES-31, SES-62: a connection that is lost while the session activates after a switch completes it, once")
    func lostConnection() throws {
        switchToNew()
        settle()
        fixture.daemon.stored = nil
        activate()
        #expect(calls == ["inactive inactive -", "deactivated notActivated -"], "the daemon has not answered")
        fixture.daemon.cut()
        settle()
        #expect(calls.count == 2)
        fixture.daemon.stored = ScriptedDaemon.Stored()
        fixture.scheduler.advance(by: .seconds(1))
        settle()
        #expect(calls.dropFirst(2) == ["completed activated -"] && session.activationState == .activated)
        try message(1, from: new)
        settle()
        #expect(calls.last == "message 1 activated new")
    }

    @Test("SES-31: sessionDidDeactivate comes once for a switch, also if the daemon is lost before activate()")
    func deactivatedOnce() throws {
        switchToNew()
        settle()
        for _ in 0..<2 {
            fixture.daemon.cut()
            settle()
            fixture.scheduler.advance(by: .seconds(5))
            settle()
        }
        #expect(calls == ["inactive inactive -", "deactivated notActivated -"])
        activate()
        #expect(calls.dropFirst(2) == ["completed activated -"] && session.activationState == .activated)
    }

    @Test("SES-31: a further switch before activate() is not told, and the session activates for the newest device")
    func furtherSwitch() throws {
        switchToNew()
        settle()
        try message(1, from: new, reply: true)
        fixture.daemon.situation.active = old
        tellSituation()
        #expect(calls == ["inactive inactive -", "deactivated notActivated -"])
        try message(2, from: old)
        activate()
        #expect(calls.dropFirst(2) == ["completed activated -", "message 2 activated old"])
        let refusals = fixture.daemon.received.filter { $0.kind == .failure }.map(\.name)
        #expect(refusals == ["not-active"], "the device that is no longer the active one is told")
    }

    @Test("SES-31: a daemon that is lost while the session is inactive ends the switch once, and activate() goes on")
    func lostWhileInactive() {
        session.callbacks.suspend()
        switchToNew()
        fixture.scheduler.run()
        fixture.cut()
        session.callbacks.resume()
        settle()
        fixture.scheduler.advance(by: .seconds(5))
        settle()
        #expect(calls.map { $0.split(separator: " ").first } == ["inactive", "deactivated"])
        activate()
        #expect(calls.dropFirst(2) == ["completed activated -"] && session.activationState == .activated)
    }

    @Test("SES-31: a switch without a delegate is told to the next one, unless the app has activated the session since")
    func withoutDelegate() {
        session.delegate = nil
        switchToNew()
        settle()
        #expect(calls.isEmpty)
        session.delegate = delegate
        settle()
        #expect(calls == ["inactive notActivated -", "deactivated notActivated -"])
        activate()
        #expect(calls.dropFirst(2) == ["completed activated -"])
        session.delegate = nil
        fixture.daemon.situation.active = old
        tellSituation()
        activate()
        session.delegate = delegate
        settle()
        #expect(calls.count == 3 && session.activationState == .activated)
    }

    @Test("SES-31: a delegate that is set within a switch is told of both of its steps")
    func delegateWithinSwitch() {
        session.delegate = nil
        // The callback that lets the switch go on must not run while the loop still does.
        session.callbacks.suspend()
        switchToNew()
        fixture.scheduler.run()
        session.callbacks.resume()
        session.callbacks.sync {}
        session.delegate = delegate
        session.callbacks.sync {}
        settle()
        #expect(calls == ["inactive inactive -", "deactivated notActivated -"])
    }

    @Test("SES-33: activate() may be called at any time and any number of times: one connection, one registration")
    func idempotent() {
        for _ in 0..<5 { session.activate() }
        settle()
        #expect(fixture.daemon.dials == 1 && fixture.daemon.registrations.count == 1)
        #expect(calls == [String](repeating: "completed activated -", count: 5))
    }

    @Test("a request that waited for the activation and is lost with its connection is not pending any more")
    func lostRequest() throws {
        switchToNew()
        settle()
        fixture.daemon.stored = nil
        activate()
        try message(1, from: new, reply: true)
        settle()
        #expect(session.hasContentPending)
        fixture.daemon.cut()
        settle()
        fixture.daemon.stored = ScriptedDaemon.Stored()
        fixture.scheduler.advance(by: .seconds(1))
        settle()
        #expect(session.activationState == .activated && !session.hasContentPending)
    }
}
