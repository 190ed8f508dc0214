// Apple's names over a scripted daemon: callbacks in order on one queue, exactly one handler for each message, values
// as NSNumber, and a method that the delegate lacks told to the sender (SES-12).

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

/// Remembers the callbacks; answers messages with its own reply.
final class RecordingDelegate: RecordsCalls {
    let calls = Collector<String>()

    func session(_ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?) {
        add("activation \(state) \((error as? WCError)?.errorCode ?? 0)")
    }

    func sessionDidBecomeInactive(_ session: WCSession) { add("inactive") }
    func sessionDidDeactivate(_ session: WCSession) { add("deactivated") }
    func sessionWatchStateDidChange(_ session: WCSession) { add("watch \(session.isPaired)") }
    func sessionReachabilityDidChange(_ session: WCSession) { add("reachable \(session.isReachable)") }

    func session(
        _ session: WCSession, didReceiveMessage message: [String: Any],
        replyHandler: @escaping ([String: Any]) -> Void
    ) {
        let number = message["n"]
        add("message \(number as? Int ?? -1) \(number as? Double ?? -1) \(message["f"] as? Bool ?? true)")
        replyHandler(["reply": message["bad"] == nil ? 2 : URL(fileURLWithPath: "/") as Any])
    }
}

struct WCSessionTests: WCSessionSuite {
    let apple: WCSessionFixture<RecordingDelegate>

    init() throws {
        apple = try WCSessionFixture(RecordingDelegate())
    }

    private func activate() {
        fixture.daemon.pair()
        session.activate()
        settle()
    }

    @Test("SES-35: the reachability and the watch state within the first completed activation are no change")
    func activation() {
        #expect(session.activationState == .notActivated && !session.isReachable)
        activate()
        #expect(calls == ["activation activated 0"])
        #expect(session.isReachable && session.isPaired && session.isWatchAppInstalled)
    }

    @Test("a switch is inactive, deactivated, and activated only after the app asks again")
    func switching() {
        activate()
        fixture.daemon.pair()
        fixture.daemon.situation.active = fixture.daemon.situation.pairings.last?.pairing
        tellSituation()
        #expect(calls.suffix(3) == ["inactive", "reachable false", "deactivated"])
        #expect(session.activationState == .notActivated)
        session.activate()
        settle()
        #expect(calls.suffix(2) == ["activation activated 0", "reachable true"])
        #expect(session.activationState == .activated)
    }

    @Test("SES-35: a watch state that differs after a switch is told behind the activation, and a later change at once")
    func watchState() {
        activate()
        let next = fixture.daemon.pair()
        fixture.daemon.situation.pairings[1].features.hasComplication = true
        fixture.daemon.situation.active = next
        tellSituation()
        #expect(!calls.contains("watch true") && !session.isComplicationEnabled)
        session.activate()
        settle()
        #expect(calls.suffix(3) == ["activation activated 0", "watch true", "reachable true"])
        #expect(session.isComplicationEnabled)
        fixture.daemon.situation.pairings[1].features.hasComplication = false
        tellSituation()
        #expect(calls.last == "watch true" && !session.isComplicationEnabled)
    }

    @Test("SES-35: a first device that is paired later is a change of the watch state and of the reachability")
    func pairedLater() {
        session.activate()
        settle()
        #expect(calls == ["activation activated 0"] && !session.isPaired)
        fixture.daemon.pair()
        tellSituation()
        #expect(calls.dropFirst() == ["watch true", "reachable true"])
    }

    @Test("SES-23, SES-35: a lost daemon is one change to false, and its return one to true behind the activation")
    func lostDaemon() {
        activate()
        for _ in 0..<2 {
            delegate.calls.removeAll()
            fixture.daemon.cut()
            settle()
            #expect(calls == ["reachable false"] && session.activationState == .notActivated)
            fixture.scheduler.advance(by: .seconds(1))
            settle()
            #expect(calls.dropFirst() == ["activation activated 0", "reachable true"])
            #expect(session.activationState == .activated)
        }
    }

