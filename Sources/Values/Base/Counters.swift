// Event counters for status pages and tests. A component looks its counter up by name once, then increases it by one
// atomic addition from any thread: no lock and no lookup on the path of a frame.

internal import Synchronization

/// A count that only grows; any thread.
package final class Counter: Sendable {
    package let name: String
    private let count = Atomic<UInt64>(0)

    fileprivate init(name: String) { self.name = name }

    /// Adds to the count; wraps after 2^64.
    package func add(_ amount: UInt64 = 1) { count.wrappingAdd(amount, ordering: .relaxed) }

    /// The count so far.
    package var value: UInt64 { count.load(ordering: .relaxed) }
}

/// The counters of a process or of a part of it, by name.
package final class Counters: Sendable {
    private let counters = Mutex<[String: Counter]>([:])

    package init() {}

    /// The counter with this name, made at its first use.
    package func counter(_ name: StaticString) -> Counter {
        let name = name.description
        return counters.withLock { counters in
            if let counter = counters[name] { return counter }
            let counter = Counter(name: name)
            counters[name] = counter
            return counter
        }
    }

    /// All counts, in order of their names.
    package var snapshot: [(name: String, value: UInt64)] {
        counters.withLock { $0.values.map { ($0.name, $0.value) } }.sorted { $0.0 < $1.0 }
    }
}
