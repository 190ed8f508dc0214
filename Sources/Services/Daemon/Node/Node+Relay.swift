// What the relay asks of the daemon, and tells it of the other devices' apps.

package import TandemBase
import TandemPairing
package import TandemSession
import TandemStore

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