    @Test("SES-35: each change of the reachability is one callback, and a state that changes nothing of it none")
    func reachabilityChanges() {
        activate()
        delegate.calls.removeAll()
        for level in [ReachabilityLevel.unreachable, .unreachable, .background, .immediate, .immediate, .background] {
            fixture.daemon.situation.pairings[0].level = level
            fixture.daemon.situation.pairings[0].reason = level == .immediate ? .none : .noLink
            tellSituation()
        }
        #expect(calls == ["reachable false", "reachable true", "reachable false"])
    }

    @Test("SES-35: a change while there is no delegate is told to the next one, once")
    func changeWithoutDelegate() {
        activate()
        delegate.calls.removeAll()
        session.delegate = nil
        fixture.daemon.situation.pairings[0].level = .unreachable
        fixture.daemon.situation.pairings[0].reason = .noLink
        tellSituation()
        session.delegate = delegate
        settle()
        #expect(calls == ["reachable false"])
        fixture.daemon.situation.pairings[0].level = .immediate
        fixture.daemon.situation.pairings[0].reason = .none
        tellSituation()
        session.delegate = delegate
        settle()
        #expect(calls == ["reachable false", "reachable true"])
    }

    @Test("SES-35: a flap that is over before the callback could come has none")
    func flap() {
        activate()
        delegate.calls.removeAll()
        session.callbacks.suspend()
        for level in [ReachabilityLevel.unreachable, .immediate] {
            fixture.daemon.situation.pairings[0].level = level
            fixture.daemon.situation.pairings[0].reason = level == .immediate ? .none : .noLink
            fixture.tellSituation()
        }
        session.callbacks.resume()
        settle()
        #expect(calls.isEmpty && session.isReachable)
    }

    @Test("Before activation a message is 7004, without a delegate 7003, and nothing is sent")
    func notReady() {
        let codes = Collector<Int>()
        session.sendMessage(["a": 1], replyHandler: nil) { codes.add(($0 as NSError).code) }
        session.delegate = nil
        session.sendMessage(["a": 1], replyHandler: nil) { codes.add(($0 as NSError).code) }
        settle()
        #expect(codes.all == [7004, 7003])
        #expect(fixture.daemon.received.isEmpty)
    }

    @Test("A message carries Foundation's values, native and boxed, each as its own type")
    func values() throws {
        activate()
        let date = Date(timeIntervalSinceReferenceDate: 12.5)
        session.sendMessage(
            [
                "i": 1, "d": 1.5, "b": true, "s": "x", "data": Data([1]), "date": date, "u": UInt64.max,
                "list": [1, "a"] as [Any], "map": ["k": Int8(3)], "ni": NSNumber(value: 7), "nb": NSNumber(value: true),
                "nd": NSNumber(value: 2.5),
            ], replyHandler: { _ in })
        settle()
        let frame = try #require(fixture.daemon.received.last)
        let sent = try frame.dictionaryBody()
        let expected: PropertyListDictionary = [
            "i": .integer(1), "d": .real(1.5), "b": .boolean(true), "s": "x", "data": .data([1]),
            "date": .date(PropertyListDate(millisecondsSinceReferenceDate: 12_500)), "u": .unsigned(.max),
            "list": .array([.integer(1), "a"]), "map": .dictionary(["k": .integer(3)]), "ni": .integer(7),
            "nb": .boolean(true), "nd": .real(2.5),
        ]
        #expect(sent == expected)
    }

    @Test("SES-13: a value of another type is 7010 with its key path")
    func unsupported() {
        activate()
        let errors = Collector<WCError>()
        let message: [String: Any] = ["a": ["b": [1, 2, URL(fileURLWithPath: "/")] as [Any]] as [String: Any]]
        session.sendMessage(message, replyHandler: nil) { if let error = $0 as? WCError { errors.add(error) } }
        settle()
        #expect(errors.all.map(\.errorCode) == [7010])
        #expect(errors.all.first?.underlyingError.keyPath == "a.b[2]")
    }

