// The table that finds requests and apps by a keyed hash: what was entered is found, what was taken out is not.

import TandemSession
import TandemTestSupport
import Testing

@Suite struct HashTableTests {
    @Test func namesAreFoundByTheirBytesAlsoAfterOthersWereTakenOut() {
        var generator = SeededGenerator(seed: 7)
        let seed = HashSeed(using: &generator)
        // Of all lengths, and alike but for one byte at either end.
        let names = (1...40).flatMap { count -> [[UInt8]] in
            let name = [UInt8](repeating: 0x61, count: count)
            return [name, [0x62] + name.dropFirst(), name.dropLast() + [0x63]]
        }
        let distinct = Array(Set(names))
        var table = HashTable()
        for (number, name) in distinct.enumerated() { table.insert(number, seed.hash(name.span.bytes)) }
        for (number, name) in distinct.enumerated() where number % 2 == 0 {
            table.remove(number, seed.hash(name.span.bytes))
        }
        for (number, name) in distinct.enumerated() {
            let found = table.find(seed.hash(name.span.bytes)) { distinct[$0] == name }
            #expect(found == (number % 2 == 1 ? number : nil))
        }
    }

    @Test func differentNamesAndSeedsHaveDifferentHashes() {
        var generator = SeededGenerator(seed: 8)
        let (one, other) = (HashSeed(using: &generator), HashSeed(using: &generator))
        let names = (0..<2000).map { Array("org.example.app\($0)".utf8) }
        let hashes = names.map { name in (one.hash(name.span.bytes), other.hash(name.span.bytes)) }
        #expect(Set(hashes.map(\.0)).count > 1990)
        #expect(hashes.count { $0 == $1 } < 5)
    }
}
