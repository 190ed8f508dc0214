// The inputs that the fuzzer kept for the envelope check and the frame decoder, given to the same oracles again.

import TandemTestSupport
import Testing

@Suite struct FuzzCorpusTests {
    @Test(arguments: [("envelope", 100), ("frames", 20)])
    func theCorpusIsThere(target: String, count: Int) { #expect(FuzzCorpus.inputs(target).count >= count) }

    @Test func everyPayloadThatTheFuzzerKeptIsAnsweredByTheProtocol() {
        for (line, input) in FuzzCorpus.inputs("envelope").enumerated() {
            #expect(EnvelopeOracle.fault(in: input) == nil, "line \(line + 1)")
        }
    }

    @Test func everyStreamThatTheFuzzerKeptGivesTheSameFramesHoweverItIsCut() {
        for (line, input) in FuzzCorpus.inputs("frames").enumerated() {
            #expect(FrameOracle.fault(in: input) == nil, "line \(line + 1)")
        }
    }

    @Test func theReferenceCheckAnswersAsTheVectorsSay() throws {
        for vector in VectorTests.envelopes {
            let payload = try #require(vector.bytes)
            #expect((ReferenceEnvelope.pairs(payload) == nil) == (vector.error != nil), "\(vector)")
        }
    }
}