    @Test("SES-9: of both handlers exactly one is called, for replies and for failures")
    func oneHandler() throws {
        activate()
        let outcomes = Collector<String>()
        for _ in 0..<2 {
            session.sendMessage(["q": 1]) {
                outcomes.add("reply \($0["a"] as? Int ?? 0)")
            } errorHandler: {
                outcomes.add("error \(($0 as NSError).code)")
            }
        }
        settle()
        let questions = fixture.daemon.received.suffix(2)
        let first = try #require(questions.first)
        var reply = Envelope(.reply, app: first.app, pairing: first.pairing, id: first.id)
        reply = try reply.with(body: ["a": 5])
        for _ in 0..<2 { fixture.daemon.send(reply) }
        settle()
        fixture.daemon.cut()
        settle()
        #expect(outcomes.all == ["reply 5", "error 7014"])
    }

    @Test("SES-37: a reply that is no dictionary is 7011 for the error handler, and the session goes on")
    func malformedReply() throws {
        activate()
        let outcomes = Collector<String>()
        session.sendMessage(["q": 1]) { _ in
            outcomes.add("reply")
        } errorHandler: {
            outcomes.add("\(($0 as NSError).code) \(($0 as? WCError)?.underlyingError.name ?? "-")")
        }
        settle()
        let question = try #require(fixture.daemon.received.last)
        fixture.daemon.send(
            Envelope(.reply, app: question.app, pairing: question.pairing, id: question.id, body: [1, 2, 3]))
        settle()
        #expect(outcomes.all == ["7011 malformed"] && session.activationState == .activated)
    }

    @Test("Numbers arrive as NSNumber: one value is Int, Double and Bool as the app asks; the reply goes back")
    func receiving() throws {
        activate()
        try deliver(["n": 1, "f": .boolean(false)])
        #expect(calls.last == "message 1 1.0 false")
        let reply = try #require(fixture.daemon.received.last)
        #expect(try reply.dictionaryBody() == ["reply": 2])
    }

    @Test("SES-12: a method that the delegate lacks is 7014 for the sender; a reply that cannot be sent is 7011")
    func unhandled() throws {
        activate()
        try deliver(["n": 1], reply: false)
        #expect(fixture.daemon.received.last?.name == "unhandled")
        #expect(fixture.daemon.received.last?.code == 7014)
        try deliver(["bad": 1])
        #expect(fixture.daemon.received.last?.code == 7011)
        let failure = try SessionError(failure: try #require(fixture.daemon.received.last))
        #expect(failure.keyPath == "reply")
    }

    @Test(
        "SES-34: 256 messages wait for a delegate that is busy, the next is inbox-full, and later there is room again")
    func busyDelegate() throws {
        activate()
        session.callbacks.suspend()
        for number: Int64 in 0..<257 {
            try fixture.daemon.message(["n": .integer(number)], reply: true)
            fixture.scheduler.run()
        }
        session.callbacks.resume()
        settle()
        #expect(fixture.daemon.received.filter { $0.kind == .failure }.map(\.name) == ["inbox-full"])
        #expect(fixture.daemon.received.filter { $0.kind == .reply }.count == 256)
        #expect(calls.last == "message 255 255.0 true")
        try deliver(["n": 300])
        #expect(calls.last == "message 300 300.0 true")
    }

    @Test("SES-34, CFG-43: a configuration waits for a busy delegate also behind 256 messages")
    func configurationForBusyDelegate() throws {
        activate()
        session.callbacks.suspend()
        for number: Int64 in 0..<256 {
            try fixture.daemon.message(["n": .integer(number)], reply: true)
            fixture.scheduler.run()
        }
        try fixture.daemon.message(["tandem.configuration": .data([1])], .configuration, reply: true)
        fixture.scheduler.run()
        session.callbacks.resume()
        settle()
        #expect(fixture.daemon.received.filter { $0.kind == .failure }.isEmpty)
        #expect(fixture.daemon.received.filter { $0.kind == .reply }.count == 257)
    }

    private func deliver(_ body: PropertyListDictionary, reply: Bool = true) throws {
        try fixture.daemon.message(body, reply: reply)
        settle()
    }
}
