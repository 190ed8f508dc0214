// The names that files of ours may have: no separator, nothing hidden, nothing a shell or a terminal would act on.

/// Checks names of files.
package enum FileName {
    /// Whether the name is 1-200 of `A-Z a-z 0-9 . _ -` without a leading dot; short enough for a draft's longer name.
    package static func isSafe(_ name: String) -> Bool {
        let bytes = name.utf8
        return (1...200).contains(bytes.count) && bytes.first != UInt8(ascii: ".") && bytes.allSatisfy(isAllowed)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
