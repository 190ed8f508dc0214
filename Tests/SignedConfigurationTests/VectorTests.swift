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

    @Test("CFG-20, CFG-24, CFG-50: a used slot refuses each vector by name and stays as it was; the next one applies")
    func aUsedSlotStaysAsItWasAndTheNextOneApplies() throws {
        let refused = file.cases.filter { $0.context.profile == "full" && Rejection(rawValue: $0.outcome) != nil }
        #expect(refused.count > 90)
        for vector in refused {
            let context = try Self.context(vector.context, anchor: vector.anchor.flatMap { file.anchors[$0] })
            var slot = try Self.usedSlot(in: context)
            let before = slot
            let transition = slot.received(Array(vector.envelope), by: Fixture.delivery, in: context)
            // Without any key nothing is judged, and the primary delivers it again (CFG-74).
            let verdict = vector.outcome == "no-key" ? "waiting-for-key" : vector.outcome
            #expect(transition.verdict?.name == verdict, "\(vector.name)")
            #expect(transition.reports.map(\.verdict.name) == [verdict], "\(vector.name)")
            #expect(transition.reports.map(\.good?.version) == [1], "\(vector.name)")
            #expect(transition.effects.isEmpty, "\(vector.name)")
            if verdict == "clock-unset" {
                #expect(slot.active == before.active && slot.mark == before.mark, "it only waits for the clock")
            } else {
                #expect(slot == before && transition.changes.count == 1, "\(vector.name)")
            }
            try Self.applyNext(to: &slot, after: context)
        }
    }

    /// A slot for the case's context, with its mark, whose app is connected and has version 1.
    private static func usedSlot(in context: VerificationContext) throws -> ConfigurationSlot {
        let key = ConfigurationSlotKey(
            application: context.application, role: context.role, target: try #require(context.target))
        let device = try #require(context.device)
        let record = try ConfigurationRecord(key: key, device: device, envelope: try Fixture.envelope(version: 1))
        var slot = ConfigurationSlot(
            key: key, device: device, mark: context.mark ?? VersionMark(version: 1, digest: nil, keySetVersion: 1),
            active: ActiveConfiguration(record, applied: Fixture.now, isWaived: false))
        _ = slot.applicationConnected()
        return slot
    }

    /// A later version by a good key, under a right clock.
    private static func applyNext(to slot: inout ConfigurationSlot, after context: VerificationContext) throws {
        var context = context
        context.anchor = try Fixture.context().anchor
        (context.now, context.clockFloor, context.mark) = (Fixture.now, Fixture.now, nil)
        let envelope = try Fixture.envelope(version: 1000) { payload in
            (payload.application, payload.role, payload.target) =
                (slot.key.application, slot.key.role, slot.key.target)
        }
        try Fixture.apply(envelope, to: &slot, in: context)
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
        let device = try SigningVectors.identifier(vector.device)
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
