// Decoder of Codable values from property-list values: the way back of the encoder beside it. Bytes come from a file
// that anybody may have damaged, so they pass the strict reader first, numbers are exact or refused, and no error
// repeats a value.

import TandemPropertyList

/// Decodes values from binary property lists.
enum SettingDecoder {
    static func value<Value: Decodable>(
        of type: Value.Type, from bytes: [UInt8], version: Int
    ) throws(SettingCodingError) -> Value {
        do {
            guard let tree = try PropertyListReader.readDictionary(bytes)["value"] else {
                throw SettingCodingError(reason: "the bytes have no value")
            }
            return try value(of: type, from: DecodedNode(tree, [], version))
        } catch let error as SettingCodingError {
            throw error
        } catch let error as PropertyListError {
            throw SettingCodingError(reason: error.description)
        } catch let error as DecodingError {
            throw SettingCodingError(reason: error.reason)
        } catch {
            throw SettingCodingError(reason: "its type refused to be decoded")
        }
    }

    fileprivate static func value<Value: Decodable>(of type: Value.Type, from node: DecodedNode) throws -> Value {
        if type == [UInt8].self, let bytes = node.value.dataValue as? Value { return bytes }
        return try Value(from: node)
    }
}

/// A value that is being decoded, and its place.
private struct DecodedNode: Decoder, SingleValueDecodingContainer {
    let value: PropertyListValue
    let codingPath: [any CodingKey]
    private let version: Int

    init(_ value: PropertyListValue, _ path: [any CodingKey], _ version: Int) {
        self.value = value
        codingPath = path
        self.version = version
    }

    var userInfo: [CodingUserInfoKey: Any] { [.settingVersion: version] }

    func child(_ value: PropertyListValue, _ key: any CodingKey) -> DecodedNode {
        DecodedNode(value, codingPath + [key], version)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .dictionary(let members) = value else { throw mismatch([String: Any].self) }
        return KeyedDecodingContainer(DecodedMembers(node: self, members: members))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch([Any].self) }
        return DecodedElements(node: self, elements: elements)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func mismatch(_ type: any Any.Type) -> DecodingError {
        DecodingError.typeMismatch(
            type, DecodingError.Context(codingPath: codingPath, debugDescription: "another type"))
    }

    // MARK: scalars

    func decodeNil() -> Bool { value == SettingEncoder.null }

    func decode(_ type: Bool.Type) throws -> Bool { try taken(value.booleanValue) }
    func decode(_ type: String.Type) throws -> String { try taken(value.stringValue) }
    func decode(_ type: Double.Type) throws -> Double { try taken(value.realValue) }
    func decode(_ type: Float.Type) throws -> Float { try taken(value.realValue.flatMap { Float(exactly: $0) }) }
    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try SettingDecoder.value(of: type, from: self) }

    private func integer<Number: FixedWidthInteger>() throws -> Number {
        if let number = value.integerValue { return try taken(Number(exactly: number)) }
        return try taken(value.unsignedValue.flatMap { Number(exactly: $0) })
    }

    private func taken<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw mismatch(Value.self) }
        return value
    }
}

private struct DecodedElements: UnkeyedDecodingContainer {
    let node: DecodedNode
    let elements: [PropertyListValue]
    private(set) var currentIndex = 0

    var codingPath: [any CodingKey] { node.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    /// The element at the index; the index moves on only if the element was decoded.
    private mutating func next<Value>(_ decode: (DecodedNode) throws -> Value) throws -> Value {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                Value.self, DecodingError.Context(codingPath: codingPath, debugDescription: "no more elements"))
        }
        let value = try decode(node.child(elements[currentIndex], IndexKey(currentIndex)))
        currentIndex += 1
        return value
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, elements[currentIndex] == SettingEncoder.null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try next { try SettingDecoder.value(of: type, from: $0) }
    }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try next { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try next { $0 } }
}

private struct DecodedMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let node: DecodedNode
    let members: PropertyListDictionary

    var codingPath: [any CodingKey] { node.codingPath }
    var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

    private func member(_ key: any CodingKey) throws -> DecodedNode {
        guard let value = members[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key, DecodingError.Context(codingPath: codingPath, debugDescription: "no such key"))
        }
        return node.child(value, key)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try member(key).decodeNil() }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try SettingDecoder.value(of: type, from: try member(key))
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try member(IndexKey(name: "super")) }

    func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }
}

extension DecodingError {
    /// The kind and the location of the fault; never a value.
    fileprivate var reason: String {
        switch self {
        case .typeMismatch(_, let context): "another type" + context.codingPath.shown
        case .valueNotFound(_, let context): "too few elements" + context.codingPath.shown
        case .keyNotFound(let key, let context): "no '\(key.stringValue)'" + context.codingPath.shown
        case .dataCorrupted(let context): "a value that its type refuses" + context.codingPath.shown
        @unknown default: "its type refused to be decoded"
        }
    }
}
