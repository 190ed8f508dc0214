// A configuration from the operator: read far enough to know for whom it is, checked early where a key is known, and
// given to this device's own app or to the secondaries that it is for.

package import TandemBase
import TandemCrypto
import TandemDelivery
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemSignedConfiguration
import TandemStore

extension Carrier {
    /// Applies or forwards the exact bytes of an envelope.
    /// - Parameters:
    ///   - wait: how long to wait for verdicts; what has not come by then has no verdict in the results.
    package func apply(
        _ envelope: [UInt8], app: ApplicationIdentifier, wait: Duration, completion: @escaping (ApplyOutcome) -> Void
    ) {
        let payload: ConfigurationPayload
        do throws(VerificationFailure) {
            payload = try claimed(envelope, app: app)
            if payload.role != options.role { try checkEarly(envelope, payload) }
        } catch {
            return completion(.failed(name: error.rejection.rawValue, text: error.detail))
        }
        switch (options.role, payload.role) {
        case (.primary, .primary), (.secondary, .secondary): applyHere(envelope, payload, wait, completion)
        case (.primary, .secondary): forward(envelope, payload, wait, completion)
        case (.secondary, .primary):
            completion(.failed(name: "wrong-role", text: "it is for the primary's app; this device is a secondary"))
        }
    }

    /// What the envelope says of itself: enough to route it, believed by nobody.
    private func claimed(_ bytes: [UInt8], app: ApplicationIdentifier) throws(VerificationFailure)
        -> ConfigurationPayload
    {
        let envelope = try UnverifiedEnvelope(bytes)
        guard envelope.claimedType == .configuration else {
            throw VerificationFailure(.wrongType, "the payload type is not that of a configuration")
        }
        guard let fields = try? PropertyListReader.readDictionary(envelope.payload),
            let payload = try? ConfigurationPayload(fields)
        else { throw VerificationFailure(.payloadMalformed, "the payload does not read as a configuration") }
        guard payload.application == app else {
            throw VerificationFailure(.wrongApplication, "it is for '\(payload.application)'")
        }
        return payload
    }

    /// The primary's check, for feedback, where it trusts a key (CFG-21).
    private func checkEarly(_ bytes: [UInt8], _ payload: ConfigurationPayload) throws(VerificationFailure) {
        let key = AnchorKey(application: payload.application, role: payload.role)
        let state = receiver.committed.state
        guard state.anchors[key] != nil else { return }
        _ = try ApplicableConfiguration(
            verifying: bytes,
            in: VerificationContext(
                profile: .forwarding, application: payload.application, role: payload.role,
                anchor: state.anchors.anchor(of: key), target: nil, device: nil, now: scheduler.wallNow,
                clockFloor: state.clockFloor))
    }

    private func forward(
        _ envelope: [UInt8], _ payload: ConfigurationPayload, _ wait: Duration,
        _ completion: @escaping (ApplyOutcome) -> Void
    ) {
        let all = delegate?.configurationReceivers ?? []
        guard !all.isEmpty else {
            return completion(.failed(name: "not-found", text: "no secondary is paired; run 'tandem pair' first"))
        }
        let own = delegate?.configurationTarget(of: payload.application, as: .primary)
        guard own == payload.target else {
            let text =
                "it is for '\(payload.target)'; the paired identifier of this device's secondaries is '\(own?.text ?? "")'"
            return completion(.failed(name: Rejection.wrongTarget.rawValue, text: text))
        }
        let named = all.filter { record in
            payload.only.map { only in record.peerVendorIdentifier.map(only.contains) ?? false } ?? true
        }
        guard !named.isEmpty else {
            return completion(
                .failed(name: Rejection.wrongTarget.rawValue, text: "'only' names no secondary that is paired"))
        }
        forwarder.forward(envelope, payload, to: named, wait: wait, then: completion)
    }

    private func applyHere(
        _ envelope: [UInt8], _ payload: ConfigurationPayload, _ wait: Duration,
        _ completion: @escaping (ApplyOutcome) -> Void
    ) {
        guard let target = delegate?.configurationTarget(of: payload.application, as: payload.role) else {
            return completion(.failed(name: "not-found", text: "this device has no primary; run 'tandem join' first"))
        }
        let key = ConfigurationSlotKey(application: payload.application, role: payload.role, target: target)
        receiver.perform(key, { slot, context in slot.received(envelope, by: nil, in: context) }) { [self] transition in
            guard let transition else {
                return completion(.failed(name: "store", text: "the configuration could not be stored; see the log"))
            }
            receiver.logVerdict(transition, of: key)
            if transition.verdict != nil { return completion(.results([result(transition, envelope, payload)])) }
            awaitVerdict(of: key, envelope, payload, until: scheduler.now + wait, completion)
        }
    }

    /// Waits for the app's own verdict on bytes that were offered.
    private func awaitVerdict(
        of key: ConfigurationSlotKey, _ envelope: [UInt8], _ payload: ConfigurationPayload, until end: MonotonicTime,
        _ completion: @escaping (ApplyOutcome) -> Void
    ) {
        let digest = SHA256.digest(envelope)
        var timer: TimerToken?
        receiver.observe(digest) { [self] transition in
            timer.map(scheduler.cancel)
            completion(.results([result(transition, envelope, payload)]))
        }
        timer = scheduler.schedule(after: end.since(scheduler.now)) { [self] in receiver.stopObserving(digest) }
    }

    private func result(
        _ transition: ApplyTransition?, _ envelope: [UInt8], _ payload: ConfigurationPayload
    ) -> ApplyResult {
        ApplyResult(
            pairing: nil, name: options.name, verdict: transition?.verdict?.name, text: transition?.detail,
            version: payload.version, digest: SHA256.digest(envelope))
    }
}
