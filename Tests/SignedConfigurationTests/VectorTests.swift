// The language-neutral vectors of Protocol/Vectors/signing: made by another program (Python and the openssl command)
// from the text of the protocol, so that agreeing with them is agreeing with the text.

import FoundationEssentials
import TandemBase
import TandemCrypto
import TandemSignedConfiguration
import Testing

private struct VectorFile: Decodable {
    struct Mark: Decodable {
        let version: UInt64
        /// SHA-256 of the signed bytes.
        let signed: String
        let floor: UInt64
        let active: Bool
        let closed: Bool
    }
    struct Context: Decodable {
        let profile: String
        let app: String
        let role: String
        let target: String
        let device: String
        let now: UInt64
        let clockFloor: UInt64?
        let mark: Mark?
    }
    struct Case: Decodable {
        let name: String
        let clause: String
        let outcome: String
        let anchor: String?
        let context: Context
        let envelope: Data
    }
    let anchors: [String: String]
    let cases: [Case]
}

@Suite struct VectorTests {
    private let file: VectorFile

    init() throws { file = try SigningVectors.read("verification.json") }

    @Test func everyVectorHasItsOutcome() throws {
        #expect(file.cases.count > 100)
        for vector in file.cases {
            let outcome = try Self.outcome(of: vector, anchors: file.anchors)
            #expect(outcome == vector.outcome, "\(vector.clause): \(vector.name)")
        }
    }

    @Test("CFG-20, CFG-24: every rejection of the verification steps has a vector")
    func everyRejectionOfTheVerificationStepsHasAVector() throws {
        let outcomes = Set(file.cases.map(\.outcome))
        let elsewhere: Set<Rejection> = [
            .schema, .signerRevoked, .anchorConflict, .identifierChanged, .keySetIllegal, .keySetGap, .keySetExpired,
        ]
        for rejection in Rejection.allCases where !elsewhere.contains(rejection) {
            #expect(outcomes.contains(rejection.rawValue), "\(rejection)")
        }
    }

    private static func outcome(of vector: VectorFile.Case, anchors: [String: String]) throws -> String {
        let context = try context(vector.context, anchor: vector.anchor.flatMap { anchors[$0] })
        do {
            let configuration = try ApplicableConfiguration(verifying: Array(vector.envelope), in: context)
            #expect(configuration.verified.bytes == Array(vector.envelope), "CFG-5: \(vector.name)")
            return configuration.isAlreadyActive ? "already-active" : "applicable"
        } catch {
            #expect(!error.detail.isEmpty, "\(vector.name)")
            return error.rejection.rawValue
        }
    }

    private static func context(_ vector: VectorFile.Context, anchor: String?) throws -> VerificationContext {
        let profiles = ["full": VerificationProfile.full, "forwarding": .forwarding, "load": .load]
        let device = try #require(Hexadecimal.decode(vector.device).flatMap { UniqueIdentifier(bytes: $0) })
        return VerificationContext(
            profile: try #require(profiles[vector.profile]), application: try ApplicationIdentifier(vector.app),
            role: try #require(DeviceRole(rawValue: vector.role)), anchor: ConfigurationAnchor(pem: anchor),
            target: try PairedIdentifier(text: vector.target), device: device,
            now: WallTime(seconds: vector.now), clockFloor: WallTime(seconds: vector.clockFloor ?? 0),
            mark: vector.mark.map { mark in
                VersionMark(
                    version: mark.version, digest: Hexadecimal.decode(mark.signed),
                    statement: Hexadecimal.decode(mark.signed),
                    floor: mark.floor, isActive: mark.active, isClosed: mark.closed, keySetVersion: 1)
            })
    }
}
