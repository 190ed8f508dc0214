// Limits of a chain of key sets and revocations (CFG-83), each kind for itself: by number and by bytes.

import TandemBase
import TandemCrypto
import TandemPropertyList
import Testing

@testable import TandemSignedConfiguration

@Suite struct KeyChainLimitsTests {
    private let root = PrivateKey.generate(.ed25519)
    private let revoker = PrivateKey.generate(.ed25519)
    private let signer = PrivateKey.generate(.ed25519)

    private func subject() throws -> KeySubject {
        KeySubject(application: try Fixture.application(), role: .secondary)
    }

    /// A set with these keys for configuration; nil for the one that all others have.
    private func document(_ version: UInt64, keys: [PublicKey]? = nil) throws -> KeySetDocument {
        KeySetDocument(
            subject: try subject(), version: version, issued: Fixture.now.seconds - 60,
            roles: [
                .configuration: (keys ?? [signer.publicKey], 1), .keySet: ([root.publicKey], 1),
                .revocation: ([revoker.publicKey], 1),
            ])
    }

    private func set(_ version: UInt64, keys: [PublicKey]? = nil) throws -> [UInt8] {
        try KeyStatementSigner.sign(try document(version, keys: keys), with: [root])
    }

    @Test("CFG-83: a chain ends after 1,024 rotations, and is followed again to its end")
    func aChainEndsAfterItsSteps() throws {
        var history = try KeySetHistory(anchor: try set(1))
        for version in 2...UInt64(ConfigurationLimits.rotations + 1) {
            #expect(try history.take(try set(version)) == .rotated(version: version))
        }
        let full = history
        let more = try set(UInt64(ConfigurationLimits.rotations + 2))
        #expect(throws: VerificationFailure(.keySetIllegal, "")) { try history.take(more) }
        #expect(history == full)
        var other = try KeySetHistory(anchor: try set(1))
        // Another signature of the same document would be other bytes: Ed25519 is deterministic.
        #expect(other.follow(full.chain) == nil)
        #expect(other == full)
    }

    @Test("CFG-83, LIM-91: a chain of large key sets ends by their bytes")
    func largeKeySets() throws {
        var history = try KeySetHistory(anchor: try set(1))
        func large(_ version: UInt64) throws -> [UInt8] {
            var fields = try document(version).dictionary
            fields["filler"] = .data(Array(repeating: 0, count: 15_000))
            return try PropertyListWriter.write(fields)
        }
        var (version, bytes) = (UInt64(2), 0)
        while bytes + (try large(version).count) <= ConfigurationLimits.rotationBytes {
            let payload = try large(version)
            let envelope = try SignedEnvelope.bytes(payload, type: .keySet, signedWith: [root])
            #expect(try history.take(envelope) == .rotated(version: version))
            (version, bytes) = (version + 1, bytes + payload.count)
        }
        let more = try SignedEnvelope.bytes(try large(version), type: .keySet, signedWith: [root])
        #expect(throws: VerificationFailure(.keySetIllegal, "")) { try history.take(more) }
        #expect(history.current.version == version - 1)
    }

    /// A revocation with an effect: of one of the keys of a set that lists many.
    private func revocation(_ key: PublicKey, under version: UInt64 = 2, filler: Int = 0) throws -> [UInt8] {
        var fields = RevocationDocument(
            subject: try subject(), keySetVersion: version, issued: Fixture.now.seconds, revoked: [key.identifier],
            withdraws: false
        ).dictionary
        if filler > 0 { fields["filler"] = .data(Array(repeating: 0, count: filler)) }
        let payload = try PropertyListWriter.write(fields)
        return try SignedEnvelope.bytes(payload, type: .revocation, signedWith: [revoker])
    }

    @Test(
        "CFG-83, CFG-85, LIM-91: the thief of a revocation key fills no chain: the next key set follows",
        arguments: [0, 15_000])
    func revocationsKeepNoKeySetOut(filler: Int) throws {
        var history = try KeySetHistory(anchor: try set(1))
        let keys = (0..<60).map { _ in PrivateKey.generate(.ed25519).publicKey }
        #expect(try history.take(try set(2, keys: keys)) == .rotated(version: 2))
        let accepted = try keys.filter { key in
            let bytes = try revocation(key, filler: filler)
            return (try? history.take(bytes)) != nil
        }
        #expect(accepted.count == (filler == 0 ? 60 : 17), "256 KiB of payloads")
        #expect(try history.take(try set(3)) == .rotated(version: 3))
    }

    @Test("CFG-83, LIM-91: a chain takes 256 revocations, over all of its key sets, and key sets after them")
    func revocationsOfAChain() throws {
        var history = try KeySetHistory(anchor: try set(1))
        var accepted = 0
        for version in UInt64(2)...6 {
            let keys = (0..<60).map { _ in PrivateKey.generate(.ed25519).publicKey }
            #expect(try history.take(try set(version, keys: keys)) == .rotated(version: version))
            for key in keys {
                let bytes = try revocation(key, under: version)
                do throws(VerificationFailure) {
                    _ = try history.take(bytes)
                    accepted += 1
                } catch {
                    #expect(error.rejection == .keySetIllegal && accepted == ConfigurationLimits.revocations)
                }
            }
        }
        #expect(accepted == ConfigurationLimits.revocations)
    }
}
