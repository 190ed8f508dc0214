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

    package func optionalUnsigned(
        _ key: String, _ expected: StaticText = "an integer from 0"
    ) throws(WireError) -> UInt64? { try optional(key, expected, \.unsignedValue) }

    package func epoch(_ key: String) throws(WireError) -> UInt64 {
        try required(key, "an integer from 1 to 4,294,967,295", \.epochValue)
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
        try optional(key, "data of 32 bytes", \.digestValue)
    }

    /// An array of strings.
    package func optionalStrings(_ key: String) throws(WireError) -> [String]? {
        try optional(key, "an array of strings") { $0.list(\.stringValue) }
    }

    package func application(_ key: String) throws(WireError) -> ApplicationIdentifier {
        try required(key, "an application identifier", \.applicationValue)
    }

    package func optionalApplication(_ key: String) throws(WireError) -> ApplicationIdentifier? {
        try optional(key, "an application identifier", \.applicationValue)
    }

    /// The elements of an array, each of one type.
    package func array<Element>(
        _ key: String, _ expected: StaticText, _ convert: (PropertyListValue) -> Element?
    ) throws(WireError) -> [Element] {
        try required(key, expected) { $0.list(convert) }
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
        try required(key, expected) { $0.choiceValue() }
    }

    package func optionalChoice<Choice: RawRepresentable<String>>(
        _ key: String, _ expected: StaticText
    ) throws(WireError) -> Choice? {
        try optional(key, expected) { $0.choiceValue() }
    }

    package func role(_ key: String) throws(WireError) -> DeviceRole { try choice(key, "primary or secondary") }

    /// PEM text that is kept as data. Text that cannot be PEM, because it is too long or not ASCII, reads as an empty
    /// one (LIM-160), which is no key: it is never compared.
    package func optionalPEM(_ key: String) throws(WireError) -> String? {
        try optional(key, "data of UTF-8") { value in
            value.dataValue.flatMap { String(validating: $0, as: UTF8.self) }.map { text in
                text.utf8.count <= Limits.pem && text.utf8.allSatisfy { $0 < 0x80 } ? text : ""
            }
        }
    }

    package func pairedIdentifier(_ key: String) throws(WireError) -> PairedIdentifier {
        try required(key, "a paired identifier", \.targetValue)
    }

    package func optionalPairedIdentifier(_ key: String) throws(WireError) -> PairedIdentifier? {
        try optional(key, "a paired identifier", \.targetValue)
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

    /// A SHA-256.
    package var digestValue: [UInt8]? { dataValue.flatMap { $0.count == 32 ? $0 : nil } }

    /// A pairing's epoch (LIM-133).
    package var epochValue: UInt64? { unsignedValue.flatMap { Limits.epochs.contains($0) ? $0 : nil } }

    /// A stored number from which this device counts on.
    package var counterValue: UInt64? { unsignedValue.flatMap { $0 <= Limits.lastCount ? $0 : nil } }

    package var versionValue: ProtocolVersion? {
        unsignedValue.flatMap { UInt32(exactly: $0) }.flatMap { ProtocolVersion($0) }
    }

    package var applicationValue: ApplicationIdentifier? { stringValue.flatMap { try? ApplicationIdentifier($0) } }

    package var targetValue: PairedIdentifier? { stringValue.flatMap { try? PairedIdentifier(text: $0) } }

    package var roleValue: DeviceRole? { choiceValue() }

    /// A text that may be a key of a dictionary (LIM-12); nil for one that is too long, which is never compared.
    package var keyValue: String? {
        stringValue.flatMap { (1...PropertyListLimits.maximumKeyLength).contains($0.utf8.count) ? $0 : nil }
    }

    /// One of the words of an enum.
    package func choiceValue<Choice: RawRepresentable<String>>() -> Choice? {
        stringValue.flatMap { Choice(word: $0) }
    }

    /// The elements of an array; nil for anything else, for too many, and if one of them does not read.
    package func list<Element>(
        atMost limit: Int = .max, _ read: (PropertyListValue) -> Element?
    ) -> [Element]? {
        guard let values = arrayValue, values.count <= limit else { return nil }
        let elements = values.compactMap(read)
        return elements.count == values.count ? elements : nil
    }
}

// Bodies that are dictionaries: the step from the bytes of an envelope's body to values and back, with the wire's
// errors. Only the two ends of a frame's way call this (FRM-8).

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
