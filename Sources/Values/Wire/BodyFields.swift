// Typed reading of a structured body: each fault names the key, as for the envelope. Unknown keys are ignored: bodies
// grow by capabilities, and only the envelope decides where a frame goes.

package import TandemBase
package import TandemPropertyList

/// The fields of a structured body.
package struct BodyFields: Sendable {
    private let pairs: PropertyListDictionary

    package init(_ pairs: PropertyListDictionary) { self.pairs = pairs }

    var keys: [String] { pairs.keys }

    /// The value of an optional key, of one type.
    package func optional<Value>(
        _ key: String, _ expected: StaticText, _ convert: (PropertyListValue) -> Value?
    ) throws(WireError) -> Value? {
        guard let value = pairs[key] else { return nil }
        guard let converted = convert(value) else { throw .invalidValue(key: key, expected: expected) }
        return converted
    }

    /// The value of a required key, of one type.
    package func required<Value>(
        _ key: String, _ expected: StaticText, _ convert: (PropertyListValue) -> Value?
    ) throws(WireError) -> Value {
        guard let value = try optional(key, expected, convert) else {
            throw .invalidValue(key: key, expected: "there")
        }
        return value
    }

    package func string(_ key: String) throws(WireError) -> String { try required(key, "a string", \.stringValue) }

    package func optionalString(_ key: String) throws(WireError) -> String? {
        try optional(key, "a string", \.stringValue)
    }

    package func boolean(_ key: String, absent: Bool) throws(WireError) -> Bool {
        try optional(key, "a boolean", \.booleanValue) ?? absent
    }

    package func unsigned(_ key: String) throws(WireError) -> UInt64 {
        try required(key, "an integer from 0", \.unsignedValue)
    }

    package func optionalInteger(_ key: String) throws(WireError) -> Int64? {
        try optional(key, "an integer", \.integerValue)
    }

    package func data(_ key: String) throws(WireError) -> [UInt8] { try required(key, "data", \.dataValue) }

    package func identifier(_ key: String) throws(WireError) -> UniqueIdentifier {
        try required(key, "data of 16 bytes", Self.identifier)
    }

    package func optionalIdentifier(_ key: String) throws(WireError) -> UniqueIdentifier? {
        try optional(key, "data of 16 bytes", Self.identifier)
    }

    package func application(_ key: String) throws(WireError) -> ApplicationIdentifier {
        try required(key, "an application identifier") { value in
            value.stringValue.flatMap { try? ApplicationIdentifier($0) }
        }
    }

    /// The elements of an array, each of one type.
    package func array<Element>(
        _ key: String, _ expected: StaticText, _ convert: (PropertyListValue) -> Element?
    ) throws(WireError) -> [Element] {
        let values = try required(key, "an array", \.arrayValue)
        var elements: [Element] = []
        for value in values {
            guard let element = convert(value) else { throw .invalidValue(key: key, expected: expected) }
            elements.append(element)
        }
        return elements
    }

    /// The elements of an array of dictionaries.
    package func dictionaries(_ key: String) throws(WireError) -> [BodyFields] {
        try array(key, "an array of dictionaries", \.dictionaryValue).map(BodyFields.init)
    }

    private static func identifier(_ value: PropertyListValue) -> UniqueIdentifier? {
        value.dataValue.flatMap { UniqueIdentifier(bytes: $0) }
    }
}
