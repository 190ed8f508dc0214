// A regular expression as the rest of the project sees it: compiled once, searched often, always under limits. It is
// searched for (not matched against the whole text) with the anchors that its author wrote.

import CTandemPCRE2

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

    /// Bytes of the compiled code, which a few bytes of a pattern may make many.
    package var codeSize: Int { compiled.codeSize }

    /// Whether the pattern is found in each of the texts, with no more steps than many searches have left together. The
    /// texts share the limits of one search, their lengths too.
    /// - Throws: ``PatternError/patternTooCostly`` or ``PatternError/textTooLong(count:)``; both mean "not accepted".
    package func isFound(inEach texts: [String], within steps: inout PatternSteps) throws(PatternError) -> Bool {
        let count = texts.reduce(texts.count - 1) { $0 + $1.utf8.count }
        guard count <= PatternLimits.textLength else { throw .textTooLong(count: count) }
        var left = min(steps.left, PatternLimits.steps)
        let before = left
        defer { steps.left -= before - left }
        for text in texts where try !compiled.isFound(in: Array(text.utf8), within: &left) { return false }
        return true
    }
}

/// The steps that many searches have left together (LIM-128): a set of values is judged in a bounded time, however many
/// they are.
package struct PatternSteps: Sendable {
    package fileprivate(set) var left: Int

    /// The steps of a set of values.
    package static var ofSet: PatternSteps { PatternSteps(left: PatternLimits.stepsOfSet) }
}

extension Pattern: Equatable {
    package static func == (left: Pattern, right: Pattern) -> Bool {
        left.source.utf8.elementsEqual(right.source.utf8)
    }
}

// The one place that calls PCRE2: it owns the compiled pattern and the limits of its searches. UTF-8 throughout; no
// Unicode properties for \d and \w (a digit is 0-9 on both ends of a wire); `$` is the very end, so that a text with a
// newline after it does not pass; \C is refused because it could split a character, \X because its cost has no bound.

/// Compiled code and its search limits.
///
/// `@unchecked`: no lock is needed. The thread of the initialiser writes both pointers and their targets before anybody
/// else has them, PCRE2 only reads them afterwards, and each search has its own match data.
@safe final class CompiledPattern: @unchecked Sendable {
    private let code: OpaquePointer
    private let limits: OpaquePointer
    /// Added to each step for what a failing item may pass unseen.
    private let surcharge: Int
    /// Whether an item may pass the whole text unseen.
    private let passesAll: Bool

    init(_ source: String) throws(PatternError) {
        unsafe code = try Self.compile(source)
        guard let context = unsafe pcre2_match_context_create_8(nil) else {
            preconditionFailure("out of memory for a match context")
        }
        unsafe limits = unsafe context
        var (behind, references): (UInt32, UInt32) = (0, 0)
        unsafe pcre2_pattern_info_8(code, UInt32(PCRE2_INFO_MAXLOOKBEHIND), &behind)
        unsafe pcre2_pattern_info_8(code, UInt32(PCRE2_INFO_BACKREFMAX), &references)
        surcharge = max(Int(behind), Self.largestCount(in: source)) / PatternLimits.unseenPerStep
        // A script run looks at all of its text again at its end.
        passesAll = references > 0 || Self.hasVerb(source)
        unsafe pcre2_set_match_limit_8(context, UInt32(PatternLimits.steps))
        unsafe pcre2_set_depth_limit_8(context, PatternLimits.depth)
        unsafe pcre2_set_heap_limit_8(context, PatternLimits.heapKibibytes)
    }

    /// Whether there is `(*`, which begins a script run. Also in a set of characters: such a search pays more than it
    /// would have to.
    private static func hasVerb(_ source: String) -> Bool {
        zip(source.utf8, source.utf8.dropFirst()).contains { $0 == UInt8(ascii: "(") && $1 == UInt8(ascii: "*") }
    }

    /// The offset of an item with `\X`, which looks at everything before it and takes no steps for that.
    ///
    /// The compiled code says where each item stands, because there is a callout before it: another reader of the
    /// dialect would lose its place behind `\c\` or a comment. An item has the comments behind it, too.
    private static func extendedCharacter(in code: OpaquePointer, _ source: [UInt8]) -> Int? {
        var search = ItemSearch(source)
        unsafe withUnsafeMutablePointer(to: &search) { search in
            _ = unsafe pcre2_callout_enumerate_8(code, lookAtItem, search)
        }
        return search.offset
    }

    /// The largest count of repetitions: an item that must occur so often passes as much before it fails.
    private static func largestCount(in source: String) -> Int {
        var (largest, count): (Int, Int?) = (0, nil)
        for byte in source.utf8 {
            switch byte {
            case UInt8(ascii: "{"): count = 0
            // PCRE2 10.43 takes blanks before the count.
            case UInt8(ascii: " ") where count == 0, UInt8(ascii: "\t") where count == 0: break
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                count = count.map { min($0 * 10 + Int(byte - UInt8(ascii: "0")), PatternLimits.textLength) }
                largest = max(largest, count ?? 0)
            default: count = nil
            }
        }
        return largest
    }

    var codeSize: Int {
        var size = 0
        unsafe pcre2_pattern_info_8(code, UInt32(PCRE2_INFO_SIZE), &size)
        return size
    }

    deinit {
        unsafe pcre2_code_free_8(code)
        unsafe pcre2_match_context_free_8(limits)
    }

