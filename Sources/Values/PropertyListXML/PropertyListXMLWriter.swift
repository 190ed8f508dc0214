// Writer of XML property lists for people to read and edit: the layout of Apple's plutil, with tabs and keys in the
// order of their bytes, so that equal values are equal files. Whatever it writes the reader takes and finds equal.

import TandemBase
package import TandemPropertyList

/// Writes XML property lists, version 1.0.
package enum PropertyListXMLWriter {
    /// The text of a value, in UTF-8, with a newline at its end.
    /// - Throws: a fault with the key path of what XML cannot carry, or the budget that is exceeded.
    package static func write(_ value: PropertyListValue) throws(PropertyListXMLError) -> [UInt8] {
        var output = XMLOutput()
        try output.append(value, Position(path: "", depth: 1, indent: 0))
        let bytes = Array(head.utf8) + output.bytes + Array("</plist>\n".utf8)
        guard bytes.count <= PropertyListXMLReader.maximumLength else {
            let limit = PropertyListXMLReader.maximumLength
            throw PropertyListXMLError(.tooLarge(count: bytes.count, limit: limit), at: .path(""))
        }
        return bytes
    }

    private static let head = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """

    /// The position of a value: its key path, its level, and the tabs before it.
    private struct Position {
        let path: String
        let depth: Int
        let indent: Int

        func element(_ number: Int) -> Position {
            Position(path: "\(path)[\(number)]", depth: depth + 1, indent: indent + 1)
        }

        func value(of key: String) -> Position {
            Position(path: path.isEmpty ? key : "\(path).\(key)", depth: depth + 1, indent: indent + 1)
        }

        func fault(_ reason: PropertyListXMLError.Reason) -> PropertyListXMLError {
            PropertyListXMLError(reason, at: .path(path))
        }
    }

    /// The lines so far. Recursive, to the depth of the limits at most.
    private struct XMLOutput {
        /// Columns of a line of base64, the tabs before it counted as eight.
        private static let lineLength = 76

        private let limits = PropertyListLimits.standard
        private(set) var bytes: [UInt8] = []
        private var count = 0

        mutating func append(_ value: PropertyListValue, _ position: Position) throws(PropertyListXMLError) {
            guard position.depth <= limits.depth else { throw position.fault(.tooDeep(limit: limits.depth)) }
            try count(at: position)
            switch value {
            case .boolean(let value): line(value ? "<true/>" : "<false/>", position.indent)
            case .integer(let value): line("<integer>\(value)</integer>", position.indent)
            case .unsigned(let value): line("<integer>\(value)</integer>", position.indent)
            case .real(let value):
                guard value.isFinite else { throw position.fault(.notFinite) }
                line("<real>\(value)</real>", position.indent)
            case .string(let value): line("<string>\(try escaped(value, position))</string>", position.indent)
            case .date(let date): line("<date>\(try text(date, position))</date>", position.indent)
            case .data(let content): append(content, position.indent)
            case .array(let values): try append(values, position)
            case .dictionary(let pairs): try append(pairs, position)
            }
        }

        private mutating func count(at position: Position) throws(PropertyListXMLError) {
            count += 1
            guard count <= limits.values else { throw position.fault(.tooManyValues(limit: limits.values)) }
        }

        private mutating func append(_ values: [PropertyListValue], _ position: Position) throws(PropertyListXMLError) {
            guard !values.isEmpty else { return line("<array/>", position.indent) }
            line("<array>", position.indent)
            for (number, value) in values.enumerated() { try append(value, position.element(number)) }
            line("</array>", position.indent)
        }

        private mutating func append(
            _ pairs: PropertyListDictionary, _ position: Position
        ) throws(PropertyListXMLError) {
            guard !pairs.isEmpty else { return line("<dict/>", position.indent) }
            line("<dict>", position.indent)
            for (key, value) in pairs {
                let inside = position.value(of: key)
                guard (1...PropertyListLimits.maximumKeyLength).contains(key.utf8.count) else {
                    throw inside.fault(.keyLength(key.utf8.count))
                }
                try count(at: inside)
                line("<key>\(try escaped(key, inside))</key>", inside.indent)
                try append(value, inside)
            }
            line("</dict>", position.indent)
        }

        private mutating func append(_ content: [UInt8], _ indent: Int) {
            line("<data>", indent)
            let characters = Base64.encode(content)
            let width = max(4, (Self.lineLength - 8 * indent) / 4 * 4)
            for start in stride(from: 0, to: characters.count, by: width) {
                tabs(indent)
                bytes.append(contentsOf: characters[start..<min(start + width, characters.count)])
                bytes.append(UInt8(ascii: "\n"))
            }
            line("</data>", indent)
        }

        private func text(_ date: PropertyListDate, _ position: Position) throws(PropertyListXMLError) -> String {
            do throws(PropertyListXMLError.Reason) {
                return try XMLScalar.text(date)
            } catch {
                throw position.fault(error)
            }
        }

        /// A parser turns a carriage return into a newline unless it is written as a number.
        private func escaped(_ text: String, _ position: Position) throws(PropertyListXMLError) -> String {
            // A string grows in place; its view of scalars is copied whenever several are appended.
            var escaped = ""
            for scalar in text.unicodeScalars {
                switch scalar {
                case "&": escaped += "&amp;"
                case "<": escaped += "&lt;"
                case ">": escaped += "&gt;"
                case "\r": escaped += "&#13;"
                case "\t", "\n": escaped.unicodeScalars.append(scalar)
                case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": throw position.fault(.character(scalar.value))
                default: escaped.unicodeScalars.append(scalar)
                }
            }
            return escaped
        }

        private mutating func line(_ text: String, _ indent: Int) {
            tabs(indent)
            bytes.append(contentsOf: text.utf8)
            bytes.append(UInt8(ascii: "\n"))
        }

        private mutating func tabs(_ count: Int) {
            bytes.append(contentsOf: repeatElement(UInt8(ascii: "\t"), count: count))
        }
    }
}
