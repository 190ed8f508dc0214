// Durable items between exchange, links and carrier; and the daemon's answers to the carrier and the relay.

import TandemCarrier
package import TandemDelivery
package import TandemHostApps
package import TandemIdentity
import TandemLink
import TandemLog
package import TandemPairing
import TandemReactor
package import TandemRelay
package import TandemSession
import TandemStore
package import TandemWire

extension Node: ItemExchangeDelegate {
    package func exchange(_ exchange: ItemExchange, send envelope: Envelope, over pairing: UniqueIdentifier) {
        guard let link = context.links[pairing] else { return }
        note(envelope, isSent: true)
        link.send(envelope)
    }

    package func exchange(_ exchange: ItemExchange, received item: ReceivedItem) {
        switch item.queue.channel {
        case .configuration: carrier.received(item)
        case .context, .userInfo, .urgent, .file: local.items?.received(item)
        }
    }

    package func exchange(
        _ exchange: ItemExchange, item id: UniqueIdentifier, in queue: QueueKey, ended outcome: Outcome, code: Int64?
    ) {
        switch queue.channel {
        case .configuration: carrier.ended(id, outcome)
        case .context, .userInfo, .urgent, .file: local.items?.ended(id, in: queue, outcome, code: code)
        }
    }

    package func exchange(_ exchange: ItemExchange, item id: UniqueIdentifier, storedIn queue: QueueKey) {
        if queue.channel != .configuration { local.items?.stored(id, in: queue) }
    }

    package func exchange(_ exchange: ItemExchange, changed context: ContextStanding) {
        local.items?.contextChanged(context)
    }

    package func exchange(_ exchange: ItemExchange, needsEpochOf pairing: UniqueIdentifier) {
        log(LogEvent(.warning, "one of the stores was restored, a new epoch begins", .text("pairing", "\(pairing)")))
        registry.perform(
            { [self] next in
                let changes = next.beginEpoch(pairing).map(\.rowChange)
                let epoch = next[pairing]?.epoch
                return (
                    changes,
                    { [self] in
                        if let epoch { exchange.setPairing(pairing, epoch: epoch) }
                        context.links.end(pairing, .replaced)
                    }
                )
            },
            failure: { [self] in report($0) })
    }

    package func exchange(_ exchange: ItemExchange, violationBy pairing: UniqueIdentifier) {
        context.links[pairing]?.refuse(.unexpected, "an acknowledgement of what was never sent")
    }
}

extension Node: CarrierDelegate {
    package func configurationTarget(of app: ApplicationIdentifier, as role: DeviceRole) -> PairedIdentifier? {
        switch role {
        case .primary: installed.state[app]?.identifier.map { .custom($0) } ?? .vendor(device.keys.vendorIdentifier)
        case .secondary: registry.state.active(as: .secondary).flatMap { target(of: app, through: $0.pairing) }
        }
    }

    package func configurationTarget(
        of app: ApplicationIdentifier, through pairing: UniqueIdentifier
    ) -> PairedIdentifier? { target(of: app, through: pairing) }

    package func configurationTargets(of app: ApplicationIdentifier) -> [PairedIdentifier] {
        registry.state.pairings.filter { $0.role == .secondary }.compactMap { target(of: app, through: $0.pairing) }
    }

    package var configurationReceivers: [PairingRecord] {
        registry.state.pairings.filter { $0.role == .primary && $0.state == .active }
    }

    package func pairingRecord(_ pairing: UniqueIdentifier) -> PairingRecord? { registry.state[pairing] }

    package func owner(of app: ApplicationIdentifier) -> UInt32? { installed.state[app]?.user }

    package func trustsConfigurationKey(of app: ApplicationIdentifier, as role: DeviceRole) {
        guard role == options.role, installed.state[app] != nil else { return }
        relay.install(app, role: role, isAnchored: true)
    }

    package func handOver(
        _ body: [UInt8], to app: ApplicationIdentifier, pairing: UniqueIdentifier,
        completion: @escaping (HandOverOutcome) -> Void
    ) {
        local.handOver(body, to: app, pairing: pairing, completion: completion)
    }
}

extension Node: RelayDelegate {
    package func relay(
        _ relay: Relay, targetOf app: ApplicationIdentifier, in pairing: RelayedPairing
    ) -> PairedIdentifier { target(of: app, through: pairing.pairing) ?? .vendor(pairing.peer) }

    package func relay(
        _ relay: Relay, directoryOf app: ApplicationIdentifier, in pairing: RelayedPairing
    ) -> String? { pairing.isPending ? nil : pairingDirectories.path(of: app, in: pairing.pairing) }

    package func relay(
        _ relay: Relay, counterpartOf app: ApplicationIdentifier, in pairing: RelayedPairing,
        announced announcement: ApplicationAnnouncement
    ) {
        guard pairing.role == .secondary, let identifier = announcement.identifier else { return }
        registry.perform(
            { [self] next in
                let (changes, event) = next.declared(identifier, for: app, pairing: pairing.pairing)
                return (
                    changes.map(\.rowChange),
                    { [self] in
                        if let event { log(event.logEvent) }
                        if !changes.isEmpty { targetChanged(of: app) }
                    }
                )
            },
            failure: { [self] in report($0) })
    }

    /// What the secondary's app is targeted by has changed.
    func targetChanged(of app: ApplicationIdentifier) {
        relay.refresh(app, role: .secondary)
        carrier.targetChanged(of: app, as: .secondary, isConnected: local.connected(app) != nil)
    }
}

extension Node: LocalEndpointDelegate {
    package func localEndpoint(
        _ endpoint: LocalEndpoint, store app: ApplicationIdentifier, ownedBy user: UInt32,
        completion: @escaping (Bool) -> Void
    ) {
        installed.perform(
            { next in (next.install(app, user: user), { completion(true) }) },
            failure: { [self] error in
                report(error)
                completion(false)
            })
    }

    package func localEndpoint(_ endpoint: LocalEndpoint, directoryOf app: ApplicationIdentifier) -> String? {
        carrier.directory(of: app)
    }

    package func localEndpoint(_ endpoint: LocalEndpoint, connected application: ConnectedApplication) {
        let app = application.app
        starter?.connected(app)
        installed.perform(
            { [self] next in
                let changes = application.registration.identifier.map { next.declare($0, for: app) } ?? []
                return (
                    changes,
                    { [self] in
                        // Another name for this device is another target of its own app.
                        if !changes.isEmpty, application.role == .primary {
                            carrier.targetChanged(of: app, as: .primary, isConnected: false)
                        }
                        // The app may have gone while its name was written down.
                        guard local.connected(app) != nil else { return }
                        carrier.connected(app, as: application.role, application.registration)
                    }
                )
            },
            failure: { [self] in report($0) })
    }

    package func localEndpoint(_ endpoint: LocalEndpoint, disconnected application: ConnectedApplication) {
        // First what waits: an app that has handled everything is not to come back.
        starter?.workChanged(exchange.applicationsWithItems)
        starter?.disconnected(application.app)
        carrier.disconnected(application.app, as: application.role)
    }
}
