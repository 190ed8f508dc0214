// Property-list values from and to Foundation's types. On Linux a native Int is no Double and an NSNumber is
// everything: so what arrives is always NSNumber, and what is sent is judged by its own type first. An unsupported
// value is named by its key path before anything leaves.
//
// On Linux one cast, or one access to an element, converts an NSArray or NSDictionary with everything in it to Swift
// values. For a container that contains itself that never ends. This reader therefore uses their mirrors, which show
// the objects as they are stored.

import Foundation
import PairedSession
import TandemPropertyList

/// A value that no property list can hold.
struct FoundationValueError: Error, Equatable {
    /// nil: the root itself.
    let keyPath: String?
    /// The thing that is there, to follow "the message holds".
    let fault: String

    /// The error in the words of a kind of content.
    func content(_ kind: ContentKind) -> UnsupportedContent {
        UnsupportedContent(kind, holds: fault, keyPath: keyPath)
    }
}

extension PropertyListDictionary {
    /// - Throws: the key path of the first value, in the order of keys, that cannot be sent.
    init(foundation values: [String: Any]) throws(FoundationValueError) {
        var tree = FoundationTree()
        self = try tree.dictionary(values.map { ($0.key, $0.value) }, path: "", depth: 1)
    }

    /// Dictionaries whose keys only differ in spelling (Unicode composition) keep the first in byte order.
    var foundationValue: [String: Any] {
        Dictionary(map { ($0.key, $0.value.foundationValue) }, uniquingKeysWith: { first, _ in first })
    }
}

extension PropertyListValue {
    fileprivate var foundationValue: Any {
        switch self {
        case .boolean(let value): NSNumber(value: value)
        case .integer(let value): NSNumber(value: value)
        case .unsigned(let value): NSNumber(value: value)
        case .real(let value): NSNumber(value: value)
        case .date(let value): Date(timeIntervalSinceReferenceDate: value.secondsSinceReferenceDate)
        case .data(let value): Data(value)
        case .string(let value): value
        case .array(let values): values.map(\.foundationValue)
        case .dictionary(let values): values.foundationValue
        }
    }
}

/// One reading of a tree of Foundation's values, within the writer's own limits: containers that are classes may
/// contain themselves, or each other so often that no memory holds them all.
private struct FoundationTree {
    private let limits = PropertyListLimits.standard
    private var count = 0

    /// - Parameter pairs: in any order.
    mutating func dictionary(
        _ pairs: [(key: String, value: Any)], path: String, depth: Int
    ) throws(FoundationValueError) -> PropertyListDictionary {
        // Built at once: each assignment to a dictionary copies it.
        var values: [(String, PropertyListValue)] = []
        for (key, value) in pairs.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            // The writer refuses it too. Here, because the path of a fault below such a key might fit no frame.
            let length = key.utf8.count
            if length > PropertyListLimits.maximumKeyLength { throw fault(.invalidKeyLength(length), path) }
            let value = try self.value(value, path: path.isEmpty ? key : "\(path).\(key)", depth: depth + 1)
            if let last = values.last, last.0.utf8.elementsEqual(key.utf8) { values.removeLast() }
            values.append((key, value))
        }
        return PropertyListDictionary(uniqueKeysWithValues: values)
    }

    private mutating func value(_ value: Any, path: String, depth: Int) throws(FoundationValueError)
        -> PropertyListValue
    {
        count += 1
        if depth > limits.depth { throw fault(.tooDeep(limit: limits.depth), path) }
        if count > limits.values { throw fault(.tooManyValues(limit: limits.values), path) }
        let value = FoundationLeaf.unwrapped(value)
        if type(of: value) is AnyClass {
            if let array = value as? NSArray { return try self.array(array.storedElements, path, depth) }
            if let dictionary = value as? NSDictionary { return try self.dictionary(dictionary, path, depth) }
        } else if let values = value as? [Any] {
            return try array(values, path, depth)
        } else if let values = value as? [String: Any] {
            return .dictionary(try dictionary(values.map { ($0.key, $0.value) }, path: path, depth: depth))
        }
        if let scalar = FoundationLeaf.scalar(value) { return scalar }
        if let content = FoundationLeaf.unboxed(value) { return try self.value(content, path: path, depth: depth) }
        throw FoundationValueError(keyPath: path, fault: FoundationLeaf.fault(of: value))
    }

    private mutating func array(
        _ values: some Sequence<Any>, _ path: String, _ depth: Int
    ) throws(FoundationValueError) -> PropertyListValue {
        var elements: [PropertyListValue] = []
        for (index, element) in values.enumerated() {
            elements.append(try value(element, path: "\(path)[\(index)]", depth: depth + 1))
        }
        return .array(elements)
    }

    private mutating func dictionary(
        _ values: NSDictionary, _ path: String, _ depth: Int
    ) throws(FoundationValueError) -> PropertyListValue {
        var pairs: [(key: String, value: Any)] = []
        for (key, value) in values.storedPairs {
            guard let key = key as? String else { throw fault(.keyNotString, path) }
            pairs.append((key, value))
        }
        return .dictionary(try dictionary(pairs, path: path, depth: depth))
    }

    private func fault(_ reason: PropertyListError.Reason, _ path: String) -> FoundationValueError {
        FoundationValueError(keyPath: path.isEmpty ? nil : path, fault: reason.inContent)
    }
}

