// Conflicts between the anchors with which apps register and the trusted ones, as the status of keys shows them.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import Testing

@testable import TandemDaemon

@Suite struct RegisteredAppsTests {
    @Test("CFG-17, CTL-27: an app's key set ahead of the chain is a conflict until the rotations have come")
    func aheadOfTheChain() throws {
        let holders = KeyHolders(of: try ApplicationIdentifier("org.example.alarm"))
        let (first, second) = (try holders.set(1, [.generate()]), try holders.set(2, [.generate()]))
        var anchors = ConfigurationAnchors()
        let learning = anchors.learn(KeySetText.text(of: first), for: holders.subject, from: .operator)
        guard case .new(let trusted) = learning else { throw Unexpected("not learned: \(learning)") }
        var apps = RegisteredApps()
        func register(_ anchor: String?) {
            let read = anchor.map { apps.read($0, of: holders.subject, beside: nil) }
            _ = apps.registered(TandemSession.Registration(anchor: anchor), as: holders.subject, read)
        }
        func isConflicting(_ anchor: KnownAnchor) -> Bool { apps.isConflicting(with: anchor) }
        #expect(!isConflicting(trusted))
        register(KeySetText.text(of: second))
        #expect(isConflicting(trusted))
        let grown = try #require(try anchors.follow(second, of: holders.subject, isCarried: false))
        #expect(!isConflicting(grown))
        #expect(apps.anchor(KeySetText.text(of: second), of: holders.subject)?.trusted != nil, "read once")
        #expect(apps.anchor(KeySetText.text(of: first), of: holders.subject) == nil)
        register("no key")
        #expect(isConflicting(grown))
        register(nil)
        #expect(!isConflicting(grown))
        let read = apps.read(trusted.pem, of: holders.subject, beside: trusted)
        let number = apps.registered(TandemSession.Registration(anchor: trusted.pem), as: holders.subject, read)
        #expect(number == 0 && read.anchor == nil)
        #expect(apps.anchor(trusted.pem, of: holders.subject) == nil, "the trusted one needs no reading")
    }

    @Test("CFG-17: an anchor that can verify nothing is refused by its own name, also beside a trusted one")
    func unusable() throws {
        let holders = KeyHolders(of: try ApplicationIdentifier("org.example.alarm"))
        let sound = KeySetText.text(of: try holders.set(1, [.generate()]))
        let foreign = KeySubject(application: holders.subject.application, role: .primary)
        let unusable: [(text: String, subject: KeySubject, name: Rejection)] = [
            ("no key", holders.subject, .noKey), (sound, foreign, .noKey),
            (KeySetText.text(of: try holders.revocation(of: .generate(), under: 1)), holders.subject, .wrongType),
        ]
        for (text, subject, name) in unusable {
            var anchors = ConfigurationAnchors()
            for isTrusted in [false, true] {
                if isTrusted {
                    let key = PrivateKey.generate(.ed25519).publicKey.pem
                    guard case .new = anchors.learn(key, for: subject, from: .operator) else {
                        throw Unexpected("one that is refused does not give way")
                    }
                }
                let learning = anchors.learn(text, for: subject, from: .application)
                guard case .refused(let failure) = learning else { throw Unexpected("not refused: \(learning)") }
                #expect(failure.rejection == name && (anchors[subject] != nil) == isTrusted)
            }
            #expect(anchors.anchor(of: subject).trusted != nil)
        }
    }
}
