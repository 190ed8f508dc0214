// Durable items on their way out of an app (SES-48 to SES-50, SES-54), beside a scripted daemon on a manual clock.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct TransferTests {
    private let fixture: SendingApp
    private var pairing: UniqueIdentifier { fixture.pairing }

    init() throws { fixture = try SendingApp() }

    private var submitted: [Envelope] { fixture.daemon.received.filter { $0.kind == .submit } }

    @Test("SES-48: an item needs no reachable counterpart, and says what its sender said of it")
    func submits() throws {
        let after = UniqueIdentifier.random()
        let (id, results) = fixture.submit {
            $0.options = TransferOptions(topic: "alarms", supersedeKey: "state", timeToLive: .seconds(60), after: after)
        }
        let envelope = try #require(submitted.first)
        #expect(envelope.id == id && envelope.pairing == pairing && envelope.channel == .userInfo)
        #expect(envelope.topic == "alarms" && envelope.key == "state" && envelope.after == after)
        #expect(envelope.remaining == .seconds(60))
        #expect(try envelope.dictionaryBody() == ["n": 1])
        #expect(results.all.isEmpty)
        fixture.say(.accepted, id)
        #expect(try results.all.first?.get().id == id)
    }

    @Test("SES-48: a time to live beyond what the daemon can be told is the longest one that it can")
    func longTimeToLive() {
        _ = fixture.submit { $0.options.timeToLive = Duration.seconds(Int64.max) * 2 }
        #expect(submitted.map(\.remaining) == [.milliseconds(Int64.max / 1_000_000)])
    }

    @Test("SES-49: what the daemon had not accepted when it was lost is submitted again, in order, as the same item")
    func submitsAgain() throws {
        let (first, firstResults) = fixture.submit(["n": 1])
        let (second, secondResults) = fixture.submit(["n": 2])
        fixture.say(.accepted, first)
        fixture.reconnect()
        #expect(submitted.map(\.id) == [first, second, second])
        #expect(firstResults.all.count == 1 && secondResults.all.isEmpty)
        fixture.say(.accepted, second)
        fixture.say(.accepted, second)
        #expect(secondResults.all.count == 1)
    }

    @Test("SES-50: an end that the daemon tells again, because the word that it was heard was lost, is told here once")
    func endToldAgain() throws {
        let (id, _) = fixture.submit()
        let told = Collector<UniqueIdentifier>()
        fixture.core.run { core in
            core.observeTransfers { event in if case .finished = event.step { told.add(event.id) } }
        }
        fixture.say(.accepted, id)
        fixture.say(.finished, id, "handled")
        fixture.reconnect()
        fixture.say(.finished, id, "handled")
        #expect(told.all == [id])
        #expect(fixture.daemon.received.filter { $0.kind == .finishedAck }.map(\.id) == [id, id])
    }

    @Test(
        "SES-50: the end of an item whose acceptance was lost with the connection accepts and ends it",
        arguments: [true, false])
    func endWithoutAcceptance(isStoredFirst: Bool) throws {
        let (id, results) = fixture.submit()
        fixture.reconnect()
        if isStoredFirst { fixture.say(.progress, id, "stored") }
        fixture.say(.finished, id, "handled")
        #expect(try results.all.first?.get().state == .finished(.handled))
        #expect(results.all.count == 1 && fixture.daemon.received.last?.kind == .finishedAck)
    }

    @Test("SES-50: stored and the end are told once each, and confirmed")
    func ends() throws {
        let transfer = try fixture.accepted()
        #expect(transfer.state == .accepted && transfer.isTransferring)
        fixture.say(.progress, transfer.id, "stored")
        #expect(transfer.state == .stored && !transfer.isTransferring)
        fixture.say(.finished, transfer.id, "handled")
        #expect(transfer.state == .finished(.handled))
        let heard = try #require(fixture.daemon.received.last)
        #expect(heard.kind == .finishedAck && heard.id == transfer.id && heard.channel == .userInfo)
    }

    @Test(
        "DEL-5: each end of an item is an outcome with its error",
        arguments: [
            ("handled", nil, nil), ("cancelled", nil, 7014), ("expired", nil, 7017), ("superseded", nil, 7014),
            ("rejected", 7014, 7014), ("dead", 7015, 7015), ("dead", nil, 7014), ("lost", nil, 7014),
            ("from the future", nil, 7014),
        ] as [(String, Int?, Int?)])
    func outcomes(name: String, code: Int?, error: Int?) throws {
        let transfer = try fixture.accepted()
        fixture.say(.finished, transfer.id, name, code: code)
        guard case .finished(let outcome) = transfer.state
        else { throw Unexpected("the item has not ended") }
        #expect(outcome.error?.code.rawValue == error)
    }

    @Test("SES-26, FIL-13: what the other device gave up for want of room is not to be sent again as it is")
    func tooLargeForTheOtherDisk() throws {
        let transfer = try fixture.accepted()
        fixture.say(.finished, transfer.id, "dead", code: 7015)
        guard case .finished(.failed(let error)) = transfer.state
        else { throw Unexpected("the item has not ended") }
        #expect(error.code == .insufficientSpace && !error.isRetryable)
    }

    @Test("SES-50: the end of a former process's item waits for an observer, is told once and then confirmed")
    func formerItems() throws {
        let id = UniqueIdentifier.random()
        // Each connection tells it, until it is confirmed.
        for _ in 0..<2 { fixture.say(.finished, id, "handled") }
        #expect(!fixture.daemon.received.contains { $0.kind == .finishedAck })
        let updates = Collector<UniqueIdentifier>()
        fixture.session.observeTransfers { updates.add($0.id) }
        fixture.scheduler.run()
        #expect(updates.all == [id])
        #expect(fixture.daemon.received.last?.kind == .finishedAck)
    }

    @Test("SES-49: a refusal is the caller's error, with the facts, the device and the item")
    func refused() throws {
        let (id, results) = fixture.submit()
        let error = SessionError(
            .genericError, name: "queue-full", reason: "full", actual: 10_000, limit: 10_000, isRetryable: true)
        fixture.daemon.send(try error.failure(app: fixture.daemon.app, pairing: pairing, id: id, channel: .userInfo))
        fixture.scheduler.run()
        let told = try #require(results.all.first?.error)
        #expect(told.code == .genericError && told.name == "queue-full" && told.actual == 10_000 && told.isRetryable)
        #expect(told.peer == fixture.daemon.situation.pairings.first?.peer && told.messageID == id)
    }

    @Test(
        "SES-13: what must not be submitted is refused here, with its place",
        arguments: [
            ("tandem.key", 7008), ("size", 7009), ("topic", 7008), ("key", 7008), ("remaining", 7008),
        ])
    func badArguments(what: String, code: Int) {
        let content: PropertyListDictionary =
            switch what {
            case "tandem.key": ["tandem.x": 1]
            case "size": ["data": .data(Array(repeating: 0, count: 65_536))]
            default: ["n": 1]
            }
        let (id, results) = fixture.submit(content) {
            if what == "topic" { $0.options.topic = "" }
            if what == "key" { $0.options.supersedeKey = String(repeating: "x", count: 129) }
            if what == "remaining" { $0.options.timeToLive = .zero }
        }
        #expect(results.all.first?.error?.code.rawValue == code)
        #expect(results.all.first?.error?.messageID == id)
        #expect(submitted.isEmpty)
    }

    @Test(
        "SES-50: what no transfer could follow is not submitted as one", arguments: [Channel.context, .configuration])
    func noTransfer(channel: Channel) {
        let (id, results) = fixture.submit(on: channel)
        #expect(results.all.first?.error?.code == .invalidParameter && results.all.first?.error?.messageID == id)
        #expect(submitted.isEmpty)
    }

    @Test("LIM-2: a context may be four times as large as a user info, and no larger")
    func contextSize() {
        // 60 bytes or so are the property list around the data.
        let fits: PropertyListDictionary = ["d": .data(Array(repeating: 0, count: 262_000))]
        let large: PropertyListDictionary = ["d": .data(Array(repeating: 0, count: 262_144))]
        let (_, first) = fixture.update(fits)
        let (_, second) = fixture.update(large)
        #expect(first.all.isEmpty && submitted.count == 1)
        #expect(second.all.first?.error?.code == .payloadTooLarge && second.all.first?.error?.limit == 262_144)
    }

    @Test("SES-23: what was not accepted fails when the session ends")
    func ended() {
        let (_, results) = fixture.submit()
        fixture.core.run { core in core.end() }
        fixture.scheduler.run()
        #expect(results.all.first?.error?.code == .sessionNotActivated)
    }

    @Test("SES-54: taking back says what came of it, and a lost daemon that nobody knows")
    func cancels() throws {
        let answers = Collector<Result<String?, SessionError>>()
        let (id, pairing) = (UniqueIdentifier.random(), pairing)
        func ask() {
            fixture.core.run { core in
                core.ask(.cancel(id), pairing: pairing, channel: .userInfo) {
                    answers.add($0.map(\.name))
                }
            }
            fixture.scheduler.run()
        }
        ask()
        let question = try #require(fixture.daemon.received.last)
        #expect(question.kind == .query && question.command == "cancel" && question.pairing == pairing)
        fixture.daemon.send(
            Envelope(.answer, app: fixture.daemon.app, id: question.id, code: 0, name: "cancelled", command: "cancel"))
        fixture.scheduler.run()
        #expect(try answers.all.first?.get() == "cancelled")
        ask()
        fixture.cut()
        #expect(answers.all.count == 2 && answers.all.last?.error?.name == "daemon-lost")
    }
}
