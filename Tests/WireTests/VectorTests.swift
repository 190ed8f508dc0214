// Our own implementation against the vectors that are given to others (Protocol/Vectors/frames).

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct VectorTests {
    static let framing = VectorCase.all(in: "frames/framing.json")
    static let envelopes = VectorCase.all(in: "frames/envelopes.json")

    @Test func theVectorsAreThere() {
        #expect(Self.framing.count >= 20)
        #expect(Self.envelopes.count >= 45)
    }

    @Test(arguments: framing)
    func aStreamGivesItsPayloadsInPiecesOfAnySize(vector: VectorCase) throws {
        let bytes = try #require(vector.bytes)
        let limit = try #require(vector.pairs["limit"]?.integerValue)
        let payloads = vector.pairs["payloads"]?.arrayValue?.compactMap { $0.stringValue.flatMap(Hexadecimal.decode) }
        for size in [1, 2, 3, 5, max(1, bytes.count)] {
            var decoder = FrameDecoder(limit: Int(limit))
            var found: [[UInt8]] = []
            var error: String?
            for start in stride(from: 0, to: bytes.count, by: size) where error == nil {
                decoder.append(bytes[start..<min(start + size, bytes.count)])
                do throws(WireError) {
                    while let frame = try decoder.next() { found.append(frame.payload.copied()) }
                } catch let fault {
                    error = fault.refusalName.rawValue
                }
            }
            #expect(found == payloads)
            #expect(error == vector.error)
            if error == nil { #expect(Int64(decoder.bufferedCount) == vector.pairs["waiting"]?.integerValue) }
        }
    }

    /// Also in place, and for property lists that are no envelope.
    @Test(arguments: ["frames/envelopes.json", "plist/containers.json", "plist/ambiguities.json"])
    func everyWayOfJudgingAnEnvelopeAgrees(file: String) throws {
        for vector in VectorCase.all(in: file) {
            let payload = try #require(vector.bytes)
            #expect(EnvelopeOracle.fault(in: payload) == nil, "\(vector)")
        }
    }

    @Test(arguments: envelopes)
    func anEnvelopeSaysItsKeys(vector: VectorCase) throws {
        let payload = try #require(vector.bytes)
        guard let name = vector.error else {
            let envelope = try Envelope(payload: payload[...])
            var keys = PropertyListDictionary()
            for (key, value) in try #require(vector.pairs["keys"]?.dictionaryValue) where key != "sealing" {
                keys[key] = TypedNotation.value(value)
            }
            #expect(try Body.dictionary(envelope.frame().payload.copied()[...]) == keys)
            return
        }
        let fault = #expect(throws: WireError.self) { try Envelope(payload: payload[...]) }
        #expect(fault?.refusalName.rawValue == name)
    }
}
