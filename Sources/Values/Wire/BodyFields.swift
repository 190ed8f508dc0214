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

    /// A pairing's epoch (LIM-133).
    package func epoch(_ key: String) throws(WireError) -> UInt64 {
        try required(key, "an integer from 1 to 4,294,967,295") { value in
            value.unsignedValue.flatMap { Limits.epochs.contains($0) ? $0 : nil }
        }
    }

    package func optionalInteger(_ key: String) throws(WireError) -> Int64? {
        try optional(key, "an integer", \.integerValue)
    }

    package func data(_ key: String) throws(WireError) -> [UInt8] { try required(key, "data", \.dataValue) }

    package func identifier(_ key: String) throws(WireError) -> UniqueIdentifier {
        try required(key, "data of 16 bytes", \.identifierValue)
    }

    package func optionalIdentifier(_ key: String) throws(WireError) -> UniqueIdentifier? {
        try optional(key, "data of 16 bytes", \.identifierValue)
    }

    /// A SHA-256.
    package func optionalDigest(_ key: String) throws(WireError) -> [UInt8]? {
        try optional(key, "data of 32 bytes") { value in value.dataValue.flatMap { $0.count == 32 ? $0 : nil } }
    }

    /// An array of strings.
    package func optionalStrings(_ key: String) throws(WireError) -> [String]? {
        try optional(key, "an array of strings") { value in
            value.arrayValue.flatMap { values in
                let texts = values.compactMap(\.stringValue)
                return texts.count == values.count ? texts : nil
            }
        }
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
}

// MARK: values of other rooms, and bodies that are closed

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

extension PropertyListValue {
    /// The identifier that data of 16 bytes is.
    package var identifierValue: UniqueIdentifier? { dataValue.flatMap { UniqueIdentifier(bytes: $0) } }
}

// Bodies that are dictionaries: the step from the bytes of an envelope's body to values and back, with the wire's
// errors. Only who is the end of a frame's way calls this (FRM-8).

/// Reading and writing of structured bodies.
package enum Body {
    /// The dictionary of a body.
    /// - Throws: ``WireError/malformed(_:)``, also for a root that is not a dictionary.
    package static func dictionary(_ bytes: ArraySlice<UInt8>) throws(WireError) -> PropertyListDictionary {
        do { return try PropertyListReader.readDictionary(bytes) } catch { throw .malformed(error) }
    }

    /// The bytes of a dictionary.
    /// - Throws: ``WireError/malformed(_:)`` with the key path of what cannot be written.
    package static func bytes(_ dictionary: PropertyListDictionary) throws(WireError) -> [UInt8] {
        do { return try PropertyListWriter.write(dictionary) } catch { throw .malformed(error) }
    }
}

extension Envelope {
    /// The body as a dictionary; an absent body is an empty one.
    package func dictionaryBody() throws(WireError) -> PropertyListDictionary {
        guard let body else { return PropertyListDictionary() }
        return try Body.dictionary(body)
    }

    /// This envelope with a dictionary as its body.
    package func with(body dictionary: PropertyListDictionary) throws(WireError) -> Envelope {
        var envelope = self
        envelope.body = try Body.bytes(dictionary)[...]
        return envelope
    }
}
