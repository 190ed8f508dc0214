// The language-neutral vectors of carriers' statements (Protocol/Vectors/signing/carriers.json), made by another
// program from the text of the protocol.

import FoundationEssentials
import TandemBase
import TandemCrypto
import TandemSignedConfiguration
import Testing

private struct CarrierFile: Decodable {
    struct Case: Decodable {
        let name: String
        let statement: Data
        let before: [Data]?
        let outcome: String
        let far: [String]?
        let contested: [String]?
        let passedOver: [String]?
    }
    let key: String
    let device: String
    let pairing: String
    let primary: String
    let direct: [String]
    let app: String
    let cases: [Case]
}

@Suite struct CarrierVectorTests {
    private let file: CarrierFile
    private let app: ApplicationIdentifier
    private let carrier: FarSecondaries.Carrier

    init() throws {
        file = try SigningVectors.read("carriers.json")
        app = try ApplicationIdentifier(file.app)
        carrier = FarSecondaries.Carrier(
            pairing: try SigningVectors.identifier(file.pairing), device: try SigningVectors.identifier(file.device),
            key: ReportPublicKey(try PublicKey(pem: file.key)))
    }

    private func take(_ statement: Data, into known: inout FarSecondaries) throws -> FarTransition {
        let direct = Set(try file.direct.map(SigningVectors.identifier))
        return try known.take(
            Array(statement), about: app, from: carrier, at: try SigningVectors.identifier(file.primary),
            now: Fixture.now, isDirect: { direct.contains($0) })
    }

    @Test("CFG-101, CFG-102: every statement has its outcome, and a refused one changes nothing")
    func everyStatementHasItsOutcome() throws {
        let names: Set = [
            "accepted", "malformed", "threshold", "wrong-type", "payload-malformed", "wrong-device", "wrong-app",
            "replayed", "too-many",
        ]
        #expect(Set(file.cases.map(\.outcome)) == names)
        let parts: Set = [
            "wrong-device", "wrong-app", "wrong-target", "key-changed", "replayed", "too-many", "threshold",
            "payload-malformed",
        ]
        #expect(Set(file.cases.flatMap { $0.passedOver ?? [] }) == parts)
        for vector in file.cases {
            var known = FarSecondaries()
            for before in vector.before ?? [] { _ = try take(before, into: &known) }
            let pairings = known.pairings
            do {
                let transition = try take(vector.statement, into: &known)
                #expect(vector.outcome == "accepted", "\(vector.name)")
                let (far, contested) = (
                    try vector.far?.map(SigningVectors.identifier), try vector.contested?.map(SigningVectors.identifier)
                )
                #expect(known.pairings == far && transition.contested == contested, "\(vector.name)")
                #expect(transition.passedOver.map(\.name) == vector.passedOver, "\(vector.name)")
            } catch let failure as CarrierFailure {
                #expect(vector.outcome == failure.name, "\(vector.name)")
                #expect(known.pairings == pairings, "\(vector.name)")
            }
        }
    }

    @Test("CFG-101: one changed byte anywhere in a statement is found")
    func changedBytes() throws {
        let vector = try #require(file.cases.first { $0.outcome == "accepted" && $0.far?.isEmpty == false })
        for index in vector.statement.indices {
            var changed = vector.statement
            changed[index] ^= 0x10
            var known = FarSecondaries()
            #expect(throws: CarrierFailure.self, "byte \(index)") { try take(changed, into: &known) }
            #expect(known.isEmpty)
        }
    }
}
