// The budgets of a search. They are counts of the engine's own steps and not a time, so that the same pattern and text
// give the same answer on every machine.

/// Limits of a regular expression and of one search.
package enum PatternLimits {
    /// Bytes of a pattern: the longest one in use has under 100.
    package static let patternLength = 4096
    /// Bytes of a searched text: a value of one property.
    package static let textLength = 65_536
    /// Steps of one search: about 10 ms at worst, and ten times what an honest pattern takes on the longest text.
    package static let steps: UInt32 = 1_000_000
    /// Nested backtracking points of one search.
    package static let depth: UInt32 = 10_000
    /// KiB of backtracking memory of one search.
    package static let heapKibibytes: UInt32 = 4096
    /// Nested parentheses of a pattern.
    package static let parentheses: UInt32 = 100
}
