// The shares of a queue's room by the sources of its items (LIM-47, CFG-103): what counts, and what a question costs.

import TandemBase
import TandemDelivery
import TandemTestSupport
import TandemWire
import Testing

@Suite struct SourceSharesTests {
    private let one = identifier(0xB1)
    private let other = identifier(0xB2)

    @Test("LIM-47, CFG-103: a source is looked up once for each item, however many wait, and again after a restart")
    func looks() throws {
        let count = 1000
        var queue = try outbound()
        var looks = 0
        let sources: [UniqueIdentifier?] = [one, other, nil]
        for number in 0..<count {
            let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
            let id = try #require(UniqueIdentifier(bytes: bytes + Array(repeating: 0x55, count: 8)))
            let new = OutboundItem(id: id, payload: [1, 2])
            let shares = queue.shares(without: new) { _ in
                looks += 1
                return sources[looks % 3]
            }
            #expect(shares.values.reduce(0) { $0 + $1.records } == number)
            #expect(shares.values.reduce(0) { $0 + $1.bytes } == 2 * number)
            _ = try queue.enqueue(new, at: reading(0))
        }
        #expect(looks == count - 1)
        let start = reading(0)
        var again = OutboundQueue(
            try queueKey(), header: OutboundHeader(epoch: 1, at: start), records: queue.outstanding(), at: start)
        looks = 0
        for _ in 0..<3 {
            let shares = again.shares(without: item(1)) { _ in
                looks += 1
                return one
            }
            #expect(shares.count == 1 && shares[one] == KeptAmount(records: count, bytes: 2 * count))
        }
        #expect(looks == count)
    }

    @Test("LIM-47, CFG-103: an item counts from its acceptance to its end, and not beside one that takes its place")
    func counted() throws {
        var queue = try outbound()
        let sources = [identifier(1): one, identifier(2): other]
        for new in [item(1, supersedes: "slot"), item(2), item(3)] { _ = try queue.enqueue(new, at: reading(0)) }
        let all = queue.shares(without: item(9)) { sources[$0] }
        #expect(all == shares(one, other, nil))
        let superseding = queue.shares(without: item(9, supersedes: "slot")) { sources[$0] }
        #expect(superseding == shares(other, nil))
        let submittedAgain = queue.shares(without: item(2)) { sources[$0] }
        #expect(submittedAgain == shares(one, nil))
        _ = queue.cancel(identifier(1), at: reading(0))
        let withoutFirst = queue.shares(without: item(9)) { sources[$0] }
        #expect(withoutFirst == shares(other, nil))
        _ = queue.linkOpened(received: 0, at: reading(0))
        _ = queue.cancel(identifier(2), at: reading(0))
        let asked = queue.shares(without: item(9)) { sources[$0] }
        #expect(asked == shares(other, nil), "the peer has still to answer")
        _ = queue.ended(1, .withdrawn(.cancelled), at: reading(0))
        let ended = queue.shares(without: item(9)) { sources[$0] }
        #expect(ended == shares(nil))
    }

    /// One item of three bytes of each source.
    private func shares(_ sources: UniqueIdentifier?...) -> [UniqueIdentifier?: KeptAmount] {
        Dictionary(uniqueKeysWithValues: sources.map { ($0, KeptAmount(records: 1, bytes: 3)) })
    }
}
