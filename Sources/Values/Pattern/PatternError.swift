// What can go wrong with a regular expression. Both the pattern and the text may come from others, so both failures are
// ordinary values: a pattern that cannot be compiled, and a search that was given up before it cost too much.

/// A regular expression that cannot be used, or a search that was given up.
package enum PatternError: Error, Sendable, Equatable {
    /// The pattern does not compile; the offset is in bytes of its UTF-8.
    case invalid(reason: String, offset: Int)
    /// The pattern is longer than ``PatternLimits/patternLength``.
    case patternTooLong(count: Int)
    /// The text is longer than ``PatternLimits/textLength``.
    case textTooLong(count: Int)
    /// The search reached a limit: never a match, and never "no match" either.
    case patternTooCostly
}

extension PatternError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .invalid(let reason, let offset): "the regular expression is wrong at byte \(offset): \(reason)"
        case .patternTooLong(let count):
            "the regular expression has \(count) bytes; at most \(PatternLimits.patternLength) are allowed"
        case .textTooLong(let count):
            "the text has \(count) bytes; at most \(PatternLimits.textLength) are searched"
        case .patternTooCostly: "the search was given up: the regular expression costs too much on this text"
        }
    }
}
