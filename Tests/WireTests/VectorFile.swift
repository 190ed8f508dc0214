// The language-neutral cases under Protocol/Vectors, read from the checkout that the tests were built from.

import Glibc
import TandemIdentity
import TandemPropertyList
import TandemPropertyListText
import Testing

struct VectorCase: CustomTestStringConvertible, Sendable {
    let pairs: PropertyListDictionary

    var name: String { pairs["name"]?.stringValue ?? "" }
    var clause: String { pairs["clause"]?.stringValue ?? "" }
    var error: String? { pairs["error"]?.stringValue }
    var bytes: [UInt8]? { pairs["hex"]?.stringValue.flatMap(Hexadecimal.decode) }
    var testDescription: String { "\(clause): \(name)" }

    /// The cases of a file under Protocol/Vectors; none if it cannot be read, which the tests notice.
    static func all(in file: String, source: String = #filePath) -> [VectorCase] {
        let root = source.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        guard let value = try? JSONReader.read(contents(of: "\(root)/Protocol/Vectors/\(file)")) else { return [] }
        let cases = value.dictionaryValue?["cases"]?.arrayValue ?? []
        return cases.compactMap(\.dictionaryValue).map(VectorCase.init)
    }

    private static func contents(of path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        return bytes
    }
}

/// The typed notation of Protocol/Vectors/README.md; nil for anything else.
func typedValue(_ notation: PropertyListValue?) -> PropertyListValue? {
    guard let pair = notation?.dictionaryValue?.first else { return nil }
    let text = pair.value.stringValue
    switch pair.key {
    case "boolean": return pair.value.booleanValue.map { .boolean($0) }
    case "integer":
        return text.flatMap { Int64($0) }.map { .integer($0) } ?? text.flatMap { UInt64($0) }.map { .unsigned($0) }
    case "real": return text.flatMap { Double($0) }.map { .real($0) }
    case "date":
        let date = text.flatMap { Int64($0) }.flatMap { PropertyListDate(millisecondsSince1970: $0) }
        return date.map { .date($0) }
    case "data": return text.flatMap(Hexadecimal.decode).map { .data($0) }
    case "string": return text.map { .string($0) }
    case "array": return pair.value.arrayValue.map { .array($0.compactMap(typedValue)) }
    case "dictionary": return pair.value.arrayValue.map { .dictionary(typedPairs($0)) }
    default: return nil
    }
}

private func typedPairs(_ pairs: [PropertyListValue]) -> PropertyListDictionary {
    var dictionary = PropertyListDictionary()
    for pair in pairs.compactMap(\.arrayValue) where pair.count == 2 {
        if let key = pair[0].stringValue { dictionary[key] = typedValue(pair[1]) }
    }
    return dictionary
}
