// The daemon around its configuration service: its pairings, its installed apps and its local sides.

import TandemBase
import TandemPairing
import TandemSession
import TandemSignedConfiguration
import TandemStore

/// A daemon as its configuration service sees it; confined to its loop.
final class NodeConfigurationHost: ConfigurationHost {
    private let pairings: PairingService
    private let counterparts: Counterparts
    private let apps: CommittedState<InstalledApplications>
    private let local: LocalSides

    init(
        pairings: PairingService, counterparts: Counterparts, installed apps: CommittedState<InstalledApplications>,
        local: LocalSides
    ) {
        self.pairings = pairings
        self.counterparts = counterparts
        self.apps = apps
        self.local = local
    }

    func target(of app: ApplicationIdentifier, as role: DeviceRole) -> PairedIdentifier? {
        pairings.targets.target(of: app, as: role)
    }

    func target(of app: ApplicationIdentifier, through pairing: UniqueIdentifier) -> PairedIdentifier? {
        pairings.targets.target(of: app, through: pairing)
    }

    func targets(of app: ApplicationIdentifier) -> [PairedIdentifier] { pairings.targets.all(of: app) }

    var receivers: [ConfigurationPeer] { pairings.allActive(as: .primary).map { ConfigurationPeer($0) } }

    func peer(_ pairing: UniqueIdentifier) -> ConfigurationPeer? { pairings[pairing].map { ConfigurationPeer($0) } }

    func installed(at pairing: UniqueIdentifier) -> Set<ApplicationIdentifier> { counterparts[pairing] }

    func hasInstalled(_ app: ApplicationIdentifier, at pairing: UniqueIdentifier) -> Bool {
        local.relay.announcement(of: app, at: pairing, role: .primary)?.isInstalled ?? false
    }

    func owner(of app: ApplicationIdentifier) -> UInt32? { apps.state[app]?.user }

    func side(of app: ApplicationIdentifier) -> DeviceRole? { apps.state[app]?.role }

    func trust(of app: ApplicationIdentifier, at pairing: UniqueIdentifier) -> TrustMark {
        local.relay.announcement(of: app, at: pairing, role: .primary)?.trust ?? .unnamed
    }

    func trustChanged(for subject: KeySubject, to mark: TrustMark) {
        guard let record = apps.state[subject.application], record.role == subject.role, !record.isReserved else {
            return
        }
        local.relay.install(subject.application, on: local.relay.side(subject.role), trust: mark)
    }

    func offer(
        _ body: [UInt8], to subject: KeySubject, pairing: UniqueIdentifier,
        then completion: @escaping (OfferOutcome) -> Void
    ) {
        local[subject.role].offer(body, to: subject.application, pairing: pairing, completion: completion)
    }

    func reload(_ body: [UInt8], to subject: KeySubject, then completion: @escaping (OfferOutcome) -> Void) {
        local[subject.role].reload(body, to: subject.application, completion: completion)
    }
}
