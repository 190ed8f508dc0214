// The inputs that the fuzzer kept, given to the same oracle again (Scripts/fuzz finds new ones): cheap, and in every
// run.

import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct FuzzCorpusTests {
    @Test func theCorpusIsThere() { #expect(FuzzCorpus.inputs("reader").count >= 100) }

    @Test func everyInputThatTheFuzzerKeptIsAnsweredByTheProtocol() {
        for (line, input) in FuzzCorpus.inputs("reader").enumerated() {
            #expect(ReaderOracle.fault(in: input) == nil, "line \(line + 1)")
        }
    }

    /// The oracle is a reader of its own; the vectors prove that it knows the profile, too.
    @Test(arguments: VectorTests.files)
    func theReferenceReaderAnswersAsTheVectorsSay(file: String) throws {
        for vector in VectorTests.cases(file) {
            let bytes = try #require(vector.bytes)
            let value = ReferenceReader.value(bytes)
            #expect((value == nil) == (vector.error != nil), "\(vector)")
            guard let notation = vector.pairs["value"] else { continue }
            #expect(value == TypedNotation.value(notation), "\(vector)")
        }
    }
}
