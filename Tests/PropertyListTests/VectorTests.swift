// Our reader and writer against the vectors that are given to others (Protocol/Vectors/plist), which another program
// makes from the text of FRM-6 and FRM-7. Scripts/check-vectors runs the same files against the readers of others.

import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct VectorTests {
    static let files = ["scalars", "structure", "containers", "ambiguities", "found"]
    static func cases(_ file: String) -> [VectorCase] { VectorCase.all(in: "plist/\(file).json") }

    /// Nothing need have been found yet, but its file must be there.
    @Test(arguments: [("scalars", 450), ("structure", 220), ("containers", 90), ("ambiguities", 30), ("found", 0)])
    func theVectorsAreThere(file: String, count: Int) throws {
        #expect(try #require(VectorCase.count(in: "plist/\(file).json")) >= count)
        #expect(Self.cases(file).count == VectorCase.count(in: "plist/\(file).json"))
    }

    /// An accepted list has the vector's value, and is canonical or not as the vector says.
    @Test(arguments: files)
    func whatIsReadMeansTheValueThatTheVectorSays(file: String) throws {
        for vector in Self.cases(file) where vector.error == nil {
            let bytes = try #require(vector.bytes, "\(vector)")
            let read = try PropertyListReader.read(bytes)
            guard let notation = vector.pairs["value"] else { continue }
            let value = try #require(TypedNotation.value(notation), "\(vector)")
            #expect(read == value, "\(vector)")
            #expect(
                try (PropertyListWriter.write(value) == bytes) == vector.pairs["canonical"]?.booleanValue, "\(vector)")
        }
    }

    /// Refused as a whole, and for the fault that the vector names.
    @Test(arguments: files)
    func whatIsWrongIsRefusedForTheFaultThatTheVectorNames(file: String) throws {
        for vector in Self.cases(file) where vector.error != nil {
            let bytes = try #require(vector.bytes, "\(vector)")
            #expect(vector.error == "malformed")
            #expect(refusal(of: bytes)?.name == vector.pairs["fault"]?.stringValue, "\(vector)")
        }
    }
}
