// SES-62 to SES-64: the promises of Apple's documentation at the activation of a session, over a daemon that restarts,
// and while there is no delegate.

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

/// Notes what the session says of itself within each callback.
final class PromiseDelegate: RecordsCalls {
    let calls = Collector<String>()

    func session(_ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?) {
        let context = session.receivedApplicationContext["n"] as? Int ?? -1
        let sent = session.applicationContext["n"] as? Int ?? -1
        let infos = session.outstandingUserInfoTransfers.map { $0.userInfo["n"] as? Int ?? -1 }
        let files = session.outstandingFileTransfers.map(\.file.fileURL.lastPathComponent)
        add(
            "activated \(session.activationState) received \(context) sent \(sent) infos \(infos) files \(files) "
                + "budget \(session.remainingComplicationUserInfoTransfers) paired \(session.isPaired) "
                + "installed \(session.isWatchAppInstalled)")
    }

    func sessionWatchStateDidChange(_ session: WCSession) {
        add("watch \(session.isPaired) \(session.isWatchAppInstalled)")
    }

    func session(_ session: WCSession, didReceiveMessage message: [String: Any]) {
        add("message \(message["n"] as? Int ?? -1)")
    }

    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any]) {
        add("context \(applicationContext["n"] as? Int ?? -1)")
    }

    func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any]) {
        add("userInfo \(userInfo["n"] as? Int ?? -1)")
    }

    func session(_ session: WCSession, didFinish userInfoTransfer: WCSessionUserInfoTransfer, error: (any Error)?) {
        add("finished \(userInfoTransfer.userInfo["n"] as? Int ?? -1)")
    }
}

/// Takes one user info, and leaves the session.
private final class LeavingDelegate: WCSessionDelegate {
    let numbers = Collector<Int>()

    func session(_ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?) {
    }

    func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any]) {
        numbers.add(userInfo["n"] as? Int ?? -1)
        session.delegate = nil
    }
}

struct WCSessionPromiseTests: WCSessionSuite {
    let apple: WCSessionFixture<PromiseDelegate>
    private let pairing: UniqueIdentifier

    init() throws {
        apple = try WCSessionFixture(PromiseDelegate())
        pairing = apple.fixture.daemon.pair()
        fixture.daemon.answerPings()
    }

    private func advance(by time: Duration) {
        fixture.scheduler.advance(by: time)
        settle()
    }

    private func deliver(
        _ number: Int64, on channel: Channel = .userInfo, through other: UniqueIdentifier? = nil,
        id: UniqueIdentifier = .random(), attempt: Int = 1
    ) throws {
        try fixture.daemon.deliver(
            ["n": .integer(number)], on: channel, through: other ?? pairing, id: id, attempt: attempt)
        settle()
    }

    private var verdicts: [String?] { fixture.daemon.received.filter { $0.kind == .verdict }.map(\.name) }

    // MARK: activation

    private func store() throws {
        fixture.daemon.contexts = [(.sent, ["n": 1]), (.received, ["n": 2])]
        var info = OutstandingPage.Item(id: .random())
        info.body = try PropertyListWriter.write(["n": 3] as PropertyListDictionary)
        var file = OutstandingPage.Item(id: .random())
        file.body = try PropertyListWriter.write(["name": "photo.jpg", "size": 5] as PropertyListDictionary)
        fixture.daemon.stored?.outstanding = [.userInfo: [info], .file: [file]]
        setBudget(7)
    }

    /// The session of a secondary is activated, and a context comes from a primary that is not the active one.
    /// - Returns: the pairing with that primary.
    private func contextOfAnotherPrimary(
        id: UniqueIdentifier = .random(), knowsLater: Bool = true
    ) throws -> UniqueIdentifier {
        fixture.daemon.role = .secondary
        if !knowsLater { fixture.daemon.capabilities.removeAll { $0 == .later } }
        let next = fixture.daemon.pair()
        activate()
        try deliver(5, on: .context, through: next, id: id)
        return next
    }