    /// Whether the pattern is found anywhere in the text, which must be valid UTF-8.
    /// - Parameter steps: how many it may take; those that it took are gone afterwards.
    func isFound(in text: [UInt8], within steps: inout Int) throws(PatternError) -> Bool {
        guard let match = unsafe pcre2_match_data_create_8(1, nil),
            let context = unsafe pcre2_match_context_copy_8(limits)
        else { throw .patternTooCostly }
        defer {
            unsafe pcre2_match_data_free_8(match)
            unsafe pcre2_match_context_free_8(context)
        }
        let unseen = passesAll ? max(surcharge, text.count / PatternLimits.unseenPerStep) : surcharge
        var walk = SearchWalk(left: steps, surcharge: min(unseen, text.count))
        let result = unsafe withUnsafeMutablePointer(to: &walk) { walk in
            unsafe pcre2_set_callout_8(context, takeStep, walk)
            return unsafe pcre2_match_8(code, text, text.count, 0, 0, match, context)
        }
        steps = max(0, walk.left)
        // 0 means found with more groups than the match data holds; one pair is all that is asked for.
        if result >= 0 { return true }
        if result == PCRE2_ERROR_NOMATCH { return false }
        throw .patternTooCostly
    }

    private static func compile(_ source: String) throws(PatternError) -> OpaquePointer {
        let context = unsafe pcre2_compile_context_create_8(nil)
        defer { unsafe pcre2_compile_context_free_8(context) }
        unsafe pcre2_set_parens_nest_limit_8(context, PatternLimits.parentheses)
        let dialect = PCRE2_UTF | PCRE2_NEVER_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C
        let options = dialect | PCRE2_AUTO_CALLOUT
        var failure: Int32 = 0
        var offset = 0
        let bytes = Array(source.utf8)
        let code = unsafe pcre2_compile_8(bytes, bytes.count, options, &failure, &offset, context)
        guard let code = unsafe code else { throw .invalid(reason: message(for: failure), offset: offset) }
        if let offset = unsafe extendedCharacter(in: code, bytes) {
            unsafe pcre2_code_free_8(code)
            throw .invalid(reason: "\\X is not supported", offset: offset)
        }
        return unsafe code
    }

    private static func message(for failure: Int32) -> String {
        var text = [UInt8](repeating: 0, count: 256)
        let count = unsafe pcre2_get_error_message_8(failure, &text, text.count)
        return String(decoding: text.prefix(max(0, Int(count))), as: UTF8.self)
    }
}

/// The way of one search through pattern and text.
private struct SearchWalk {
    var left: Int
    let surcharge: Int
    private var position = 0

    init(left: Int, surcharge: Int) {
        self.left = left
        self.surcharge = surcharge
    }

    /// Whether the search may go on at an offset of the text. PCRE2's own count passes over the characters that a
    /// repetition takes, and begins again at each place where a match may start.
    mutating func step(to offset: Int) -> Bool {
        left -= 1 + surcharge + abs(offset - position)
        position = offset
        return left >= 0
    }
}

/// Called by PCRE2 before each item of a pattern.
private func takeStep(_ block: UnsafeMutablePointer<pcre2_callout_block_8>?, _ walk: UnsafeMutableRawPointer?) -> CInt {
    guard let block = unsafe block, let walk = unsafe walk else { return PCRE2_ERROR_CALLOUT }
    let offset = unsafe block.pointee.current_position
    return unsafe walk.assumingMemoryBound(to: SearchWalk.self).pointee.step(to: offset) ? 0 : PCRE2_ERROR_MATCHLIMIT
}

/// The search for `\X` among the items of compiled code.
private struct ItemSearch {
    private let source: [UInt8]
    private(set) var offset: Int?

    init(_ source: [UInt8]) { self.source = source }

    /// Looks at the item at an offset; returns whether the search may go on.
    mutating func look(at start: Int, count: Int) -> Bool {
        let item = source.dropFirst(start).prefix(count)
        if zip(item, item.dropFirst()).contains(where: { $0 == UInt8(ascii: "\\") && $1 == UInt8(ascii: "X") }) {
            offset = start
        }
        return offset == nil
    }
}

/// Called by PCRE2 for each callout of compiled code.
private func lookAtItem(
    _ block: UnsafeMutablePointer<pcre2_callout_enumerate_block_8>?, _ search: UnsafeMutableRawPointer?
) -> CInt {
    guard let block = unsafe block, let search = unsafe search else { return PCRE2_ERROR_CALLOUT }
    let (start, count) = unsafe (Int(block.pointee.pattern_position), Int(block.pointee.next_item_length))
    return unsafe search.assumingMemoryBound(to: ItemSearch.self).pointee.look(at: start, count: count) ? 0 : 1
}

// Errors of regular expressions. Both the pattern and the text may come from others, so both failures are ordinary
// values: a pattern that cannot be compiled, and a search that was stopped before it cost too much.

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

// The budgets of a search. They are counts of the engine's own steps and not a time, so that the same pattern and text
// give the same answer on every machine.

/// Limits of a regular expression and of one search.
package enum PatternLimits {
    /// Bytes of a pattern: the longest one in use has under 100.
    package static let patternLength = 4096
    /// Bytes of a searched text, or of all texts of a list (LIM-115): a value of one property.
    package static let textLength = 65_536
    /// Steps of one search (LIM-128): 50 ms at worst, and ten times what an honest pattern takes on the longest text.
    static let steps = 1_000_000
    /// Steps of the searches of a set of values together (LIM-128).
    static let stepsOfSet = 8_000_000
    /// Characters that an item may pass before it fails, for one more step (LIM-128).
    static let unseenPerStep = 16
    /// Nested backtracking points of one search.
    package static let depth: UInt32 = 10_000
    /// KiB of backtracking memory of one search.
    package static let heapKibibytes: UInt32 = 4096
    /// Nested parentheses of a pattern.
    package static let parentheses: UInt32 = 100
}
