// The receiving half's dealings with host apps: their registrations bring keys and free what waits, and what is handed
// over is answered, or waits again.

import TandemBase
import TandemDelivery
import TandemPropertyList
import TandemSession
import TandemSignedConfiguration
import TandemStore

extension ConfigurationReceiver {
    /// An app's receiving connection has registered.
    func connected(_ app: ApplicationIdentifier, as role: DeviceRole, _ registration: TandemSession.Registration) {
        if registration.allowsInvalidSignatures {
            waivingApplications.insert(app)
        } else {
            waivingApplications.remove(app)
        }
        if let pem = registration.anchor {
            learn(pem, for: AnchorKey(application: app, role: role), from: .application) { _ in }
        }
        guard let key = shownKey(of: app, as: role) else { return }
        perform(key, { slot, _ in slot.applicationConnected() })
    }

    /// An app's receiving connection is gone.
    func disconnected(_ app: ApplicationIdentifier, as role: DeviceRole) {
        let keys = committed.state.slots.keys.filter { $0.application == app && $0.role == role }
        for key in keys {
            perform(key, { slot, _ in slot.applicationDisconnected() })
        }
    }

    /// Learns a trusted key. `completion` gets what came of it, or nil if it could not be stored.
    func learn(
        _ pem: String, for key: AnchorKey, from source: KnownAnchor.Source,
        then completion: @escaping (ConfigurationAnchors.Learning?) -> Void
    ) {
        committed.perform(
            { [self] next in
                let learning = next.anchors.learn(pem, for: key, from: source)
                log(learning, key)
                guard case .new(let anchor) = learning else { return ([], { completion(learning) }) }
                return (
                    [ReceiverState.row(.anchor, key.bytes, anchor.row)],
                    { [self] in
                        context.delegate?.trustsConfigurationKey(of: key.application, as: key.role)
                        completion(learning)
                    }
                )
            }, failure: { _ in completion(nil) })
    }

    private func log(_ learning: ConfigurationAnchors.Learning, _ key: AnchorKey) {
        let app = key.application.description
        switch learning {
        case .same: break
        case .new(let anchor):
            context.log(
                LogEvent(
                    .info, "configuration key trusted", .text("app", app), .text("role", key.role.rawValue),
                    .text("source", anchor.source.rawValue)))
        case .conflict:
            context.log(
                LogEvent(
                    .error, "alarm: anchor-conflict, another configuration key is trusted and stays", .text("app", app),
                    .text("role", key.role.rawValue)))
        }
    }

    /// The slot whose files the app sees now.
    func shownKey(of app: ApplicationIdentifier, as role: DeviceRole) -> ConfigurationSlotKey? {
        context.delegate?.configurationTarget(of: app, as: role).map {
            ConfigurationSlotKey(application: app, role: role, target: $0)
        }
    }

    // MARK: offer

    /// Gives a message to the app of a slot, over its receiving connection.
    func offer(
        _ message: PropertyListDictionary, to key: ConfigurationSlotKey,
        completion: @escaping (OfferOutcome) -> Void
    ) {
        // Zero stands for a configuration that came through no pairing.
        let pairing = committed.state.slots[key]?.staged?.delivery?.pairing ?? .zero
        guard let delegate = context.delegate, let body = try? PropertyListWriter.write(message) else {
            return completion(.notConnected)
        }
        delegate.offer(body, to: key.application, pairing: pairing, completion: completion)
    }

    func carryOut(_ transition: ApplyTransition, of key: ConfigurationSlotKey) {
        for effect in transition.effects {
            switch effect {
            case .offer(let offer): give(offer, to: key)
            case .reload: giveReload(to: key)
            }
        }
    }

    private func give(_ offer: ConfigurationOffer, to key: ConfigurationSlotKey) {
        self.offer(offer.message, to: key) { [weak self] outcome in self?.answered(outcome, key) }
    }

    private func giveReload(to key: ConfigurationSlotKey) {
        offer(ConfigurationOffer.reloadMessage, to: key) { _ in }
    }

    private func answered(_ outcome: OfferOutcome, _ key: ConfigurationSlotKey) {
        guard case .reply(let body) = outcome, let message = try? PropertyListReader.readDictionary(body),
            let reply = OfferReply(message)
        else { return overdue(key, outcome) }
        let now = context.reading.wall
        perform(key, { slot, _ in slot.answered(reply, now: now) }) { [weak self] transition in
            // An answer about other bytes is as none, and so is one whose verdict could not be stored.
            guard transition?.verdict != nil else { return self?.overdue(key, outcome) ?? () }
            self?.logVerdict(transition, of: key)
            self?.tell(transition, of: reply.digest)
        }
    }

    private func overdue(_ key: ConfigurationSlotKey, _ outcome: OfferOutcome) {
        context.log(
            LogEvent(
                .warning, "no verdict of the app, the configuration waits", .text("app", "\(key.application)"),
                .text("reason", outcome.name)))
        let digest = committed.state.slots[key]?.staged?.record.digest
        perform(key, { slot, _ in slot.answerOverdue() }) { [weak self] transition in
            if let digest, transition?.verdict != nil { self?.tell(transition, of: digest) }
        }
    }

    func logVerdict(_ transition: ApplyTransition?, of key: ConfigurationSlotKey) {
        guard let verdict = transition?.verdict else { return }
        if committed.state.slots[key] != nil { lastVerdicts[key] = verdict }
        let level: LogLevel = if case .rejected = verdict { .warning } else { .info }
        context.log(
            LogEvent(
                level, "configuration judged", .text("app", "\(key.application)"), .text("verdict", verdict.name),
                .outside("target", key.target.text), .outside("detail", transition?.detail ?? "")))
    }
}

extension OfferOutcome {
    /// The outcome in a word, for the log.
    fileprivate var name: String {
        switch self {
        case .reply: "malformed reply"
        case .failed: "failure"
        case .disconnected: "disconnected"
        case .expired: "no answer in time"
        case .notConnected: "not connected"
        }
    }
}
