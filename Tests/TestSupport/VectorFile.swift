// The language-neutral cases under Protocol/Vectors, read from the checkout that the tests were built from.

import TandemBase
package import TandemPropertyList
import Testing

/// One case of a vector file.
package struct VectorCase: CustomStringConvertible, Sendable {
    package let pairs: PropertyListDictionary

    package var name: String { pairs["name"]?.stringValue ?? "" }
    package var clause: String { pairs["clause"]?.stringValue ?? "" }
    package var error: String? { pairs["error"]?.stringValue }
    package var description: String { "\(clause): \(name)" }

    /// The input: `hex`, or `pieces` one after the other; nil if neither is well-formed.
    package var bytes: [UInt8]? {
        if let digits = pairs["hex"]?.stringValue { return Hexadecimal.decode(digits) }
        let pieces = pairs["pieces"]?.arrayValue?.compactMap { $0.dictionaryValue.flatMap(Self.piece) }
        guard let pieces, pieces.count == pairs["pieces"]?.arrayValue?.count else { return nil }
        return Array(pieces.joined())
    }

    /// The dictionary that the case notes as its value, which its bytes are read as and which is written as them.
    package func checkedValue() throws -> PropertyListDictionary {
        let value = try #require(TypedNotation.value(pairs["value"])?.dictionaryValue, "\(self)")
        let bytes = try #require(bytes, "\(self)")
        #expect(try PropertyListReader.readDictionary(bytes) == value, "\(self)")
        #expect(try PropertyListWriter.write(value) == bytes, "\(self)")
        return value
    }

    /// The cases of a file under Protocol/Vectors; none if it cannot be read, which the tests notice.
    package static func all(in file: String) -> [VectorCase] { all(at: path(of: file)) }

    /// The cases of a file at a path.
    package static func all(at path: String) -> [VectorCase] {
        (list(at: path) ?? []).compactMap(\.dictionaryValue).map(VectorCase.init)
    }

    /// How many cases a file under Protocol/Vectors lists; nil if it is not there or no list of cases.
    package static func count(in file: String) -> Int? { list(at: path(of: file))?.count }

    private static func path(of file: String) -> String { Checkout.path("Protocol/Vectors/\(file)") }

    private static func list(at path: String) -> [PropertyListValue]? {
        (try? JSONReader.read(TemporaryDirectory.read(path) ?? []))?.dictionaryValue?["cases"]?.arrayValue
    }

    /// Bytes many times, or big-endian numbers of one size that follow each other.
    private static func piece(_ told: PropertyListDictionary) -> [UInt8]? {
        guard let times = told["times"]?.integerValue.map(Int.init) else { return nil }
        if let unit = told["hex"]?.stringValue.flatMap(Hexadecimal.decode) {
            return Array(repeatElement(unit, count: times).joined())
        }
        guard let first = told["from"]?.integerValue, let step = told["step"]?.integerValue,
            let size = told["size"]?.integerValue
        else { return nil }
        return (0..<Int64(times)).flatMap { index in
            (0..<size).reversed().map { UInt8(truncatingIfNeeded: (first + step * index) >> (8 * $0)) }
        }
    }
}
