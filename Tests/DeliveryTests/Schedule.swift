// Random schedules that a seed repeats exactly.

import TandemTestSupport

extension SeededGenerator {
    /// True in so many of a hundred cases.
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}
