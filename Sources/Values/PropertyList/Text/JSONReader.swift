// JSON that a person wrote (an argument, a file of values) as property-list values. Stricter than JSON where the two
// differ: no null, no duplicate keys, integers are those without fraction and exponent. Never used for what peers send:
// they speak binary property lists only. It recurses, to a depth of 64 at most.

import TandemBase

/// Reads one JSON text.
package struct JSONReader {
    private let bytes: [UInt8]
    private var place = 0
    private static let deepest = 64

    /// The value of a JSON text in UTF-8.
    package static func read(_ bytes: [UInt8]) throws(JSONError) -> PropertyListValue {
        var reader = JSONReader(bytes: bytes)
        let value = try reader.value(depth: 1)
        reader.skipSpace()
        guard reader.place == bytes.count else { throw reader.error(.trailingText) }
        return value
    }

    /// The value of a JSON text.
    package static func read(_ text: String) throws(JSONError) -> PropertyListValue { try read(Array(text.utf8)) }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func value(depth: Int) throws(JSONError) -> PropertyListValue {
        guard depth <= Self.deepest else { throw error(.tooDeep) }
        skipSpace()
        switch try peek() {
        case UInt8(ascii: "{"): return Self.meaning(of: try dictionary(depth: depth))
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", true)
        case UInt8(ascii: "f"): return try word("false", false)
        case UInt8(ascii: "n") where bytes[place...].starts(with: "null".utf8): throw error(.null)
        default: return try number()
        }
    }

    /// The data or date that a dictionary of one reserved key stands for, or the dictionary itself.
    private static func meaning(of dictionary: PropertyListDictionary) -> PropertyListValue {
        guard dictionary.count == 1 else { return .dictionary(dictionary) }
        if let bytes = dictionary[PropertyListJSON.dataKey]?.stringValue.flatMap(Base64URL.decode) {
            return .data(bytes)
        }
        let milliseconds = dictionary[PropertyListJSON.dateKey]?.integerValue
        if let date = milliseconds.flatMap(PropertyListDate.init(millisecondsSince1970:)) { return .date(date) }
        return .dictionary(dictionary)
    }

    private mutating func dictionary(depth: Int) throws(JSONError) -> PropertyListDictionary {
        var result = PropertyListDictionary()
        place += 1
        while try !closes(UInt8(ascii: "}"), first: result.isEmpty) {
            skipSpace()
            let start = place
            let key = try string()
            guard result[key] == nil else { throw JSONError(reason: .duplicateKey, offset: start) }
            skipSpace()
            try expect(UInt8(ascii: ":"))
            result[key] = try value(depth: depth + 1)
        }
        return result
    }

    private mutating func array(depth: Int) throws(JSONError) -> [PropertyListValue] {
        var result: [PropertyListValue] = []
        place += 1
        while try !closes(UInt8(ascii: "]"), first: result.isEmpty) { result.append(try value(depth: depth + 1)) }
        return result
    }

    /// Whether a container ends here; otherwise takes the comma before the next element.
    private mutating func closes(_ end: UInt8, first: Bool) throws(JSONError) -> Bool {
        skipSpace()
        if try peek() == end {
            place += 1
            return true
        }
        if !first { try expect(UInt8(ascii: ",")) }
        return false
    }

    private mutating func word(_ word: String, _ value: PropertyListValue) throws(JSONError) -> PropertyListValue {
        guard bytes[place...].starts(with: word.utf8) else { throw error(.unexpectedCharacter) }
        place += word.utf8.count
        return value
    }

    private mutating func number() throws(JSONError) -> PropertyListValue {
        let start = place
        while place < bytes.count, Self.isNumberByte(bytes[place]) { place += 1 }
        guard place > start else { throw error(.unexpectedCharacter) }
        guard let value = Self.number(String(decoding: bytes[start..<place], as: UTF8.self)) else {
            throw JSONError(reason: .number, offset: start)
        }
        return value
    }

    private static func isNumberByte(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+-.eE".utf8.contains(byte)
    }

    private static func number(_ text: String) -> PropertyListValue? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        // JSON has no leading zeros, plus signs or bare points, and Swift's own initialisers do.
        guard digits.first?.isNumber == true, !(digits.hasPrefix("0") && digits.dropFirst().first?.isNumber == true),
            text.last?.isNumber == true
        else { return nil }
        if text.contains(where: { ".eE".contains($0) }) {
            guard let real = Double(text), real.isFinite else { return nil }
            return .real(real)
        }
        return Int64(text).map { .integer($0) } ?? UInt64(text).map { .unsigned($0) }
    }

    private mutating func string() throws(JSONError) -> String {
        let start = place
        guard let (text, count) = JSONString.read(bytes[start...]) else {
            throw JSONError(reason: .string, offset: start)
        }
        place += count
        return text
    }

    private mutating func expect(_ byte: UInt8) throws(JSONError) {
        guard try peek() == byte else { throw error(.unexpectedCharacter) }
        place += 1
    }

    private func peek() throws(JSONError) -> UInt8 {
        guard place < bytes.count else { throw error(.unexpectedEnd) }
        return bytes[place]
    }

    private mutating func skipSpace() {
        while place < bytes.count, " \t\r\n".utf8.contains(bytes[place]) { place += 1 }
    }

    private func error(_ reason: JSONError.Reason) -> JSONError { JSONError(reason: reason, offset: place) }
}
