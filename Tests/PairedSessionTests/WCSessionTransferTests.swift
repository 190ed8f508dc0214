// Durable transfers by Apple's names, over a scripted daemon: each transfer finishes once, with its storage on the
// other device or with its error.

import Foundation
import PairedSession
import PairedSessionFoundation
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire
import Testing

/// Records the reports on transfers.
final class TransferDelegate: RecordsCalls {
    let calls = Collector<String>()

    func session(_ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?) {
    }

    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any]) {
        add("context \(applicationContext["n"] as? Int ?? -1)")
    }

    func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any]) {
        add("userInfo \(userInfo["n"] as? Int ?? -1)")
    }

    func session(_ session: WCSession, didFinish userInfoTransfer: WCSessionUserInfoTransfer, error: (any Error)?) {
        add("finished \(userInfoTransfer.userInfo["n"] as? Int ?? -1) \((error as? WCError)?.errorCode ?? 0)")
    }
}

struct WCSessionTransferTests: WCSessionSuite {
    let apple: WCSessionFixture<TransferDelegate>

    init() throws {
        apple = try WCSessionFixture(TransferDelegate())
        fixture.daemon.pair(.unreachable, .noLink)
        activate()
    }

    private var submitted: [Envelope] { fixture.daemon.received.filter { $0.kind == .submit } }

    private func say(_ kind: FrameKind, of envelope: Envelope, _ name: String? = nil) {
        fixture.daemon.send(
            Envelope(
                kind, app: envelope.app, pairing: envelope.pairing, id: envelope.id, channel: envelope.channel,
                name: name))
        settle()
    }

    /// An item of a former process for the active counterpart.
    private func formerItem(_ id: UniqueIdentifier = .random(), on channel: Channel = .userInfo) -> Envelope {
        Envelope(
            .finished, app: fixture.daemon.app, pairing: fixture.daemon.situation.active, id: id, channel: channel)
    }

    /// A user info that the daemon has accepted.
    private func accepted() throws -> (transfer: WCSessionUserInfoTransfer, submission: Envelope) {
        let transfer = session.transferUserInfo(["n": 3])
        settle()
        let submission = try #require(submitted.last)
        say(.accepted, of: submission)
        return (transfer, submission)
    }

    @Test("transferUserInfo is outstanding until it is stored, and finishes once")
    func userInfo() throws {
        let transfer = session.transferUserInfo(["n": 3])
        settle()
        #expect(transfer.isTransferring && session.outstandingUserInfoTransfers == [transfer])
        let envelope = try #require(submitted.last)
        #expect(try envelope.dictionaryBody() == ["n": 3])
        say(.accepted, of: envelope)
        #expect(calls.isEmpty)
        say(.progress, of: envelope, "stored")
        #expect(calls == ["finished 3 0"])
        #expect(!transfer.isTransferring && session.outstandingUserInfoTransfers.isEmpty)
        say(.finished, of: envelope, "handled")
        #expect(calls == ["finished 3 0"])
    }

    @Test("a transfer that ends before it is stored finishes with its error")
    func failed() throws {
        say(.finished, of: try accepted().submission, "expired")
        #expect(calls == ["finished 3 7017"])
    }

    @Test("before activation a transfer finishes with 7004, and what no property list can hold with 7010")
    func notReady() throws {
        let unready = WCSession(over: try SessionFixture().session)
        unready.delegate = delegate
        unready.transferUserInfo(["n": 1])
        unready.callbacks.sync {}
        session.transferUserInfo(["n": 2, "bad": URL(fileURLWithPath: "/")])
        settle()
        #expect(calls == ["finished 1 7004", "finished 2 7010"])
        #expect(session.outstandingUserInfoTransfers.isEmpty)
    }

    @Test("of the complication's transfers the newest that may go is the current one, and the older one still goes")
    func complication() throws {
        let first = session.transferCurrentComplicationUserInfo(["n": 1])
        let second = session.transferCurrentComplicationUserInfo(["n": 2])
        settle()
        for envelope in submitted { say(.accepted, of: envelope) }
        #expect(!first.isCurrentComplicationInfo && second.isCurrentComplicationInfo)
        #expect(session.outstandingUserInfoTransfers == [first, second])
        #expect(submitted.map(\.channel) == [.urgent, .urgent])
        session.transferCurrentComplicationUserInfo(["n": 3, "bad": URL(fileURLWithPath: "/")])
        settle()
        #expect(calls == ["finished 3 7010"] && second.isCurrentComplicationInfo)
    }

