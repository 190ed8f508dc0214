// What the carrier needs of the daemon around it: who this device is for an app, where apps are, and what its pairings say.

package import TandemHostApps
package import TandemIdentity
package import TandemPairing

/// Serves the carrier; on its loop.
package protocol CarrierDelegate: AnyObject {
    /// What configuration for this side's app is targeted at now; nil if nothing pairs this device on that side.
    func carrier(_ carrier: Carrier, targetOf app: ApplicationIdentifier, as role: DeviceRole) -> PairedIdentifier?

    /// What configuration that came through the pairing must be targeted at.
    func carrier(_ carrier: Carrier, targetOf app: ApplicationIdentifier, through pairing: UniqueIdentifier)
        -> PairedIdentifier?

    /// Everything that this secondary's app can be targeted by: one paired identifier for each primary.
    func carrier(_ carrier: Carrier, targetsOf app: ApplicationIdentifier) -> [PairedIdentifier]

    /// The pairings in which this device is the primary.
    func secondaries(of carrier: Carrier) -> [PairingRecord]

    /// The pairing with this identifier.
    func carrier(_ carrier: Carrier, record pairing: UniqueIdentifier) -> PairingRecord?

    /// The user that an app belongs to; nil for one that never registered.
    func carrier(_ carrier: Carrier, ownerOf app: ApplicationIdentifier) -> UInt32?

    /// A key is trusted for the app's configuration from now on.
    func carrier(_ carrier: Carrier, anchored app: ApplicationIdentifier, as role: DeviceRole)

    /// Gives a body to the app's receiving connection as kind `configuration`.
    func carrier(
        _ carrier: Carrier, handOver body: [UInt8], to app: ApplicationIdentifier, pairing: UniqueIdentifier,
        completion: @escaping (HandOverOutcome) -> Void)
}
