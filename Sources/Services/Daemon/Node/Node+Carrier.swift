// What the carrier of configuration asks of the daemon: targets, receivers, owners, and the way to an app.

package import TandemBase
package import TandemPairing
import TandemStore

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

    package func offer(
        _ body: [UInt8], to app: ApplicationIdentifier, pairing: UniqueIdentifier,
        completion: @escaping (OfferOutcome) -> Void
    ) {
        local.offer(body, to: app, pairing: pairing, completion: completion)
    }
}
