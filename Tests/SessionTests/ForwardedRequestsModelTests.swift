// The ledger against the plainest program that keeps the same rules (SES-9 to SES-11, LIM-7): a list that is searched.

import TandemBase
import TandemSession
import TandemTestSupport
import Testing

/// The rules without the speed.
private struct PlainLedger {
    struct Entry {
        var request: OpenRequest
        /// A message without reply: when it was written.
        var writing: Int?
    }

    let capacity: Int
    let unansweredCapacity: Int
    var entries: [Entry] = []
    var writings = 0

    var requests: [OpenRequest] { entries.map(\.request) }

    mutating func open(_ request: OpenRequest) -> ForwardedRequests.Opening {
        let isOpen = requests.contains {
            $0.id == request.id && ($0.origin == request.origin || $0.destination == request.destination)
        }
        if isOpen { return .duplicate }
        let waiting = requests.filter { $0.wantsReply && $0.origin == request.origin && $0.app == request.app }
        if request.wantsReply, waiting.count >= capacity { return .tooMany }
        entries.append(Entry(request: request))
        if request.endOffset != OpenRequest.unwritten { write(request) }
        return .opened
    }

    mutating func wrote(_ id: UniqueIdentifier, to party: RequestParty, endOffset: UInt64) {
        let index = entries.firstIndex { $0.request.id == id && $0.request.destination == party }
        guard let index else { return }
        let before = entries[index].request
        entries[index].request = OpenRequest(
            id: id, app: before.app, pairing: before.pairing, origin: before.origin, destination: party,
            wantsReply: before.wantsReply, deadline: before.deadline, endOffset: endOffset)
        if before.endOffset == OpenRequest.unwritten { write(entries[index].request) }
    }

    private mutating func write(_ request: OpenRequest) {
        guard !request.wantsReply else { return }
        let written = entries.indices.filter { entries[$0].writing != nil }
        if written.count >= unansweredCapacity {
            entries.removeAll { [oldest = written.compactMap { entries[$0].writing }.min()] in $0.writing == oldest }
        }
        writings += 1
        entries.indices.filter { entries[$0].request == request }.forEach { entries[$0].writing = writings }
    }

    mutating func answered(_ id: UniqueIdentifier, by party: RequestParty, isReply: Bool) -> OpenRequest? {
        let index = requests.firstIndex { $0.id == id && $0.destination == party && ($0.wantsReply || !isReply) }
        return index.map { entries.remove(at: $0).request }
    }

    mutating func expire(now: MonotonicTime) -> Int {
        let count = entries.count
        entries.removeAll { $0.request.deadline <= now }
        return count - entries.count
    }

    mutating func left(_ party: RequestParty) -> [OpenRequest] {
        let owed = requests.filter { $0.destination == party && $0.origin != party }
        entries.removeAll { $0.request.origin == party || $0.request.destination == party }
        return owed
    }
}

struct ForwardedRequestsModelTests {
    @Test("SES-9 to SES-11, LIM-7: in any order of events the ledger does what a searched list does", arguments: 0..<8)
    func anyOrder(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let hashSeed = HashSeed(using: &generator)
        var ledger = ForwardedRequests(capacity: 20, unansweredCapacity: 15, seed: hashSeed)
        var model = PlainLedger(capacity: 20, unansweredCapacity: 15)
        let ids = (0..<60).map { _ in UniqueIdentifier.random(using: &generator) }
        var now = MonotonicTime(nanoseconds: .random(in: 0...(1 << 40), using: &generator))
        var parties = (0..<5).map { _ in ledger.enter() }
        for _ in 0..<4000 {
            let (id, party) = (
                ids[Int.random(in: 0..<60, using: &generator)], parties[Int.random(in: 0..<5, using: &generator)]
            )
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<55:
                let request = OpenRequest(
                    id: id, app: ApplicationNumber(.random(in: 0..<3, using: &generator)), pairing: ids[0],
                    origin: party, destination: parties[Int.random(in: 0..<5, using: &generator)],
                    wantsReply: .random(using: &generator),
                    deadline: now.adding(milliseconds: .random(in: 0...100_000, using: &generator)),
                    endOffset: .random(using: &generator) ? 0 : OpenRequest.unwritten)
                #expect(ledger.open(request) == model.open(request))
            case 55..<70:
                ledger.wrote(id, to: party, endOffset: 1)
                model.wrote(id, to: party, endOffset: 1)
            case 70..<90:
                let isReply = Bool.random(using: &generator)
                #expect(
                    ledger.answered(id, by: party, isReply: isReply) == model.answered(id, by: party, isReply: isReply))
            case 90..<98:
                now = now.adding(milliseconds: .random(in: 0...30_000, using: &generator))
                #expect(ledger.expire(now: now) == model.expire(now: now))
            default:
                #expect(ledger.left(party) == model.left(party))
                parties.removeAll { $0 == party }
                parties.append(ledger.enter())
            }
            #expect(ledger.count == model.requests.count)
            #expect(ledger.waitingCount == model.requests.filter(\.wantsReply).count)
        }
    }

    @Test("SES-9: a deadline that is hours off, and one that is past when it comes, are both met")
    func unusualDeadlines() {
        var generator = SeededGenerator(seed: 9)
        let hashSeed = HashSeed(using: &generator)
        var ledger = ForwardedRequests(capacity: 8, seed: hashSeed)
        let (asker, answerer) = (ledger.enter(), ledger.enter())
        let start = MonotonicTime(nanoseconds: 1 << 50)
        #expect(ledger.expire(now: start) == 0)
        for deadline in [start + .seconds(7200), MonotonicTime(nanoseconds: 0)] {
            let request = OpenRequest(
                id: .random(using: &generator), app: ApplicationNumber(0), pairing: .random(using: &generator),
                origin: asker, destination: answerer, wantsReply: true, deadline: deadline)
            #expect(ledger.open(request) == .opened)
        }
        #expect(ledger.expire(now: start) == 1)
        for minute in 1..<120 { #expect(ledger.expire(now: start + .seconds(60 * minute)) == 0) }
        #expect(ledger.expire(now: start + .seconds(7200)) == 1)
        #expect(ledger.count == 0)
    }
}
