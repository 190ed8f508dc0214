// Paired identifiers of one device's apps (PAR-18, CFG-10): the target that configuration for an app has through each
// pairing. On a primary's side that is its own identifier, on a secondary's that of the primary; in both cases the
// custom identifier of the primary's app if it has one, else the primary's vendor identifier.

package import TandemBase

/// The targets of one device's apps, by what is paired at this moment.
package struct PairedTargets {
    private let registry: PairingRegistry
    private let vendor: UniqueIdentifier
    private let ownClaim: (ApplicationIdentifier) -> CustomIdentifier?

    /// - Parameters:
    ///   - vendor: this device's vendor identifier.
    ///   - ownClaim: the custom identifier of this device's own app as a primary's.
    package init(
        _ registry: PairingRegistry, vendor: UniqueIdentifier,
        ownClaim: @escaping (ApplicationIdentifier) -> CustomIdentifier?
    ) {
        self.registry = registry
        self.vendor = vendor
        self.ownClaim = ownClaim
    }

    /// The target of the app's configuration that comes through the pairing; nil if there is no such pairing.
    package func target(of app: ApplicationIdentifier, through pairing: UniqueIdentifier) -> PairedIdentifier? {
        guard let record = registry[pairing] else { return nil }
        switch record.role {
        case .primary: return ownTarget(of: app)
        case .secondary: return Self.target(of: record, registry.claim(of: app, in: pairing)?.effective)
        }
    }

    /// The target through a secondary's pairing once a changed identifier has been accepted.
    package func target(of record: PairingRecord, claiming offer: IdentifierClaim.Offer) -> PairedIdentifier? {
        Self.target(of: record, offer.identifier)
    }

    private static func target(of record: PairingRecord, _ identifier: CustomIdentifier?) -> PairedIdentifier? {
        identifier.map { .custom($0) } ?? record.peerVendorIdentifier.map { .vendor($0) }
    }

    private func ownTarget(of app: ApplicationIdentifier) -> PairedIdentifier {
        ownClaim(app).map { .custom($0) } ?? .vendor(vendor)
    }

    /// The present target of an app's configuration; nil if this device has no active primary.
    package func target(of app: ApplicationIdentifier, as role: DeviceRole) -> PairedIdentifier? {
        switch role {
        case .primary: ownTarget(of: app)
        case .secondary: registry.active(as: .secondary).flatMap { target(of: app, through: $0.pairing) }
        }
    }

    /// Every target that configuration of this secondary's app can have: one for each primary.
    package func all(of app: ApplicationIdentifier) -> [PairedIdentifier] {
        registry.pairings.filter { $0.role == .secondary }.compactMap { target(of: app, through: $0.pairing) }
    }

    /// The targets of apps that end with a pairing; empty where this device is the primary. One that another primary
    /// has as well, because both claim the same identifier, stays with that primary (CFG-31).
    /// - Parameter next: the registry without the pairing; nil if nothing takes its place.
    package func ending(
        with record: PairingRecord, of apps: Set<ApplicationIdentifier>, next: PairingRegistry? = nil
    ) -> [ApplicationIdentifier: PairedIdentifier] {
        guard record.role == .secondary else { return [:] }
        let next = PairedTargets(next ?? registry, vendor: vendor, ownClaim: ownClaim)
        let others = next.registry.pairings.filter { $0.role == .secondary && $0.pairing != record.pairing }
        return Dictionary(
            uniqueKeysWithValues: apps.compactMap { app in
                guard let target = target(of: app, through: record.pairing),
                    !others.contains(where: { next.target(of: app, through: $0.pairing) == target })
                else { return nil }
                return (app, target)
            })
    }
}
