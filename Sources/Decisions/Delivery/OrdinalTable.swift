// Values by numbers that rise: records by ordinal, ordinals by sequence. A dictionary moves all that it has whenever it
// grows, which a queue of thousands of items shows as a pause of milliseconds; and an item's neighbours lie anywhere.

import TandemBase

/// Values by number, in order. A new number is nearly always the highest.
///
/// The values lie in runs of at most 32. Two neighbours that together have at most half a run's capacity are merged, so
/// that the memory of a few values does not depend on how many lay between them.
struct OrdinalTable<Value: Sendable>: Sendable {
    private struct Run: Sendable {
        var numbers: [UInt64] = []
        var values: [Value] = []
        /// The lowest number, here so that a search does not follow a reference for each run.
        var first: UInt64 = 0

        /// Where a number is or would be.
        func index(of number: UInt64) -> (index: Int, isThere: Bool) {
            // Without gaps it is as far behind the first as its number.
            if number >= first, number - first < UInt64(numbers.count) {
                let index = Int(number - first)
                if numbers[index] == number { return (index, true) }
            }
            let index = numbers.firstIndex { $0 >= number } ?? numbers.count
            return (index, index < numbers.count && numbers[index] == number)
        }

        mutating func insert(_ value: Value, _ number: UInt64, at index: Int) {
            numbers.insert(number, at: index)
            values.insert(value, at: index)
            first = numbers[0]
        }

        mutating func remove(at index: Int) -> Value {
            numbers.remove(at: index)
            defer { first = numbers.first ?? 0 }
            return values.remove(at: index)
        }

        mutating func append(_ next: Run) {
            numbers += next.numbers
            values += next.values
            first = numbers.first ?? 0
        }

        /// Removes and returns the upper half.
        mutating func split() -> Run {
            let middle = numbers.count / 2
            defer {
                numbers.removeLast(numbers.count - middle)
                values.removeLast(values.count - middle)
            }
            return Run(numbers: Array(numbers[middle...]), values: Array(values[middle...]), first: numbers[middle])
        }
    }

    private static var runCapacity: Int { 32 }

    /// In the order of their numbers; no run is empty.
    private var runs: [Run] = []
    private(set) var count = 0
    /// How many runs the values lie in, for tests.
    var runCount: Int { runs.count }

    init() {}

    /// All numbers, in order.
    var numbers: [UInt64] { runs.flatMap(\.numbers) }

    /// All values, in the order of their numbers.
    var values: some Sequence<Value> { runs.lazy.flatMap(\.values) }

    subscript(number: UInt64) -> Value? {
        guard let run = run(of: number) else { return nil }
        let (index, isThere) = runs[run].index(of: number)
        return isThere ? runs[run].values[index] : nil
    }

    /// Adds a value, or replaces the one of this number.
    /// - Returns: the value before.
    @discardableResult
    mutating func set(_ value: Value, at number: UInt64) -> Value? {
        guard let highest = runs.last?.numbers.last, number <= highest else {
            append(value, number)
            return nil
        }
        let run = run(of: number) ?? 0
        let (index, isThere) = runs[run].index(of: number)
        if isThere {
            var before = value
            swap(&before, &runs[run].values[index])
            return before
        }
        count += 1
        runs[run].insert(value, number, at: index)
        if runs[run].numbers.count > Self.runCapacity { runs.insert(runs[run].split(), at: run + 1) }
        return nil
    }

    private mutating func append(_ value: Value, _ number: UInt64) {
        if runs.last.map({ $0.numbers.count == Self.runCapacity }) ?? true {
            var run = Run(first: number)
            // Most tables never fill a run; one that has fills the next one, too.
            if !runs.isEmpty {
                run.numbers.reserveCapacity(Self.runCapacity)
                run.values.reserveCapacity(Self.runCapacity)
            }
            runs.append(run)
        }
        let last = runs.count - 1
        runs[last].numbers.append(number)
        runs[last].values.append(value)
        count += 1
    }

    /// - Returns: the removed value.
    @discardableResult
    mutating func remove(_ number: UInt64) -> Value? {
        guard let run = run(of: number) else { return nil }
        let (index, isThere) = runs[run].index(of: number)
        guard isThere else { return nil }
        let value = runs[run].remove(at: index)
        count -= 1
        if runs[run].numbers.isEmpty {
            runs.remove(at: run)
        } else {
            merge(run, run + 1)
            merge(run - 1, run)
        }
        return value
    }

    /// Makes one run of two small neighbours.
    private mutating func merge(_ run: Int, _ next: Int) {
        guard run >= 0, next < runs.count, runs[run].numbers.count + runs[next].numbers.count <= Self.runCapacity / 2
        else {
            return
        }
        runs[run].append(runs[next])
        runs.remove(at: next)
    }

    /// The last run that begins at or below a number; nil if there is none.
    private func run(of number: UInt64) -> Int? {
        let next = runs.partitioningIndex { $0.first > number }
        return next == 0 ? nil : next - 1
    }
}
