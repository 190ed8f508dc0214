// Faults of an XML property list, with their location and the way to repair them: a person wrote the file, or is about
// to read it. Values never appear, because a file of configuration may hold secrets; names of elements and keys do.

import TandemBase
import TandemPropertyList

/// A fault of an XML property list.
package struct PropertyListXMLError: Error, Sendable, Equatable {
    /// Where the fault is.
    package enum Location: Sendable, Equatable {
        /// Line and column of the text that was read, both from 1.
        case position(line: Int, column: Int)
        /// Key path in the value that was to be written; empty for the root.
        case path(String)
    }

    /// The kind of fault.
    package enum Reason: Error, Sendable, Equatable {
        /// More bytes than the limit.
        case tooLarge(count: Int, limit: Int)
        /// The text is not well-formed XML, in the parser's words.
        case notXML(String)
        /// Another encoding than UTF-8 or UTF-16.
        case encoding(String)
        /// The DOCTYPE declares something.
        case internalSubset
        /// An entity besides the five of XML.
        case entity(String)
        /// An instruction such as `<?xml-stylesheet ...?>`.
        case processingInstruction(String)
        /// The document or its DOCTYPE is not named `plist`.
        case notPropertyList(String)
        /// A version besides 1.0.
        case version(String)
        /// An attribute besides the version.
        case attribute(String)
        /// No type of property lists has this name.
        case unknownElement(String)
        /// An element where none may be.
        case misplacedElement(String)
        /// Text between elements.
        case misplacedText
        /// A value in a dictionary without a key before it.
        case missingKey(String)
        /// A key without a value.
        case missingValue(String)
        /// No value at all.
        case empty
        /// A key that is empty or longer than ``PropertyListLimits/maximumKeyLength`` bytes.
        case keyLength(Int)
        /// A key twice in one dictionary.
        case duplicateKey(String)
        /// No integer of 64 bits.
        case integer
        /// No real.
        case real
        /// A real that is infinite or no number.
        case notFinite
        /// No date of the years 1 to 9999 in ISO 8601.
        case date
        /// Not base64.
        case data
        /// Deeper than ``PropertyListLimits/depth``.
        case tooDeep(limit: Int)
        /// More values and keys than ``PropertyListLimits/values``.
        case tooManyValues(limit: Int)
        /// A dictionary was wanted, and the root is none.
        case rootNotDictionary
        /// A character that XML cannot carry, such as most control characters.
        case character(UInt32)
        /// A date with a fraction of a second, for which other readers refuse the whole file.
        case fraction
    }

    /// The kind of fault.
    package let reason: Reason
    /// Where the fault is.
    package let location: Location

    /// A fault and its location.
    package init(_ reason: Reason, at location: Location) {
        self.reason = reason
        self.location = location
    }
}

extension PropertyListXMLError: CustomStringConvertible {
    /// `line 3, column 5: duplicate key 'a'; remove one of the two`.
    package var description: String { "\(location.description): \(reason.description)" }
}

extension PropertyListXMLError.Location: CustomStringConvertible {
    package var description: String {
        switch self {
        case .position(let line, let column): "line \(line), column \(column)"
        case .path(let path): path.isEmpty ? "the root" : OutsideText.quoted(path)
        }
    }
}

extension PropertyListXMLError.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLarge(let count, let limit): "\(count) bytes are more than the \(limit) allowed; split the file"
        case .notXML(let words): "not well-formed XML: \(words); compare with `plutil -lint` or `xmllint`"
        case .encoding(let name): "encoding \(OutsideText.quoted(name)) is not read; save the file as UTF-8"
        case .internalSubset: "the DOCTYPE declares something of its own; remove what is between [ and ]"
        case .entity(let name):
            "entity \(OutsideText.quoted(name)) is none of amp, lt, gt, quot and apos; write the character itself"
        case .processingInstruction(let name): "instruction \(OutsideText.quoted(name)) is not read; remove it"
        case .notPropertyList(let name):
            "\(OutsideText.quoted(name)) is not a property list; the outermost element is <plist version=\"1.0\">"
        case .version(let version): "version \(OutsideText.quoted(version)) is not read; write version=\"1.0\""
        case .attribute(let name): "attribute \(OutsideText.quoted(name)) has no meaning here; remove it"
        case .unknownElement(let name):
            "element \(OutsideText.quoted(name)) is none of dict, array, key, string, integer, real, true, false, "
                + "date and data; replace it"
        case .misplacedElement(let name): "element \(OutsideText.quoted(name)) cannot be here; move or remove it"
        case .misplacedText: "text between elements; put it into an element, such as <string>"
        case .missingKey(let name): "\(OutsideText.quoted(name)) has no key before it; write <key> and </key> first"
        case .missingValue(let key): "key \(OutsideText.quoted(key)) has no value; write one after it or remove it"
        case .empty: "the property list has no value; write <dict/> for an empty one"
        case .keyLength(let count):
            "a key of \(count) bytes is not 1-\(PropertyListLimits.maximumKeyLength) bytes long; choose another"
        case .duplicateKey(let key): "duplicate key \(OutsideText.quoted(key)); remove one of the two"
        case .rootNotDictionary: "the value is not a dictionary; write <dict> and </dict> around it"
        case .integer: "not an integer of 64 bits; write digits, or 0x and hexadecimal digits"
        case .real: "not a real; write digits, with a point and an exponent if you like"
        case .notFinite: "a real that is infinite or no number; write one that is finite"
        case .date: "not a date of the years 1 to 9999; write it as 2026-11-23T09:30:00Z"
        case .data: "not base64; write A-Z a-z 0-9 + / in groups of four, = at the end"
        case .tooDeep(let limit): "more than \(limit) levels; nest less deeply"
        case .tooManyValues(let limit): "more than \(limit) values and keys; split the file"
        case .character(let number):
            "character U+\(String(number, radix: 16, uppercase: true)) cannot be in XML; keep such text as data"
        case .fraction:
            "a date with a fraction of a second, for which other readers refuse the whole file; keep whole seconds"
        }
    }
}
