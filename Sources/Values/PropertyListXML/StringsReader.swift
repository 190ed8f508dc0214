// Reader of `.strings` files: translations of a bundle's texts, as lines of keys and values in UTF-8 or UTF-16, or as a
// property list, binary or XML. It is strict: a file is read as a whole or not at all, and a fault in its text has a
// line and a column.

import TandemPropertyList

/// Why a `.strings` file is not read.
package struct StringsError: Error, Sendable, Equatable {
    /// The kind of fault.
    package enum Reason: Error, Sendable, Equatable {
        /// More bytes than a file may have.
        case tooLarge(count: Int, limit: Int)
        /// Bytes that are no UTF-8, or no UTF-16 behind its byte order mark.
        case encoding
        /// A comment without its end.
        case openComment
        /// A quoted text without its end.
        case openText
        /// An escape that means nothing.
        case escape
        /// A key, quoted or of letters, digits and `_-.$:/`, is missing.
        case expectedKey
        /// `=` or `;` is missing behind a key.
        case expectedSign
        /// A text is missing behind `=`.
        case expectedValue
        /// `;` is missing behind a value.
        case expectedEnd
        /// A key twice.
        case duplicateKey
        /// The property list is damaged, or its values are no texts.
        case propertyList(String)
    }

    /// The kind of fault.
    package let reason: Reason
    /// Line and column in characters, from 1; of a property list, whose reason has its own, 1.
    package let line: Int
    package let column: Int

    init(_ reason: Reason, line: Int = 1, column: Int = 1) {
        (self.reason, self.line, self.column) = (reason, line, column)
    }
}

