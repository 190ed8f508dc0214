// Encoder of Codable values as property-list values, for preferences of any Swift type. The library's core has no
// Foundation, and Foundation's property-list code must never see a file's bytes. Integers, reals, strings, booleans and
// byte arrays are the property list's own; nil is the one dictionary `{"$null": true}`, since property lists have none.

import TandemPropertyList

/// Encodes values as binary property lists.
enum SettingEncoder {
    static func bytes<Value: Encodable>(of value: Value) throws(SettingCodingError) -> [UInt8] {
        do {
            // A property list whose root is no container is legal; one key names it for what may come later.
            return try PropertyListWriter.write(.dictionary(["value": try tree(of: value, at: [])]))
        } catch let error as EncodingError {
            throw SettingCodingError(reason: error.reason)
        } catch let error as PropertyListError {
            throw SettingCodingError(reason: error.reason.description)
        } catch {
            throw SettingCodingError(reason: "its type refused to be encoded")
        }
    }

    static let null: PropertyListValue = ["$null": true]

    fileprivate static func tree<Value: Encodable>(
        of value: Value, at path: [any CodingKey]
    ) throws -> PropertyListValue {
        // Not by a cast alone: an empty array of anything is an empty array of bytes, too.
        if Value.self == [UInt8].self, let bytes = value as? [UInt8] { return .data(bytes) }
        let node = EncodedNode()
        try value.encode(to: NodeEncoder(node: node, codingPath: path))
        return node.value
    }
}

/// A value that is being encoded; confined to the thread of its encoding.
private final class EncodedNode {
    private enum Kind { case none, single, list, dictionary }

    private var kind = Kind.none
    private var scalar: PropertyListValue = [:]
    private var elements: [EncodedNode] = []
    private var members: [(key: String, node: EncodedNode)] = []

    /// A type that encodes nothing is an empty dictionary.
    var value: PropertyListValue {
        switch kind {
        case .none, .single: scalar
        case .list: .array(elements.map(\.value))
        case .dictionary: .dictionary(dictionary)
        }
    }

    /// A key that was encoded twice has its last value.
    private var dictionary: PropertyListDictionary {
        var indices: [[UInt8]: Int] = [:]
        for (index, member) in members.enumerated() { indices[Array(member.key.utf8)] = index }
        return PropertyListDictionary(
            uniqueKeysWithValues: indices.values.map { (members[$0].key, members[$0].node.value) })
    }

    func set(_ value: PropertyListValue) {
        kind = .single
        scalar = value
    }

    func becomeList() { kind = .list }

    func becomeDictionary() { kind = .dictionary }

    var count: Int { elements.count }

    func element() -> EncodedNode {
        let node = EncodedNode()
        elements.append(node)
        return node
    }

    func member(_ key: String) -> EncodedNode {
        let node = EncodedNode()
        members.append((key, node))
        return node
    }
}

private struct NodeEncoder: Encoder {
    let node: EncodedNode
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.becomeDictionary()
        return KeyedEncodingContainer(NodeMembers(node: node, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.becomeList()
        return NodeElements(node: node, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        NodeScalar(node: node, codingPath: codingPath)
    }
}

/// The writing of one scalar, in one place for all three kinds of containers.
private struct NodeScalar: SingleValueEncodingContainer {
    let node: EncodedNode
    let codingPath: [any CodingKey]

    mutating func encodeNil() { node.set(SettingEncoder.null) }
    mutating func encode(_ value: Bool) { node.set(.boolean(value)) }
    mutating func encode(_ value: String) { node.set(.string(value)) }
    mutating func encode(_ value: Double) { node.set(.real(value)) }
    mutating func encode(_ value: Float) { node.set(.real(Double(value))) }
    mutating func encode(_ value: Int) { node.set(PropertyListValue(value)) }
    mutating func encode(_ value: Int8) { node.set(PropertyListValue(value)) }
    mutating func encode(_ value: Int16) { node.set(PropertyListValue(value)) }
    mutating func encode(_ value: Int32) { node.set(PropertyListValue(value)) }
    mutating func encode(_ value: Int64) { node.set(PropertyListValue(value)) }
    mutating func encode(_ value: UInt) { node.set(PropertyListValue(value)) }
    mutating func encode(_ value: UInt8) { node.set(PropertyListValue(value)) }
    mutating func encode(_ value: UInt16) { node.set(PropertyListValue(value)) }
    mutating func encode(_ value: UInt32) { node.set(PropertyListValue(value)) }
    mutating func encode(_ value: UInt64) { node.set(PropertyListValue(value)) }
    mutating func encode<Value: Encodable>(_ value: Value) throws {
        node.set(try SettingEncoder.tree(of: value, at: codingPath))
    }
}

private struct NodeElements: UnkeyedEncodingContainer {
    let node: EncodedNode
    let codingPath: [any CodingKey]
    var count: Int { node.count }

    mutating func encodeNil() throws { node.element().set(SettingEncoder.null) }

    private func next() -> NodeEncoder {
        let path = codingPath + [IndexKey(count)]
        return NodeEncoder(node: node.element(), codingPath: path)
    }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        let next = next()
        next.node.set(try SettingEncoder.tree(of: value, at: next.codingPath))
    }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }

    mutating func superEncoder() -> any Encoder { next() }
}

private struct NodeMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: EncodedNode
    let codingPath: [any CodingKey]

    mutating func encodeNil(forKey key: Key) throws { node.member(key.stringValue).set(SettingEncoder.null) }

    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        let value = try SettingEncoder.tree(of: value, at: codingPath + [key])
        node.member(key.stringValue).set(value)
    }

    private func member(_ key: any CodingKey) -> NodeEncoder {
        NodeEncoder(node: node.member(key.stringValue), codingPath: codingPath + [key])
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        member(key).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        member(key).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { member(IndexKey(name: "super")) }

    mutating func superEncoder(forKey key: Key) -> any Encoder { member(key) }
}

/// The index of an element, or a name of ours, in a path.
struct IndexKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ index: Int) {
        stringValue = String(index)
        intValue = index
    }

    init(name: String) {
        stringValue = name
        intValue = nil
    }

    init?(stringValue: String) { self.init(name: stringValue) }
    init?(intValue: Int) { self.init(intValue) }
}

extension EncodingError {
    /// The location of the fault; never a value.
    fileprivate var reason: String {
        let context = if case .invalidValue(_, let context) = self { context.codingPath } else { [any CodingKey]() }
        return "its type refused to be encoded" + context.shown
    }
}

extension [any CodingKey] {
    /// ` at a.b.0`; empty for the root.
    var shown: String { isEmpty ? "" : " at " + map(\.stringValue).joined(separator: ".") }
}
