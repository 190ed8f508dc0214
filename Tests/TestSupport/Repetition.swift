// Number of repetitions in a test: other seeds, other places to break, longer queues. The assertions are the same in
// both forms; the short one is for each change, the long one (`Scripts/test --long`, `Scripts/test-threads`,
// `Scripts/conformance --long`) for a release.

import Glibc

package enum Repetition {
    /// Whether TANDEM_LONG_TESTS asks for the long form.
    package static let isLong = getenv("TANDEM_LONG_TESTS") != nil

    /// Whether TANDEM_EVERY_POINT asks for every place to break, of which the other forms draw some
    /// (`Scripts/durability --power`).
    package static let isExhaustive = getenv("TANDEM_EVERY_POINT") != nil

    /// The count for the form that runs.
    package static func times(_ short: Int, long: Int) -> Int { isLong ? long : short }

    /// So many seeds, from 1 on.
    package static func seeds(_ short: UInt64, long: UInt64) -> ClosedRange<UInt64> { 1...(isLong ? long : short) }
}
