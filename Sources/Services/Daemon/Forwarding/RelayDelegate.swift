// What the relay cannot decide: which identifier a secondary has accepted, and what to do with what the other device
// announces. A daemon's composition answers; without a delegate (the simulator) the announced identifier holds.

package import TandemBase
package import TandemSession

/// Receives what the relay learns; on the relay's loop.
package protocol RelayDelegate: AnyObject {
    /// What configuration for the secondary's app is targeted at, in this pairing as this device sees it.
    func relay(_ relay: Relay, targetOf app: ApplicationIdentifier, in pairing: RelayedPairing) -> PairedIdentifier

    /// The app's directory for a pairing, made if it is missing; nil if there is none.
    func relay(
        _ relay: Relay, directoryOf app: ApplicationIdentifier, in pairing: RelayedPairing
    ) -> String?

    /// The other device announced an app (SES-16). Reachability has been updated already.
    func relay(
        _ relay: Relay, counterpartOf app: ApplicationIdentifier, in pairing: RelayedPairing,
        announced announcement: ApplicationAnnouncement)
}
