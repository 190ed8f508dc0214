// Exactly one completion for each request (SES-9), whatever order things happen in.

import TandemBase
import TandemSession
import TandemTestSupport
import Testing

struct PendingRequestsTests {
    private let now = MonotonicTime(nanoseconds: 0)
    private let pairing = UniqueIdentifier.random()

    @Test("SES-9: an answer completes once; a later one finds nothing")
    func once() {
        var table = PendingRequests<Int>(capacity: 4)
        let id = UniqueIdentifier.random()
        #expect(table.open(id, to: pairing, deadline: now + .seconds(1), token: 7) == true)
        #expect(table.answered(id, from: pairing) == 7)
        #expect(table.answered(id, from: pairing) == nil)
    }

    @Test("SES-9: an answer from another pairing completes nothing")
    func otherPairing() {
        var table = PendingRequests<Int>(capacity: 4)
        let id = UniqueIdentifier.random()
        _ = table.open(id, to: pairing, deadline: now + .seconds(1), token: 7)
        #expect(table.answered(id, from: .random()) == nil)
        #expect(table.count == 1)
    }

    @Test("SES-9: the deadline completes at its moment and not before")
    func deadline() {
        var table = PendingRequests<Int>(capacity: 4)
        _ = table.open(.random(), to: pairing, deadline: now + .seconds(2), token: 2)
        _ = table.open(.random(), to: pairing, deadline: now + .seconds(1), token: 1)
        #expect(table.nextDeadline == now + .seconds(1))
        #expect(table.expired(now: now + .milliseconds(999)) == [])
        #expect(table.expired(now: now + .seconds(1)) == [1])
        #expect(table.nextDeadline == now + .seconds(2))
    }

    @Test("SES-31: a switch ends what the default session asked, and nothing of a bound one")
    func switched() {
        var table = PendingRequests<Int>(capacity: 4)
        _ = table.open(.random(), to: pairing, deadline: now + .seconds(1), token: 1)
        _ = table.open(.random(), to: pairing, deadline: now + .seconds(1), followsActive: false, token: 2)
        _ = table.open(.random(), to: .random(), deadline: now + .seconds(1), token: 3)
        #expect(table.left(pairing: pairing) == [1])
        #expect(table.closed(pairing: pairing) == [2] && table.closedAll() == [3])
    }

    @Test("LIM-7: a full table and an open identifier leave the token with the caller")
    func refused() {
        var table = PendingRequests<Int>(capacity: 1)
        let id = UniqueIdentifier.random()
        #expect(table.open(id, to: pairing, deadline: now + .seconds(1), token: 1) == true)
        #expect(table.open(id, to: pairing, deadline: now + .seconds(1), token: 2) == false)
        #expect(table.open(.random(), to: pairing, deadline: now + .seconds(1), token: 3) == false)
        #expect(table.closedAll() == [1])
    }

    @Test("in 10,000 random schedules each of the tokens leaves exactly once", arguments: [1, 2, 3] as [UInt64])
    func randomSchedules(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var table = PendingRequests<Int>(capacity: .max)
        var (time, completions, ids) = (now, [Int: Int](), [UniqueIdentifier]())
        let pairings = (0..<3).map { _ in UniqueIdentifier.random(using: &random) }
        func count(_ tokens: [Int]) { for token in tokens { completions[token, default: 0] += 1 } }
        for token in 0..<10_000 {
            let (id, wait) = (UniqueIdentifier.random(using: &random), Int(random.next() % 50) + 1)
            let pairing = pairings[Int(random.next() % 3)]
            #expect(table.open(id, to: pairing, deadline: time + .milliseconds(wait), token: token) == true)
            ids.append(id)
            time = time + .milliseconds(Int(random.next() % 4))
            switch random.next() % 6 {
            case 0, 1, 2: count(pairings.compactMap { table.answered(ids[ids.count - 1], from: $0) })
            case 3: count(table.expired(now: time))
            case 4: count([table.abandoned(ids[Int(random.next() % UInt64(ids.count))])].compactMap(\.self))
            default: if random.next() % 100 == 0 { count(table.closed(pairing: pairing)) }
            }
        }
        count(table.closedAll())
        #expect(completions.count == 10_000)
        #expect(completions.values.allSatisfy { $0 == 1 })
    }
}
