// Work that takes turns at the loop (SES-93, LIM-158): how much begins in one turn, and whose is next.

import TandemOperations
import TandemTestSupport
import Testing

struct WorkTurnsTests {
    /// Brings a piece of each of these owners: those that begin at once. The others wait.
    private func bring(_ owners: String, to turns: inout WorkTurns<Character, Character>) -> String {
        owners.filter { owner in
            if turns.beginsNow() { return true }
            turns.append(owner, of: owner)
            return false
        }
    }

    /// The pieces of so many turns.
    private func pieces(in count: Int, of turns: inout WorkTurns<Character, Character>) -> [String] {
        (0..<count).map { _ in String(turns.nextTurn()) }
    }

    @Test("LIM-158: so many pieces begin in a turn, and the others in later ones, as many in each", arguments: 1...3)
    func limit(of pieces: Int) {
        var turns = WorkTurns<Character, Character>(limit: pieces)
        let now = bring("aaaaaaa", to: &turns)
        let later = self.pieces(in: 8, of: &turns)
        #expect(now.count == pieces)
        #expect(later.map(\.count).reduce(pieces, +) == 7 && later.allSatisfy { $0.count <= pieces })
        #expect(
            later.drop { $0.count == pieces }.dropFirst().allSatisfy { $0.isEmpty }, "none was left out before the last"
        )
        let again = bring("aaaaaaa", to: &turns)
        #expect(again.count == pieces, "a turn without work is free")
    }

    @Test("LIM-158: a piece that is brought in a turn that has had its work waits, also if nothing else does")
    func broughtLater() {
        var turns = WorkTurns<Character, Character>(limit: 1)
        let now = bring("ab", to: &turns)
        let second = pieces(in: 1, of: &turns)
        let later = bring("c", to: &turns)
        let rest = pieces(in: 3, of: &turns)
        #expect(now == "a" && second == ["b"] && later.isEmpty && rest == ["c", "", ""])
    }

    @Test("SES-93: owners have the turn one after the other, however much of one waits")
    func owners() {
        var turns = WorkTurns<Character, Character>(limit: 1)
        let now = bring("aaaaaabbc", to: &turns)
        let later = pieces(in: 9, of: &turns).joined()
        #expect(now == "a" && later == "abcabaaa")
    }

    @Test("SES-93: the requests of an owner alternate with its other work, and owners go round as before")
    func requests() {
        var turns = WorkTurns<Character, Character>(limit: 1)
        let begins = turns.beginsNow()
        for piece in "123456" { turns.append(piece, of: "a") }
        for piece in "xy" { turns.append(piece, of: "a", isControl: true) }
        for piece in "78" { turns.append(piece, of: "b") }
        let later = pieces(in: 11, of: &turns).joined()
        #expect(begins && later == "x718y23456")
    }

    @Test(
        "SES-93: a piece of any owner begins after at most one of each other owner's",
        arguments: 0..<20 as Range<UInt64>)
    func delay(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var turns = WorkTurns<Character, Character>(limit: 1)
        var waiting: [Character: Int] = [:]
        // Of each owner with something that waits, the turns since it had the last one.
        var passed: [Character: Int] = [:]
        for _ in 0..<500 {
            let brought = String(
                (0..<Int.random(in: 0...2, using: &random)).compactMap { _ in "aaaabcd".randomElement(using: &random) })
            let now = bring(brought, to: &turns)
            for owner in brought.dropFirst(now.count) { waiting[owner, default: 0] += 1 }
            for piece in turns.nextTurn() {
                waiting[piece, default: 0] -= 1
                passed[piece] = 0
            }
            for (owner, count) in waiting { passed[owner] = count > 0 ? passed[owner, default: 0] + 1 : 0 }
            #expect(passed.values.allSatisfy { $0 <= 5 })
            #expect(waiting.values.allSatisfy { $0 >= 0 })
        }
    }
}
