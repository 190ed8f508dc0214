// One measured figure and the two ways in which it is printed.

import TandemPropertyList

/// The times of one operation.
struct Figure {
    let operation: String
    /// Nanoseconds per operation.
    let median: Double
    /// The width of the middle half of the rounds, as a part of the median.
    let spread: Double

    /// The figure of rounds of which there is at least one.
    init(operation: String, times: [Double]) {
        let sorted = times.sorted()
        self.operation = operation
        median = sorted[sorted.count / 2]
        spread = median > 0 ? (sorted[sorted.count * 3 / 4] - sorted[sorted.count / 4]) / median : 0
    }

    /// Prints the figure as the arguments ask: a line of JSON or of words.
    func print(on console: Console, as arguments: Arguments) {
        guard arguments.has("json") else {
            let name = operation + String(repeating: " ", count: max(0, 24 - operation.count))
            return console.print("\(name) \(rounded(median)) ns  +-\(rounded(50 * spread)) %")
        }
        console.print(json: [
            "codec": "tandem", "operation": .string(operation), "unit": "ns", "value": .real(median),
            "spread": .real(spread),
        ])
    }

    private func rounded(_ number: Double) -> String { String((number * 10).rounded() / 10) }
}
