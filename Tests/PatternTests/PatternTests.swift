// The dialect of regular expressions that values of properties are held to: searched, UTF-8, `$` at the very end,
// and every search under limits, because pattern and text may both come from somebody else.

import TandemPattern
import Testing

extension Pattern {
    fileprivate func isFound(in text: String) throws(PatternError) -> Bool { try isFound(inEach: [text]) }

    fileprivate func isFound(inEach texts: [String]) throws(PatternError) -> Bool {
        var steps = PatternSteps.ofSet
        return try isFound(inEach: texts, within: &steps)
    }
}

@Suite struct PatternTests {
    private static let angle = "^(0?[0-9]?[0-9]|[1-2][0-9][0-9]|3[0-5][0-9]|36[0-5])$"
    private static let fractionalAngle =
        #"^(0?[0-9]?[0-9]|[1-2][0-9][0-9]|3[0-5][0-9]|36[0-5])?(?:\.\d+)?$"#

    @Test(arguments: ["0", "00", "099", "365"])
    func wholeAnglesAreFound(text: String) throws {
        #expect(try Pattern(Self.angle).isFound(in: text))
    }

    @Test(arguments: ["", "-1", "366", "365.0", "365\n", "\n365", "365 "])
    func otherTextIsNoWholeAngle(text: String) throws {
        #expect(try !Pattern(Self.angle).isFound(in: text))
    }

    @Test(arguments: ["", ".5", "7", "365.99"])
    func fractionalAnglesAreFound(text: String) throws {
        #expect(try Pattern(Self.fractionalAngle).isFound(in: text))
    }

    @Test(arguments: ["366.0", "1e2", "7.", "365.99\n"])
    func otherTextIsNoFractionalAngle(text: String) throws {
        #expect(try !Pattern(Self.fractionalAngle).isFound(in: text))
    }

    @Test func aPatternWithoutAnchorsIsSearchedFor() throws {
        let pattern = try Pattern("b[aeiou]t")
        #expect(try pattern.isFound(in: "a bat at night"))
        #expect(try !pattern.isFound(in: "a bt"))
    }

    @Test func digitsAndLettersAreThoseOfASCII() throws {
        #expect(try !Pattern(#"^\d$"#).isFound(in: "\u{0663}"))
        #expect(try !Pattern(#"^\w$"#).isFound(in: "é"))
        #expect(try Pattern("^.$").isFound(in: "é"))
        #expect(throws: PatternError.self) { try Pattern("(*UCP)^\\d$") }
    }

    @Test func aNulInTheTextIsAnOrdinaryCharacter() throws {
        #expect(try Pattern("^a.b$").isFound(in: "a\u{0}b"))
        #expect(try !Pattern("^ab$").isFound(in: "ab\u{0}"))
    }

    @Test(arguments: ["(", "[a", "a{2,1}", #"\C"#, #"^\X+$"#, #"a\\\X"#, "(?<n", "*"])
    func aBrokenPatternSaysWhere(source: String) {
        #expect {
            try Pattern(source)
        } throws: { error in
            guard case .invalid(let reason, let offset)? = error as? PatternError else { return false }
            return !reason.isEmpty && offset <= source.utf8.count
        }
    }

    @Test(
        "LIM-128: no escape, quotation, comment or callout hides an extended character",
        arguments: [
            #"\c\\X"#, #"\c\(?#)\X"#, #"(\c\\X)"#, #"\Q\c\E\X"#, #"\Q\\E\X"#, #"\Q\E\X"#, #"\E\X"#, #"(?#\)\X"#,
            #"(?C)\X"#, #"(?x)(?C) \X"#, #"(?x)(?C) #\"# + "\n" + #"\X"#, #"(?x)#\"# + "\n" + #"\X*"#, #"(?C'\')\X"#,
            #"\x{5c}\X"#, #"\o{134}\X"#, #"\N{U+5C}\X"#, #"\x\X"#, #"\p{L}\X"#, #"(a)\g{1}\X"#, #"(?<n>a)\k<n>\X"#,
            #"(?(DEFINE)(?<n>\X))(?&n)"#, #"(?(?=a)\X|b)"#, #"(?:\c\\X){0}"#, #"\c\\c\\X"#, #"[\c\]\X"#,
        ])
    func hidden(source: String) {
        #expect {
            try Pattern(source)
        } throws: { "\($0)".contains("\\X is not supported") }
    }

    @Test("LIM-128: a backslash before an X is an ordinary character where the dialect says so")
    func ordinary() throws {
        #expect(try Pattern(#"^C:\\X$"#).isFound(in: #"C:\X"#))
        #expect(try Pattern(#"^\Q\X\E$"#).isFound(in: #"\X"#))
        #expect(try Pattern(#"^\c\X$"#).isFound(in: "\u{1C}X"))
    }

    @Test(arguments: [
        ("^(a+)+$", String(repeating: "a", count: 64) + "!"),
        ("^(a|aa)+$", String(repeating: "a", count: 4096) + "!"),
        ("(.*)*(.*)*(.*)*[xy]", String(repeating: "ab", count: 2048)),
        ("^(a|a?)+[bc]$", String(repeating: "a", count: 60)),
    ])
    func aHostilePatternIsTooCostlyAndNeverAMatch(source: String, text: String) throws {
        let pattern = try Pattern(source)
        #expect(throws: PatternError.patternTooCostly) { try pattern.isFound(in: text) }
    }

