// What the carrier can tell about itself: trusted keys, and the configurations of this device's apps and its
// secondaries'.

package import TandemBase
package import TandemCrypto
import TandemFiles
import TandemPairing
package import TandemPropertyList
import TandemSignedConfiguration
import TandemStore

/// What came of trusting a key.
package enum TrustOutcome: Sendable {
    case trusted
    /// Another key is trusted, and stays.
    case conflict
    case notStored
}

extension Carrier {
    /// Trusts a key by the operator's word (CFG-17); the key has been judged.
    package func trust(_ pem: String, for key: AnchorKey, then completion: @escaping (TrustOutcome) -> Void) {
        receiver.learn(pem, for: key, from: .operator) { learning in
            switch learning {
            case .same?, .new?: completion(.trusted)
            case .conflict?: completion(.conflict)
            case nil: completion(.notStored)
            }
        }
    }

    /// The trusted keys, for `trust-list`.
    package var anchors: [PropertyListDictionary] {
        receiver.committed.state.anchors.all.map { known in
            var body: PropertyListDictionary = [
                "app": .string(known.key.application.description), "role": .string(known.key.role.rawValue),
                "source": .string(known.source.rawValue),
            ]
            body["keyid"] = known.identifier.map { .data($0.bytes) }
            return body
        }
    }

    /// The apps for which there is any configuration state.
    package var configuredApplications: Set<ApplicationIdentifier> {
        Set(receiver.committed.state.slots.keys.map(\.application))
    }

    /// The key that configuration of this side's app is verified with.
    package func anchorIdentifier(of app: ApplicationIdentifier) -> KeyIdentifier? {
        receiver.committed.state.anchors[AnchorKey(application: app, role: options.role)]?.identifier
    }

    /// The app's own directory, made if it is missing; nil if it cannot be.
    package func directory(of app: ApplicationIdentifier) -> String? {
        let owner = delegate?.owner(of: app)
        return try? receiver.files.directory(of: app, owner: owner).path
    }

    /// The configurations of these apps (nil: all), for `status`.
    package func describe(_ apps: Set<ApplicationIdentifier>?) -> [PropertyListDictionary] {
        let isShown = { (key: ConfigurationSlotKey) in apps?.contains(key.application) ?? true }
        let own = receiver.committed.state.slots.values.filter { isShown($0.key) }
            .sorted { ($0.key.application, $0.key.target.text) < ($1.key.application, $1.key.target.text) }
            .map { describe($0) }
        let forwarded = forwarder.committed.state.entries.values.filter { isShown($0.key) }
            .sorted { ($0.key.application, $0.accepted) < ($1.key.application, $1.accepted) }
            .map { describe($0) }
        return own + forwarded
    }

    private func describe(_ slot: ConfigurationSlot) -> PropertyListDictionary {
        var body: PropertyListDictionary = [
            "app": .string(slot.key.application.description), "role": .string(slot.key.role.rawValue),
            "target": .string(slot.key.target.text), "state": .string(slot.stateName),
        ]
        let shown = slot.waived ?? slot.active
        body["version"] = (shown?.record.version ?? slot.staged?.record.version).map { PropertyListValue($0) }
        body["digest"] = (shown?.record.digest ?? slot.staged?.record.digest).map { .data($0) }
        body["applied"] = shown.map { .integer($0.applied.milliseconds) }
        body["lastVerdict"] = receiver.lastVerdicts[slot.key].map { .string($0.name) }
        return body
    }

    private func describe(_ entry: ForwardedConfiguration) -> PropertyListDictionary {
        let name = delegate?.pairingRecord(entry.pairing)?.name ?? "\(entry.pairing)"
        var body: PropertyListDictionary = [
            "app": .string(entry.key.application.description), "role": .string(entry.key.role.rawValue),
            "target": .string(entry.key.target.text), "version": PropertyListValue(entry.version),
            "digest": .data(entry.digest), "pairing": .data(entry.pairing.bytes),
            "state": .string("\(entry.verdict == nil ? "on its way to" : "forwarded to") \(name)"),
        ]
        body["lastVerdict"] = entry.verdict.map { .string($0) }
        return body
    }
}

extension ConfigurationSlot {
    /// The state in a word or two.
    fileprivate var stateName: String {
        switch phase {
        case .waitingForApplication: "waiting for app"
        case .waitingForClock: "waiting for clock"
        case .offered: "handed to app"
        case .idle where waived != nil: "applied, invalid signature allowed"
        case .idle: active == nil ? "none" : "applied"
        }
    }
}

extension KnownAnchor {
    /// The key's identifier; nil for a key that is refused.
    fileprivate var identifier: KeyIdentifier? { (try? PublicKey(pem: pem))?.identifier }
}
