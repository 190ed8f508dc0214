// Measuring: one operation over many different inputs, again and again, timed by the round. CPU time of this thread, so
// that a busy machine lengthens nothing but what it really slows; medians, so that one disturbed round decides nothing.

import Glibc

/// How often an operation is repeated.
struct Rounds {
    let count: Int

    /// The time of one operation on each of the inputs.
    func figure<Input>(_ name: String, over inputs: [Input], _ operation: (Input) throws -> Void) throws -> Figure {
        // The first rounds fill caches and are not counted.
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

/// Where measured results go, so that no optimiser drops the work.
enum Sink {
    @inline(never) static func keep<Value>(_ value: Value) {}
}
