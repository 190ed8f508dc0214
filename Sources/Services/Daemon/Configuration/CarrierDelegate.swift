// What the carrier needs of the daemon around it: who this device is for an app, where apps are, and what its pairings
// say.

package import TandemBase
package import TandemPairing

/// Serves the carrier; on its loop.
package protocol CarrierDelegate: AnyObject {
    /// What configuration for this side's app is targeted at now; nil if nothing pairs this device on that side.
    func configurationTarget(of app: ApplicationIdentifier, as role: DeviceRole) -> PairedIdentifier?

    /// What configuration that came through the pairing must be targeted at.
    func configurationTarget(of app: ApplicationIdentifier, through pairing: UniqueIdentifier) -> PairedIdentifier?

    /// Everything that this secondary's app can be targeted by: one paired identifier for each primary.
    func configurationTargets(of app: ApplicationIdentifier) -> [PairedIdentifier]

    /// The active pairings in which this device is the primary.
    var configurationReceivers: [PairingRecord] { get }

    /// The pairing with this identifier.
    func pairingRecord(_ pairing: UniqueIdentifier) -> PairingRecord?

    /// The user that an app belongs to; nil for one that never registered.
    func owner(of app: ApplicationIdentifier) -> UInt32?

    /// A key is trusted for the app's configuration from now on.
    func trustsConfigurationKey(of app: ApplicationIdentifier, as role: DeviceRole)

    /// Gives a body to the app's receiving connection as kind `configuration`.
    func offer(
        _ body: [UInt8], to app: ApplicationIdentifier, pairing: UniqueIdentifier,
        completion: @escaping (OfferOutcome) -> Void)
}
