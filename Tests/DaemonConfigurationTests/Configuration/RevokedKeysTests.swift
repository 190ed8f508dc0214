// The revoked keys in the row of a trusted key.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@testable import TandemDaemon

@Suite struct RevokedKeysTests {
    @Test("LIM-138, CTL-27: of more revoked keys than a row names the first ones are named, and all are counted")
    func manyKeys() throws {
        let subject = KeySubject(application: try ApplicationIdentifier("org.example.alarm"), role: .secondary)
        let (root, other) = (PrivateKey.generate(.ed25519), PrivateKey.generate(.ed25519))
        var document = KeySetDocument(
            subject: subject, version: 1, issued: 1_790_000_000,
            roles: [
                .configuration: ([other.publicKey], 1), .keySet: ([root.publicKey], 1),
                .revocation: ([other.publicKey], 1),
            ])
        document.revoked = (0...UInt8(ConfigurationLimits.revokedShown)).reversed().map { SHA256.digest([$0]) }
        var anchors = ConfigurationAnchors()
        let text = KeySetText.text(of: try KeyStatementSigner.sign(document, with: [root]))
        guard case .new(let anchor) = anchors.learn(text, for: subject, from: .operator) else {
            Issue.record("not trusted")
            return
        }
        #expect(anchor.summary["revoked"] == .integer(Int64(document.revoked.count)))
        let shown = (anchor.summary["revokedKeys"]?.arrayValue ?? []).compactMap(\.dataValue)
        let ascending = document.revoked.sorted { $0.lexicographicallyPrecedes($1) }
        #expect(shown == Array(ascending.prefix(ConfigurationLimits.revokedShown)))
    }
}
