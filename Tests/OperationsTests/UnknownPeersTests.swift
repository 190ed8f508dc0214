// Seats of unknown peers (LIM-4): which of them gives way to a new one.

import TandemOperations
import TandemTestSupport
import Testing

struct UnknownPeersTests {
    @Test func `LIM-4: the source with most connections gives way, there one that has sent nothing`() {
        var peers = UnknownPeers<String>(limit: 8)
        let numbers = (0..<8).map { peers.enter(from: $0 == 0 ? "device" : "stranger").number }
        for number in numbers[1...2] { peers.sent(number) }
        #expect(peers.enter(from: "stranger").displaced == numbers[3])
        #expect(peers.enter(from: "other").displaced == numbers[4])
        #expect(peers.count == 8)
    }

    @Test func `LIM-4: of one source the newest quarter is not yet silent`() {
        var peers = UnknownPeers<String>(limit: 8)
        let numbers = (0..<8).map { _ in peers.enter(from: "host").number }
        for number in numbers[..<6] { peers.sent(number) }
        #expect(peers.enter(from: "host").displaced == numbers[0])
        peers.leave(numbers[5])
        #expect(peers.count == 7 && peers.enter(from: "host").displaced == nil)
        peers.leave(numbers[5])
        #expect(peers.count == 8)
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `LIM-4: a device that sends its part stays while a quarter of the seats is taken over`(
        seed: UInt64
    ) {
        var random = SeededGenerator(seed: seed)
        let limit = 64
        var peers = UnknownPeers<Int>(limit: limit)
        let sources = Int.random(in: 1...100, using: &random)
        let mostSend = Bool.random(using: &random)
        func flood() -> UInt64? {
            let (number, displaced) = peers.enter(from: Int.random(in: 1...sources, using: &random))
            if mostSend || Int.random(in: 0..<4, using: &random) == 0 { peers.sent(number) }
            return displaced
        }
        for _ in 0..<200 { _ = flood() }
        // The device's source is one of the flood's, or of its own.
        let device = peers.enter(from: Bool.random(using: &random) ? 0 : 1).number
        for _ in 0..<limit / 8 { #expect(flood() != device, "its first bytes are on their way") }
        peers.sent(device)
        for _ in 0..<limit / 8 { #expect(flood() != device) }
        #expect(peers.count == limit)
    }
}
