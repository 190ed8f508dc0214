// Host of a device's configuration service: what the service asks of the daemon, or of the simulator, around it.

import TandemBase
import TandemSignedConfiguration

/// The device around a configuration service; on its loop.
protocol ConfigurationHost: AnyObject {
    /// The present target of configuration for this side's app; nil if nothing pairs this device on that side.
    func target(of app: ApplicationIdentifier, as role: DeviceRole) -> PairedIdentifier?

    /// The target of configuration that comes through a pairing.
    func target(of app: ApplicationIdentifier, through pairing: UniqueIdentifier) -> PairedIdentifier?

    /// Every target that this secondary's app can have: one for each primary.
    func targets(of app: ApplicationIdentifier) -> [PairedIdentifier]

    /// The secondaries of the active pairings.
    var receivers: [ConfigurationPeer] { get }

    func peer(_ pairing: UniqueIdentifier) -> ConfigurationPeer?

    /// The apps that a peer has.
    func installed(at pairing: UniqueIdentifier) -> Set<ApplicationIdentifier>

    /// Whether a peer has announced an app as installed, also before this device's restart.
    func hasInstalled(_ app: ApplicationIdentifier, at pairing: UniqueIdentifier) -> Bool

    /// The user that an app belongs to; nil for one that never registered.
    func owner(of app: ApplicationIdentifier) -> UInt32?

    /// The side that an app is on (SES-83); nil for one that never registered.
    func side(of app: ApplicationIdentifier) -> DeviceRole?

    /// The key that a secondary trusts for an app, as it announced the app last.
    func trust(of app: ApplicationIdentifier, at pairing: UniqueIdentifier) -> TrustMark

    /// Another key is trusted for the app's configuration from now on, or none any longer.
    func trustChanged(for subject: KeySubject, to mark: TrustMark)

    /// Sends a body to the receiving connection of the app on a side.
    /// - Parameter completion: called later, once.
    func offer(
        _ body: [UInt8], to subject: KeySubject, pairing: UniqueIdentifier,
        then completion: @escaping (OfferOutcome) -> Void)

    /// Likewise the message that has the app read its files again, once the app has room for it (CFG-43). Of several
    /// that wait for room only the last one's completion is called.
    func reload(_ body: [UInt8], to subject: KeySubject, then completion: @escaping (OfferOutcome) -> Void)
}
