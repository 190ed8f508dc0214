// What is wrong with a JSON text that a person gave, and where. Columns count bytes from 1, because that is what an
// editor and a shell can find again.

/// A JSON text that is not a property-list value.
package struct JSONError: Error, Sendable, Equatable {
    package enum Reason: String, Sendable {
        case unexpectedEnd = "the text ends too early"
        case unexpectedCharacter = "unexpected character"
        case trailingText = "there is text after the value"
        case null = "null is not a property-list value; leave the key out instead"
        case number = "not a number that fits 64 bits"
        case string = "not a string: a bad escape, a control character or bytes that are not UTF-8"
        case duplicateKey = "the key is there twice"
        case tooDeep = "nested deeper than 64"
    }

    package let reason: Reason
    /// Bytes before the place.
    package let offset: Int
}

extension JSONError: CustomStringConvertible {
    package var description: String { "JSON, byte \(offset + 1): \(reason.rawValue)" }
}
