// Edges of signatures and keys (Protocol/Vectors/signing/edges.json), made by another program in plain integers: each
// class of deviation has good cases and others.

import FoundationEssentials
import TandemBase
import TandemCrypto
import TandemSignedConfiguration
import Testing

private struct EdgeFile: Decodable {
    struct Case: Decodable {
        let name: String
        let `class`: String
        let algorithm: String
        let key: String
        let message: String
        let signature: String
        let outcome: String
    }
    let cases: [Case]
}

@Suite struct EdgeVectorTests {
    private let file: EdgeFile
    private var cases: [EdgeFile.Case] { file.cases }

    init() throws { file = try SigningVectors.read("edges.json") }

    @Test("CFG-96, CFG-97: every edge of a signature or a key has its outcome", arguments: KeyAlgorithm.allCases)
    func everyEdgeHasItsOutcome(algorithm: KeyAlgorithm) throws {
        let cases = cases.filter { $0.algorithm == algorithm.rawValue }
        #expect(cases.count > 40)
        for edge in cases { #expect(try Self.outcome(of: edge) == edge.outcome, "\(edge.class): \(edge.name)") }
    }

    @Test("CFG-96, CFG-97: each class of deviation has a good case and a refused one")
    func eachClassHasAGoodCaseAndARefusedOne() {
        let classes = Dictionary(grouping: cases) { "\($0.algorithm) \($0.class)" }
        #expect(classes.count > 20)
        for (name, cases) in classes {
            #expect(Set(cases.map { $0.outcome == "good" }) == [true, false], "\(name)")
        }
    }

    private static func outcome(of edge: EdgeFile.Case) throws -> String {
        let key: PublicKey
        let encoded = try bytes(edge.key)
        do throws(KeyError) { key = try PublicKey(subjectPublicKeyInfo: encoded) } catch {
            return Rejection(error).rawValue
        }
        #expect(key.algorithm.rawValue == edge.algorithm)
        return key.isValid(try bytes(edge.signature), for: try bytes(edge.message)) ? "good" : "bad"
    }

    private static func bytes(_ text: String) throws -> [UInt8] { try #require(Hexadecimal.decode(text)) }
}