/// Reads `.strings` files.
package enum StringsReader {
    /// The longest file in bytes.
    package static let maximumLength = PropertyListXMLReader.maximumLength

    /// The texts by key.
    /// - Throws: the first fault; nothing is read in part.
    package static func read(_ bytes: [UInt8]) throws(StringsError) -> [String: String] {
        guard bytes.count <= maximumLength else {
            throw StringsError(.tooLarge(count: bytes.count, limit: maximumLength))
        }
        if PropertyListXMLReader.isBinary(bytes) || isXML(bytes) { return try propertyList(bytes) }
        var text = StringsText(try StringsText.scalars(bytes))
        return try text.read()
    }

    private static func isXML(_ bytes: [UInt8]) -> Bool {
        // Behind a byte order mark in any encoding, and with a zero beside it in UTF-16.
        let first = bytes.first { ![0xEF, 0xBB, 0xBF, 0xFE, 0xFF, 0x00, 0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return first == UInt8(ascii: "<")
    }

    private static func propertyList(_ bytes: [UInt8]) throws(StringsError) -> [String: String] {
        let dictionary: PropertyListDictionary
        do {
            dictionary = try PropertyListXMLReader.readAny(bytes)
        } catch {
            throw StringsError(.propertyList("\(error)"))
        }
        var texts: [String: String] = [:]
        for (key, value) in dictionary {
            guard let text = value.stringValue else { throw StringsError(.propertyList("a value is no string")) }
            guard texts.updateValue(text, forKey: key) == nil else { throw StringsError(.duplicateKey) }
        }
        return texts
    }
}

/// The text of a file, read once from its beginning to its end.
private struct StringsText {
    private let scalars: [Unicode.Scalar]
    private var position = 0

    init(_ scalars: [Unicode.Scalar]) { self.scalars = scalars }

    /// The characters, without a byte order mark.
    static func scalars(_ bytes: [UInt8]) throws(StringsError) -> [Unicode.Scalar] {
        let scalars: [Unicode.Scalar]?
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            let isLittle = bytes[0] == 0xFF
            let units = stride(from: 2, to: bytes.count - 1, by: 2).map { offset in
                let (first, second) = (UInt16(bytes[offset]), UInt16(bytes[offset + 1]))
                return isLittle ? second << 8 | first : first << 8 | second
            }
            scalars =
                bytes.count % 2 == 0 ? String(validating: units, as: UTF16.self).map { Array($0.unicodeScalars) } : nil
        } else {
            let content = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
            scalars = String(validating: content, as: UTF8.self).map { Array($0.unicodeScalars) }
        }
        guard let scalars else { throw StringsError(.encoding) }
        return scalars
    }

    mutating func read() throws(StringsError) -> [String: String] {
        var texts: [String: String] = [:]
        try skip()
        while position < scalars.count {
            let start = position
            let key = try word(.expectedKey)
            try skip()
            var value = key
            switch next {
            case ";": position += 1
            case "=":
                position += 1
                try skip()
                value = try word(.expectedValue)
                try skip()
                guard next == ";" else { throw fault(.expectedEnd) }
                position += 1
            default: throw fault(.expectedSign)
            }
            guard texts.updateValue(value, forKey: key) == nil else { throw fault(.duplicateKey, at: start) }
            try skip()
        }
        return texts
    }

    private var next: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private func fault(_ reason: StringsError.Reason, at position: Int? = nil) -> StringsError {
        let before = scalars[..<(position ?? self.position)]
        let line = before.lastIndex(of: "\n").map { $0 + 1 } ?? 0
        return StringsError(reason, line: before.count { $0 == "\n" } + 1, column: before.count - line + 1)
    }

    /// Passes over white space and comments.
    private mutating func skip() throws(StringsError) {
        while let scalar = next {
            if scalar.properties.isWhitespace {
                position += 1
            } else if scalar == "/", position + 1 < scalars.count, scalars[position + 1] == "/" {
                while let scalar = next, scalar != "\n" { _ = scalar; position += 1 }
            } else if scalar == "/", position + 1 < scalars.count, scalars[position + 1] == "*" {
                try skipComment()
            } else {
                return
            }
        }
    }

    private mutating func skipComment() throws(StringsError) {
        let start = position
        position += 2
        while position + 1 < scalars.count {
            if scalars[position] == "*", scalars[position + 1] == "/" {
                position += 2
                return
            }
            position += 1
        }
        throw fault(.openComment, at: start)
    }

    private mutating func word(_ missing: StringsError.Reason) throws(StringsError) -> String {
        if next == "\"" { return try quoted() }
        var word = String.UnicodeScalarView()
        while let scalar = next, Self.isPlain(scalar) {
            // A comment may follow without a space.
            if scalar == "/", position + 1 < scalars.count, ["/", "*"].contains(scalars[position + 1]) { break }
            word.append(scalar)
            position += 1
        }
        guard !word.isEmpty else { throw fault(missing) }
        return String(word)
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "-", ".", "$", ":", "/": true
        default: false
        }
    }

    private mutating func quoted() throws(StringsError) -> String {
        let start = position
        position += 1
        var units: [UInt16] = []
        while let scalar = next {
            switch scalar {
            case "\"":
                position += 1
                // An escape may have left half of a pair.
                guard let text = String(validating: units, as: UTF16.self) else { throw fault(.escape, at: start) }
                return text
            case "\\": units.append(try escape())
            default:
                units += Array(UTF16.encode(scalar) ?? UTF16.EncodedScalar())
                position += 1
            }
        }
        throw fault(.openText, at: start)
    }

    private mutating func escape() throws(StringsError) -> UInt16 {
        let start = position
        position += 1
        guard let scalar = next else { throw fault(.escape, at: start) }
        position += 1
        switch scalar {
        case "n": return 10
        case "t": return 9
        case "r": return 13
        case "a": return 7
        case "b": return 8
        case "f": return 12
        case "v": return 11
        case "\"", "\\", "'", "\n": return UInt16(truncatingIfNeeded: scalar.value)
        case "U", "u": return try number(4, radix: 16, from: position, start)
        case "0"..."7": return try number(3, radix: 8, from: position - 1, start)
        default: throw fault(.escape, at: start)
        }
    }

    private mutating func number(
        _ count: Int, radix: Int, from first: Int, _ start: Int
    ) throws(StringsError) -> UInt16 {
        let digits = scalars[first...].prefix(count)
        var text = String.UnicodeScalarView()
        text.append(contentsOf: digits)
        guard digits.count == count, digits.allSatisfy(\.properties.isASCIIHexDigit),
            let number = UInt16(String(text), radix: radix), radix == 16 || number < 256
        else { throw fault(.escape, at: start) }
        position = first + count
        return number
    }
}

extension StringsError: CustomStringConvertible {
    /// `line 3, column 5: ';' is missing behind a value`; no text of the file is in it.
    package var description: String {
        if case .propertyList(let reason) = reason { return reason }
        return "line \(line), column \(column): \(reason.description)"
    }
}

extension StringsError.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLarge(let count, let limit): "\(count) bytes are more than the \(limit) allowed"
        case .encoding: "neither UTF-8 nor UTF-16 with a byte order mark"
        case .openComment: "the comment has no end; write */ behind it"
        case .openText: "the text has no end; write a quotation mark behind it"
        case .escape: "the escape means nothing; write \\\\, \\\", \\n, \\t, \\r or \\U and four hexadecimal digits"
        case .expectedKey: "expected a key, quoted or of letters, digits and _-.$:/"
        case .expectedSign: "expected = or ; behind the key"
        case .expectedValue: "expected a text behind ="
        case .expectedEnd: "expected ; behind the value"
        case .duplicateKey: "the key is there twice; remove one of the two"
        case .propertyList(let reason): reason
        }
    }
}
