// Measurement of one operation over many different inputs, timed by the round: CPU time of this thread, so that a busy
// machine lengthens only what it really slows; medians, so that one disturbed round decides nothing.

import Glibc

/// How often an operation is repeated.
struct Rounds {
    let count: Int

    /// The time of one operation on each of the inputs. The first rounds fill caches and are not counted.
    func figure<Input>(_ name: String, over inputs: [Input], _ operation: (Input) throws -> Void) throws -> Figure {
        for _ in 0..<1 + count / 10 { for input in inputs { try operation(input) } }
        let times = try (0..<count).map { _ in
            let began = Self.nanoseconds()
            for input in inputs { try operation(input) }
            return Double(Self.nanoseconds() - began) / Double(inputs.count)
        }
        return Figure(operation: name, times: times)
    }

    /// CPU time of this thread.
    static func nanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

struct Figure {
    private let operation: String
    /// Nanoseconds per operation.
    private let median: Double
    /// The width of the middle half of the rounds, as a part of the median.
    private let spread: Double

    /// The figure of rounds of which there is at least one.
    init(operation: String, times: [Double]) {
        let sorted = times.sorted()
        self.operation = operation
        median = sorted[sorted.count / 2]
        spread = median > 0 ? (sorted[sorted.count * 3 / 4] - sorted[sorted.count / 4]) / median : 0
    }

    /// Prints a line of JSON.
    func report() {
        print(
            #"{"codec":"tandem","operation":"\#(operation)","unit":"ns","value":\#(median),"spread":\#(spread)}"#)
    }
}

/// The end of measured results, so that no optimiser drops the work.
enum Sink {
    @inline(never) static func keep<Value>(_ value: Value) {}
}
