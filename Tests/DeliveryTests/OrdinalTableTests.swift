// The table of records by number: a dictionary is the model, and a few values far apart must not keep the room of many.

import TandemTestSupport
import Testing

@testable import TandemDelivery

struct OrdinalTableTests {
    @Test(arguments: [1, 2, 3, 4]) func aTableAnswersAsADictionaryDoes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (table, model) = (OrdinalTable<Int>(), [UInt64: Int]())
        var next: UInt64 = 1
        for step in 0..<6000 {
            // Mostly new numbers at first, mostly removals in the end, some of them far back.
            let isGrowing = Int.random(in: 0..<6000, using: &random) > step
            if isGrowing {
                next += UInt64.random(in: 1...3, using: &random)
                let number =
                    Int.random(in: 0..<8, using: &random) == 0 ? UInt64.random(in: 1...next, using: &random) : next
                #expect(table.set(step, at: number) == model.updateValue(step, forKey: number))
            } else {
                let number = model.keys.randomElement(using: &random) ?? next
                #expect(table.remove(number) == model.removeValue(forKey: number))
            }
            let asked = UInt64.random(in: 0...next + 1, using: &random)
            #expect(table[asked] == model[asked])
            #expect(table.count == model.count)
        }
        #expect(table.numbers == model.keys.sorted())
    }

    @Test func aTableThatRunsEmptyFromTheFrontIsEmpty() {
        var table = OrdinalTable<UInt64>()
        for number: UInt64 in 1...1000 { table.set(number * 2, at: number) }
        for number: UInt64 in 1...1000 { #expect(table.remove(number) == number * 2 && table[number] == nil) }
        #expect(table.count == 0 && table.numbers.isEmpty && table.remove(1) == nil)
    }

    @Test func fewValuesThatAreFarApartLieInFewRuns() {
        var table = OrdinalTable<UInt64>()
        for number: UInt64 in 1...3200 { table.set(number, at: number) }
        for number: UInt64 in 1...3200 where number % 32 != 0 { table.remove(number) }
        #expect(table.count == 100 && table.numbers.allSatisfy { table[$0] == $0 })
        #expect(table.runCount <= 13, "at least eight in each run but the last")
    }
}
