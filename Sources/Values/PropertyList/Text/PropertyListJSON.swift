// Property-list values as JSON for people and programs. Deterministic: keys come in their own order, and every value
// has one spelling, so that equal values are equal text. Values that JSON lacks are objects with one reserved key:
// data is {"$data": base64url}, a date is {"$date": milliseconds since 1970}. JSONReader reads both back.

import TandemBase

/// Writes values as JSON text.
package enum PropertyListJSON {
    static let dataKey = "$data"
    static let dateKey = "$date"

    /// The JSON text on one line, without a newline.
    package static func text(_ value: PropertyListValue) -> String {
        var text = ""
        append(value, to: &text)
        return text
    }

    private static func append(_ value: PropertyListValue, to text: inout String) {
        switch value {
        case .boolean(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .unsigned(let value): text += String(value)
        // A value in memory may be infinite though none on the wire is; JSON has no word for it.
        case .real(let value): text += value.isFinite ? "\(value)" : "null"
        case .string(let value): text += quoted(value)
        case .data(let bytes): text += "{\"\(dataKey)\":\(quoted(Base64URL.encode(bytes)))}"
        case .date(let date): text += "{\"\(dateKey)\":\(date.millisecondsSince1970)}"
        case .array(let values):
            text += "["
            for (index, element) in values.enumerated() {
                if index > 0 { text += "," }
                append(element, to: &text)
            }
            text += "]"
        case .dictionary(let pairs):
            text += "{"
            for (index, pair) in pairs.enumerated() {
                text += (index > 0 ? "," : "") + quoted(pair.key) + ":"
                append(pair.value, to: &text)
            }
            text += "}"
        }
    }

    /// Control characters, also those that only some terminals obey, are escaped: the text may be a peer's.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
                quoted += "\\u" + Hexadecimal.encode([UInt8(scalar.value >> 8), UInt8(scalar.value & 0xFF)])
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

// MARK: - Reading JSON that a person wrote (an argument, a file of values), never the bytes of a peer. Stricter than
// JSON: no null, no duplicate keys, and an integer has neither fraction nor exponent. It recurses, to a depth of 64 at
// most.

/// Reads one JSON text.
package struct JSONReader {
    private let bytes: [UInt8]
    private var offset = 0
    private static let deepest = 64

    /// The value of a JSON text in UTF-8.
    package static func read(_ bytes: [UInt8]) throws(JSONError) -> PropertyListValue {
        var reader = JSONReader(bytes: bytes)
        let value = try reader.value(depth: 1)
        reader.skipSpace()
        guard reader.offset == bytes.count else { throw reader.error(.trailingText) }
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
        case UInt8(ascii: "n") where bytes[offset...].starts(with: "null".utf8): throw error(.null)
        default: return try number()
        }
    }

    /// The data or date that a dictionary of one reserved key stands for, or the dictionary itself.
    private static func meaning(of dictionary: PropertyListDictionary) -> PropertyListValue {
        guard dictionary.count == 1 else { return .dictionary(dictionary) }
        // People write what other tools print.
        let data = dictionary[PropertyListJSON.dataKey]?.stringValue
        if let bytes = data.flatMap({ Base64URL.decode($0) ?? Base64.decode(Array($0.utf8)) }) { return .data(bytes) }
        let milliseconds = dictionary[PropertyListJSON.dateKey]?.integerValue
        if let date = milliseconds.flatMap(PropertyListDate.init(millisecondsSince1970:)) { return .date(date) }
        return .dictionary(dictionary)
    }

    private mutating func dictionary(depth: Int) throws(JSONError) -> PropertyListDictionary {
        // Built at once: each assignment to a dictionary copies it. Keys are compared as bytes, as there.
        var (pairs, keys) = ([(String, PropertyListValue)](), Set<[UInt8]>())
        offset += 1
        while try !closes(UInt8(ascii: "}"), first: pairs.isEmpty) {
            skipSpace()
            let start = offset
            guard try peek() == UInt8(ascii: "\"") else { throw error(.key) }
            let key = try string()
            guard keys.insert(Array(key.utf8)).inserted else { throw JSONError(reason: .duplicateKey, offset: start) }
            skipSpace()
            try expect(UInt8(ascii: ":"))
            pairs.append((key, try value(depth: depth + 1)))
        }
        return PropertyListDictionary(uniqueKeysWithValues: pairs)
    }

    private mutating func array(depth: Int) throws(JSONError) -> [PropertyListValue] {
        var result: [PropertyListValue] = []
        offset += 1
        while try !closes(UInt8(ascii: "]"), first: result.isEmpty) { result.append(try value(depth: depth + 1)) }
        return result
    }

    /// Whether a container ends here; otherwise takes the comma before the next element.
    private mutating func closes(_ end: UInt8, first: Bool) throws(JSONError) -> Bool {
        skipSpace()
        if try peek() == end {
            offset += 1
            return true
        }
        guard !first else { return false }
        let comma = offset
        try expect(UInt8(ascii: ","))
        skipSpace()
        guard try peek() == end else { return false }
        throw JSONError(reason: end == UInt8(ascii: "}") ? .commaBeforeBrace : .commaBeforeBracket, offset: comma)
    }

    private mutating func word(_ word: String, _ value: PropertyListValue) throws(JSONError) -> PropertyListValue {
        guard bytes[offset...].starts(with: word.utf8) else { throw error(.unexpectedCharacter) }
        offset += word.utf8.count
        return value
    }

    private mutating func number() throws(JSONError) -> PropertyListValue {
        let start = offset
        while offset < bytes.count, Self.isNumberByte(bytes[offset]) { offset += 1 }
        guard offset > start else { throw error(.unexpectedCharacter) }
        guard let value = Self.number(String(decoding: bytes[start..<offset], as: UTF8.self)) else {
            throw JSONError(reason: .number, offset: start)
        }
        return value
    }

    private static func isNumberByte(_ byte: UInt8) -> Bool {
        byte.isASCIIDigit || "+-.eE".utf8.contains(byte)
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
        let start = offset
        guard let (text, count) = JSONString.read(bytes[start...]) else {
            throw JSONError(reason: .string, offset: start)
        }
        offset += count
        return text
    }

    private mutating func expect(_ byte: UInt8) throws(JSONError) {
        guard try peek() == byte else { throw error(.unexpectedCharacter) }
        offset += 1
    }

    private func peek() throws(JSONError) -> UInt8 {
        guard offset < bytes.count else { throw error(.unexpectedEnd) }
        return bytes[offset]
    }

    private mutating func skipSpace() {
        while offset < bytes.count, " \t\r\n".utf8.contains(bytes[offset]) { offset += 1 }
    }

    private func error(_ reason: JSONError.Reason) -> JSONError { JSONError(reason: reason, offset: offset) }
}

enum JSONString {
    /// The text of the string that the bytes begin with, and the bytes it took; nil if there is none or it is
    /// malformed.
    static func read(_ bytes: ArraySlice<UInt8>) -> (text: String, count: Int)? {
        guard bytes.first == UInt8(ascii: "\"") else { return nil }
        var content: [UInt8] = []
        var rest = bytes.dropFirst()
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: content, as: UTF8.self) else { return nil }
                return (text, bytes.count - rest.count)
            case UInt8(ascii: "\\"):
                guard let escaped = escape(&rest) else { return nil }
                content.append(contentsOf: String(escaped).utf8)
            case 0..<32: return nil
            default: content.append(byte)
            }
        }
        return nil
    }

    private static func escape(_ rest: inout ArraySlice<UInt8>) -> Unicode.Scalar? {
        guard let letter = rest.popFirst() else { return nil }
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return scalar(&rest)
        default: return nil
        }
    }

    /// Four digits after `\u`, and the second half of a surrogate pair if they are the first.
    private static func scalar(_ rest: inout ArraySlice<UInt8>) -> Unicode.Scalar? {
        guard let first = unit(&rest) else { return nil }
        guard UTF16.isLeadSurrogate(first) else { return Unicode.Scalar(first) }
        guard rest.popFirst() == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "u"), let second = unit(&rest),
            UTF16.isTrailSurrogate(second)
        else { return nil }
        return Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
    }

    private static func unit(_ rest: inout ArraySlice<UInt8>) -> UInt16? {
        let digits = rest.prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
        rest = rest.dropFirst(4)
        return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}

/// A JSON text that is not a property-list value.
package struct JSONError: Error, Sendable, Equatable {
    package enum Reason: String, Sendable {
        case unexpectedEnd = "the text ends too early"
        case unexpectedCharacter = "unexpected character"
        case trailingText = "there is text after the value"
        case null = "null is not a property-list value; leave the key out instead"
        case number = "not a number that fits 64 bits"
        case string = "not a string: a bad escape, a control character or bytes that are not UTF-8"
        case key = "no key: a key is text in double quotes"
        case commaBeforeBrace = "a comma before }"
        case commaBeforeBracket = "a comma before ]"
        case duplicateKey = "the key is there twice"
        case tooDeep = "nested deeper than 64"
    }

    package let reason: Reason
    /// Bytes before the fault.
    package let offset: Int
}

extension JSONError: CustomStringConvertible {
    package var description: String { "JSON, byte \(offset + 1): \(reason.rawValue)" }
}
