// The device around a configuration service that a test plays alone: fixed peers, one target, and no app to ask.

import TandemBase
import TandemDaemonTestSupport
import TandemReactor
import TandemSignedConfiguration

@testable import TandemDaemon

final class LoneHost: ConfigurationHost {
    /// The paired identifier of its apps; nil while none of several primaries is chosen.
    var target: PairedIdentifier?
    /// Those through pairings whose primaries are not the active one.
    var inactiveTargets: [PairedIdentifier] = []
    private let isCarrier: Bool
    var peers: [ConfigurationPeer]
    /// The apps of its secondaries, for a carrier.
    var apps: Set<ApplicationIdentifier> = []
    /// Whether its secondaries have announced the app of a primary.
    var isAnnounced = true
    /// The key that its secondaries announce.
    var trust = TrustMark.unnamed
    /// The user of its apps; nil before the first registration.
    var owner: UInt32? = Linux.user
    /// Whether the app takes offers, which the test answers.
    var takesOffers = false
    private(set) var offers: [(body: [UInt8], completion: (OfferOutcome) -> Void)] = []
    /// The pairings that the offers name.
    private(set) var offeredPairings: [UniqueIdentifier] = []

    /// - Parameter isCarrier: its own apps are a secondary's, and have no target.
    init(_ target: PairedIdentifier, peers: [ConfigurationPeer], isCarrier: Bool = false) {
        self.target = target
        self.peers = peers
        self.isCarrier = isCarrier
    }

    func target(of app: ApplicationIdentifier, as role: DeviceRole) -> PairedIdentifier? { isCarrier ? nil : target }

    func target(of app: ApplicationIdentifier, through pairing: UniqueIdentifier) -> PairedIdentifier? {
        !isCarrier || peer(pairing)?.role == .primary ? target : nil
    }

    func targets(of app: ApplicationIdentifier) -> [PairedIdentifier] {
        isCarrier ? [] : [target].compactMap(\.self) + inactiveTargets
    }

    var receivers: [ConfigurationPeer] { peers.filter { $0.role == .primary } }

    func peer(_ pairing: UniqueIdentifier) -> ConfigurationPeer? { peers.first { $0.pairing == pairing } }

    func installed(at pairing: UniqueIdentifier) -> Set<ApplicationIdentifier> {
        peer(pairing)?.role == .primary ? apps : []
    }

    func hasInstalled(_ app: ApplicationIdentifier, at pairing: UniqueIdentifier) -> Bool { isAnnounced }

    func owner(of app: ApplicationIdentifier) -> UInt32? { owner }

    func side(of app: ApplicationIdentifier) -> DeviceRole? { nil }

    func trust(of app: ApplicationIdentifier, at pairing: UniqueIdentifier) -> TrustMark { trust }

    func trustChanged(for subject: KeySubject, to mark: TrustMark) {}

    func offer(
        _ body: [UInt8], to subject: KeySubject, pairing: UniqueIdentifier,
        then completion: @escaping (OfferOutcome) -> Void
    ) {
        guard takesOffers else { return completion(.notConnected) }
        offers.append((body, completion))
        offeredPairings.append(pairing)
    }

    func reload(_ body: [UInt8], to subject: KeySubject, then completion: @escaping (OfferOutcome) -> Void) {
        offer(body, to: subject, pairing: .zero, then: completion)
    }
}
