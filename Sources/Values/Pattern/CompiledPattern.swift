// The one place that calls PCRE2: it owns the compiled pattern and the limits of its searches. UTF-8 throughout; no
// Unicode properties for \d and \w (a digit is 0-9 on both ends of a wire); `$` is the very end, so that a text with a
// newline after it does not pass; \C is refused because it could split a character.

import CTandemPCRE2

/// Compiled code and its search limits; immutable once made.
@safe final class CompiledPattern: @unchecked Sendable {
    // @unchecked: both pointers are written in init and freed in deinit; PCRE2 only reads them in between.
    private let code: OpaquePointer
    private let limits: OpaquePointer

    init(_ source: String) throws(PatternError) {
        unsafe code = try Self.compile(source)
        guard let context = unsafe pcre2_match_context_create_8(nil) else {
            preconditionFailure("out of memory for a match context")
        }
        unsafe limits = unsafe context
        unsafe pcre2_set_match_limit_8(context, PatternLimits.steps)
        unsafe pcre2_set_depth_limit_8(context, PatternLimits.depth)
        unsafe pcre2_set_heap_limit_8(context, PatternLimits.heapKibibytes)
    }

    deinit {
        unsafe pcre2_code_free_8(code)
        unsafe pcre2_match_context_free_8(limits)
    }

    /// Whether the pattern is found anywhere in the text, which must be valid UTF-8.
    func isFound(in text: [UInt8]) throws(PatternError) -> Bool {
        let match = unsafe pcre2_match_data_create_8(1, nil)
        defer { unsafe pcre2_match_data_free_8(match) }
        let result = unsafe pcre2_match_8(code, text, text.count, 0, 0, match, limits)
        // 0 means found with more groups than the match data holds; one pair is all that is asked for.
        if result >= 0 { return true }
        if result == PCRE2_ERROR_NOMATCH { return false }
        throw .patternTooCostly
    }

    private static func compile(_ source: String) throws(PatternError) -> OpaquePointer {
        let context = unsafe pcre2_compile_context_create_8(nil)
        defer { unsafe pcre2_compile_context_free_8(context) }
        unsafe pcre2_set_parens_nest_limit_8(context, PatternLimits.parentheses)
        let options = PCRE2_UTF | PCRE2_NEVER_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C
        var failure: Int32 = 0
        var offset = 0
        let bytes = Array(source.utf8)
        let code = unsafe pcre2_compile_8(bytes, bytes.count, options, &failure, &offset, context)
        guard let code = unsafe code else { throw .invalid(reason: message(for: failure), offset: offset) }
        return unsafe code
    }

    private static func message(for failure: Int32) -> String {
        var text = [UInt8](repeating: 0, count: 256)
        let count = unsafe pcre2_get_error_message_8(failure, &text, text.count)
        return String(decoding: text.prefix(max(0, Int(count))), as: UTF8.self)
    }
}
