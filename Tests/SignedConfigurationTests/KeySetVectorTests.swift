// The language-neutral sequences of key sets in Protocol/Vectors/signing/keysets.json, made by another program from the
// text of the protocol: each step has its outcome, and a refused step leaves the history as it was.

import FoundationEssentials
import TandemBase
import TandemSignedConfiguration
import Testing

private struct SequenceFile: Decodable {
    struct Anchor: Decodable {
        let pem: String?
        let keyset: Data?
    }
    struct Mark: Decodable {
        let version: UInt64
        let keyset: UInt64
    }
    struct Step: Decodable {
        let kind: String
        let envelope: Data
        let outcome: String
        let now: UInt64?
        let mark: Mark?
    }
    struct Sequence: Decodable {
        let name: String
        let clause: String
        let anchor: Anchor
        let steps: [Step]
        let version: UInt64
    }
    struct Succession: Decodable {
        let name: String
        let anchor: Anchor
        let later: Anchor
        let outcome: String
    }
    let app: String
    let role: String
    let target: String
    let now: UInt64
    let sequences: [Sequence]
    let successions: [Succession]
}

@Suite struct KeySetVectorTests {
    private let file: SequenceFile

    init() throws { file = try SigningVectors.read("keysets.json") }

    @Test(
        "CFG-80, CFG-81, CFG-82, CFG-83, CFG-84, CFG-85, CFG-86, CFG-87, CFG-88, CFG-89: every sequence ends as stated")
    func everySequenceEndsAsStated() throws {
        #expect(file.sequences.count > 100)
        for sequence in file.sequences {
            var history = try history(sequence.anchor)
            for (index, step) in sequence.steps.enumerated() {
                let before = history
                let outcome = try outcome(of: step, in: &history)
                #expect(outcome == step.outcome, "\(sequence.clause): \(sequence.name), step \(index)")
                if outcome != "accepted" { #expect(history == before, "\(sequence.name), step \(index)") }
            }
            #expect(history.current.version == sequence.version, "\(sequence.name)")
            try expectSameHistory(of: history, anchor: sequence.anchor, "\(sequence.name)")
        }
    }

    @Test("CFG-17: an anchor that is learned later is known, replaces a bare key, or is a conflict, as stated")
    func everySuccessionIsJudgedAsStated() throws {
        #expect(file.successions.count == 10)
        for one in file.successions {
            let judged = try history(one.anchor).succession(of: try history(one.later))
            #expect(judged.rawValue == one.outcome, "\(one.name)")
        }
    }

    /// The chain, followed from the anchor by the next verifier, leads to the same history.
    private func expectSameHistory(of history: KeySetHistory, anchor: SequenceFile.Anchor, _ comment: Comment) throws {
        var other = try self.history(anchor)
        #expect(other.follow(history.chain) == nil, comment)
        #expect(other == history, comment)
    }

    private func history(_ anchor: SequenceFile.Anchor) throws -> KeySetHistory {
        if let pem = anchor.pem { return try KeySetHistory(pem: pem) }
        let bytes = Array(try #require(anchor.keyset))
        let history = try KeySetHistory(anchor: bytes)
        #expect(try KeySetHistory(pem: KeySetText.text(of: bytes)) == history, "CFG-90")
        return history
    }

    private func outcome(of step: SequenceFile.Step, in history: inout KeySetHistory) throws -> String {
        let bytes = Array(step.envelope)
        do throws(VerificationFailure) {
            switch step.kind {
            case "statement": return try history.take(bytes) == .known ? "known" : "accepted"
            default:
                let context = try context(step, history)
                let verified = try ApplicableConfiguration(verifying: bytes, in: context).verified
                return verified.isSignerRevoked ? "applicable-signer-revoked" : "applicable"
            }
        } catch {
            #expect(!error.detail.isEmpty)
            return error.rejection.rawValue
        }
    }

    private func context(
        _ step: SequenceFile.Step, _ history: KeySetHistory
    ) throws(VerificationFailure) -> VerificationContext {
        guard let application = try? ApplicationIdentifier(file.app), let role = DeviceRole(rawValue: file.role),
            let target = try? PairedIdentifier(text: file.target)
        else { throw VerificationFailure(.malformed, "the file's own context") }
        return VerificationContext(
            profile: step.kind == "load" ? .load : .full, application: application, role: role,
            anchor: .trusted(history), target: target, device: UniqueIdentifier(bytes: Array(0..<16)),
            now: WallTime(seconds: step.now ?? file.now),
            mark: step.mark.map { mark in
                VersionMark(
                    version: mark.version, digest: Array(repeating: 0x11, count: 32), keySetVersion: mark.keyset)
            })
    }
}
