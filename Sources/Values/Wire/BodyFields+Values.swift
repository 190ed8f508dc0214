// The fields of bodies in terms of Identity's values, and the closing of a body that is ours alone (a stored row, a
// join): there a key that nobody reads is a fault.

package import TandemBase
import TandemPropertyList

extension BodyFields {
    /// Refuses every key that is not in the list.
    package func refuseKeys(otherThan known: [String]) throws(WireError) {
        for key in keys where !known.contains(key) { throw .unknownKey(key) }
    }

    package func boolean(_ key: String) throws(WireError) -> Bool { try required(key, "a boolean", \.booleanValue) }

    package func integer(_ key: String) throws(WireError) -> Int64 { try required(key, "an integer", \.integerValue) }

    /// One of the words of an enum.
    package func choice<Choice: RawRepresentable<String>>(
        _ key: String, _ expected: StaticText
    ) throws(WireError) -> Choice {
        try required(key, expected) { value in value.stringValue.flatMap { Choice(rawValue: $0) } }
    }

    package func role(_ key: String) throws(WireError) -> DeviceRole { try choice(key, "primary or secondary") }

    /// UTF-8 text that is kept as data.
    package func optionalText(_ key: String) throws(WireError) -> String? {
        try optional(key, "data of UTF-8") { value in
            value.dataValue.flatMap { String(validating: $0, as: UTF8.self) }
        }
    }

    package func pairedIdentifier(_ key: String) throws(WireError) -> PairedIdentifier {
        try required(key, "a paired identifier") { value in
            value.stringValue.flatMap { try? PairedIdentifier(text: $0) }
        }
    }

    package func optionalCustomIdentifier(_ key: String) throws(WireError) -> CustomIdentifier? {
        try optional(key, "1-256 bytes of UTF-8 without NUL") { value in
            value.stringValue.flatMap { try? CustomIdentifier($0) }
        }
    }
}