    @Test("the places where a match may start share the steps of one search")
    func placesShareTheSteps() throws {
        let pattern = try Pattern("(?:a|a){10}[bc]")
        #expect(throws: PatternError.patternTooCostly) {
            try pattern.isFound(in: String(repeating: "a", count: 2000))
        }
        #expect(try pattern.isFound(in: String(repeating: "a", count: 10) + "b"))
        #expect(try Pattern("^(?:a|a){10}[bc]").isFound(in: String(repeating: "a", count: 10) + "b" + longText))
    }

    @Test(
        "LIM-128: characters that a repetition passes are steps, and so is what an item may pass before it fails",
        arguments: [
            "[ab]*[cd]", #"\w*+[\x80-\xff\x{100}]"#, "[^c]*+(?:x|y)", "(?=[ab]*+)(?=[ab]*+)(?=[ab]*+)[cd]",
            "[ab]{40000}", "(?<=(?:.{255}){60})c[de]|[ab]*[de]", #"(a{300,}?)(?:x|\1z|[^a])"#,
        ])
    func passedCharacters(source: String) throws {
        let half = String(repeating: "a", count: PatternLimits.textLength / 2 - 1)
        #expect(throws: PatternError.patternTooCostly) { try Pattern(source).isFound(in: half + "x" + half) }
    }

    @Test(
        "LIM-128: what a script run looks at again are steps, too",
        arguments: [
            #"(*NO_AUTO_POSSESS)^(?:(*sr:.*)[xy]|(*script_run:.*)[xy]|(*asr:.*)[xy])"#,
            #"(*NO_AUTO_POSSESS)^(?:a(*script_run:.*)[xy]|(*sr:a+)[xy])"#,
        ])
    func lookedAtAgain(source: String) throws {
        let text = String(repeating: "a", count: PatternLimits.textLength)
        #expect(throws: PatternError.patternTooCostly) { try Pattern(source).isFound(in: text) }
    }

    @Test("LIM-128: an honest expression takes a tenth of the steps on the longest text")
    func honest() throws {
        var text = String(repeating: "lamp, ", count: PatternLimits.textLength / 6)
        text.removeLast(2)
        for source in ["^[a-z, ]+$", "lamp$", "^.*$", #"\Slamp$|^l"#] {
            var steps = PatternSteps.ofSet
            let all = steps.left
            #expect(try Pattern(source).isFound(inEach: [text], within: &steps))
            #expect(all - steps.left < 200_000, "\(source): \(all - steps.left)")
        }
    }

    @Test("LIM-128: many searches have 8,000,000 steps together")
    func stepsOfSet() throws {
        let pattern = try Pattern("[ab]*[cd]|x")
        let text = String(repeating: "a", count: 900) + "x"
        var (steps, count) = (PatternSteps.ofSet, 0)
        #expect(steps.left == 8_000_000)
        #expect(throws: PatternError.patternTooCostly) {
            while count < 100, try pattern.isFound(inEach: [text], within: &steps) { count += 1 }
        }
        #expect((8...10).contains(count) && steps.left == 0, "\(count) searches, \(steps.left) steps left")
    }

    private let longText = String(repeating: "a", count: 60_000)

    @Test("SET-57: the texts of a list share the steps of one search, also of a pattern that has one place to start")
    func textsShareTheSteps() throws {
        // Each text costs thousands of steps before it is found: all of a list have more than one search.
        for source in ["(?:a|a){10}[bc]", "^(?:a|a){10}[bc]|^a"] {
            let pattern = try Pattern(source)
            let text = String(repeating: "a", count: 20) + "aab"
            #expect(try pattern.isFound(inEach: [text]) == pattern.isFound(in: text))
            #expect(throws: PatternError.patternTooCostly) {
                try pattern.isFound(inEach: [String](repeating: text, count: 2_500))
            }
        }
        let pattern = try Pattern("^[a-z]+$")
        #expect(try pattern.isFound(inEach: []) && pattern.isFound(inEach: ["a", "bc"]))
        #expect(try !pattern.isFound(inEach: ["a", ""]))
    }

    @Test("LIM-115: the texts of a list have the length of one together")
    func lengthsOfLists() throws {
        let pattern = try Pattern("^a*$")
        let half = String(repeating: "a", count: PatternLimits.textLength / 2)
        #expect(try pattern.isFound(inEach: [half, String(half.dropLast())]))
        #expect(throws: PatternError.textTooLong(count: PatternLimits.textLength + 1)) {
            try pattern.isFound(inEach: [half, half])
        }
    }

    @Test func deepRecursionEndsAtALimit() throws {
        let pattern = try Pattern(#"^(\((?1)*\))*$"#)
        #expect(throws: PatternError.patternTooCostly) {
            try pattern.isFound(in: String(repeating: "(", count: 60_000))
        }
        let nested = String(repeating: "(", count: 101) + "a" + String(repeating: ")", count: 101)
        #expect(throws: PatternError.self) { try Pattern(nested) }
    }

    @Test func lengthsAreLimited() throws {
        let longest = String(repeating: "a", count: PatternLimits.patternLength)
        #expect(try !Pattern(longest).isFound(in: "b"))
        #expect(throws: PatternError.patternTooLong(count: PatternLimits.patternLength + 1)) {
            try Pattern(longest + "a")
        }
        let text = String(repeating: "b", count: PatternLimits.textLength)
        #expect(try Pattern("b$").isFound(in: text))
        #expect(throws: PatternError.textTooLong(count: PatternLimits.textLength + 1)) {
            try Pattern("b$").isFound(in: text + "b")
        }
    }
}
