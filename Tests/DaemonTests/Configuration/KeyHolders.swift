// The holders of an app's keys: they sign key sets and revocations, away from every daemon.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemSignedConfiguration

@testable import TandemDaemon

struct KeyHolders {
    let subject: KeySubject
    let root = PrivateKey.generate(.ed25519)
    let revoker = PrivateKey.generate(.ed25519)

    init(of app: ApplicationIdentifier) { subject = KeySubject(application: app, role: .secondary) }

    /// A set of this version with these signers of configuration.
    func set(
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

    func revocation(
        of signer: ConfigurationPrivateKey, under version: UInt64, withdraws: Bool = false
    ) throws -> [UInt8] {
        try KeyStatementSigner.sign(
            RevocationDocument(
                subject: subject, keySetVersion: version, issued: 1_790_000_000,
                revoked: [signer.publicKey.identifier], withdraws: withdraws), with: [revoker])
    }

    /// The body of `trust-add`.
    func trust(in anchor: [UInt8]) -> PropertyListDictionary {
        [
            "app": .string(subject.application.description), "role": .string(subject.role.rawValue),
            "key": .string(KeySetText.text(of: anchor)),
        ]
    }
}

extension TwoNodes {
    /// An app that judges what it is offered from its anchor and these statements.
    func startApp(at place: Place = .secondary, from anchor: [UInt8], _ statements: [[UInt8]] = []) throws -> Client {
        var keys = try KeySetHistory(anchor: anchor)
        if let failure = keys.follow(statements) { throw failure }
        let registration = TandemSession.Registration(anchor: KeySetText.text(of: anchor))
        // Before it registers: what waits is offered at once.
        return try connect(to: place, registration) { [keys] in $0.judgeOffers(to: app, on: clock) { keys } }
    }
}
