// One fact of a log event: a name from our code and a value. The way a field is made says where its text is from:
// what a peer, a file or a person wrote is cut short; a secret leaves no trace but that it was there. There is no way
// to log a payload: neither bytes nor property lists are values here.

/// A named fact of a log event.
package struct LogField: Sendable, Hashable {
    /// What a field holds.
    package enum Value: Sendable, Hashable {
        case text(String)
        case outside(String)
        case integer(Int64)
        case unsigned(UInt64)
        case boolean(Bool)
        case redacted
    }

    package let name: String
    package let value: Value

    /// A fact in our own words: an identifier, a reason's stable name.
    package static func text(_ name: StaticString, _ text: String) -> Self {
        Self(name: name.description, value: .text(text))
    }

    /// Text that a peer, a file or a person chose; cut at 128 bytes when rendered.
    package static func outside(_ name: StaticString, _ text: String) -> Self {
        Self(name: name.description, value: .outside(text))
    }

    /// A count, a size, a number.
    package static func integer(_ name: StaticString, _ number: some BinaryInteger) -> Self {
        guard let signed = Int64(exactly: number) else {
            return Self(name: name.description, value: .unsigned(UInt64(clamping: number)))
        }
        return Self(name: name.description, value: .integer(signed))
    }

    /// Yes or no.
    package static func boolean(_ name: StaticString, _ flag: Bool) -> Self {
        Self(name: name.description, value: .boolean(flag))
    }

    /// A secret: only its presence is told.
    package static func secret(_ name: StaticString) -> Self {
        Self(name: name.description, value: .redacted)
    }
}
