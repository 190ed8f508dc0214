// The holders of an app's keys: they sign key sets and revocations, away from every daemon.

package import TandemBase
package import TandemCrypto
package import TandemDaemon
package import TandemPropertyList
import TandemSession
package import TandemSignedConfiguration
import TandemTestSupport

package struct KeyHolders {
    package let subject: KeySubject
    package let root = PrivateKey.generate(.ed25519)
    package let revoker = PrivateKey.generate(.ed25519)

    package init(of app: ApplicationIdentifier, as role: DeviceRole = .secondary) {
        subject = KeySubject(application: app, role: role)
    }

    /// A set of this version with these signers of configuration.
    package func set(
        _ version: UInt64, _ signers: [ConfigurationPrivateKey], expires: UInt64? = nil
    ) throws -> [UInt8] {
        var document = KeySetDocument(
            subject: subject, version: version, issued: 1_790_000_000,
            roles: [
                .configuration: (signers.map(\.key.publicKey), 1), .keySet: ([root.publicKey], 1),
                .revocation: ([revoker.publicKey], 1),
            ])
        document.expires = expires
        return try KeyStatementSigner.sign(document, with: [root])
    }

    package func revocation(
        of signer: ConfigurationPrivateKey, under version: UInt64, withdraws: Bool = false
    ) throws -> [UInt8] {
        try KeyStatementSigner.sign(
            RevocationDocument(
                subject: subject, keySetVersion: version, issued: 1_790_000_000,
                revoked: [signer.publicKey.identifier], withdraws: withdraws), with: [revoker])
    }

    /// The body of `trust-add`.
    package func trust(in anchor: [UInt8]) -> PropertyListDictionary {
        [
            "app": .string(subject.application.description), "role": .string(subject.role.rawValue),
            "key": .string(KeySetText.text(of: anchor)),
        ]
    }
}

extension TwoNodes {
    /// The operator of a node trusts a key for the app: a bare one, or the text of a key set.
    package func trust(_ key: String, at node: Node) -> ControlAnswer {
        ask(node, "trust-add", body(["role": "secondary", "key": .string(key)]))
    }

    package func trust(_ anchor: [UInt8], at node: Node) -> ControlAnswer {
        trust(KeySetText.text(of: anchor), at: node)
    }

    /// The operator of the secondary ends the trust in the app's key.
    package func endTrust() -> ControlAnswer {
        ask(secondary, "trust-remove", body(["role": "secondary", "yes": true]))
    }

    /// The first row of a node's trusted keys.
    package func trusted(by node: Node) -> PropertyListDictionary? {
        ask(node, "trust-list").body.rows("anchors").first
    }

    package func keySetVersion(of node: Node) -> UInt64? { trusted(by: node)?["version"]?.unsignedValue }

    /// The chain in the directory of the app at the secondary; empty without a file.
    package func writtenChain() throws -> [[UInt8]] {
        guard let bytes = TemporaryDirectory.read("\(folder)/\(KeySetChainFile.name)") else { return [] }
        return try KeySetChainFile(try PropertyListReader.readDictionary(bytes)).chain
    }

    /// An app that judges what it is offered from its anchor and these statements.
    package func startApp(at place: Place = .secondary, from anchor: [UInt8], _ statements: [[UInt8]] = []) throws
        -> Client
    {
        var keys = try KeySetHistory(anchor: anchor)
        if let failure = keys.follow(statements) { throw failure }
        let registration = TandemSession.Registration(anchor: KeySetText.text(of: anchor))
        // Before it registers: what waits is offered at once.
        return try connect(to: place, registration) { [keys] in $0.judgeOffers(to: app, on: clock) { keys } }
    }
}
