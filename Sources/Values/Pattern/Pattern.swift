// A regular expression as the rest of the project sees it: compiled once, searched often, always under limits. It is
// searched for (not matched against the whole text) with the anchors that its author wrote.

/// A compiled regular expression; any thread.
package struct Pattern: Sendable {
    /// The text that it was compiled from.
    package let source: String
    private let compiled: CompiledPattern

    /// - Throws: ``PatternError/invalid(reason:offset:)`` or ``PatternError/patternTooLong(count:)``.
    package init(_ source: String) throws(PatternError) {
        let count = source.utf8.count
        guard count <= PatternLimits.patternLength else { throw .patternTooLong(count: count) }
        self.source = source
        compiled = try CompiledPattern(source)
    }

    /// Whether the pattern is found anywhere in the text.
    /// - Throws: ``PatternError/patternTooCostly`` or ``PatternError/textTooLong(count:)``; both mean "not accepted".
    package func isFound(in text: String) throws(PatternError) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count <= PatternLimits.textLength else { throw .textTooLong(count: bytes.count) }
        return try compiled.isFound(in: bytes)
    }
}

extension Pattern: Equatable {
    package static func == (left: Pattern, right: Pattern) -> Bool {
        left.source.utf8.elementsEqual(right.source.utf8)
    }
}
