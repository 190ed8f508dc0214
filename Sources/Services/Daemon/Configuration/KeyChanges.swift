// Changes of keys of a device: it follows a key set or a revocation, ends what that refuses of what its secondaries
// should have, and only then brings it to them (CFG-92, CFG-94).

import TandemBase
import TandemCrypto
import TandemReactor
import TandemSignedConfiguration
import TandemStore
import TandemWire

/// Follows changes of keys and brings them to the secondaries; confined to its loop.
final class KeyChanges {
    private let context: ConfigurationContext
    private let receiver: ConfigurationReceiver
    private let forwarder: ConfigurationForwarder
    private let chains: KeyChainForwarder
    /// Apps of which something may be desired that a change of their keys refuses: no step of their chains is sent.
    private var unended: Set<KeySubject> = []

    init(
        _ context: ConfigurationContext, _ receiver: ConfigurationReceiver, _ forwarder: ConfigurationForwarder,
        _ chains: KeyChainForwarder
    ) {
        self.context = context
        self.receiver = receiver
        self.forwarder = forwarder
        self.chains = chains
    }

    /// Whether this device brings the chain to secondaries: it is their primary, or a carrier whose own app is a
    /// secondary's. The chain of a primary's app stays on this device (CFG-112).
    private func isForSecondaries(_ subject: KeySubject) -> Bool {
        subject.role == .secondary && (context.side(of: subject.application) == .primary || context.hasReceivers)
    }

    /// A chain of this device has grown by another way than ``follow(_:of:_:_:)``: it came from a primary, and this
    /// device may have secondaries of its own, for which the same holds.
    func chainHasGrown(_ subject: KeySubject) {
        guard isForSecondaries(subject), unended.insert(subject).inserted else { return }
        end(subject)
    }

    /// A start, after which chains may refuse what is desired.
    func started(_ followed: [KeySubject]) {
        unended.formUnion(followed.filter(isForSecondaries))
        endAll()
    }

    /// Ends what a change of keys has refused where that could not be stored, or a crash came between the two.
    func endAll() {
        for subject in unended { end(subject) }
    }

    private func end(_ subject: KeySubject) {
        context.scheduler.start { [self] in
            guard unended.contains(subject), (try? await endRefused(subject)) != nil else { return }
            await advance(subject)
        }
    }

    /// Brings a chain to all secondaries. Where that cannot be stored, no configuration may wait for it until the next
    /// link: it is tried again with the next tick.
    private func advance(_ subject: KeySubject) async {
        if await !chains.advance(subject, to: context.receivers(of: subject.application)) { unended.insert(subject) }
    }

    /// Brings key sets and revocations to secondaries that may lack them, before any configuration (CFG-92).
    func advance(
        of application: ApplicationIdentifier? = nil, at peers: [ConfigurationPeer],
        because occasion: KeyChainDeliveries.Occasion
    ) {
        for anchor in receiver.state.anchors.all
        where anchor.key.role == .secondary && application.map({ $0 == anchor.key.application }) ?? true
            && !unended.contains(anchor.key)
        {
            let meant = context.receivers(of: anchor.key.application, among: peers)
            chains.advance(anchor.key, to: meant, because: occasion)
        }
    }

    /// A secondary refuses a configuration for its keys. One of the key set in force passes under the keys of which it
    /// may have reported all: then it gets them again, and after them the configuration (CFG-95).
    func refused(_ desired: DesiredConfiguration, by peer: ConfigurationPeer) {
        let subject = desired.key.subject
        guard receiver.state.anchors[subject]?.version == desired.payload.keySetVersion, !unended.contains(subject)
        else { return }
        chains.doubt(subject, at: peer) { [forwarder] in
            forwarder.changed(subject.application, at: [peer], forgetting: desired.digest)
        }
    }

    /// Follows a key set or a revocation on this device, and brings it to its secondaries (CFG-92).
    /// - Parameter subject: as the statement claims; without a readable claim that of the app as a secondary.
    func follow(
        _ envelope: [UInt8], of subject: KeySubject, _ app: ApplicationIdentifier, _ wait: Duration
    ) async -> ApplyOutcome {
        guard subject.application == app else {
            return .failed(
                ControlFailure(name: Rejection.wrongApplication.rawValue, text: "it is for '\(subject.application)'"))
        }
        let isOfPrimary = context.side(of: app) == .primary
        guard isOfPrimary || subject.role == .secondary else { return .failed(.noPrimaryApp) }
        // From before it is in force: no link may bring it to a secondary ahead of the end of what it refuses.
        let isFirst = unended.insert(subject).inserted
        switch await receiver.follow(envelope, of: subject) {
        case nil:
            if isFirst { unended.remove(subject) }
            return .failed(ControlFailure(.store, "the statement could not be stored; see the log"))
        case .failure(let failure)?:
            if isFirst { unended.remove(subject) }
            let hint = failure.rejection == .noKey ? "; see 'tandem trust list'" : ""
            return .failed(ControlFailure(name: failure.rejection.rawValue, text: failure.detail + hint))
        case .success?: break
        }
        guard isForSecondaries(subject) else {
            unended.remove(subject)
            return .results([own(subject, envelope)], ordinal: nil)
        }
        let ended: [EndedConfiguration]
        do throws(StoreError) { ended = try await endRefused(subject) } catch { return .failed(ControlFailure(error)) }
        await advance(subject)
        guard isOfPrimary else { return .results([own(subject, envelope, ended)], ordinal: nil) }
        var results: [ApplyResult] = []
        if let question = question(subject, envelope) { results = await chains.results(of: question, within: wait) }
        return .results([own(subject, envelope, ended)] + results, ordinal: chains.changes.ordinal)
    }

