// Turns of owners (LIM-61): who is next, and how much of one owner may wait.

import TandemOperations
import TandemTestSupport
import Testing

struct TurnQueueTests {
    private func owners(_ count: Int, of queue: inout TurnQueue<Character, Int>) -> String {
        String((0..<count).compactMap { _ in queue.next()?.owner })
    }

    @Test func `LIM-61: each owner in its turn takes as many bytes as the others`() {
        var queue = TurnQueue<Character, Int>(total: 1_000_000, turn: 100)
        for number in 0..<8 { queue.append(number, size: 100, of: "a") }
        for number in 0..<16 { queue.append(number, size: 25, of: "b") }
        let order = owners(24, of: &queue)
        #expect(order == "abbbbabbbbabbbbabbbbaaaa")
        #expect(queue.isEmpty && queue.byteCount == 0)
    }

    @Test func `LIM-61: an element that is larger than a turn leaves, and its owner passes the next turns`() {
        var queue = TurnQueue<Character, Int>(total: 1_000_000, turn: 100)
        for number in 0..<3 { queue.append(number, size: 300, of: "a") }
        for number in 0..<8 { queue.append(number, size: 100, of: "b") }
        let order = owners(11, of: &queue)
        #expect(order == "abbbabbbabb")
    }

    @Test func `LIM-62: an element that has left is kept by nothing, although others of its owner wait`() {
        final class Body: Sendable {}
        var queue = TurnQueue<Character, Body>(total: 1_000_000, turn: 100)
        weak var first: Body?
        do {
            let body = Body()
            first = body
            queue.append(body, size: 60, of: "a")
            queue.append(Body(), size: 60, of: "a")
        }
        #expect(first != nil && queue.next()?.owner == "a")
        #expect(first == nil)
    }

    @Test func `LIM-61: an owner of which nothing waits for a moment still passes the turns that it has used up`() {
        var queue = TurnQueue<Character, Int>(total: 1_000_000, turn: 100)
        for number in 0..<12 { queue.append(number, size: 100, of: "b") }
        queue.append(0, size: 400, of: "a")
        var order = ""
        while let owner = queue.next()?.owner {
            order.append(owner)
            if owner == "a", queue.byteCount(of: "b") > 0 { queue.append(0, size: 400, of: "a") }
        }
        #expect(order.hasPrefix("babbbba"), "\(order)")
    }

    @Test func `SES-14: the elements of one owner keep their order`() {
        var queue = TurnQueue<Character, Int>(total: 1_000_000, turn: 100)
        for number in 0..<200 { queue.append(number, size: 60, of: number % 3 == 0 ? "a" : "b") }
        var last: [Character: Int] = [:]
        while let next = queue.next() {
            #expect(next.element > last[next.owner] ?? -1)
            last[next.owner] = next.element
        }
    }

    @Test func `LIM-47: an owner gets half of what may wait, and each has room for one element`() {
        var queue = TurnQueue<Character, Int>(total: 1000, turn: 100)
        queue.append(0, size: 300, of: "a")
        let (fits, isTooMuch) = (queue.hasRoom(for: 200, of: "a"), !queue.hasRoom(for: 201, of: "a"))
        #expect(fits && isTooMuch)
        queue.append(1, size: 200, of: "a")
        let first = queue.hasRoom(for: 600, of: "b")
        queue.append(2, size: 600, of: "b")
        let second = queue.hasRoom(for: 1, of: "b")
        #expect(first && !second && queue.byteCount(of: "a") == 500)
    }
}
