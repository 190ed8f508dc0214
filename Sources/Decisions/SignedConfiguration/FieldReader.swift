// Strict reader of a dictionary: it names every field once with its type, and at the end refuses fields that it did not
// name. The error names the first faulty field; nothing is defaulted from absence. Fields in the order of the alphabet
// are found fastest.

import TandemBase
import TandemPropertyList
import TandemWire

/// A field that is missing, of another type or value than it must be, or not known.
package struct FieldError: Error, Sendable, Equatable, CustomStringConvertible {
    let field: String
    let problem: String

    package var description: String { "'\(field)' \(problem)" }
}

struct FieldReader {
    private let dictionary: PropertyListDictionary
    /// Few, so that looking through them costs less than hashing them would.
    private var known: [String] = []
    private var cursor = 0

    init(_ dictionary: PropertyListDictionary) {
        self.dictionary = dictionary
        known.reserveCapacity(24)
    }

    /// A reader of a record in the first version of its form.
    init(record dictionary: PropertyListDictionary) throws(FieldError) {
        self.init(dictionary)
        try firstVersion()
    }

    /// The form of the record, of which there is one.
    mutating func firstVersion() throws(FieldError) {
        _ = try required("v", "1") { $0.integerValue == 1 ? 1 : nil }
    }

    mutating func required<Value>(
        _ field: String, _ expected: String, _ read: (PropertyListValue) -> Value?
    ) throws(FieldError) -> Value {
        guard let value = try optional(field, expected, read) else {
            throw FieldError(field: field, problem: "is missing")
        }
        return value
    }

    mutating func optional<Value>(
        _ field: String, _ expected: String, _ read: (PropertyListValue) -> Value?
    ) throws(FieldError) -> Value? {
        known.append(field)
        guard let value = dictionary.value(of: field, from: &cursor) else { return nil }
        guard let read = read(value) else { throw FieldError(field: field, problem: "is not \(expected)") }
        return read
    }

    func refuseUnknownFields() throws(FieldError) {
        let unknown = dictionary.withPairs { pairs in
            pairs.indices.first { !known.contains(pairs[$0].key) }.map { pairs[$0].key }
        }
        if let unknown { throw FieldError(field: unknown, problem: "is not known") }
    }
}

extension PropertyListValue {
    var positiveValue: UInt64? { unsignedValue.flatMap { $0 > 0 ? $0 : nil } }

    /// Milliseconds since 1970.
    var timeValue: WallTime? { integerValue.map { WallTime(milliseconds: $0) } }

    /// Milliseconds that have passed.
    var elapsedValue: Int64? { integerValue.flatMap { $0 >= 0 ? $0 : nil } }

    /// The elements of an array whose number is in the range and of which no two are equal; nil for anything else.
    func distinct<Element: Hashable>(
        _ count: ClosedRange<Int>, _ read: (PropertyListValue) -> Element?
    ) -> [Element]? {
        guard let elements = list(atMost: count.upperBound, read), count.contains(elements.count) else { return nil }
        return Set(elements).count == elements.count ? elements : nil
    }

    /// 1 to 64 distinct texts, none empty, compared by their bytes: `==` equates composed and decomposed characters.
    var distinctTexts: [String]? {
        let texts = distinct(1...ConfigurationLimits.list) {
            $0.stringValue.flatMap { $0.isEmpty ? nil : Array($0.utf8) }
        }
        return texts?.map { String(decoding: $0, as: UTF8.self) }
    }
}
