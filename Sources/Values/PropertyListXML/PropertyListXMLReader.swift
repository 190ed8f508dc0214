// Reader of XML property lists: the files that people write. Property lists of the wire are binary, and no byte of a
// peer comes here. expat finds the elements; the tree and every rule of values are here. It is as strict as the binary
// reader, under the same budgets, and a fault has its line, its column and a way to repair it.

import TandemBase
package import TandemPropertyList

/// Reads XML property lists, version 1.0.
package enum PropertyListXMLReader {
    /// The longest text in bytes: the largest frame of the wire. A larger file is no configuration.
    package static let maximumLength = 512 << 10

    /// The value of a whole property list.
    /// - Throws: the first fault; nothing is read in part.
    package static func read(
        _ bytes: [UInt8], limits: PropertyListLimits = .standard
    ) throws(PropertyListXMLError) -> PropertyListValue {
        guard bytes.count <= maximumLength else {
            throw PropertyListXMLError(
                .tooLarge(count: bytes.count, limit: maximumLength), at: .position(line: 1, column: 1))
        }
        return try ExpatReader(limits).run(bytes)
    }

    /// The dictionary of a property list whose root must be one.
    /// - Throws: the first fault; nothing is read in part.
    package static func readDictionary(_ bytes: [UInt8]) throws(PropertyListXMLError) -> PropertyListDictionary {
        guard case .dictionary(let dictionary) = try read(bytes) else {
            throw PropertyListXMLError(.rootNotDictionary, at: .position(line: 1, column: 1))
        }
        return dictionary
    }

    /// The dictionary of a property list in either form, which its first bytes tell.
    package static func readAny(_ bytes: [UInt8]) throws -> PropertyListDictionary {
        isBinary(bytes) ? try PropertyListReader.readDictionary(bytes) : try readDictionary(bytes)
    }

    static func isBinary(_ bytes: [UInt8]) -> Bool { bytes.starts(with: "bplist".utf8) }
}

/// The values of a document, built from its elements in their order. Iterative: what is open stands on a stack.
struct XMLTree {
    typealias Reason = PropertyListXMLError.Reason

    private enum Element: String {
        case plist, dict, array, key, string, integer, real, `true`, `false`, date, data

        var isContainer: Bool { self == .dict || self == .array || self == .plist }
    }

    /// An open element with what it holds so far.
    private struct Open {
        let element: Element
        var values: [PropertyListValue] = []
        var keys: [String] = []
        var usedKeys: Set<[UInt8]> = []
    }

    private let limits: PropertyListLimits
    private var stack: [Open] = []
    /// Of the open element, if it is no container.
    private var text: [UInt8] = []
    private var count = 0
    private var root: PropertyListValue?

    init(_ limits: PropertyListLimits) { self.limits = limits }

    /// The value, once the document has ended.
    func finished() throws(Reason) -> PropertyListValue {
        guard let root else { throw .empty }
        return root
    }

    mutating func begin(_ name: String, _ attributes: [(name: String, value: String)]) throws(Reason) {
        guard let element = Element(word: name) else {
            throw stack.isEmpty ? .notPropertyList(name) : .unknownElement(name)
        }
        try check(attributes, of: element)
        if let parent = stack.last {
            try check(element, in: parent)
        } else if element != .plist {
            throw .notPropertyList(name)
        }
        if element != .plist { try count(element) }
        text.removeAll(keepingCapacity: true)
        stack.append(Open(element: element))
    }

    private func check(_ attributes: [(name: String, value: String)], of element: Element) throws(Reason) {
        for attribute in attributes {
            guard element == .plist, attribute.name == "version" else { throw .attribute(attribute.name) }
            guard attribute.value == "1.0" else { throw .version(attribute.value) }
        }
    }

    private func check(_ element: Element, in parent: Open) throws(Reason) {
        let name = element.rawValue
        let isComplete = parent.element == .plist && root != nil
        guard parent.element.isContainer, element != .plist, !isComplete else { throw .misplacedElement(name) }
        let expectsKey = parent.element == .dict && parent.keys.count == parent.values.count
        if element == .key {
            guard parent.element == .dict else { throw .misplacedElement(name) }
            guard expectsKey else { throw .missingValue(parent.keys.last ?? "") }
        } else if expectsKey {
            throw .missingKey(name)
        }
    }

    private mutating func count(_ element: Element) throws(Reason) {
        // The stack holds the document's element, too, which is no level.
        guard stack.count <= limits.depth else { throw .tooDeep(limit: limits.depth) }
        count += 1
        guard count <= limits.values else { throw .tooManyValues(limit: limits.values) }
    }

    mutating func add(text bytes: [UInt8]) throws(Reason) {
        guard let open = stack.last else { return }
        if open.element.isContainer || open.element == .true || open.element == .false {
            guard bytes.allSatisfy(XMLScalar.isSpace) else { throw .misplacedText }
        } else {
            text.append(contentsOf: bytes)
        }
    }

    mutating func end() throws(Reason) {
        guard let open = stack.popLast() else { return }
        switch open.element {
        case .plist: break
        case .key: try take(key: String(decoding: text, as: UTF8.self))
        case .array: take(.array(open.values))
        case .dict:
            guard open.keys.count == open.values.count else { throw .missingValue(open.keys.last ?? "") }
            take(.dictionary(PropertyListDictionary(uniqueKeysWithValues: zip(open.keys, open.values))))
        case .string: take(.string(String(decoding: text, as: UTF8.self)))
        case .integer: take(try XMLScalar.integer(text))
        case .real: take(.real(try XMLScalar.real(text)))
        case .true: take(.boolean(true))
        case .false: take(.boolean(false))
        case .date: take(.date(try XMLScalar.date(text)))
        case .data: take(.data(try XMLScalar.data(text)))
        }
    }

    private mutating func take(key: String) throws(Reason) {
        guard (1...PropertyListLimits.maximumKeyLength).contains(key.utf8.count) else {
            throw .keyLength(key.utf8.count)
        }
        guard stack[stack.count - 1].usedKeys.insert(Array(key.utf8)).inserted else { throw .duplicateKey(key) }
        stack[stack.count - 1].keys.append(key)
    }

    private mutating func take(_ value: PropertyListValue) {
        if stack.count == 1 { root = value } else { stack[stack.count - 1].values.append(value) }
    }
}
