// Withdrawals of durable items (SES-54, SES-84): the answer that their caller gets, and their repetition until the
// daemon has answered.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct WithdrawalTests {
    private let fixture: SendingApp
    private var pairing: UniqueIdentifier { fixture.pairing }

    init() throws { fixture = try SendingApp() }

    private typealias Answers = Collector<Result<TransferCancellation, SessionError>>

    private func takeBack(_ id: UniqueIdentifier, on channel: Channel = .userInfo) -> Answers {
        let (answers, pairing) = (Answers(), pairing)
        fixture.core.run { core in core.takeBack(id, on: channel, in: pairing) { answers.add($0) } }
        fixture.scheduler.run()
        return answers
    }

    private func answer(_ name: String, _ body: PropertyListDictionary = [:], code: Int = 0) throws {
        try fixture.daemon.answerCancel(name, body, code: code)
        fixture.scheduler.run()
    }

    private var questions: [String?] {
        fixture.daemon.received.filter { $0.kind == .query && $0.command != "outstanding" }.map(\.command)
    }

    @Test(
        "SES-54: taking an item back waits for the daemon, and returns the answer",
        arguments: [
            ("cancelled", [:], .cancelled), ("asked", [:], .unknown), ("unknown", [:], .unknown),
            ("too-late", ["outcome": "handled"], .tooLate(.handled)), ("from the future", [:], .unknown),
            ("too-late", ["outcome": "cancelled"], .cancelled),
            ("too-late", ["outcome": "expired"], .tooLate(.expired)),
        ] as [(String, PropertyListDictionary, TransferCancellation)])
    func answersOfTakingBack(name: String, body: PropertyListDictionary, expected: TransferCancellation) throws {
        let answers = takeBack(try fixture.accepted().id)
        #expect(answers.all.isEmpty)
        try answer(name, body)
        #expect(try answers.all.map { try $0.get() } == [expected])
        fixture.reconnect()
        #expect(questions.filter { $0 == "cancel" }.count == 1)
    }

    @Test("SES-84: on a new connection a withdrawal without an answer comes before all else of its item")
    func repeatedFirst() throws {
        let transfer = try fixture.accepted()
        let answers = takeBack(transfer.id)
        fixture.cut()
        #expect(try answers.all.map { try $0.get() } == [.unknown])
        let before = questions.count
        fixture.reconnect()
        #expect(questions.dropFirst(before) == ["cancel", "subscribe"])
        try answer("cancelled")
        fixture.say(.finished, transfer.id, "cancelled")
        #expect(transfer.state == .finished(.cancelled))
        fixture.reconnect()
        #expect(questions.count == before + 2 && answers.all.count == 1)
    }

    @Test("SES-84: a daemon that does not answer in 30 s, or cannot, is asked again, and the caller waits no longer")
    func repeatedLater() throws {
        fixture.daemon.answerPings()
        let transfer = try fixture.accepted()
        let answers = takeBack(transfer.id)
        fixture.scheduler.advance(by: .seconds(29))
        #expect(answers.all.isEmpty)
        fixture.scheduler.advance(by: .seconds(2))
        #expect(try answers.all.map { try $0.get() } == [.unknown] && questions == ["cancel", "cancel"])
        try answer("store", code: 7001)
        fixture.scheduler.advance(by: .seconds(1))
        #expect(questions == ["cancel", "cancel", "cancel"])
        try answer("asked")
        fixture.scheduler.advance(by: .seconds(60))
        #expect(questions.count == 3 && answers.all.count == 1)
    }

    @Test("SES-84: a refusal that asking again does not change ends the withdrawal")
    func refusedForGood() throws {
        fixture.daemon.answerPings()
        let transfer = try fixture.accepted()
        let answers = takeBack(transfer.id)
        try answer("channel", code: 7008)
        fixture.scheduler.advance(by: .seconds(60))
        #expect(questions == ["cancel"])
        #expect(throws: SessionError.self) { try answers.all.map { try $0.get() } }
    }

    @Test(
        "SES-84: an item whose acceptance was lost is accepted by the answer that it is too late, and its end is asked for"
    )
    func acceptedByAnswer() throws {
        let (id, results) = fixture.submit()
        fixture.cut()
        #expect(try takeBack(id).all.map { try $0.get() } == [.unknown])
        fixture.scheduler.advance(by: .seconds(1))
        #expect(results.all.isEmpty && questions == ["cancel"])
        try answer("too-late", ["outcome": "handled"])
        #expect(questions == ["cancel", "subscribe"])
        let transfer = try #require(try results.all.first?.get())
        fixture.say(.finished, id, "handled")
        #expect(transfer.state == .finished(.handled) && results.all.count == 1)
    }

    @Test("SES-84: the submission of what the daemon does not have ends as cancelled, and so does the caller's wait")
    func neverAccepted() throws {
        let (id, results) = fixture.submit()
        fixture.reconnect()
        let answers = takeBack(id)
        #expect(results.all.isEmpty)
        try answer("unknown")
        #expect(results.all.map(\.error?.name) == ["cancelled"])
        #expect(try answers.all.map { try $0.get() } == [.cancelled])
    }

    @Test("SES-84: a withdrawal ends with its pairing and with its session, and cannot begin without them")
    func endsOfWithdrawals() throws {
        let (unaccepted, results) = fixture.submit()
        let refused = takeBack(unaccepted)
        try answer("not-paired", code: 7005)
        #expect(refused.all.map(\.error?.code) == [.deviceNotPaired])
        #expect(results.all.map(\.error?.code) == [.deviceNotPaired])
        let transfer = try fixture.accepted()
        let answers = takeBack(transfer.id)
        fixture.daemon.situation.pairings = []
        fixture.daemon.situation.active = nil
        fixture.tellSituation()
        #expect(answers.all.map(\.error?.code) == [.deviceNotPaired])
        #expect(takeBack(transfer.id).all.map(\.error?.code) == [.deviceNotPaired])
        fixture.core.run { core in core.end() }
        fixture.scheduler.run()
        #expect(takeBack(transfer.id).all.map(\.error?.name) == ["ended"])
        #expect(questions == ["cancel", "cancel"])
    }

    /// Takes back so many items of former processes, in one turn.
    private func takeBack(_ ids: [UniqueIdentifier]) -> Answers {
        let (answers, pairing) = (Answers(), pairing)
        fixture.core.run { core in
            for id in ids { core.takeBack(id, on: .userInfo, in: pairing) { answers.add($0) } }
        }
        fixture.scheduler.run()
        return answers
    }

    private var withdrawals: [Envelope] { fixture.daemon.received.filter { $0.command == "cancel" } }

    @Test(
        "SES-84, LIM-132, LIM-7: 1,200 withdrawals leave room for other questions, and follow as answers come"
    )
    func manyAtOnce() throws {
        let ids = (0..<1_200).map { _ in UniqueIdentifier.random() }
        let answers = takeBack(ids)
        #expect(withdrawals.count == 256)
        let others = Collector<Result<AnswerFrame, SessionError>>()
        let pairing = pairing
        fixture.core.run { core in core.ask(.budget, pairing: pairing, channel: .urgent) { others.add($0) } }
        fixture.scheduler.run()
        #expect(others.all.map { $0.error?.name } == [nil])
        var count = 0
        while count < withdrawals.count {
            let question = withdrawals[count]
            fixture.daemon.send(try fixture.daemon.answer(to: question, "unknown"))
            fixture.scheduler.run()
            count += 1
        }
        let asked = try withdrawals.map { try $0.dictionaryBody()["item"]?.dataValue }
        #expect(asked == ids.map(\.bytes))
        #expect(try answers.all.map { try $0.get() } == Array(repeating: .unknown, count: 1_200))
    }

    @Test("SES-84, LIM-8: callers whose withdrawals wait get 'not known yet' after 30 s, and at once without a daemon")
    func callersOfMany() throws {
        fixture.daemon.answerPings()
        let answers = takeBack((0..<300).map { _ in .random() })
        fixture.scheduler.advance(by: .seconds(29))
        #expect(answers.all.isEmpty)
        fixture.scheduler.advance(by: .seconds(1))
        #expect(try answers.all.map { try $0.get() } == Array(repeating: .unknown, count: 300))
        let others = takeBack((0..<300).map { _ in .random() })
        #expect(others.all.isEmpty)
        fixture.cut()
        #expect(try others.all.map { try $0.get() } == Array(repeating: .unknown, count: 300))
    }

    @Test("SES-84: on a new connection an item whose withdrawal waits for others is followed behind it")
    func followedBehind() throws {
        let transfers = try (0..<300).map { _ in try fixture.accepted() }
        let answers = takeBack(transfers.map(\.id))
        fixture.cut()
        #expect(answers.all.count == 300)
        let before = fixture.daemon.received.count
        fixture.scheduler.advance(by: .seconds(1))
        var count = 300 - 44
        while count < withdrawals.count {
            fixture.daemon.send(try fixture.daemon.answer(to: withdrawals[count], "cancelled"))
            fixture.scheduler.run()
            count += 1
        }
        var taken: Set<[UInt8]> = []
        var followed: Set<[UInt8]> = []
        for frame in fixture.daemon.received.dropFirst(before) {
            let body = try? frame.dictionaryBody()
            if frame.command == "cancel", let item = body?["item"]?.dataValue { taken.insert(item) }
            guard frame.command == "subscribe" else { continue }
            let items = body?["items"]?.arrayValue?.compactMap(\.dataValue) ?? []
            #expect(taken.isSuperset(of: items))
            followed.formUnion(items)
            fixture.daemon.send(try fixture.daemon.answer(to: frame, nil))
        }
        #expect(followed == Set(transfers.map(\.id.bytes)))
    }

    @Test("SES-84: a file that is not read yet is taken back without the daemon; one that was refused says why")
    func unsubmittedFiles() async throws {
        let directory = TemporaryDirectory()
        directory.write([1, 2, 3], to: "photo.jpg")
        let file = fixture.session.beginFileTransfer(directory.path("photo.jpg"))
        #expect(try takeBack(file.id, on: .file).all.map { try $0.get() } == [.cancelled])
        let missing = fixture.session.beginFileTransfer(directory.path("missing.jpg"))
        fixture.scheduler.run()
        fixture.core.run { $0.waitForFiles() }
        fixture.scheduler.run()
        var results: [SessionError.Code?] = []
        for file in [file, missing] {
            let answers = Answers()
            Task {
                do throws(SessionError) { answers.add(.success(try await file.cancel())) } catch {
                    answers.add(.failure(error))
                }
            }
            while answers.all.isEmpty {
                fixture.scheduler.run()
                await Task.yield()
            }
            results += answers.all.map(\.error?.code)
        }
        #expect(results == [nil, .fileAccessDenied] && questions.isEmpty)
    }

    @Test("SES-84: a file is taken back from its own device, also while the daemon of another one answers")
    func fileOfAnotherDevice() async throws {
        let directory = TemporaryDirectory()
        directory.write([1, 2, 3], to: "photo.jpg")
        let file = fixture.session.beginFileTransfer(directory.path("photo.jpg"))
        fixture.scheduler.run()
        fixture.core.run { $0.waitForFiles() }
        fixture.scheduler.run()
        let (own, situation) = (fixture.daemon.device, fixture.daemon.situation)
        fixture.daemon.device = .random()
        (fixture.daemon.situation.pairings, fixture.daemon.situation.active) = ([], nil)
        fixture.daemon.pair()
        fixture.reconnect()
        let answers = Answers()
        fixture.core.run { core in core.takeBack(file.id, on: .file) { answers.add($0) } }
        fixture.scheduler.run()
        #expect(answers.all.isEmpty && withdrawals.map(\.pairing) == [pairing])
        (fixture.daemon.device, fixture.daemon.situation) = (own, situation)
        fixture.reconnect()
        #expect(withdrawals.map(\.pairing) == [pairing, pairing])
        try answer("unknown")
        #expect(file.refusal?.name == "cancelled")
    }
}
