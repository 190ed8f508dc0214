// The order of judgements behind a slow disk (SES-93): an operator's decisions take effect in the order of their
// arrival, whatever waits for its turn.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemReactor
import TandemSession
import TandemSignedConfiguration
import TandemTestSupport
import TandemWire
import Testing

@testable import TandemDaemon

@Suite struct JudgementOrderTests {
    private let secondary: LoneSecondary

    init() throws { secondary = try LoneSecondary() }

    /// The app brings configurations while the disk does nothing: the first one is under way.
    private func bring(_ count: UInt64, then answered: @escaping (UInt64, String?) -> Void = { _, _ in }) throws {
        secondary.store.hold(commits: true)
        for version in 1...count {
            let envelope = try secondary.envelope(version)
            secondary.scheduler.start { [service = secondary.service, app = secondary.queue.app] in
                answered(version, await service.submit(envelope, app: app).verdict)
            }
        }
        secondary.scheduler.run()
        #expect(secondary.store.heldCount == 1)
    }

    private func goOn() {
        secondary.store.goOn()
        secondary.scheduler.advance(by: .seconds(30))
    }

    @Test("SES-93: a revocation of the operator is followed before the configurations that an app brings and that wait")
    func revocation() throws {
        let holders = KeyHolders(of: secondary.queue.app)
        try secondary.trustKeySet(of: holders)
        var verdicts: [UInt64: String] = [:]
        try bring(4) { verdicts[$0] = $1 ?? "none" }
        let statement = try holders.revocation(of: secondary.signer, under: 1)
        var outcome: ApplyOutcome?
        secondary.scheduler.start { [service = secondary.service, app = secondary.queue.app] in
            outcome = await service.apply(statement, app: app, wait: .zero)
        }
        goOn()
        guard case .results(let results, _) = outcome else { throw Unexpected("\(String(describing: outcome))") }
        #expect(results.first?.verdict == "applied")
        #expect((2...4).map { verdicts[$0] } == ["threshold", "threshold", "threshold"], "\(verdicts)")
    }

    @Test("SES-93, CTL-33: a key that was registered before the operator removes the app's key is not trusted after it")
    func removal() throws {
        let service = secondary.service
        let subject = KeySubject(application: secondary.queue.app, role: .secondary)
        try bring(2)
        secondary.connect(TandemSession.Registration(anchor: PrivateKey.generate(.ed25519).publicKey.pem))
        secondary.scheduler.start { try? await service.replaceKey(subject, with: nil) }
        goOn()
        #expect(service.anchor(of: subject.application) == nil)
    }

    @Test("SES-93, CTL-33: nor is one whose registration had its turn before, and is complete only afterwards")
    func removalWithin() throws {
        let service = secondary.service
        let subject = KeySubject(application: secondary.queue.app, role: .secondary)
        let pem = PrivateKey.generate(.ed25519).publicKey.pem
        let before = service.readAnchor(pem, of: subject.application, as: .secondary)
        secondary.scheduler.start { try? await service.replaceKey(subject, with: nil) }
        secondary.scheduler.run()
        secondary.connect(TandemSession.Registration(anchor: pem), before)
        goOn()
        #expect(service.anchor(of: subject.application) == nil)
        let after = service.readAnchor(pem, of: subject.application, as: .secondary)
        secondary.connect(TandemSession.Registration(anchor: pem), after)
        #expect(service.anchor(of: subject.application) != nil, "its next registration teaches it")
    }

    @Test("SES-73, SES-93: a registration that begins while its app is removed teaches its key once the app is gone")
    func registrationWithinRemoval() throws {
        let (service, app) = (secondary.service, secondary.queue.app)
        let pem = PrivateKey.generate(.ed25519).publicKey.pem
        let decision = service.decideRemoval(of: app)
        // The removal waits for a commit that is under way, and the registration for the removal.
        let read = service.readAnchor(pem, of: app, as: .secondary)
        secondary.scheduler.start { try? await service.remove(app, by: decision, with: []) }
        secondary.scheduler.run()
        #expect(service.anchor(of: app) == nil)
        secondary.connect(TandemSession.Registration(anchor: pem), read)
        #expect(service.anchor(of: app)?.pem == pem)
    }

    @Test("SES-93, CTL-33: a decision that could not be stored overrules no registration that had its turn before")
    func failedReplacement() throws {
        let service = secondary.service
        let subject = KeySubject(application: secondary.queue.app, role: .secondary)
        func replaceKey(with pem: String?) {
            secondary.scheduler.start { try? await service.replaceKey(subject, with: pem) }
            secondary.scheduler.run()
        }
        replaceKey(with: nil)
        let (pem, other) = (PrivateKey.generate(.ed25519).publicKey.pem, PrivateKey.generate(.ed25519).publicKey.pem)
        let before = service.readAnchor(pem, of: subject.application, as: .secondary)
        secondary.store.isFull = true
        replaceKey(with: other)
        secondary.store.isFull = false
        secondary.connect(TandemSession.Registration(anchor: pem), before)
        #expect(service.anchor(of: subject.application)?.pem == pem)
    }
}
