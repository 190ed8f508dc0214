// What the relay asks of the daemon, and tells it of the other devices' apps.

import TandemBase
import TandemPairing
import TandemSession
import TandemStore

extension Node {
    func connectRelay() {
        relay.connect(
            Relay.Outlets(
                target: { [unowned self] app, pairing in
                    target(of: app, through: pairing.pairing) ?? .vendor(pairing.peer)
                },
                directory: { [unowned self] app, pairing in
                    pairing.isPending ? nil : pairingDirectories.path(of: app, in: pairing.pairing)
                },
                announced: { [weak self] in self?.counterpartAnnounced($0, in: $1, $2) }))
    }

    private func counterpartAnnounced(
        _ app: ApplicationIdentifier, in pairing: RelayedPairing, _ announcement: ApplicationAnnouncement
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