    /// The results of a statement that was applied before, once anything has changed after an ordinal (CTL-26). On a
    /// secondary, and of a primary's app, nothing changes: this device's own is all.
    func results(
        of subject: KeySubject, _ envelope: [UInt8], after ordinal: UInt64?, _ wait: Duration
    ) async -> ApplyOutcome {
        guard subject.role == .secondary, context.side(of: subject.application) == .primary else {
            return .results([own(subject, envelope)], ordinal: nil)
        }
        if let ordinal { await chains.changes.change(after: ordinal, atMost: wait) }
        let results = question(subject, envelope).map { chains.results(of: $0) } ?? []
        return .results([own(subject, envelope)] + results, ordinal: chains.changes.ordinal)
    }

    /// This device's own result: what is in force, also after a statement that it followed long ago.
    private func own(
        _ subject: KeySubject, _ envelope: [UInt8], _ ended: [EndedConfiguration] = []
    ) -> ApplyResult {
        let anchor = receiver.state.anchors[subject]
        return ApplyResult(
            pairing: nil, name: context.options.name, verdict: Verdict.applied.name, text: nil,
            version: anchor?.version ?? 0, digest: anchor?.steps.last?.digest ?? SHA256.digest(envelope), ended: ended)
    }

    /// The step that a statement is; nil if the chain has none.
    private func question(_ subject: KeySubject, _ envelope: [UInt8]) -> KeyChainForwarder.Question? {
        let anchor = receiver.state.anchors[subject]
        let steps = anchor?.steps ?? []
        // One that changed nothing is in the chain in another envelope, or not at all: then all of the chain counts.
        guard let index = anchor?.index(of: envelope) ?? steps.indices.last else { return nil }
        return KeyChainForwarder.Question(
            subject: subject, index: index, digest: steps[index].digest, version: anchor?.version ?? 0,
            // A secondary that only carries may never trust a key for the app: no result of it is awaited.
            peers: context.receivers(of: subject.application).filter {
                !context.onlyCarries(subject.application, $0)
            })
    }

    /// Ends what is desired and will not be accepted by any secondary any more, and takes it out of its queues: a
    /// revoked key's configuration must not arrive before the revocation (CFG-94).
    private func endRefused(_ subject: KeySubject) async throws(StoreError) -> [EndedConfiguration] {
        unended.insert(subject)
        let ended = try await forwarder.end(subject) { [self] in refusal(of: $0) }
        unended.remove(subject)
        for one in ended {
            context.log(
                .warning, "desired configuration ended by a change of keys", .text("app", "\(subject.application)"),
                .integer("version", one.version), .text("verdict", one.reason.rawValue))
        }
        return ended
    }

    /// The rejection of a desired configuration under the keys in force; nil if they are no reason for one.
    private func refusal(of desired: DesiredConfiguration) -> Rejection? {
        do throws(VerificationFailure) {
            // At a time at which only the keys can be the fault: neither a clock that is wrong nor a key set that has
            // expired may hide that they are, or end what is good.
            try check(desired.envelope, desired.payload, at: WallTime(seconds: desired.payload.issued))
            return nil
        } catch {
            return error.rejection.comesOfKeys ? error.rejection : nil
        }
    }

    /// The primary's check, for feedback, where it trusts a key (CFG-21).
    func check(
        _ bytes: [UInt8], _ payload: ConfigurationPayload, at time: WallTime? = nil
    ) throws(VerificationFailure) {
        let key = payload.subject
        let state = receiver.state
        guard state.anchors[key] != nil else { return }
        _ = try ApplicableConfiguration(
            verifying: bytes,
            in: VerificationContext(
                profile: .forwarding, application: payload.application, role: payload.role,
                anchor: state.anchors.anchor(of: key), target: nil, device: nil,
                now: time ?? context.scheduler.wallNow, clockFloor: state.clockFloor(of: key)))
    }
}

extension ControlFailure {
    /// A configuration or its keys are for a primary's app that this device does not have.
    static let noPrimaryApp = ControlFailure(
        .wrongRole,
        "it is for the primary's app, which is not installed on this device's primary side; see 'tandem apps list'")
}
