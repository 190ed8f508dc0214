// Who may answer a request, and what its loss means (SES-9 to SES-11, LIM-7).

import TandemIdentity
import TandemSession
import Testing

struct RequestLedgerTests {
    private let asker = ConnectionNumber(1)
    private let answerer = ConnectionNumber(2)
    private let stranger = ConnectionNumber(3)
    private let now = MonotonicTime(nanoseconds: 0)

    private func request(
        _ id: UniqueIdentifier = .random(), from origin: ConnectionNumber? = nil, to end: ConnectionNumber? = nil,
        reply: Bool = true, seconds: Int = 30
    ) throws -> OpenRequest {
        OpenRequest(
            id: id, app: try ApplicationIdentifier("com.example.app"), pairing: .random(), origin: origin ?? asker,
            destination: end ?? answerer, wantsReply: reply, deadline: now + .seconds(seconds))
    }

    @Test("SES-10: only the connection that the request was delivered to may answer")
    func onlyReceiverAnswers() throws {
        var ledger = RequestLedger(capacity: 8)
        let request = try request()
        #expect(ledger.open(request) == .opened)
        #expect(ledger.answered(request.id, by: stranger, isReply: true) == nil)
        #expect(ledger.answered(request.id, by: asker, isReply: true) == nil)
        #expect(ledger.strayAnswers == 2)
        #expect(ledger.answered(request.id, by: answerer, isReply: true) == request)
    }

    @Test("SES-9: a second reply is dropped and counted")
    func secondReply() throws {
        var ledger = RequestLedger(capacity: 8)
        let request = try request()
        _ = ledger.open(request)
        _ = ledger.answered(request.id, by: answerer, isReply: true)
        #expect(ledger.answered(request.id, by: answerer, isReply: true) == nil)
        #expect(ledger.strayAnswers == 1)
        #expect(ledger.count == 0)
    }

    @Test("SES-10: an identifier that is open already is duplicate-id; after its answer it is free")
    func duplicate() throws {
        var ledger = RequestLedger(capacity: 8)
        let request = try request()
        _ = ledger.open(request)
        #expect(ledger.open(request) == .duplicate)
        #expect(ledger.open(try self.request(request.id, from: stranger)) == .duplicate)
        #expect(ledger.open(try self.request(request.id, to: stranger)) == .duplicate)
        _ = ledger.answered(request.id, by: answerer, isReply: false)
        #expect(ledger.open(request) == .opened)
    }

    @Test("LIM-7: the limit holds for each origin by itself", arguments: [1, 7, 1024])
    func capacity(limit: Int) throws {
        var ledger = RequestLedger(capacity: limit)
        for _ in 0..<limit { #expect(ledger.open(try request()) == .opened) }
        #expect(ledger.open(try request()) == .tooMany)
        #expect(ledger.open(try request(from: stranger)) == .opened)
        #expect(ledger.open(try request(reply: false)) == .opened)
    }

    @Test("SES-8: a message without reply gets a failure at most, and holds no place of LIM-7")
    func withoutReply() throws {
        var ledger = RequestLedger(capacity: 1, unansweredCapacity: 4)
        let message = try request(reply: false)
        #expect(ledger.open(message) == .opened)
        #expect(ledger.answered(message.id, by: answerer, isReply: true) == nil)
        #expect(ledger.answered(message.id, by: answerer, isReply: false) == message)
        for _ in 0..<1000 { #expect(ledger.open(try request(reply: false)) == .opened) }
        #expect(ledger.count <= 4)
    }

    @Test("SES-11: a counterpart that leaves owes exactly what was delivered to it")
    func counterpartLeaves() throws {
        var ledger = RequestLedger(capacity: 8)
        let (owed, other) = (try request(), try request(to: stranger))
        _ = ledger.open(owed)
        _ = ledger.open(other)
        #expect(ledger.closed(answerer) == [owed])
        #expect(ledger.count == 1)
    }

    @Test("SES-9: when the caller leaves, its requests are forgotten and late answers dropped")
    func callerLeaves() throws {
        var ledger = RequestLedger(capacity: 1)
        let request = try request()
        _ = ledger.open(request)
        #expect(ledger.closed(asker) == [])
        #expect(ledger.answered(request.id, by: answerer, isReply: true) == nil)
        #expect(ledger.open(try self.request()) == .opened)
    }

    @Test("SES-9: a request is forgotten at its deadline, which frees its place")
    func deadline() throws {
        var ledger = RequestLedger(capacity: 1)
        _ = ledger.open(try request(seconds: 5))
        #expect(ledger.expire(now: now + .milliseconds(4999)) == 0)
        #expect(ledger.expire(now: now + .seconds(5)) == 1)
        #expect(ledger.open(try request()) == .opened)
    }

    @Test("An app that talks to itself over one connection is owed nothing when that connection ends")
    func toItself() throws {
        var ledger = RequestLedger(capacity: 8)
        _ = ledger.open(try request(to: asker))
        #expect(ledger.closed(asker) == [])
        #expect(ledger.count == 0)
    }
}
