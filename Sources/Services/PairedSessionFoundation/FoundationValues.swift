// Property-list values from and to Foundation's types. On Linux a native Int is no Double and an NSNumber is
// everything: so what arrives is always NSNumber, and what is sent is judged by its own type first. An unsupported
// value is named by its key path before anything leaves.

import Foundation
import PairedSession
import TandemPropertyList

/// A value that no property list can hold.
struct FoundationValueError: Error, Equatable {
    let keyPath: String
    let typeName: String
}

extension PropertyListDictionary {
    /// - Throws: the key path of the first value, in the order of keys, that cannot be sent.
    init(foundation values: [String: Any], path: String = "", depth: Int = 1) throws(FoundationValueError) {
        self.init()
        for (key, value) in values.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            self[key] = try PropertyListValue(
                foundation: value, path: path.isEmpty ? key : "\(path).\(key)", depth: depth + 1)
        }
    }

    /// Dictionaries whose keys only differ in spelling (Unicode composition) keep the first in byte order.
    var foundationValue: [String: Any] {
        Dictionary(map { ($0.key, $0.value.foundationValue) }, uniquingKeysWith: { first, _ in first })
    }
}

extension PropertyListValue {
    /// A bound for values that contain themselves by way of classes; the writer's own limit is 64.
    private static var deepest: Int { 70 }

    fileprivate init(foundation value: Any, path: String, depth: Int) throws(FoundationValueError) {
        guard depth < Self.deepest else { throw FoundationValueError(keyPath: path, typeName: "value nested too deep") }
        if let scalar = Self.scalar(value) {
            self = scalar
        } else if let values = value as? [Any] {
            var elements: [PropertyListValue] = []
            for (index, element) in values.enumerated() {
                elements.append(try Self(foundation: element, path: "\(path)[\(index)]", depth: depth + 1))
            }
            self = .array(elements)
        } else if let values = value as? [String: Any] {
            self = .dictionary(try PropertyListDictionary(foundation: values, path: path, depth: depth))
        } else {
            throw FoundationValueError(keyPath: path, typeName: String(describing: type(of: value)))
        }
    }

    private static func scalar(_ value: Any) -> PropertyListValue? {
        if type(of: value) is NSNumber.Type, let number = value as? NSNumber { return boxed(number) }
        switch value {
        case let value as Bool: return .boolean(value)
        case let value as any FixedWidthInteger: return native(value)
        case let value as Double: return .real(value)
        case let value as Float: return .real(Double(value))
        case let value as String: return .string(value)
        case let value as Data: return .data(Array(value))
        case let value as Date: return date(value)
        default: return nil
        }
    }

    private static func boxed(_ number: NSNumber) -> PropertyListValue {
        switch String(cString: number.objCType) {
        case "d", "f": .real(number.doubleValue)
        case "c" where number.int8Value == 0 || number.int8Value == 1, "B": .boolean(number.boolValue)
        case "Q" where number.uint64Value > UInt64(Int64.max): .unsigned(number.uint64Value)
        default: .integer(number.int64Value)
        }
    }

    /// nil for a number beyond 64 bits.
    private static func native(_ value: some FixedWidthInteger) -> PropertyListValue? {
        if let signed = Int64(exactly: value) { return .integer(signed) }
        return UInt64(exactly: value).map { .unsigned($0) }
    }

    private static func date(_ value: Date) -> PropertyListValue? {
        PropertyListDate(secondsSinceReferenceDate: value.timeIntervalSinceReferenceDate).map { .date($0) }
    }

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
