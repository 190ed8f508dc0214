// Signatures that a statement still needs, for people who sign it one after the other.

import TandemBase
import TandemCrypto
import TandemSignedConfiguration
import Testing

@Suite struct SignatureNeedsTests {
    private let roots = [PrivateKey.generate(.ed25519), .generate(.ed25519)]
    private let revokers = [PrivateKey.generate(.ed25519), .generate(.ed25519)]
    private let signer = PrivateKey.generate(.ed25519)

    private func set(_ version: UInt64, roots: [PrivateKey]) throws -> [UInt8] {
        let document = KeySetDocument(
            subject: try subject, version: version, issued: Fixture.now.seconds,
            roles: [
                .configuration: ([signer.publicKey], 1), .keySet: (roots.map(\.publicKey), 1),
                .revocation: (revokers.map(\.publicKey), 1),
            ])
        return try KeyStatementSigner.sign(document, with: [self.roots[0]])
    }

    private var subject: KeySubject {
        get throws { KeySubject(application: try Fixture.application(), role: .secondary) }
    }

    private func revocation(of key: PrivateKey, by revoker: PrivateKey) throws -> [UInt8] {
        try KeyStatementSigner.sign(
            RevocationDocument(
                subject: try subject, keySetVersion: 1, issued: Fixture.now.seconds,
                revoked: [key.publicKey.identifier], withdraws: false), with: [revoker])
    }

    @Test("CFG-84: a key set needs the old and the new root keys")
    func rotation() throws {
        let first = try set(1, roots: [roots[0]])
        #expect(try SignatureNeeds(of: first, after: nil).keys == [roots[0].publicKey.identifier])
        let needs = try SignatureNeeds(of: try set(2, roots: [roots[1]]), after: try KeySetHistory(anchor: first))
        #expect(needs.roles.map(\.keySetVersion) == [1, 2] && needs.roles.map(\.missing) == [0, 1])
        #expect(needs.keys == Set(roots.map(\.publicKey.identifier)))
    }

    @Test("CFG-85, CFG-87: the signature of a revoked key counts for nothing")
    func revoked() throws {
        var history = try KeySetHistory(anchor: try set(1, roots: [roots[0]]))
        _ = try history.take(try revocation(of: revokers[0], by: revokers[1]))
        let next = try SignatureNeeds(of: try revocation(of: signer, by: revokers[0]), after: history)
        #expect(next.keys == [revokers[1].publicKey.identifier] && next.roles.map(\.missing) == [1])
    }

    @Test("CFG-20: of a configuration only the key set says whose signatures count")
    func configuration() throws {
        let bytes = try Fixture.envelope()
        #expect(try SignatureNeeds(of: bytes, after: nil).roles.isEmpty)
        let history = try KeySetHistory(anchor: try set(1, roots: [roots[0]]))
        let needs = try SignatureNeeds(of: bytes, after: history)
        #expect(needs.keys == [signer.publicKey.identifier] && needs.roles.map(\.missing) == [1])
    }
}