    private func choose(_ pairing: UniqueIdentifier) {
        fixture.daemon.situation.active = pairing
        tellSituation()
    }

    @Test(
        "SES-62: contexts, transfers of before, the budget and the pairing are there inside activationDidCompleteWith")
    func knownAtActivation() throws {
        try store()
        activate()
        #expect(
            calls.filter { $0.hasPrefix("activated") } == [
                "activated activated received 2 sent 1 infos [3] files [\"photo.jpg\"] budget 7 paired true installed true"
            ])
    }

    @Test("SES-62: a context that the next connection does not bring is gone once the daemon has answered")
    func removedContexts() throws {
        try store()
        activate()
        fixture.daemon.contexts.removeFirst()
        fixture.daemon.cut()
        settle()
        #expect(session.applicationContext["n"] as? Int == 1, "without a daemon it stays")
        advance(by: .seconds(1))
        #expect(session.activationState == .activated && session.applicationContext.isEmpty)
        #expect(session.receivedApplicationContext["n"] as? Int == 2)
    }

    @Test("SES-62: what arrives while the daemon answers comes after activationDidCompleteWith, in order")
    func arrivalsWait() throws {
        fixture.daemon.stored = nil
        activate()
        try fixture.daemon.message()
        try deliver(2)
        #expect(calls.allSatisfy { $0.hasPrefix("watch") } && session.activationState == .notActivated)
        #expect(session.hasContentPending)
        try refuseQuestions()
        let order = calls.filter { !$0.hasPrefix("watch") }.map { $0.split(separator: " ")[0] }
        #expect(order == ["activated", "message", "userInfo"] && !session.hasContentPending)
    }

    @Test("SES-62: what a former process queued and the daemon ends while it answers finishes after the activation")
    func endsWait() throws {
        fixture.daemon.stored = nil
        activate()
        fixture.daemon.send(
            Envelope(
                .finished, app: fixture.daemon.app, pairing: pairing, id: .random(), channel: .userInfo,
                name: "expired"))
        settle()
        #expect(!calls.contains("finished -1"))
        try refuseQuestions()
        let order = calls.filter { !$0.hasPrefix("watch") }.map { $0.split(separator: " ")[0] }
        #expect(order == ["activated", "finished"])
    }

    /// The daemon answers that it cannot answer.
    private func refuseQuestions() throws {
        for query in fixture.daemon.received.filter({ $0.kind == .query }) {
            let question = try QueryFrame(query)
            fixture.daemon.send(
                try AnswerFrame(to: (question.id, question.app, question.command), code: .genericError, name: .store)
                    .envelope)
        }
        settle()
    }

    // MARK: counterparts without a switch

    @Test(
        "SES-62: the first counterpart of a session that is activated is asked about as at an activation",
        arguments: DeviceRole.allCases)
    func firstCounterpart(_ role: DeviceRole) throws {
        fixture.daemon.role = role
        (fixture.daemon.situation.pairings, fixture.daemon.situation.active) = ([], nil)
        activate()
        #expect(session.remainingComplicationUserInfoTransfers == 0 && session.outstandingUserInfoTransfers.isEmpty)
        try store()
        fixture.daemon.pair()
        tellSituation()
        #expect(session.remainingComplicationUserInfoTransfers == 7)
        #expect(session.outstandingUserInfoTransfers.count == 1 && session.outstandingFileTransfers.count == 1)
        #expect(calls.filter { $0.hasPrefix("activated") }.count == 1)
    }

    @Test("SES-62: the next primary of a secondary is asked about, and what it sends comes behind the answers")
    func nextPrimary() throws {
        fixture.daemon.role = .secondary
        let next = fixture.daemon.pair()
        setBudget(3)
        activate()
        #expect(session.remainingComplicationUserInfoTransfers == 3)
        let stored = fixture.daemon.stored
        fixture.daemon.stored = nil
        choose(next)
        try fixture.daemon.message(from: next)
        settle()
        #expect(!calls.contains("message 1") && session.activationState == .activated)
        try refuseQuestions()
        #expect(calls.contains("message 1"))
        #expect(session.remainingComplicationUserInfoTransfers == 0, "the number of before is another device's")
        fixture.daemon.stored = stored
        choose(pairing)
        #expect(session.remainingComplicationUserInfoTransfers == 3)
    }

    @Test("SES-62: the properties are about the next primary of a secondary as soon as what is sent goes to it")
    func nextPrimaryAtOnce() throws {
        fixture.daemon.role = .secondary
        let next = fixture.daemon.pair(.unreachable, .noLink)
        activate()
        #expect(session.isReachable)
        fixture.daemon.stored = nil
        choose(next)
        #expect(session.activationState == .activated && session.isPaired && !session.isReachable)
        session.transferUserInfo(["n": 1])
        settle()
        #expect(fixture.daemon.received.last { $0.kind == .submit }?.pairing == next)
    }

    @Test("SES-88: the context of a primary that is not chosen is put off, and handled when it comes again")
    func contextIsPutOff() throws {
        let next = try contextOfAnotherPrimary()
        #expect(verdicts == ["later"] && !calls.contains("context 5") && !session.hasContentPending)
        choose(next)
        try deliver(5, on: .context, through: next)
        #expect(calls.last == "context 5" && verdicts == ["later", "handled"])
    }

    @Test("SES-31: the context of a primary that is not chosen comes to the delegate when it is")
    func contextOfAnother() throws {
        let next = try contextOfAnotherPrimary(knowsLater: false)
        #expect(!calls.contains("context 5") && verdicts.isEmpty)
        choose(next)
        #expect(calls.last == "context 5" && verdicts == ["handled"] && !session.hasContentPending)
    }

    @Test("SES-51, SES-88: a context that another handler has got, too, is not put off, and comes to each once")
    func contextOfTwoHandlers() throws {
        let attempts = Collector<Int>()
        fixture.core.run { core in
            core.handleItems([.context]) { item, token in
                attempts.add(item.facts.attempt)
                token.returned()
            }
        }
        let next = try contextOfAnotherPrimary()
        #expect(verdicts.isEmpty && attempts.all == [1] && session.hasContentPending)
        choose(next)
        #expect(calls.last == "context 5" && verdicts == ["handled"] && attempts.all == [1])
    }

    @Test("SES-88: a context that waits beside an earlier daemon is put off once the daemon is upgraded")
    func contextOverUpgrade() throws {
        let id = UniqueIdentifier.random()
        let next = try contextOfAnotherPrimary(id: id, knowsLater: false)
        #expect(verdicts.isEmpty && session.hasContentPending)
        fixture.daemon.capabilities = Capability.allCases
        fixture.daemon.cut()
        advance(by: .seconds(1))
        try deliver(5, on: .context, through: next, id: id, attempt: 2)
        #expect(verdicts.last == "later" && !calls.contains("context 5") && !session.hasContentPending)
        choose(next)
        try deliver(5, on: .context, through: next, id: id, attempt: 2)
        #expect(calls.filter { $0 == "context 5" }.count == 1 && verdicts.last == "handled")
    }

    @Test("SES-31: a context whose pairing ends while it waits is pending no longer")
    func contextOfEndedPairing() throws {
        _ = try contextOfAnotherPrimary(knowsLater: false)
        #expect(session.hasContentPending)
        fixture.daemon.situation.pairings.removeLast()
        tellSituation()
        #expect(!session.hasContentPending && !calls.contains("context 5"))
    }

    @Test("SES-62: without a pairing no urgent items are left")
    func budgetWithoutPairing() {
        setBudget(3)
        activate()
        #expect(session.remainingComplicationUserInfoTransfers == 3)
        unpair()
        #expect(session.remainingComplicationUserInfoTransfers == 0)
    }

    @Test("SES-62: a daemon that is lost before it has answered completes the activation when it is back, once")
    func lostBeforeAnswers() throws {
        fixture.daemon.stored = nil
        activate()
        fixture.daemon.cut()
        fixture.daemon.stored = ScriptedDaemon.Stored()
        advance(by: .seconds(1))
        #expect(calls.filter { $0.hasPrefix("activated") }.count == 1 && session.activationState == .activated)
    }

    // MARK: the daemon restarts

    @Test("SES-64: a lost daemon changes nothing of what is stored: the pairing, the counterpart's app, the contexts")
    func lostDaemon() throws {
        try store()
        activate()
        let before = calls
        fixture.daemon.isRunning = false
        fixture.daemon.cut()
        settle()
        #expect(session.activationState == .notActivated && !session.isReachable)
        #expect(session.isPaired && session.isWatchAppInstalled)
        #expect(session.receivedApplicationContext["n"] as? Int == 2 && session.applicationContext["n"] as? Int == 1)
        #expect(fixture.session.pairedDevice?.reachability.reason == .noDaemon)
        fixture.daemon.isRunning = true
        advance(by: .seconds(31))
        #expect(session.activationState == .activated)
        #expect(!calls.dropFirst(before.count).contains { $0.hasPrefix("watch") })
        fixture.session.end {}
        settle()
        #expect(!session.isPaired)
    }

    /// Of a message and of a context.
    private func sendingErrors() -> [SessionError?] {
        let errors = Collector<SessionError?>()
        session.sendMessage(["n": 1], replyHandler: nil) { errors.add(($0 as? WCError)?.underlyingError) }
        settle()
        do { try session.updateApplicationContext(["n": 1]) } catch {
            errors.add((error as? WCError)?.underlyingError)
        }
        return errors.all
    }

    @Test(
        "SES-37: until the activation after a lost daemon has ended every call says no-daemon, also once that is back")
    func callsWhileComingBack() throws {
        activate()
        fixture.daemon.stored = nil
        fixture.daemon.cut()
        advance(by: .seconds(1))
        #expect(fixture.session.activationState == .activated && session.activationState == .notActivated)
        #expect(sendingErrors().map(\.?.name) == ["no-daemon", "no-daemon"])
    }

    @Test("SES-37: without its daemon every call says no-daemon, and after a switch that the app has to activate")
    func callsWithoutDaemon() throws {
        activate()
        fixture.daemon.isRunning = false
        fixture.daemon.cut()
        settle()
        #expect(sendingErrors().map(\.?.name) == ["no-daemon", "no-daemon"])
        fixture.daemon.isRunning = true
        advance(by: .seconds(31))
        fixture.daemon.situation.active = fixture.daemon.pair()
        tellSituation()
        fixture.daemon.isRunning = false
        fixture.daemon.cut()
        settle()
        let errors = sendingErrors()
        #expect(errors.map(\.?.name) == [nil, nil] && errors.first??.reason.contains("activate()") == true)
    }

    // MARK: the budget

    /// The daemon accepts an urgent item.
    private func spendUrgent() throws {
        session.transferCurrentComplicationUserInfo(["n": 1])
        settle()
        let submit = try #require(fixture.daemon.received.last { $0.kind == .submit })
        fixture.daemon.send(
            Envelope(.accepted, app: submit.app, pairing: pairing, id: submit.id, channel: .urgent))
        settle()
    }

    private func setBudget(_ remaining: Int, resets: Duration = .seconds(60)) {
        fixture.daemon.stored?.budget = BudgetAnswer(remaining: remaining, limit: 50, resets: resets)
    }

    @Test("SES-54: the budget of urgent items recovers at the end of the day, without a call of the app")
    func budgetRecovers() throws {
        setBudget(0)
        activate()
        #expect(session.remainingComplicationUserInfoTransfers == 0)
        setBudget(50, resets: .zero)
        advance(by: .seconds(59))
        #expect(session.remainingComplicationUserInfoTransfers == 0)
        advance(by: .seconds(1))
        #expect(session.remainingComplicationUserInfoTransfers == 50)
        let questions = { fixture.daemon.received.filter { $0.command == "budget" }.count }
        let before = questions()
        advance(by: .seconds(3600))
        #expect(questions() == before, "a budget that is whole is not asked for again")
    }

    @Test("SES-54: a late answer about the budget of a former counterpart does not replace that of the new one")
    func lateBudget() throws {
        fixture.daemon.role = .secondary
        let next = fixture.daemon.pair()
        activate()
        let known = fixture.daemon.received.count
        fixture.daemon.stored = nil
        try spendUrgent()
        choose(next)
        let questions = fixture.daemon.received.dropFirst(known).filter { $0.command == "budget" }
        #expect(questions.map(\.pairing) == [pairing, next])
        for (question, remaining) in zip(questions.reversed(), [3, 9]) {
            let budget = BudgetAnswer(remaining: remaining, limit: 50, resets: .seconds(60))
            fixture.daemon.send(try fixture.daemon.answer(to: question, nil, budget.body))
        }
        settle()
        #expect(session.remainingComplicationUserInfoTransfers == 3)
    }

    @Test("SES-54: a spent item is seen, and a question without an answer is asked again")
    func budgetIsSpent() throws {
        setBudget(50, resets: .zero)
        activate()
        setBudget(49, resets: .seconds(86_400))
        try spendUrgent()
        #expect(session.remainingComplicationUserInfoTransfers == 49)
        let stored = fixture.daemon.stored
        fixture.daemon.stored = nil
        advance(by: .seconds(86_400))
        fixture.daemon.stored = stored
        setBudget(50, resets: .zero)
        advance(by: .seconds(120))
        #expect(session.remainingComplicationUserInfoTransfers == 50)
    }

    // MARK: without a delegate

    @Test("SES-63: without a delegate items and ends of transfers wait for one, in order, and none is refused")
    func noDelegate() throws {
        activate()
        session.transferUserInfo(["n": 9])
        settle()
        let submit = try #require(fixture.daemon.received.last { $0.kind == .submit })
        session.delegate = nil
        try deliver(1)
        try deliver(2, on: .context)
        for kind in [FrameKind.accepted, .finished] {
            fixture.daemon.send(
                Envelope(
                    kind, app: submit.app, pairing: pairing, id: submit.id, channel: .userInfo,
                    name: kind == .finished ? "handled" : nil))
        }
        settle()
        #expect(verdicts.isEmpty && session.hasContentPending)
        let before = calls.count
        session.delegate = delegate
        settle()
        #expect(calls.dropFirst(before) == ["userInfo 1", "context 2", "finished 9"])
        #expect(verdicts == ["handled", "handled"] && !session.hasContentPending)
        try deliver(3)
        #expect(calls.last == "userInfo 3")
    }

    @Test("SES-63: what waited for a delegate that leaves with the first of it waits for the next one")
    func delegateThatLeaves() throws {
        activate()
        session.delegate = nil
        for number in [1, 2, 3] as [Int64] { try deliver(number) }
        let leaving = LeavingDelegate()
        session.delegate = leaving
        settle()
        #expect(leaving.numbers.all == [1] && verdicts == ["handled"] && session.hasContentPending)
        session.delegate = delegate
        settle()
        #expect(calls.suffix(2) == ["userInfo 2", "userInfo 3"] && verdicts.count == 3)
    }

    @Test("SES-63: an item that waits for a delegate over a lost daemon is handled once, and its verdict is sent then")
    func noDelegateOverLostDaemon() throws {
        activate()
        session.delegate = nil
        let id = UniqueIdentifier.random()
        try deliver(1, id: id)
        fixture.daemon.cut()
        advance(by: .seconds(1))
        try deliver(1, id: id, attempt: 2)
        #expect(verdicts.isEmpty)
        session.delegate = delegate
        settle()
        #expect(calls.filter { $0 == "userInfo 1" }.count == 1 && verdicts == ["handled"])
    }
}
