// The one connection that may answer a request, and the meaning of its loss (SES-9 to SES-11, LIM-7).

import TandemBase
import TandemSession
import TandemTestSupport
import Testing

final class ForwardedRequestsTests {
    private var ledger = ForwardedRequestsTests.ledger(capacity: 8)
    private let asker = RequestParty(0)
    private let answerer = RequestParty(1)
    private let stranger = RequestParty(2)
    private let now = MonotonicTime(nanoseconds: 0)

    /// A ledger that the three have entered.
    private static func ledger(capacity: Int, unansweredCapacity: Int = 1024) -> ForwardedRequests {
        var generator = SeededGenerator(seed: 1)
        let seed = HashSeed(using: &generator)
        var ledger = ForwardedRequests(capacity: capacity, unansweredCapacity: unansweredCapacity, seed: seed)
        for number in 0..<3 { #expect(ledger.enter() == RequestParty(number)) }
        return ledger
    }

    private func request(
        _ id: UniqueIdentifier = .random(), from origin: RequestParty? = nil, to end: RequestParty? = nil, app: Int = 0,
        reply: Bool = true, seconds: Int = 30, isWritten: Bool = true
    ) -> OpenRequest {
        OpenRequest(
            id: id, app: ApplicationNumber(app), pairing: .random(), origin: origin ?? asker,
            destination: end ?? answerer, wantsReply: reply, deadline: now + .seconds(seconds),
            endOffset: isWritten ? 0 : OpenRequest.unwritten)
    }

    @Test("SES-10: only the connection that the request was delivered to may answer")
    func onlyReceiverAnswers() {
        let request = request()
        #expect(ledger.open(request) == .opened)
        #expect(ledger.answered(request.id, by: stranger, isReply: true) == nil)
        #expect(ledger.answered(request.id, by: asker, isReply: true) == nil)
        #expect(ledger.answered(request.id, by: answerer, isReply: true) == request)
    }

    @Test("SES-9: a second reply is dropped and counted")
    func secondReply() {
        let request = request()
        _ = ledger.open(request)
        _ = ledger.answered(request.id, by: answerer, isReply: true)
        #expect(ledger.answered(request.id, by: answerer, isReply: true) == nil)
        #expect(ledger.count == 0)
    }

    @Test("SES-10: an identifier that is open already is duplicate-id; after its answer it is free")
    func duplicate() {
        let request = request()
        _ = ledger.open(request)
        #expect(ledger.open(request) == .duplicate)
        #expect(ledger.open(self.request(request.id, from: stranger)) == .duplicate)
        #expect(ledger.open(self.request(request.id, to: stranger)) == .duplicate)
        _ = ledger.answered(request.id, by: answerer, isReply: false)
        #expect(ledger.open(request) == .opened)
    }

    @Test(
        "SES-10: the identifier of a message without reply stays taken until it is forgotten", arguments: [true, false])
    func duplicateOfAMessage(reply: Bool) {
        let message = request(reply: false, seconds: 30)
        _ = ledger.open(message)
        #expect(ledger.open(request(message.id, reply: reply)) == .duplicate)
        #expect(ledger.expire(now: now + .seconds(32)) == 1)
        #expect(ledger.open(request(message.id, reply: reply)) == .opened)
    }

    @Test("LIM-7: the limit holds for each origin by itself", arguments: [1, 7, 1024])
    func capacity(limit: Int) {
        var ledger = Self.ledger(capacity: limit)
        for _ in 0..<limit { #expect(ledger.open(request()) == .opened) }
        #expect(ledger.open(request()) == .tooMany)
        #expect(ledger.open(request(from: stranger)) == .opened)
        #expect(ledger.open(request(reply: false)) == .opened)
    }

    @Test("LIM-7: the connections of one user's app share the limit; another user, app or link has its own")
    func sharedByConnections() {
        var ledger = Self.ledger(capacity: 4)
        let connections = (0..<3).map { _ in ledger.enter(of: 1000) }
        func open(_ origin: RequestParty, app: Int = 0) -> ForwardedRequests.Opening {
            ledger.open(request(from: origin, app: app))
        }
        for connection in connections { #expect(open(connection) == .opened) }
        #expect(open(connections[0]) == .opened)
        #expect(connections.map { open($0) } == [.tooMany, .tooMany, .tooMany])
        #expect(open(connections[0], app: 1) == .opened && open(connections[1], app: 1) == .opened)
        #expect(open(ledger.enter(of: 1001)) == .opened && open(asker) == .opened)
        _ = ledger.left(connections[1])
        #expect(open(connections[2]) == .opened && open(connections[2]) == .tooMany, "one place is free again")
        #expect(open(ledger.enter(of: 1000)) == .tooMany, "a new connection is no new app")
    }

    @Test("SES-8: a message without reply gets a failure at most, and holds no place of LIM-7")
    func withoutReply() {
        var ledger = Self.ledger(capacity: 1, unansweredCapacity: 4)
        let message = request(reply: false)
        #expect(ledger.open(message) == .opened)
        #expect(ledger.answered(message.id, by: answerer, isReply: true) == nil)
        #expect(ledger.answered(message.id, by: answerer, isReply: false) == message)
        for _ in 0..<1000 { #expect(ledger.open(request(reply: false)) == .opened) }
        #expect(ledger.count == 4)
    }

    @Test("LIM-78: a message that waits to be written is not forgotten, and takes its place when it is written")
    func unwritten() {
        var ledger = Self.ledger(capacity: 1, unansweredCapacity: 4)
        let waiting = (0..<10).map { _ in request(reply: false, isWritten: false) }
        for message in waiting { #expect(ledger.open(message) == .opened) }
        for _ in 0..<6 { #expect(ledger.open(request(reply: false)) == .opened) }
        #expect(ledger.count == 14 && ledger.waitingCount == 0)
        for (index, message) in waiting[..<6].enumerated() {
            ledger.wrote(message.id, to: answerer, endOffset: UInt64(index))
        }
        #expect(ledger.count == 8)
        #expect(ledger.answered(waiting[9].id, by: answerer, isReply: false) == waiting[9])
        let owed = ledger.left(answerer)
        #expect(owed.map(\.id) == waiting[2..<9].map(\.id), "the oldest that were written are forgotten")
        #expect(owed.map(\.endOffset) == [2, 3, 4, 5] + Array(repeating: OpenRequest.unwritten, count: 3))
        #expect(ledger.count == 0 && ledger.waitingCount == 0)
    }

    @Test("SES-11: a counterpart that leaves owes exactly what was delivered to it")
    func counterpartLeaves() {
        let (owed, other) = (request(), request(to: stranger))
        _ = ledger.open(owed)
        _ = ledger.open(other)
        #expect(ledger.left(answerer) == [owed])
        #expect(ledger.count == 1)
    }

    @Test("SES-9: when the caller leaves, its requests are forgotten and late answers dropped")
    func callerLeaves() {
        var ledger = Self.ledger(capacity: 1)
        let request = request()
        _ = ledger.open(request)
        #expect(ledger.left(asker) == [])
        #expect(ledger.answered(request.id, by: answerer, isReply: true) == nil)
        #expect(ledger.open(self.request()) == .opened)
    }

    @Test("SES-9: a request is forgotten at its deadline, which frees its place")
    func deadline() {
        var ledger = Self.ledger(capacity: 1)
        _ = ledger.open(request(seconds: 5))
        #expect(ledger.expire(now: now + .milliseconds(4999)) == 0)
        #expect(ledger.expire(now: now + .seconds(5)) == 1)
        #expect(ledger.open(request()) == .opened)
    }

    @Test("An app that talks to itself over one connection is owed nothing when that connection ends")
    func toItself() {
        _ = ledger.open(request(to: asker))
        #expect(ledger.left(asker) == [])
        #expect(ledger.count == 0)
    }

    @Test("LIM-53: the connections of one user, or one link, share half of all requests, and another one its part")
    func shares() {
        var generator = SeededGenerator(seed: 1)
        var ledger = ForwardedRequests(capacity: 8, capacityInAll: 120, seed: HashSeed(using: &generator))
        let answerer = ledger.enter()
        func opened(_ origin: RequestParty, _ count: Int, app: Int = 0) -> [OpenRequest] {
            (0..<count).compactMap { _ in
                let request = request(from: origin, to: answerer, app: app)
                return ledger.open(request) == .opened ? request : nil
            }
        }
        let hostile = (0..<100).map { _ in ledger.enter(of: 2000) }
        let requests = hostile.enumerated().flatMap { opened($1, 9, app: $0) }
        #expect(requests.count == 60)
        #expect((0..<100).flatMap { opened(ledger.enter(of: 2001), 1, app: $0) }.count == 20)
        let link = ledger.enter()
        #expect(opened(link, 9).count == 8, "each has as many as one app")
        for request in requests { #expect(ledger.answered(request.id, by: answerer, isReply: true) == request) }
        #expect(opened(ledger.enter(of: 2001), 8, app: 100).count == 8)
        _ = ledger.left(link)
        for party in hostile { _ = ledger.left(party) }
        #expect(opened(ledger.enter(of: 2000), 9).count == 8)
    }
}