extension NSArray {
    /// The elements without a copy of what is in them. An array of another class answers for itself.
    fileprivate var storedElements: any Sequence<Any> {
        let stored = Mirror(reflecting: self).children
        if stored.count == count { return stored.lazy.map(\.value) }
        return (0..<count).lazy.map { self.object(at: $0) }
    }
}

extension NSDictionary {
    /// The pairs without a copy of what is in them. A dictionary of another class answers for itself.
    fileprivate var storedPairs: [(key: Any, value: Any)] {
        let stored = Mirror(reflecting: self).children.compactMap { $0.value as? (key: NSObject, value: AnyObject) }
        if stored.count == count { return stored.map { ($0.key, $0.value) } }
        return allKeys.map { ($0, object(forKey: $0) ?? NSNull()) }
    }
}

/// Values that hold no others.
private enum FoundationLeaf {
    /// The content of an `Optional` or an `AnyHashable`.
    static func unwrapped(_ value: Any) -> Any {
        guard let wrapper = value as? any ValueWrapper, let content = wrapper.content else { return value }
        return unwrapped(content)
    }

    /// The content of the box in which Foundation keeps a Swift value that has no class; nil for anything else.
    static func unboxed(_ value: Any) -> Any? {
        String(describing: type(of: value)) == "__SwiftValue" ? NSArray(object: value).firstObject : nil
    }

    static func scalar(_ value: Any) -> PropertyListValue? {
        if type(of: value) is NSNumber.Type, let number = value as? NSNumber { return boxed(number) }
        switch value {
        case let value as Bool: return .boolean(value)
        case let value as any FixedWidthInteger: return native(value)
        case let value as Double: return .real(value)
        case let value as Float: return .real(Double(value))
        case let value as CGFloat: return .real(Double(value))
        case let value as Decimal: return .real(nearest(value))
        case let value as String: return .string(value)
        case let value as Data: return .data(Array(value))
        case let value as Date: return date(value)
        default: return nil
        }
    }

    /// A value that is no scalar, in words.
    static func fault(of value: Any) -> String {
        switch value {
        case is Date: PropertyListError.Reason.dateOutOfRange.inContent
        case is any FixedWidthInteger: PropertyListError.Reason.integerOutOfRange.inContent
        default: "a value of the type \(type(of: value)), which no property list can hold"
        }
    }

    private static func boxed(_ number: NSNumber) -> PropertyListValue {
        if let number = number as? NSDecimalNumber { return .real(nearest(number.decimalValue)) }
        switch String(cString: number.objCType) {
        case "d", "f": return .real(number.doubleValue)
        case "c" where number.int8Value == 0 || number.int8Value == 1, "B": return .boolean(number.boolValue)
        case "Q" where number.uint64Value > UInt64(Int64.max): return .unsigned(number.uint64Value)
        default: return .integer(number.int64Value)
        }
    }

    /// Foundation's own conversion rounds at each digit on Linux.
    private static func nearest(_ value: Decimal) -> Double { Double(value.description) ?? .nan }

    /// nil for a number beyond 64 bits.
    private static func native(_ value: some FixedWidthInteger) -> PropertyListValue? {
        if let signed = Int64(exactly: value) { return .integer(signed) }
        return UInt64(exactly: value).map { .unsigned($0) }
    }

    private static func date(_ value: Date) -> PropertyListValue? {
        PropertyListDate(secondsSinceReferenceDate: value.timeIntervalSinceReferenceDate).map { .date($0) }
    }
}

/// A value that may hold another one.
private protocol ValueWrapper {
    var content: Any? { get }
}

extension Optional: ValueWrapper {
    fileprivate var content: Any? { map { $0 as Any } }
}

extension AnyHashable: ValueWrapper {
    fileprivate var content: Any? { base }
}