    @Test("SES-48: an urgent item for another device, or one that the daemon refuses, takes no other's place")
    func complicationOfDevice() throws {
        let first = session.transferCurrentComplicationUserInfo(["n": 1])
        settle()
        say(.accepted, of: try #require(submitted.last))
        session.transferCurrentComplicationUserInfo(["n": 2])
        settle()
        let refused = try SubmitFrame(try #require(submitted.last)).item
        fixture.daemon.send(try FailureFrame(of: refused, code: .genericError, name: "queue-full").envelope)
        settle()
        #expect(calls == ["finished 2 7001"] && first.isCurrentComplicationInfo)
        let former = try #require(fixture.daemon.situation.active)
        fixture.daemon.situation.active = fixture.daemon.pair()
        tellSituation()
        activate()
        let other = session.transferCurrentComplicationUserInfo(["n": 3])
        settle()
        let envelope = try #require(submitted.last)
        say(.accepted, of: envelope)
        #expect(envelope.pairing != former && first.isCurrentComplicationInfo && other.isCurrentComplicationInfo)
    }

    @Test("SES-48: an urgent item that is accepted takes the place of the one that a former process queued")
    func complicationOfFormerProcess() throws {
        let former = try learnedTransfer(.random(), on: .urgent)
        #expect(former.isCurrentComplicationInfo)
        let transfer = session.transferCurrentComplicationUserInfo(["n": 1])
        settle()
        #expect(former.isCurrentComplicationInfo)
        say(.accepted, of: try #require(submitted.last))
        #expect(!former.isCurrentComplicationInfo && transfer.isCurrentComplicationInfo)
    }

    @Test("updateApplicationContext throws at once what can be seen at once, and else sends")
    func context() throws {
        try session.updateApplicationContext(["n": 1])
        settle()
        #expect(submitted.last?.channel == .context)
        let error = #expect(throws: WCError.self) {
            try session.updateApplicationContext([
                "a": ["b": [1, 2, URL(fileURLWithPath: "/")] as [Any]] as [String: Any]
            ])
        }
        #expect(error?.errorCode == 7010 && error?.underlyingError.keyPath == "a.b[2]")
        let large = #expect(throws: WCError.self) {
            try session.updateApplicationContext(["d": Data(count: 262_144)])
        }
        #expect(large?.errorCode == 7009 && large?.underlyingError.limit == 262_144)
    }

    @Test("SES-52: applicationContext is what was handed over last, until the daemon refuses it")
    func contextBeforeAnswer() throws {
        for key in ["a", "b"] {
            var context = session.applicationContext
            context[key] = 1
            try session.updateApplicationContext(context)
        }
        #expect(session.applicationContext as? [String: Int] == ["a": 1, "b": 1])
        settle()
        let (first, second) = (try #require(submitted.first), try #require(submitted.last))
        #expect(try second.dictionaryBody() == ["a": 1, "b": 1])
        fixture.daemon.send(
            try Envelope(.context, app: first.app, pairing: first.pairing, name: "sent", revision: 1)
                .with(body: ["a": 1]))
        say(.accepted, of: first)
        #expect(session.applicationContext.count == 2, "the second is on its way")
        let refused = try SubmitFrame(second).item
        fixture.daemon.send(try FailureFrame(of: refused, code: .insufficientSpace, name: "store").envelope)
        settle()
        #expect(session.applicationContext as? [String: Int] == ["a": 1])
    }

    @Test("SES-52: a context on its way to one device is none of another's")
    func contextOfFormerDevice() throws {
        try session.updateApplicationContext(["a": 1])
        settle()
        fixture.daemon.situation.active = fixture.daemon.pair()
        tellSituation()
        activate()
        #expect(session.activationState == .activated && session.applicationContext.isEmpty)
    }

    @Test("contexts and user infos arrive at their own callbacks, and returning is handling them")
    func receives() throws {
        for (channel, number) in [(Channel.context, Int64(1)), (.userInfo, 2), (.urgent, 3)] {
            try fixture.daemon.deliver(["n": .integer(number)], on: channel)
            settle()
            #expect(fixture.daemon.received.last?.kind == .verdict)
            #expect(fixture.daemon.received.last?.name == "handled")
        }
        #expect(calls == ["context 1", "userInfo 2", "userInfo 3"])
    }

    @Test("SES-12: a delegate without the method refuses the item for good")
    func lacking() throws {
        let fixture = try SessionFixture()
        let session = WCSession(over: fixture.session)
        let plain = RecordingDelegate()
        session.delegate = plain
        fixture.daemon.pair()
        session.activate()
        session.settle(with: fixture.scheduler)
        try fixture.daemon.deliver()
        session.settle(with: fixture.scheduler)
        let verdict = try #require(fixture.daemon.received.last)
        #expect(verdict.kind == .verdict && verdict.name == "rejected" && verdict.code == 7014)
    }

    /// A transfer that a former process queued.
    private func learnedTransfer(
        _ id: UniqueIdentifier, on channel: Channel = .userInfo
    ) throws -> WCSessionUserInfoTransfer {
        var item = OutstandingPage.Item(id: id)
        item.body = try PropertyListWriter.write(["n": 9] as PropertyListDictionary)
        item.isCurrent = channel == .urgent
        fixture.daemon.stored?.outstanding[channel] = [item]
        fixture.cut(waiting: .seconds(1))
        settle()
        return try #require(session.outstandingUserInfoTransfers.first)
    }

    @Test("what a former process queued is outstanding again, and finishes here")
    func formerProcess() throws {
        let id = UniqueIdentifier.random()
        let transfer = try learnedTransfer(id)
        #expect(transfer.userInfo["n"] as? Int == 9)
        say(.finished, of: formerItem(id), "handled")
        #expect(calls == ["finished 9 0"] && !transfer.isTransferring)
    }

    @Test(
        "SES-62: what a former process queued, and what ends while the daemon makes its list, is not outstanding",
        arguments: [Channel.userInfo, .urgent])
    func formerProcessEndedInList(_ channel: Channel) {
        fixture.daemon.stored?.outstanding[channel] = [OutstandingPage.Item(id: .random())]
        fixture.cut(waiting: .seconds(1))
        settle()
        #expect(session.outstandingUserInfoTransfers.isEmpty && calls.isEmpty)
    }

    /// Answers the last question about the items of a channel.
    private func answerList(of channel: Channel, _ items: [OutstandingPage.Item]) throws {
        let last = fixture.daemon.received.last { $0.command == "outstanding" && $0.channel == channel }
        let page = OutstandingPage(items: items, more: items.isEmpty ? nil : 1)
        fixture.daemon.send(try fixture.daemon.answer(to: try #require(last), nil, page.body))
        settle()
    }

    @Test(
        "SES-62: what ends while the daemon makes a list of several pages is not outstanding, and finishes once",
        arguments: [Channel.userInfo, .urgent, .file], [true, false])
    func endedBetweenPages(_ channel: Channel, isBeforeItsPage: Bool) throws {
        fixture.daemon.stored = nil
        fixture.daemon.cut()
        reconnect()
        let end = formerItem(on: channel)
        var item = OutstandingPage.Item(id: try #require(end.id))
        item.body = try PropertyListWriter.write(["n": 9, "name": "a.txt"] as PropertyListDictionary)
        var outstanding: Int { session.outstandingUserInfoTransfers.count + session.outstandingFileTransfers.count }
        func sayEnd() {
            say(.progress, of: end, "stored")
            say(.finished, of: end, "handled")
        }
        if isBeforeItsPage { sayEnd() }
        try answerList(of: channel, [item])
        #expect(outstanding == (isBeforeItsPage ? 0 : 1))
        if !isBeforeItsPage { sayEnd() }
        try answerList(of: channel, [])
        #expect(outstanding == 0)
        if channel != .file { #expect(calls == ["finished \(isBeforeItsPage ? -1 : 9) 0"]) }
    }

    @Test("SES-54: what a former process queued, and what is stored while there is no daemon, finishes at the next one")
    func formerProcessStored() throws {
        let id = UniqueIdentifier.random()
        let transfer = try learnedTransfer(id)
        var item = OutstandingPage.Item(id: id)
        item.isStored = true
        fixture.daemon.stored?.outstanding[.userInfo] = [item]
        fixture.daemon.cut()
        reconnect()
        #expect(calls == ["finished 9 0"] && !transfer.isTransferring)
        #expect(session.outstandingUserInfoTransfers.isEmpty)
        say(.finished, of: formerItem(id), "handled")
        #expect(calls.count == 1)
    }

    /// An accepted item whose process has lost its connection, and has another one.
    private func reconnected(_ channel: Channel) throws -> Envelope {
        if channel == .urgent {
            session.transferCurrentComplicationUserInfo(["n": 3])
        } else {
            session.transferUserInfo(["n": 3])
        }
        settle()
        let submission = try #require(submitted.last)
        say(.accepted, of: submission)
        fixture.daemon.cut()
        reconnect()
        return submission
    }

    @Test(
        "SES-56: an accepted item is named on the next connection, whose daemon tells what its process has missed",
        arguments: [Channel.userInfo, .urgent])
    func missedStorage(_ channel: Channel) throws {
        let envelope = try reconnected(channel)
        let question = try fixture.daemon.question("subscribe")
        #expect(question.channel == channel && question.pairing == envelope.pairing)
        #expect(try question.dictionaryBody()["items"] == [.data(envelope.id?.bytes ?? [])])
        say(.progress, of: envelope, "stored")
        #expect(calls == ["finished 3 0"] && session.outstandingUserInfoTransfers.isEmpty)
    }

    @Test("SES-56: an accepted item that the next daemon does not know finishes as end-unknown")
    func unknownEnd() throws {
        let envelope = try reconnected(.userInfo)
        let question = try fixture.daemon.question("subscribe")
        fixture.daemon.send(
            try fixture.daemon.answer(to: question, nil, ["unknown": [.data(envelope.id?.bytes ?? [])]]))
        settle()
        #expect(calls == ["finished 3 7001"] && session.outstandingUserInfoTransfers.isEmpty)
    }

    @Test("SES-50: what a former process queued is over when its pairing is")
    func formerProcessUnpaired() throws {
        let transfer = try learnedTransfer(.random())
        unpair()
        #expect(calls == ["finished 9 7005"] && !transfer.isTransferring)
        #expect(session.outstandingUserInfoTransfers.isEmpty)
    }

    @Test("SES-50: what ended while no process ran is told to the delegate of the next one, once")
    func formerEnd() {
        for channel in [Channel.userInfo, .urgent] {
            let item = formerItem(on: channel)
            say(.progress, of: item, "stored")
            say(.finished, of: item, "handled")
        }
        #expect(calls == ["finished -1 0", "finished -1 0"])
        say(.finished, of: formerItem(), "expired")
        #expect(calls.last == "finished -1 7017" && calls.count == 3)
        #expect(fixture.daemon.received.filter { $0.kind == .finishedAck }.count == 3)
    }

    // MARK: taking back

    private func reconnect() {
        fixture.scheduler.advance(by: .seconds(1))
        settle()
    }

    /// A user info whose acceptance is lost with the connection, and which is taken back before there is another one.
    private func takenBackUnaccepted() throws -> (transfer: WCSessionUserInfoTransfer, submission: Envelope) {
        let transfer = session.transferUserInfo(["n": 3])
        settle()
        let submission = try #require(submitted.last)
        fixture.daemon.cut()
        settle()
        transfer.cancel()
        reconnect()
        return (transfer, submission)
    }

    @Test(
        "SES-84: what is taken back before its acceptance arrived, without a daemon, is not submitted again",
        arguments: ["unknown", "cancelled"])
    func notSubmittedAgain(_ answer: String) throws {
        let (transfer, envelope) = try takenBackUnaccepted()
        #expect(submitted.count == 1 && calls.isEmpty && transfer.isTransferring)
        let item = PropertyListValue.data(envelope.id?.bytes ?? [])
        #expect(try fixture.daemon.question("cancel").dictionaryBody()["item"] == item)
        try fixture.daemon.answerCancel(answer)
        settle()
        #expect(calls == ["finished 3 7014"] && session.outstandingUserInfoTransfers.isEmpty)
        if answer == "cancelled" { say(.finished, of: envelope, "cancelled") }
        fixture.daemon.cut()
        reconnect()
        #expect(calls.count == 1 && submitted.count == 1)
    }

    @Test(
        "SES-54, SES-84: one that is taken back and stored meanwhile finishes as it ends",
        arguments: ["cancelled": "finished 3 7014", "handled": "finished 3 0"])
    func takenBackAndStored(_ name: String, _ call: String) throws {
        let (transfer, envelope) = try accepted()
        transfer.cancel()
        settle()
        say(.progress, of: envelope, "stored")
        try fixture.daemon.answerCancel("asked")
        settle()
        #expect(calls.isEmpty && transfer.isTransferring && session.outstandingUserInfoTransfers == [transfer])
        say(.finished, of: envelope, name)
        #expect(calls == [call] && !transfer.isTransferring && session.outstandingUserInfoTransfers.isEmpty)
    }

    @Test("SES-84: an accepted item that is taken back without a daemon is taken back at the next one")
    func takenBackWithoutDaemon() throws {
        let transfer = session.transferCurrentComplicationUserInfo(["n": 3])
        settle()
        let envelope = try #require(submitted.last)
        say(.accepted, of: envelope)
        fixture.daemon.cut()
        settle()
        transfer.cancel()
        reconnect()
        let question = try fixture.daemon.question("cancel")
        #expect(question.channel == .urgent && question.pairing == envelope.pairing)
        try fixture.daemon.answerCancel("asked")
        settle()
        #expect(transfer.isTransferring && calls.isEmpty)
        say(.finished, of: envelope, "cancelled")
        #expect(calls == ["finished 3 7014"])
        fixture.daemon.cut()
        reconnect()
        #expect(fixture.daemon.received.filter { $0.command == "cancel" }.count == 1, "it was answered")
    }

    @Test("SES-84: an item that was accepted on a lost connection, and cannot be taken back at once, is subscribed to")
    func subscribedAfterAsked() throws {
        let (transfer, envelope) = try takenBackUnaccepted()
        try fixture.daemon.answerCancel("asked")
        settle()
        #expect(try fixture.daemon.question("subscribe").channel == .userInfo && transfer.isTransferring)
        say(.finished, of: envelope, "cancelled")
        #expect(calls == ["finished 3 7014"])
    }

    @Test("SES-84: an item that waits for a daemon that does not read does not leave behind its withdrawal")
    func takenBackUnsent() throws {
        fixture.daemon.channel?.pauseReading()
        let large = [UInt8](repeating: 7, count: 60_000)
        for number in 0..<40 { session.transferUserInfo(["n": number, "d": Data(large)]) }
        let last = session.transferUserInfo(["n": 40])
        fixture.scheduler.run()
        last.cancel()
        fixture.scheduler.run()
        fixture.daemon.channel?.resumeReading()
        settle()
        #expect(submitted.count == 40)
        try fixture.daemon.answerCancel("unknown")
        settle()
        #expect(calls == ["finished 40 7014"])
    }

    // MARK: acknowledging ends

    private var acknowledged: Int { fixture.daemon.received.filter { $0.kind == .finishedAck }.count }

    @Test("SES-85: an end is acknowledged when the delegate's method has returned, also after `stored`")
    func acknowledgedLater() throws {
        for isStored in [true, false] {
            let envelope = try accepted().submission
            let (former, reported) = (acknowledged, calls.count)
            session.callbacks.suspend()
            for (kind, name) in [(FrameKind.progress, "stored"), (.finished, "handled")] {
                guard isStored || kind == .finished else { continue }
                fixture.daemon.send(
                    Envelope(
                        kind, app: envelope.app, pairing: envelope.pairing, id: envelope.id, channel: .userInfo,
                        name: name))
            }
            fixture.scheduler.run()
            #expect(acknowledged == former && calls.count == reported)
            session.callbacks.resume()
            settle()
            #expect(acknowledged == former + 1 && calls.count == reported + 1)
        }
    }

    @Test("SES-63, SES-85: an end that waits for a delegate is not acknowledged, and is reported once")
    func unacknowledgedWithoutDelegate() throws {
        session.delegate = nil
        let end = formerItem()
        say(.finished, of: end, "expired")
        fixture.daemon.cut()
        reconnect()
        say(.finished, of: end, "expired")
        #expect(acknowledged == 0)
        session.delegate = delegate
        settle()
        #expect(calls == ["finished -1 7017"] && acknowledged == 1)
        // Its acknowledgement was lost.
        say(.finished, of: end, "expired")
        #expect(calls.count == 1 && acknowledged == 2)
    }

    @Test(
        "SES-85: an end that waits for a delegate is reported once, however many come behind it before it is repeated")
    func waitingEndBehindMany() {
        session.delegate = nil
        let ends = (0...Limits.unacknowledgedEnds).map { _ in
            var end = formerItem()
            end.name = "expired"
            return end
        }
        for end in ends + ends.prefix(1) { fixture.daemon.send(end) }
        fixture.scheduler.run()
        session.delegate = delegate
        settle()
        #expect(calls.count == ends.count && acknowledged == ends.count)
    }

    @Test("WCError.notReachable is a code in a pattern, as on Apple's platforms")
    func pattern() {
        let error: any Error = WCError(SessionError(.notReachable, reason: ""))
        let other: any Error = WCError(SessionError(.genericError, reason: ""))
        func isUnreachable(_ error: any Error) -> Bool {
            if case WCError.notReachable = error { true } else { false }
        }
        #expect(isUnreachable(error) && !isUnreachable(other) && !isUnreachable(CancellationError()))
        let codes: [WCError.Code] = [
            WCError.genericError, WCError.sessionNotSupported, WCError.sessionMissingDelegate,
            WCError.sessionNotActivated, WCError.deviceNotPaired, WCError.watchAppNotInstalled, WCError.notReachable,
            WCError.invalidParameter, WCError.payloadTooLarge, WCError.payloadUnsupportedTypes,
            WCError.messageReplyFailed, WCError.messageReplyTimedOut, WCError.fileAccessDenied,
            WCError.deliveryFailed, WCError.insufficientSpace, WCError.sessionInactive, WCError.transferTimedOut,
            WCError.companionAppNotInstalled, WCError.watchOnlyApp,
        ]
        #expect(codes == SessionError.Code.allCases)
    }

    @Test("SES-63: an error of a code is made, compared and caught as on Apple's platforms")
    func errorsOfTests() throws {
        let error = WCError(.notReachable)
        #expect(error == WCError(.notReachable) && error != WCError(.deliveryFailed))
        #expect(Set([error, WCError(.notReachable), WCError(.genericError)]).count == 2)
        #expect(error.code == .notReachable && error.errorCode == 7007 && (error as NSError).domain == WCErrorDomain)
        let described = WCError(.genericError, userInfo: [NSLocalizedDescriptionKey: "a text"])
        #expect(described.localizedDescription == "a text" && described != WCError(.genericError))
        func name(_ error: any Error) -> String {
            do { throw error } catch let error as WCError where error.code == .notReachable {
                return "where"
            } catch WCError.deliveryFailed { return "pattern" } catch { return "other" }
        }
        #expect([error, WCError(.deliveryFailed), CancellationError()].map(name) == ["where", "pattern", "other"])
    }

    @Test("SES-37: the text of an error names the place of the fault, unless its reason does")
    func keyPathInText() {
        let reason = "the message holds a set"
        let error = WCError(SessionError(.payloadUnsupportedTypes, reason: reason, keyPath: "a.b[2]"))
        #expect(error.localizedDescription == "the message holds a set at a.b[2]")
        #expect(error.userInfo[NSLocalizedDescriptionKey] as? String == error.localizedDescription)
        #expect(!WCError(SessionError.unhandled("lamp")).localizedDescription.contains(" at "))
    }

    @Test("SES-37: the text of an error that is about a size names both sizes")
    func sizesInText() {
        let reason = "the content is too large"
        let error = WCError(SessionError(.payloadTooLarge, reason: reason, actual: 70_000, limit: 65_536))
        #expect(error.localizedDescription == "the content is too large (70000, limit 65536)")
        #expect(error.userInfo[NSLocalizedDescriptionKey] as? String == error.localizedDescription)
        #expect(WCError(SessionError(.payloadTooLarge, reason: reason)).localizedDescription == reason)
    }

    @Test("SES-50, SES-63: a transfer that the daemon has accepted finishes with 7005 when its pairing ends")
    func unpaired() throws {
        let transfer = try accepted().transfer
        unpair()
        #expect(calls == ["finished 3 7005"])
        #expect(!transfer.isTransferring && session.outstandingUserInfoTransfers.isEmpty)
    }
}
