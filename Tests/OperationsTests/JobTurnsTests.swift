// The jobs of an owner that are at work, and those that wait for them.

import TandemOperations
import Testing

struct JobTurnsTests {
    @Test("LIM-77: so many jobs of an owner begin at once, and the others in order, each when one is done")
    func order() {
        var turns = JobTurns<Character, Int>(limit: 2)
        let begun = (1...5).map { turns.add($0, of: "a") }
        #expect(begun == [1, 2, nil, nil, nil])
        let later = (0..<5).map { _ in turns.ended(of: "a") }
        #expect(later == [3, 4, 5, nil, nil])
        let (isEmpty, next) = (turns.isEmpty, turns.add(6, of: "a"))
        #expect(isEmpty && next == 6)
    }

    @Test("LIM-77: an owner's jobs do not wait for another's")
    func others() {
        var turns = JobTurns<Character, Int>(limit: 1)
        let begun = (1...3).map { turns.add($0, of: "a") } + [turns.add(4, of: "b")]
        #expect(begun == [1, nil, nil, 4])
        let later = [turns.ended(of: "b"), turns.ended(of: "a"), turns.add(5, of: "a")]
        #expect(later == [nil, 2, nil], "two of its own are in front")
        let last = [turns.ended(of: "a"), turns.ended(of: "a")]
        #expect(last == [3, 5])
    }
}
