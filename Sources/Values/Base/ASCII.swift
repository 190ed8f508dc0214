// Classes of ASCII characters, for bytes of text from outside: no class of Unicode, which has the digits and letters of
// many scripts, may decide what is a name, a number or a path.

extension UInt8 {
    /// `0` to `9`.
    package var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// `A` to `Z`, `a` to `z` or a digit.
    package var isASCIIAlphanumeric: Bool {
        // The bit that this takes away tells small letters from capitals.
        isASCIIDigit || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self & 0b1101_1111)
    }

    /// A letter, a digit, or one of `. _ -`: what a file name of ours, or the name of an app, may have.
    package var isPlainInNames: Bool {
        isASCIIAlphanumeric || self == UInt8(ascii: ".") || self == UInt8(ascii: "_") || self == UInt8(ascii: "-")
    }
}
